// numerics/order.h: how elements are ordered: what the Custom functions of tensor/sorting.cpp run. NaN comes after all numbers, -0 equals
// 0, equal elements keep their order. Keys are integers, so that subnormals compare right whatever the processor's mode is.
#pragma once

#include "ir/custom.h"

#include <cstdint>

namespace weft::order {

struct Rows {
    std::int64_t count = 0, length = 0;
};

// Of each row of source 0 the sorted elements (result 0) and where they were (result 1, i64). O(n log n) at worst, and O(n) for long rows.
void sort_rows(const ir::CustomCall& call, Rows rows, bool descending);

// Only the k first of them.
void top_rows(const ir::CustomCall& call, Rows rows, std::int64_t k, bool largest);

// Only the one that source 1 (i64, one for each row, below the length) says.
void nth_rows(const ir::CustomCall& call, Rows rows);

// The most frequent element of each row (of several the smallest), and its last position.
void mode_rows(const ir::CustomCall& call, Rows rows);

// For each element of source 1 the position in its row of the sorted source 0 where it would be inserted: before equal elements,
// or after them. There are as many rows in both, or one row in source 0. Result 0: i64.
struct Search {
    std::int64_t length = 0, per_row = 0;  // of a sorted row; elements to look for in each
    bool right = false, shared = false;
};
void search_rows(const ir::CustomCall& call, const Search& search);

}  // namespace weft::order
