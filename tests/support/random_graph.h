// tests/support/random_graph.h: random tensor graphs, small ones that try every op in every combination and larger ones
// that reach what only sizes reach: threads, blocked sums, split reductions.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <vector>

namespace weft::testing {

struct GraphOptions {
    std::int64_t longest_axis = 9;  // a failing graph is tried again with shorter ones
    std::int64_t most_elements = 3000;
    int most_ops = 25;
    bool normal_range = false;  // no subnormals, infinities or NaNs in the data
};

// The same roots for the same arguments, in every run of one build.
std::vector<ir::NodeRef> random_graph(std::uint64_t seed, const GraphOptions& options = {});

// One of a few shapes of large work, with random sizes: long sums, contractions of odd sizes, big maps.
std::vector<ir::NodeRef> large_graph(std::uint64_t seed);

}  // namespace weft::testing
