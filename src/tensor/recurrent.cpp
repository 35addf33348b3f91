// tensor/recurrent.cpp: recurrent cells and sequences. Time is a loop in C++ that writes the graph; what does not
// depend on the state, the product with the inputs, is one product for all times.
#include "tensor/check.h"

#include <weft/ops.h>

namespace weft {
namespace {

struct State {
    Tensor h, c;
};

// One step from the input's share of the gates ([n, gates * hidden], bias included) and the state.
using Step = State (*)(const Tensor& gates, const State& state, const CellWeights& weights);

Tensor gate(const Tensor& gates, int i, std::int64_t hidden) { return gates.narrow(-1, i * hidden, hidden); }

Tensor from_state(const Tensor& h, const CellWeights& w) { return linear(h, w.hidden, w.hidden_bias); }

State tanh_step(const Tensor& gates, const State& state, const CellWeights& w) {
    return {tanh(gates + from_state(state.h, w)), {}};
}

State relu_step(const Tensor& gates, const State& state, const CellWeights& w) {
    return {relu(gates + from_state(state.h, w)), {}};
}

State gru_step(const Tensor& gates, const State& state, const CellWeights& w) {
    const std::int64_t hidden = w.hidden.size(1);
    const Tensor own = from_state(state.h, w);
    const Tensor reset = sigmoid(gate(gates, 0, hidden) + gate(own, 0, hidden));
    const Tensor update = sigmoid(gate(gates, 1, hidden) + gate(own, 1, hidden));
    const Tensor fresh = tanh(gate(gates, 2, hidden) + reset * gate(own, 2, hidden));
    return {fresh + update * (state.h - fresh), {}};
}

State lstm_step(const Tensor& gates, const State& state, const CellWeights& w) {
    const std::int64_t hidden = w.hidden.size(0) / 4;
    const Tensor all = gates + from_state(state.h, w);
    const Tensor in = sigmoid(gate(all, 0, hidden)), forget = sigmoid(gate(all, 1, hidden));
    const Tensor fresh = tanh(gate(all, 2, hidden)), out = sigmoid(gate(all, 3, hidden));
    const Tensor c = forget * state.c + in * fresh, h = out * tanh(c);
    return {w.projection.defined() ? linear(h, w.projection) : h, c};
}

struct Kind {
    std::string_view name;
    Step step;
    int gates;
    bool has_cell = false;
};
constexpr Kind kTanh{"rnn", tanh_step, 1}, kRelu{"rnn", relu_step, 1}, kGru{"gru", gru_step, 3},
    kLstm{"lstm", lstm_step, 4, true};

const Kind& kind_of(Nonlinearity nonlinearity) { return nonlinearity == Nonlinearity::Tanh ? kTanh : kRelu; }

std::int64_t hidden_size(const CellWeights& w, const Kind& kind) { return w.hidden.size(0) / kind.gates; }
std::int64_t output_size(const CellWeights& w) { return w.hidden.size(1); }

void check_weights(const Checker& check, const CellWeights& w, const Kind& kind, std::int64_t features) {
    check.that(w.input.rank() == 2 && w.hidden.rank() == 2 && w.input.size(0) == w.hidden.size(0) &&
                   w.hidden.size(0) % kind.gates == 0,
               "the weights of a cell must be [gates * hidden, in] and [gates * hidden, hidden]");
    check.that(w.input.size(1) == features, "the input has ", features, " features, the weights take ",
               w.input.size(1));
    const std::int64_t hidden = hidden_size(w, kind);
    if (w.projection.defined())
        check.that(w.projection.shape() == Shape{output_size(w), hidden}, "the projection must be [", output_size(w),
                   ", ", hidden, "]");
    else check.that(output_size(w) == hidden, "the hidden weight must be [", kind.gates * hidden, ", ", hidden, "]");
}

// ---- sequences -------------------------------------------------------------------------------------------------------

struct Pass {
    std::vector<Tensor> outputs;  // one for each time, [n, hidden]
    State last;
};

// The state after a step, of those sequences that go on (bools [n]); of the others the one before.
State kept_state(const Tensor& goes_on, const State& next, const State& before) {
    const Tensor rows = goes_on.unsqueeze(-1);
    return {where(rows, next.h, before.h), next.c.defined() ? where(rows, next.c, before.c) : Tensor()};
}

Pass run_direction(const Tensor& x, State state, const CellWeights& w, const Kind& kind, const Tensor& valid,
                   bool backwards) {
    const Tensor gates = linear(x, w.input, w.input_bias);  // [time, n, gates * hidden]
    const std::int64_t times = x.size(0);
    Pass pass{.outputs = std::vector<Tensor>(static_cast<std::size_t>(times)), .last = {}};
    for (std::int64_t i = 0; i < times; ++i) {
        const std::int64_t t = backwards ? times - 1 - i : i;
        const State next = kind.step(gates[t], state, w);
        state = valid.defined() ? kept_state(valid[t], next, state) : next;
        pass.outputs[static_cast<std::size_t>(t)] = state.h;
    }
    pass.last = state;
    return pass;
}

RecurrentResult sequence(const Kind& kind, const Tensor& x, const Tensor& h, const Tensor& c,
                         std::span<const CellWeights> weights, const RecurrentOptions& options) {
    const Checker check(kind.name, {{"x", x}, {"h", h, kOptional}, {"c", c, kOptional}});
    const bool batched = x.rank() == 3;
    check.that(batched || x.rank() == 2,
               "x must be [time, n, features], [n, time, features] with batch_first, or "
               "[time, features]");
    const std::size_t directions = options.bidirectional ? 2 : 1, layers = static_cast<std::size_t>(options.layers);
    check.value(options.layers > 0 && weights.size() == layers * directions, "there are ", weights.size(),
                " cells, not ", layers * directions);
    Tensor input = !batched ? x.unsqueeze(1) : options.batch_first ? x.transpose(0, 1) : x;
    check.that(input.size(0) > 0, "a sequence needs one element at least");
    check.that(!options.valid.defined() ||
                   (is_bool(options.valid.dtype()) && options.valid.shape() == Shape{input.size(0), input.size(1)}),
               "valid must be bools of the shape [", input.size(0), ", ", input.size(1), "]");
    const auto start = [&](const Tensor& given, const char* name, std::int64_t size) {
        const Shape wanted = {static_cast<std::int64_t>(weights.size()), input.size(1), size};
        if (!given.defined()) return zeros(wanted, x.dtype());
        const Tensor all = batched || given.rank() != 2 ? given : given.unsqueeze(1);
        check.that(all.shape() == wanted && (batched || given.rank() == 2), name, " must have the shape ",
                   batched ? wanted : Shape{wanted[0], wanted[2]});
        return all;
    };
    check_weights(check, weights[0], kind, input.size(-1));
    const Tensor first_h = start(h, "h", output_size(weights[0]));
    const Tensor first_c = kind.has_cell ? start(c, "c", hidden_size(weights[0], kind)) : Tensor();
    std::vector<Tensor> last_h, last_c;
    for (std::size_t layer = 0; layer < layers; ++layer) {
        if (layer > 0) input = dropout(input, options.dropout, options.training);
        std::vector<Tensor> sides;  // [time, n, hidden], for each direction
        for (std::size_t side = 0; side < directions; ++side) {
            const std::size_t cell = layer * directions + side;
            check_weights(check, weights[cell], kind, input.size(-1));
            const std::int64_t at = static_cast<std::int64_t>(cell);
            const State state{first_h[at], kind.has_cell ? first_c[at] : Tensor()};
            const Pass pass = run_direction(input, state, weights[cell], kind, options.valid, side == 1);
            sides.push_back(stack(pass.outputs));
            last_h.push_back(pass.last.h);
            if (kind.has_cell) last_c.push_back(pass.last.c);
        }
        input = directions == 1 ? sides[0] : cat(sides, -1);
    }
    const auto finished = [&](const std::vector<Tensor>& parts) {
        const Tensor all = stack(parts);
        return batched ? all : all.squeeze(1);
    };
    const Tensor output = !batched ? input.squeeze(1) : options.batch_first ? input.transpose(0, 1) : input;
    return {output, finished(last_h), kind.has_cell ? finished(last_c) : Tensor()};
}

// ---- one step --------------------------------------------------------------------------------------------------------

State one_step(const Kind& kind, std::string_view name, const Tensor& x, const State& state, const CellWeights& w) {
    const Checker check(name, {{"x", x}, {"h", state.h}, {"c", state.c, kOptional}});
    check.that(x.rank() == 1 || x.rank() == 2, "x must be [n, features] or [features]");
    check_weights(check, w, kind, x.size(-1));
    Shape wanted = x.shape();
    wanted.back() = output_size(w);
    check.that(state.h.shape() == wanted, "h must have the shape ", wanted);
    wanted.back() = hidden_size(w, kind);
    check.that(!kind.has_cell || (state.c.defined() && state.c.shape() == wanted), "c must have the shape ", wanted);
    return kind.step(linear(x, w.input, w.input_bias), state, w);
}

}  // namespace

Tensor rnn_cell(const Tensor& x, const Tensor& h, const CellWeights& weights, Nonlinearity nonlinearity) {
    return one_step(kind_of(nonlinearity), "rnn_cell", x, {h, {}}, weights).h;
}

Tensor gru_cell(const Tensor& x, const Tensor& h, const CellWeights& weights) {
    return one_step(kGru, "gru_cell", x, {h, {}}, weights).h;
}

std::pair<Tensor, Tensor> lstm_cell(const Tensor& x, const Tensor& h, const Tensor& c, const CellWeights& weights) {
    const State state = one_step(kLstm, "lstm_cell", x, {h, c}, weights);
    return {state.h, state.c};
}

RecurrentResult rnn(const Tensor& x, const Tensor& h, std::span<const CellWeights> weights,
                    const RecurrentOptions& options, Nonlinearity nonlinearity) {
    return sequence(kind_of(nonlinearity), x, h, {}, weights, options);
}

RecurrentResult gru(const Tensor& x, const Tensor& h, std::span<const CellWeights> weights,
                    const RecurrentOptions& options) {
    return sequence(kGru, x, h, {}, weights, options);
}

RecurrentResult lstm(const Tensor& x, const Tensor& h, const Tensor& c, std::span<const CellWeights> weights,
                     const RecurrentOptions& options) {
    return sequence(kLstm, x, h, c, weights, options);
}

}  // namespace weft
