// weft/recurrent.h: recurrent networks: one step of a cell, and whole sequences in several layers and both directions.
// The loop over time is written out into the graph; the products with the inputs are one product for all times.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <span>
#include <utility>

namespace WEFT_API weft {

// ---- one step --------------------------------------------------------------------------------------------------------
// x is [n, in] and h [n, hidden], or both without n; weights are [gates * hidden, in] and [gates * hidden, hidden].

enum class Nonlinearity : std::uint8_t { Tanh, Relu };

// The weights of one cell. Biases may be undefined; `projection` [projected, hidden] is for lstm only.
struct CellWeights {
    Tensor input, hidden, input_bias, hidden_bias, projection = {};
};

Tensor rnn_cell(const Tensor& x, const Tensor& h, const CellWeights& weights,
                Nonlinearity nonlinearity = Nonlinearity::Tanh);
Tensor gru_cell(const Tensor& x, const Tensor& h, const CellWeights& weights);
std::pair<Tensor, Tensor> lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c, const CellWeights& weights);

// ---- sequences -------------------------------------------------------------------------------------------------------

// x [time, n, in] (or [n, time, in], or [time, in]) gives an output [time, n, directions * hidden] and the last h of
// every layer and direction, [layers * directions, n, hidden]. `weights` has a cell for each: layer 0 forward, layer 0
// backward, layer 1 forward … An undefined h (or c) starts from zeros.
//
//     const auto [output, h, c] = lstm(x, {}, {}, cells, {.layers = 2});
struct RecurrentOptions {
    int layers = 1;
    bool bidirectional = false, batch_first = false;
    double dropout = 0;  // between layers, in training
    bool training = false;
    // Bools [time, n]: whether a sequence goes on at a time. Elsewhere its state stays as it is, so that sequences of several
    // lengths share one loop over time. Undefined: all do.
    Tensor valid = {};
};
struct RecurrentResult {
    Tensor output, h, c;  // c: of lstm
};
RecurrentResult rnn(const Tensor& x, const Tensor& h, std::span<const CellWeights> weights,
                    const RecurrentOptions& options = {}, Nonlinearity nonlinearity = Nonlinearity::Tanh);
RecurrentResult gru(const Tensor& x, const Tensor& h, std::span<const CellWeights> weights,
                    const RecurrentOptions& options = {});
RecurrentResult lstm(const Tensor& x, const Tensor& h, const Tensor& c, std::span<const CellWeights> weights,
                     const RecurrentOptions& options = {});

}  // namespace weft
