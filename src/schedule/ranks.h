// schedule/ranks.h: sorting short rows on processors with thousands of threads. The functions that sort (tensor/sorting.cpp) run on the host: rows would
// be copied there and back, and the program would wait. Here an element's place is the number of those that come before it, which threads count:
//
//     place[t] = how many j have key[j] < key[t], or key[j] == key[t] and j < t
//     index[r] = the t with place[t] == r                values[r] = x[index[r]]
//
// Keys are those of numerics/order.h, so the order is the same, of NaN and of equal elements, too. The work grows with the square of a row.
#pragma once

#include "core/target.h"
#include "ir/node.h"

namespace weft::schedule {

// A result of "sort", "topk" or "nth". Null: the node is none, or its rows are too long.
ir::NodeRef sorted_by_ranks(const ir::Node& part, const Target& target);

}  // namespace weft::schedule
