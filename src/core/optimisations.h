// core/optimisations.h: what WEFT_OPT and OptScope can switch off, by name: the passes of kernel/optimise.cpp, which checks that they are
// these and in this order, donation (schedule/plan.cpp), and sums that are split (schedule/split_sums.h). "all" is every one.
#pragma once

#include <string_view>

namespace weft {

inline constexpr std::string_view kPassNames[] = {
    "tile",     "unflatten", "columns",     "transpose", "peel",   "parallel", "distribute", "vector",
    "segments", "jam_rows",  "jam_vectors", "prefetch",  "stream", "poll",     "block_tile", "grid"};

// ValueError, opening with `where` ("WEFT_OPT=til") and listing the names there are.
void check_optimisation(std::string_view name, std::string_view where);

}  // namespace weft
