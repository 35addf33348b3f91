// nn/recurrent.cpp: recurrent layers and cells: their parameters, under PyTorch's names.
#include "nn/start.h"

#include <weft/error.h>
#include <weft/nn/recurrent.h>

namespace weft::nn {
namespace {

CellWeights new_cell(int gates, std::int64_t in, std::int64_t hidden, std::int64_t output, bool bias) {
    const auto start = [&](const Shape& shape) { return fan_in_uniform(shape, hidden); };
    CellWeights w{.input = start({gates * hidden, in}), .hidden = start({gates * hidden, output})};
    if (bias) {
        w.input_bias = start({gates * hidden});
        w.hidden_bias = start({gates * hidden});
    }
    if (output != hidden) w.projection = start({output, hidden});
    return w;
}

}  // namespace

Recurrent::Recurrent(std::string_view name, int gates, std::int64_t in, std::int64_t hidden, const RecurrentSettings& s)
    : settings(s) {
    const DeviceScope there = made_on(s.device);
    check_positive(name, {in, hidden, s.layers});
    if (s.proj_size < 0 || s.proj_size >= hidden || (s.proj_size > 0 && gates != 4))
        throw ValueError(std::string(name) + ": proj_size " + std::to_string(s.proj_size) +
                         " is for LSTM only, and must be smaller than the hidden size");
    if (!(s.dropout >= 0 && s.dropout <= 1))
        throw ValueError(std::string(name) + ": the dropout " + std::to_string(s.dropout) + " must be from 0 to 1");
    const int directions = s.bidirectional ? 2 : 1;
    const std::int64_t output = s.proj_size ? s.proj_size : hidden;
    for (int layer = 0; layer < s.layers; ++layer)
        for (int side = 0; side < directions; ++side)
            cells.push_back(new_cell(gates, layer == 0 ? in : output * directions, hidden, output, s.bias));
    for (std::size_t i = 0; i < cells.size(); ++i) {  // only now: the module knows its parameters by address
        const std::string end =
            "_l" + std::to_string(i / static_cast<std::size_t>(directions)) + (i % directions == 1 ? "_reverse" : "");
        parameter("weight_ih" + end, cells[i].input);
        parameter("weight_hh" + end, cells[i].hidden);
        parameter("bias_ih" + end, cells[i].input_bias);
        parameter("bias_hh" + end, cells[i].hidden_bias);
        parameter("weight_hr" + end, cells[i].projection);
    }
}

RecurrentOptions Recurrent::options() const {
    return {.layers = settings.layers,
            .bidirectional = settings.bidirectional,
            .batch_first = settings.batch_first,
            .dropout = settings.dropout,
            .training = training()};
}

RecurrentResult RNN::run(const Tensor& x, const Tensor& h, const Tensor&) {
    return rnn(x, h, cells, options(), settings.nonlinearity);
}
RecurrentResult GRU::run(const Tensor& x, const Tensor& h, const Tensor&) { return gru(x, h, cells, options()); }
RecurrentResult LSTM::run(const Tensor& x, const Tensor& h, const Tensor& c) { return lstm(x, h, c, cells, options()); }

RecurrentCell::RecurrentCell(std::string_view name, int gates, std::int64_t in, std::int64_t hidden,
                             const CellSettings& settings) {
    check_positive(name, {in, hidden});
    const DeviceScope there = made_on(settings.device);
    weights = new_cell(gates, in, hidden, hidden, settings.bias);
    parameter("weight_ih", weights.input);
    parameter("weight_hh", weights.hidden);
    parameter("bias_ih", weights.input_bias);
    parameter("bias_hh", weights.hidden_bias);
}

}  // namespace weft::nn
