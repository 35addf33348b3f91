// weft/nn/attention.h: attention in several heads, and the encoder of a transformer.
#pragma once

#include <weft/api.h>
#include <weft/attention.h>
#include <weft/nn/linear.h>
#include <weft/nn/norm.h>

#include <functional>
#include <memory>
#include <optional>

namespace WEFT_API weft {
namespace nn {

struct MultiheadSettings {
    double dropout = 0;
    bool bias = true, add_bias_kv = false, add_zero_attn = false;
    std::int64_t kdim = 0, vdim = 0;  // 0: as embed
    bool batch_first = false;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

// Query [L, n, embed], key [S, n, kdim] and value [S, n, vdim] (with batch_first: [n, L, embed] …) to [L, n, embed],
// and the weights.
//
//     nn::MultiheadAttention attention(256, 4, {.batch_first = true});
//     const auto [y, weights] = attention(x, x, x);
class MultiheadAttention : public Module {
public:
    MultiheadAttention(std::int64_t embed, std::int64_t heads, const MultiheadSettings& settings = {});

    // Of the options, dropout and add_zero_attn are the module's own.
    MultiheadResult operator()(const Tensor& query, const Tensor& key, const Tensor& value,
                               const MultiheadOptions& options = {});
    Tensor forward(const Tensor& x) override { return (*this)(x, x, x, {.need_weights = false}).output; }

    Tensor in_proj_weight;                               // [3 embed, embed], where kdim and vdim are embed
    Tensor q_proj_weight, k_proj_weight, v_proj_weight;  // else [embed, embed], [embed, kdim], [embed, vdim]
    Tensor in_proj_bias, bias_k, bias_v;                 // [3 embed], [1, 1, embed] twice
    Linear out_proj;
    const std::int64_t embed, heads;
    const MultiheadSettings settings;

private:
    MultiheadAttention(std::int64_t embed, std::int64_t heads, const MultiheadSettings& settings,
                       const DeviceScope& there);
};

struct TransformerSettings {
    std::int64_t dim_feedforward = 2048;
    double dropout = 0.1;
    std::function<Tensor(const Tensor&)> activation = [](const Tensor& x) { return relu(x); };
    double layer_norm_eps = 1e-5;
    bool batch_first = false, norm_first = false, bias = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

// Self attention and two linear layers, each with a normalised sum around it: [length, n, d_model] → the same.
struct EncoderMasks {
    Tensor mask = {}, key_padding_mask = {};  // as MultiheadOptions has them
    bool is_causal = false;
};
class TransformerEncoderLayer : public Module {
public:
    TransformerEncoderLayer(std::int64_t d_model, std::int64_t heads, const TransformerSettings& settings = {});
    Tensor operator()(const Tensor& x, const EncoderMasks& masks = {});
    Tensor forward(const Tensor& x) override { return (*this)(x); }

    const TransformerSettings settings;
    MultiheadAttention self_attn;
    Linear linear1;
    Dropout dropout;
    Linear linear2;
    LayerNorm norm1, norm2;
    Dropout dropout1, dropout2;

private:
    TransformerEncoderLayer(std::int64_t d_model, std::int64_t heads, const TransformerSettings& settings,
                            const DeviceScope& there);
    Tensor attend(const Tensor& x, const EncoderMasks& masks);
    Tensor feed_forward(const Tensor& x);
};

// So many of these layers, and a norm at the end where norm_at_end says so.
class TransformerEncoder : public Module {
public:
    TransformerEncoder(std::int64_t d_model, std::int64_t heads, int layers, const TransformerSettings& settings = {},
                       bool norm_at_end = false);
    Tensor operator()(const Tensor& x, const EncoderMasks& masks = {});
    Tensor forward(const Tensor& x) override { return (*this)(x); }
    ModuleList layers;
    std::unique_ptr<LayerNorm> norm;  // or null
};

}  // namespace nn
}  // namespace weft
