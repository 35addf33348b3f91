// nn/attention.cpp: attention in several heads, and the encoder of a transformer.
#include "nn/start.h"

#include <weft/error.h>
#include <weft/init.h>
#include <weft/nn/attention.h>
#include <weft/ops.h>

namespace weft::nn {
namespace {

Tensor xavier_uniform(const Shape& shape) { return init::xavier_uniform_(zeros(shape)); }

}  // namespace

// The scope is an argument, so that it is there before the children are made.
MultiheadAttention::MultiheadAttention(std::int64_t embed_size, std::int64_t head_count, const MultiheadSettings& s)
    : MultiheadAttention(embed_size, head_count, s, made_on(s.device)) {}

MultiheadAttention::MultiheadAttention(std::int64_t embed_size, std::int64_t head_count, const MultiheadSettings& s,
                                       const DeviceScope& /*there*/)
    : out_proj(embed_size, embed_size, s.bias), embed(embed_size), heads(head_count), settings(s) {
    check_positive("MultiheadAttention", {heads});
    if (embed % heads != 0)
        throw ValueError("MultiheadAttention: " + std::to_string(embed) + " features cannot be divided into " +
                         std::to_string(heads) + " heads");
    const std::int64_t keys = s.kdim ? s.kdim : embed, values = s.vdim ? s.vdim : embed;
    if (keys == embed && values == embed) {
        in_proj_weight = xavier_uniform({3 * embed, embed});
    } else {
        q_proj_weight = xavier_uniform({embed, embed});
        k_proj_weight = xavier_uniform({embed, keys});
        v_proj_weight = xavier_uniform({embed, values});
    }
    if (s.bias) {
        in_proj_bias = zeros({3 * embed});
        const NoGrad no_grad;
        out_proj.bias.fill_(0);
    }
    if (s.add_bias_kv) {
        bias_k = init::xavier_normal_(zeros({1, 1, embed}));
        bias_v = init::xavier_normal_(zeros({1, 1, embed}));
    }
    parameter("q_proj_weight", q_proj_weight);
    parameter("k_proj_weight", k_proj_weight);
    parameter("v_proj_weight", v_proj_weight);
    parameter("in_proj_weight", in_proj_weight);
    parameter("in_proj_bias", in_proj_bias);
    parameter("bias_k", bias_k);
    parameter("bias_v", bias_v);
    child("out_proj", out_proj);
}

MultiheadResult MultiheadAttention::operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                                               const MultiheadOptions& given) {
    MultiheadOptions options = given;
    options.dropout = training() ? settings.dropout : 0;
    options.add_zero_attn = settings.add_zero_attn;
    const MultiheadWeights weights{.in_proj = in_proj_weight,
                                   .query = q_proj_weight,
                                   .key = k_proj_weight,
                                   .value = v_proj_weight,
                                   .in_bias = in_proj_bias,
                                   .bias_key = bias_k,
                                   .bias_value = bias_v,
                                   .out = out_proj.weight,
                                   .out_bias = out_proj.bias};
    if (!settings.batch_first || query.rank() != 3)
        return multi_head_attention(query, key, value, heads, weights, options);
    const bool same = query.cell() == key.cell() && key.cell() == value.cell();
    const Tensor q = query.transpose(0, 1);
    if (!same && (key.rank() != 3 || value.rank() != 3))
        return multi_head_attention(query, key, value, heads, weights, options);  // which says what is wrong
    const MultiheadResult result = multi_head_attention(q, same ? q : key.transpose(0, 1),
                                                        same ? q : value.transpose(0, 1), heads, weights, options);
    return {result.output.transpose(0, 1), result.weights};
}

// ---- the encoder -----------------------------------------------------------------------------------------------------

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t heads, const TransformerSettings& s)
    : TransformerEncoderLayer(d_model, heads, s, made_on(s.device)) {}

TransformerEncoderLayer::TransformerEncoderLayer(std::int64_t d_model, std::int64_t heads, const TransformerSettings& s,
                                                 const DeviceScope& /*there*/)
    : settings(s),
      self_attn(d_model, heads, {.dropout = s.dropout, .bias = s.bias, .batch_first = s.batch_first}),
      linear1(d_model, s.dim_feedforward, s.bias),
      dropout(s.dropout),
      linear2(s.dim_feedforward, d_model, s.bias),
      norm1({d_model}, s.layer_norm_eps, true, s.bias),
      norm2({d_model}, s.layer_norm_eps, true, s.bias),
      dropout1(s.dropout),
      dropout2(s.dropout) {
    child("self_attn", self_attn);
    child("linear1", linear1);
    child("dropout", dropout);
    child("linear2", linear2);
    child("norm1", norm1);
    child("norm2", norm2);
    child("dropout1", dropout1);
    child("dropout2", dropout2);
}

Tensor TransformerEncoderLayer::attend(const Tensor& x, const EncoderMasks& masks) {
    const MultiheadOptions options{.key_padding_mask = masks.key_padding_mask,
                                   .attn_mask = masks.mask,
                                   .need_weights = false,
                                   .is_causal = masks.is_causal};
    return dropout1(self_attn(x, x, x, options).output);
}

Tensor TransformerEncoderLayer::feed_forward(const Tensor& x) {
    return dropout2(linear2(dropout(settings.activation(linear1(x)))));
}

Tensor TransformerEncoderLayer::operator()(const Tensor& input, const EncoderMasks& masks) {
    if (settings.norm_first) {
        const Tensor x = input + attend(norm1(input), masks);
        return x + feed_forward(norm2(x));
    }
    const Tensor x = norm1(input + attend(input, masks));
    return norm2(x + feed_forward(x));
}

TransformerEncoder::TransformerEncoder(std::int64_t d_model, std::int64_t heads, int count,
                                       const TransformerSettings& settings, bool norm_at_end) {
    check_positive("TransformerEncoder", {count});
    const DeviceScope there = made_on(settings.device);
    for (int i = 0; i < count; ++i) layers.add<TransformerEncoderLayer>(d_model, heads, settings);
    child("layers", layers);
    if (!norm_at_end) return;
    norm = std::make_unique<LayerNorm>(Shape{d_model},
                                       LayerNormSettings{.eps = settings.layer_norm_eps, .bias = settings.bias});
    child("norm", *norm);
}

Tensor TransformerEncoder::operator()(const Tensor& input, const EncoderMasks& masks) {
    Tensor x = input;
    for (std::size_t i = 0; i < layers.size(); ++i) x = static_cast<TransformerEncoderLayer&>(layers[i])(x, masks);
    return norm ? (*norm)(x) : x;
}

}  // namespace weft::nn
