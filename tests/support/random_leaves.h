// tests/support/random_leaves.h: Buffers with random contents and random strides.
#pragma once

#include "ir/node.h"
#include "tests/support/random.h"

namespace weft::testing {

enum class Data : std::uint8_t {
    Whole,  // small whole numbers: sums of them are exact
    Tame,   // about -2 … 2
    Wild,   // with zeros of both signs, subnormals, infinities, NaNs, extremes
};

Word random_word(Rng& rng, DType dtype, Data data);

// Dense, or with gaps, permuted, reversed or broadcast axes.
ir::NodeRef random_leaf(Rng& rng, DType dtype, const Shape& shape, Data data);
ir::NodeRef dense_leaf(Rng& rng, DType dtype, const Shape& shape, Data data);
ir::NodeRef random_indices(Rng& rng, const Shape& shape, std::int64_t below);  // i64, each in [0, below)

// The words as a dense Buffer.
ir::NodeRef words_leaf(DType dtype, const Shape& shape, const std::vector<Word>& words);

}  // namespace weft::testing
