// weft/attention.h: attention: every query takes a mean of the values, weighted by how well their keys fit it.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>

namespace WEFT_API weft {

// softmax(query keyᵀ * scale + mask) value: query […, L, E], key […, S, E], value […, S, Ev] give […, L, Ev]. A mask of
// bools says which keys a query sees, a mask of floats is added; both broadcast to […, L, S]. A query that sees nothing
// gets zeros.
//
//     scaled_dot_product_attention(q, k, v, {.is_causal = true});
struct AttentionOptions {
    Tensor mask = {};
    double dropout = 0;                // of the weights; for training only
    bool is_causal = false;            // query i sees the keys 0 … i
    std::optional<double> scale = {};  // none: 1 / sqrt(E)
    bool enable_gqa = false;           // several heads of queries (axis -3) share a head of keys and values
};
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options = {});

// Attention in several heads: projects query [L, n, embed], key [S, n, kdim] and value [S, n, vdim], splits them into
// heads, attends in each, joins the heads and projects again. All three may come without the batch axis n.
struct MultiheadWeights {
    Tensor in_proj;            // [3 embed, embed]: of query, key and value; undefined if the three are given one by one
    Tensor query, key, value;  // [embed, embed], [embed, kdim], [embed, vdim]
    Tensor in_bias;            // [3 embed], or undefined
    Tensor bias_key, bias_value;  // [1, 1, embed]: one more key and value for everybody, or undefined
    Tensor out, out_bias;         // [embed, embed], [embed] or undefined
};
struct MultiheadOptions {
    Tensor key_padding_mask = {};  // [n, S]: true, or -infinity, where a key counts nothing
    Tensor attn_mask =
        {};  // [L, S] or [n * heads, L, S]: true where a query does not see a key, or added to the scores
    bool need_weights = true, average_attn_weights = true;
    double dropout = 0;
    bool add_zero_attn = false;  // one more key and value of zeros
    bool is_causal = false;      // a hint: attn_mask is the causal mask
};
struct MultiheadResult {
    Tensor output;   // as query
    Tensor weights;  // [n, L, S], or [n, heads, L, S] if they are not averaged; undefined if they are not needed
};
MultiheadResult multi_head_attention(const Tensor& query, const Tensor& key, const Tensor& value, std::int64_t heads,
                                     const MultiheadWeights& weights, const MultiheadOptions& options = {});

}  // namespace weft
