// tensor/random.h: the random bits behind weft/random.h, as nodes.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <utility>

namespace weft {

struct RandomWords {
    ir::NodeRef first, second;  // u32
};

// Where so many blocks of random words start: u64 numbers that a plan reads anew at each run. The counter advances here, when the op
// is called, and at each later call of a traced one.
struct RandomStart {
    ir::NodeRef key, counter;
};
RandomStart draw(std::int64_t blocks);

// Threefry-2x32 with 20 rounds, element by element: a key of u64, and the counter's two words.
RandomWords threefry(const ir::NodeRef& key, const RandomWords& counter);

}  // namespace weft
