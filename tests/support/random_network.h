// tests/support/random_network.h: small pieces of networks with random sizes, through the public ops, some with their
// gradients.
#pragma once

#include "ir/node.h"
#include "tests/support/random_leaves.h"

#include <vector>

namespace weft::testing {

std::vector<ir::NodeRef> random_network(Rng& rng, Data data);

}  // namespace weft::testing
