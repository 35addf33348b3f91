// python/src/recurrent.cpp: recurrent networks of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/recurrent.h>

namespace weft::python {

namespace {

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

void bind_sequences(nb::module_& f) {
    constexpr const char* kDoc =
        "The outputs and the last state of a recurrent network; `weights` has five entries per cell.";
    function(f, "_rnn", "input, h, weights, layers, bidirectional, batch_first, dropout, training, valid, nonlinearity",
             kDoc,
             [](const Tensor& x, const MaybeTensor& h, const std::vector<MaybeTensor>& weights, int layers,
                bool bidirectional, bool batch_first, double dropout, bool training, const MaybeTensor& valid,
                std::string_view nonlinearity) {
                 return parts_of(rnn(x, h.tensor, cells_of(weights),
                                     {layers, bidirectional, batch_first, dropout, training, valid.tensor},
                                     nonlinearity_of(nonlinearity)));
             });
    function(f, "_gru", "input, h, weights, layers, bidirectional, batch_first, dropout, training, valid", kDoc,
             [](const Tensor& x, const MaybeTensor& h, const std::vector<MaybeTensor>& weights, int layers,
                bool bidirectional, bool batch_first, double dropout, bool training, const MaybeTensor& valid) {
                 return parts_of(gru(x, h.tensor, cells_of(weights),
                                     {layers, bidirectional, batch_first, dropout, training, valid.tensor}));
             });
    function(
        f, "_lstm", "input, h, c, weights, layers, bidirectional, batch_first, dropout, training, valid", kDoc,
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

void bind_recurrent(nb::module_& f) {
    bind_sequences(f);
    bind_cells(f);
}

}  // namespace weft::python
