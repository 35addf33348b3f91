// weft/embedding.h: rows of a table, by index, and sums, means and maxima of bags of them.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>

namespace WEFT_API weft {

// Rows of weight [count, features]: an index of any shape gives […, features]. The row `padding` gets no gradient. With max_norm,
// rows that are used and longer than it (as norm_type measures) are shortened first, in place. With scale_grad_by_freq a row's
// gradient is divided by how often it is used.
//
//     embedding(weight, tensor({3, 1, 4}));     // f32[3, features]
struct EmbeddingOptions {
    std::optional<double> max_norm = {};
    double norm_type = 2;
    bool scale_grad_by_freq = false;
};
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<std::int64_t> padding = {},
                 const EmbeddingOptions& options = {});

// One row for each bag of rows: index [bags, size], or an index of one axis and where each bag begins in it. Rows of the padding
// do not count; an empty bag is 0. With include_last_offset the last offset is only an end.
//
//     embedding_bag(weight, tensor({1, 2, 4, 5}), tensor({0, 3}), {.mode = BagMode::Sum});
enum class BagMode : std::uint8_t { Sum, Mean, Max };
struct EmbeddingBagOptions {
    BagMode mode = BagMode::Mean;
    Tensor per_sample_weights = {};  // of index's shape: factors, for sums
    bool include_last_offset = false;
    std::optional<std::int64_t> padding = {};
    EmbeddingOptions rows = {};
};
Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets = {},
                     const EmbeddingBagOptions& options = {});

}  // namespace weft
