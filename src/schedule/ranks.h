// schedule/ranks.h: sorting and searching on processors with thousands of threads. The functions that sort (tensor/sorting.cpp) run on the host: rows would
// be copied there and back, and the program would wait. Here they are ordinary ops on keys, integers in the order of numerics/order.h, so that the results
// are the same, of NaN and of equal elements, too.
//
// In short rows an element's place is the number of those that come before it, which threads count:
//
//     place[t] = how many j have key[j] < key[t], or key[j] == key[t] and j < t
//     order[r] = the t with place[t] == r                values[r] = x[order[r]]
//
// Long rows are runs that are sorted so, and then merged, two at a time (merges.h).
#pragma once

#include "core/target.h"
#include "ir/node.h"

namespace weft::schedule {

// A result of "sort", "topk" or "nth". Null: the node is none.
ir::NodeRef sorted_by_ranks(const ir::Node& part, const Target& target);

// The result of "searchsorted", likewise.
ir::NodeRef searched_by_halves(const ir::Node& custom, const Target& target);

}  // namespace weft::schedule
