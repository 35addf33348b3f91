// weft/nn/recurrent.h: recurrent layers, and their cells for a loop of one's own. Parameters are uniform in ±1/√hidden.
#pragma once

#include <weft/api.h>
#include <weft/nn/module.h>
#include <weft/recurrent.h>

#include <optional>
#include <string_view>

namespace WEFT_API weft {
namespace nn {

struct RecurrentSettings {
    int layers = 1;
    bool bias = true, batch_first = false;
    double dropout = 0;
    bool bidirectional = false;
    std::int64_t proj_size = 0;                      // of LSTM: h is projected to this size
    Nonlinearity nonlinearity = Nonlinearity::Tanh;  // of RNN
    std::optional<Device> device = {};               // of the parameters; none: default_device()
};

// x [time, n, in] (see weft/recurrent.h) to the outputs and the last state.
//
//     nn::LSTM lstm(32, 64, {.layers = 2});
//     const auto [output, h, c] = lstm.run(x);
class Recurrent : public Module {
public:
    virtual RecurrentResult run(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) = 0;
    Tensor forward(const Tensor& x) override { return run(x).output; }

    std::vector<CellWeights> cells;  // layer 0, layer 0 backwards, layer 1 …: weight_ih_l0, weight_hh_l0, bias_ih_l0 …
    const RecurrentSettings settings;

protected:
    Recurrent(std::string_view name, int gates, std::int64_t in, std::int64_t hidden,
              const RecurrentSettings& settings);
    RecurrentOptions options() const;
};
class RNN : public Recurrent {
public:
    RNN(std::int64_t in, std::int64_t hidden, const RecurrentSettings& settings = {})
        : Recurrent("RNN", 1, in, hidden, settings) {}
    RecurrentResult run(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) override;
};
class GRU : public Recurrent {
public:
    GRU(std::int64_t in, std::int64_t hidden, const RecurrentSettings& settings = {})
        : Recurrent("GRU", 3, in, hidden, settings) {}
    RecurrentResult run(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) override;
};
class LSTM : public Recurrent {
public:
    LSTM(std::int64_t in, std::int64_t hidden, const RecurrentSettings& settings = {})
        : Recurrent("LSTM", 4, in, hidden, settings) {}
    RecurrentResult run(const Tensor& x, const Tensor& h = {}, const Tensor& c = {}) override;
};

struct CellSettings {
    bool bias = true;
    Nonlinearity nonlinearity = Nonlinearity::Tanh;  // of RNNCell
    std::optional<Device> device = {};               // of the parameters; none: default_device()
};

// One step: x [n, in] and h [n, hidden] to the next h.
class RecurrentCell : public Module {
public:
    CellWeights weights;  // weight_ih, weight_hh, bias_ih, bias_hh

protected:
    RecurrentCell(std::string_view name, int gates, std::int64_t in, std::int64_t hidden, const CellSettings& settings);
};
class RNNCell : public RecurrentCell {
public:
    RNNCell(std::int64_t in, std::int64_t hidden, const CellSettings& settings = {})
        : RecurrentCell("RNNCell", 1, in, hidden, settings), nonlinearity(settings.nonlinearity) {}
    Tensor operator()(const Tensor& x, const Tensor& h) { return rnn_cell(x, h, weights, nonlinearity); }
    const Nonlinearity nonlinearity;
};
class GRUCell : public RecurrentCell {
public:
    GRUCell(std::int64_t in, std::int64_t hidden, const CellSettings& settings = {})
        : RecurrentCell("GRUCell", 3, in, hidden, settings) {}
    Tensor operator()(const Tensor& x, const Tensor& h) { return gru_cell(x, h, weights); }
};
class LSTMCell : public RecurrentCell {
public:
    LSTMCell(std::int64_t in, std::int64_t hidden, const CellSettings& settings = {})
        : RecurrentCell("LSTMCell", 4, in, hidden, settings) {}
    std::pair<Tensor, Tensor> operator()(const Tensor& x, const Tensor& h, const Tensor& c) {
        return lstm_cell(x, h, c, weights);
    }
};

}  // namespace nn
}  // namespace weft
