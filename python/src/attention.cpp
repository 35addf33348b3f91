// python/src/attention.cpp: attention of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/attention.h>

namespace weft::python {

void bind_attention(nb::module_& f) {
    function(f, "scaled_dot_product_attention",
             "query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False",
             "softmax(query keyᵀ * scale) value, with a mask that is added, or of bools that says what is seen.",
             [](const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& mask, double dropout,
                bool is_causal, std::optional<double> scale, bool enable_gqa) {
                 return scaled_dot_product_attention(query, key, value,
                                                     {.mask = mask.tensor,
                                                      .dropout = dropout,
                                                      .is_causal = is_causal,
                                                      .scale = scale,
                                                      .enable_gqa = enable_gqa});
             });
    function(
        f, "multi_head_attention_forward",
        "query, key, value, embed_dim_to_check, num_heads, in_proj_weight, in_proj_bias, bias_k, bias_v, "
        "add_zero_attn, dropout_p, out_proj_weight, out_proj_bias, training=True, key_padding_mask=None, "
        "need_weights=True, attn_mask=None, use_separate_proj_weight=False, q_proj_weight=None, "
        "k_proj_weight=None, v_proj_weight=None, average_attn_weights=True, is_causal=False",
        "Attention in several heads: the output and, if they are needed, the weights.",
        [](const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t embed, std::int64_t heads,
           const MaybeTensor& in_proj, const MaybeTensor& in_bias, const MaybeTensor& bias_k, const MaybeTensor& bias_v,
           bool add_zero_attn, double dropout, const Tensor& out, const MaybeTensor& out_bias, bool training,
           const MaybeTensor& padding_mask, bool need_weights, const MaybeTensor& attn_mask, bool separate,
           const MaybeTensor& q, const MaybeTensor& k, const MaybeTensor& v, bool average, bool is_causal) {
            if (query.size(-1) != embed)
                throw ShapeError("multi_head_attention_forward(): the query has " + std::to_string(query.size(-1)) +
                                 " features, not " + std::to_string(embed));
            const MultiheadResult result = multi_head_attention(query, key, value, heads,
                                                                {.in_proj = separate ? Tensor() : in_proj.tensor,
                                                                 .query = q.tensor,
                                                                 .key = k.tensor,
                                                                 .value = v.tensor,
                                                                 .in_bias = in_bias.tensor,
                                                                 .bias_key = bias_k.tensor,
                                                                 .bias_value = bias_v.tensor,
                                                                 .out = out,
                                                                 .out_bias = out_bias.tensor},
                                                                {.key_padding_mask = padding_mask.tensor,
                                                                 .attn_mask = attn_mask.tensor,
                                                                 .need_weights = need_weights,
                                                                 .average_attn_weights = average,
                                                                 .dropout = training ? dropout : 0,
                                                                 .add_zero_attn = add_zero_attn,
                                                                 .is_causal = is_causal});
            return std::vector<Tensor>{result.output, result.weights};
        });
}

}  // namespace weft::python
