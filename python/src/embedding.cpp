// python/src/embedding.cpp: rows of a table, and bags of them, of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/embedding.h>

namespace weft::python {

void bind_embedding(nb::module_& f) {
    function(f, "embedding",
             "input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False",
             "Rows of weight, by index; one row may get no gradient. Gradients are dense.",
             [](const Tensor& index, const Tensor& weight, std::optional<std::int64_t> padding,
                std::optional<double> max_norm, double norm_type, bool scale, bool) {
                 return embedding(weight, index, padding,
                                  {.max_norm = max_norm, .norm_type = norm_type, .scale_grad_by_freq = scale});
             });
    function(
        f, "embedding_bag",
        "input, weight, offsets=None, max_norm=None, norm_type=2, scale_grad_by_freq=False, mode='mean', sparse=False, "
        "per_sample_weights=None, include_last_offset=False, padding_idx=None",
        "Sums, means or maxima ('sum', 'mean', 'max') of bags of rows: input [bags, size], or where each bag begins.",
        [](const Tensor& index, const Tensor& weight, const MaybeTensor& offsets, std::optional<double> max_norm,
           double norm_type, bool scale, std::string_view mode, bool, const MaybeTensor& factors, bool include_last,
           std::optional<std::int64_t> padding) {
            if (mode != "sum" && mode != "mean" && mode != "max")
                throw ValueError("embedding_bag(): argument 'mode' must be 'sum', 'mean' or 'max', not '" +
                                 std::string(mode) + "'");
            return embedding_bag(weight, index, offsets.tensor,
                                 {.mode = mode == "sum"    ? BagMode::Sum
                                          : mode == "mean" ? BagMode::Mean
                                                           : BagMode::Max,
                                  .per_sample_weights = factors.tensor,
                                  .include_last_offset = include_last,
                                  .padding = padding,
                                  .rows = {.max_norm = max_norm, .norm_type = norm_type, .scale_grad_by_freq = scale}});
        });
}

}  // namespace weft::python
