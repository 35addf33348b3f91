// python/src/sequences.cpp: attention and recurrent networks of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/attention.h>
#include <weft/recurrent.h>

namespace weft::python {

namespace {

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

// Cells from a flat list: input, hidden, their biases and the projection of each, or None.
std::vector<CellWeights> cells_of(const std::vector<MaybeTensor>& flat) {
    std::vector<CellWeights> cells;
    for (std::size_t i = 0; i + 5 <= flat.size(); i += 5)
        cells.push_back(
            {flat[i].tensor, flat[i + 1].tensor, flat[i + 2].tensor, flat[i + 3].tensor, flat[i + 4].tensor});
    return cells;
}

Nonlinearity nonlinearity_of(std::string_view name) {
    if (name != "tanh" && name != "relu")
        throw ValueError("rnn(): argument 'nonlinearity' must be 'tanh' or 'relu', not '" + std::string(name) + "'");
    return name == "tanh" ? Nonlinearity::Tanh : Nonlinearity::Relu;
}

std::vector<Tensor> parts_of(const RecurrentResult& result) { return {result.output, result.h, result.c}; }

void bind_recurrent(nb::module_& f) {
    constexpr const char* kDoc =
        "The outputs and the last state of a recurrent network; `weights` has five entries per cell.";
    function(
        f, "_rnn", "input, h, weights, layers, bidirectional, batch_first, dropout, training, valid, nonlinearity", kDoc,
        [](const Tensor& x, const MaybeTensor& h, const std::vector<MaybeTensor>& weights, int layers,
           bool bidirectional, bool batch_first, double dropout, bool training, const MaybeTensor& valid,
           std::string_view nonlinearity) {
            return parts_of(rnn(x, h.tensor, cells_of(weights), {layers, bidirectional, batch_first, dropout, training, valid.tensor},
                                nonlinearity_of(nonlinearity)));
        });
    function(f, "_gru", "input, h, weights, layers, bidirectional, batch_first, dropout, training, valid", kDoc,
             [](const Tensor& x, const MaybeTensor& h, const std::vector<MaybeTensor>& weights, int layers,
                bool bidirectional, bool batch_first, double dropout, bool training, const MaybeTensor& valid) {
                 return parts_of(
                     gru(x, h.tensor, cells_of(weights), {layers, bidirectional, batch_first, dropout, training, valid.tensor}));
             });
    function(f, "_lstm", "input, h, c, weights, layers, bidirectional, batch_first, dropout, training, valid", kDoc,
             [](const Tensor& x, const MaybeTensor& h, const MaybeTensor& c, const std::vector<MaybeTensor>& weights,
                int layers, bool bidirectional, bool batch_first, double dropout, bool training, const MaybeTensor& valid) {
                 return parts_of(lstm(x, h.tensor, c.tensor, cells_of(weights),
                                      {layers, bidirectional, batch_first, dropout, training, valid.tensor}));
             });
}

void bind_cells(nb::module_& f) {
    constexpr const char* kDoc = "One step of a recurrent network.";
    function(f, "_rnn_cell", "input, h, w_ih, w_hh, b_ih, b_hh, nonlinearity", kDoc,
             [](const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const MaybeTensor& b_ih,
                const MaybeTensor& b_hh, std::string_view nonlinearity) {
                 return rnn_cell(x, h, {w_ih, w_hh, b_ih.tensor, b_hh.tensor}, nonlinearity_of(nonlinearity));
             });
    function(f, "_gru_cell", "input, h, w_ih, w_hh, b_ih, b_hh", kDoc,
             [](const Tensor& x, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const MaybeTensor& b_ih,
                const MaybeTensor& b_hh) {
                 return gru_cell(x, h, {w_ih, w_hh, b_ih.tensor, b_hh.tensor});
             });
    function(f, "_lstm_cell", "input, h, c, w_ih, w_hh, b_ih, b_hh", kDoc,
             [](const Tensor& x, const Tensor& h, const Tensor& c, const Tensor& w_ih, const Tensor& w_hh,
                const MaybeTensor& b_ih, const MaybeTensor& b_hh) {
                 const auto [next_h, next_c] = lstm_cell(x, h, c, {w_ih, w_hh, b_ih.tensor, b_hh.tensor});
                 return std::vector<Tensor>{next_h, next_c};
             });
}

}  // namespace

void bind_sequences(nb::module_& f) {
    bind_attention(f);
    bind_recurrent(f);
    bind_cells(f);
}

}  // namespace weft::python
