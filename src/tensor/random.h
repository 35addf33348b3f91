// tensor/random.h: the random bits behind weft/random.h, as nodes.
#pragma once

#include "ir/node.h"

#include <utility>

namespace weft {

struct RandomWords {
    ir::NodeRef first, second;  // u32
};

// Threefry-2x32 with 20 rounds, element by element: the key's two words and the counter's two words, all u32.
RandomWords threefry(const RandomWords& key, const RandomWords& counter);

}  // namespace weft
