// Layers: values in closed form, gradients against differences, names of parameters, and how many kernels they take.
#include "tests/nn/support.h"

#include <weft/debug.h>
#include <weft/nn.h>

#include <string>

using namespace weft;
using namespace weft::testing;

namespace {

std::vector<std::string> names(const nn::Module& module) {
    std::vector<std::string> result;
    for (const auto& [name, tensor] : module.state()) result.push_back(name);
    return result;
}
using Names = std::vector<std::string>;

void fill(nn::Module& module, double value) {
    const NoGrad no_grad;
    for (Tensor p : module.parameters()) p.fill_(value);
}

std::int64_t launches(const std::function<Tensor()>& f) {
    const CounterScope count;
    f().realize();
    return count.kernels_launched();
}

}  // namespace

// ---- gradients -------------------------------------------------------------------------------------------------------

TEST_CASE("gradients of convolutions") {
    const auto conv = [](const ConvOptions& o) {
        return [o](const Inputs& in) { return conv2d(in[0], in[1], in[2], o); };
    };
    check_gradients(conv({.stride = 2, .padding = 1}), {{1, 2, 4, 5}, {3, 2, 3, 2}, {3}});
    check_gradients(conv({.padding = kSame, .dilation = 2, .groups = 2}), {{1, 2, 4, 5}, {2, 1, 3, 2}, {2}});
    check_gradients([](const Inputs& in) { return conv3d(in[0], in[1], {}, {.padding = 1}); },
                    {{1, 1, 2, 3, 2}, {2, 1, 2, 2, 2}});
    const auto transposed = [](const ConvTransposeOptions& o) {
        return [o](const Inputs& in) { return conv_transpose2d(in[0], in[1], in[2], o); };
    };
    check_gradients(transposed({.stride = 2, .padding = 1, .output_padding = 1}), {{1, 2, 3, 2}, {2, 3, 3, 2}, {3}});
    check_gradients(transposed({.stride = {1, 3}, .groups = 2, .dilation = {2, 1}}), {{1, 2, 2, 3}, {2, 2, 2, 3}, {4}});
}

TEST_CASE("gradients of pools") {
    check_gradients(
        [](const Inputs& in) { return max_pool2d(in[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true}); },
        {{1, 2, 4, 5}});
    check_gradients(
        [](const Inputs& in) { return avg_pool2d(in[0], 3, {.stride = 2, .padding = 1, .ceil_mode = true}); },
        {{1, 2, 4, 5}});
    check_gradients([](const Inputs& in) { return adaptive_avg_pool2d(in[0], {3, 2}); }, {{1, 2, 4, 5}});
    check_gradients([](const Inputs& in) { return adaptive_max_pool2d(in[0], {3, 2}); }, {{1, 2, 4, 5}});
}

TEST_CASE("gradients of norms") {
    const auto norm = [](const Inputs& in) { return batch_norm(in[0], {}, {}, in[1], in[2], {.training = true}); };
    check_gradients(norm, {{3, 2, 4}, {2}, {2}});
    check_gradients([](const Inputs& in) { return instance_norm(in[0], {}, {}, in[1], in[2]); }, {{2, 2, 5}, {2}, {2}});
    check_gradients([](const Inputs& in) { return group_norm(in[0], 2, in[1], in[2]); }, {{2, 4, 3}, {4}, {4}});
    check_gradients([](const Inputs& in) { return rms_norm(in[0], {5}, in[1]); }, {{3, 5}, {5}});
}

TEST_CASE("gradients of activations") {
    using Activation = Tensor (*)(const Tensor&);
    const Activation all[] = {relu6,       selu,    silu,        mish,     hardswish,
                              hardsigmoid, sigmoid, log_sigmoid, softsign, tanhshrink};
    for (const Activation f : all) {
        CAPTURE(&f - all);
        check_gradients([f](const Inputs& in) { return f(in[0] * 4); }, {{11}}, 1e-5);
    }
    check_gradients([](const Inputs& in) { return celu(in[0] * 3, 0.7); }, {{9}});
    check_gradients([](const Inputs& in) { return softshrink(in[0], 0.3) + hardshrink(in[0], 0.3); }, {{9}});
    check_gradients([](const Inputs& in) { return threshold(in[0], 0.1, -2); }, {{9}});
    check_gradients([](const Inputs& in) { return prelu(in[0], in[1]); }, {{2, 3, 2}, {3}});
    check_gradients([](const Inputs& in) { return glu(in[0], 1); }, {{2, 6}});
    check_gradients([](const Inputs& in) { return softmin(in[0], 0); }, {{4, 3}});
}

TEST_CASE("gradients of linear maps and tables") {
    check_gradients([](const Inputs& in) { return bilinear(in[0], in[1], in[2], in[3]); },
                    {{2, 3, 2}, {2, 3, 4}, {5, 2, 4}, {5}});
    const Tensor index = tensor({{0, 3, 1}, {3, 3, 2}});
    Tensor table = random_f64({4, 2}, 3).set_requires_grad();
    embedding(table, index, 3).sum().backward();
    CHECK(values(table.grad()) == Doubles{1, 1, 1, 1, 1, 1, 0, 0});
    table.zero_grad();
    embedding(table, index, -4).sum().backward();
    CHECK(values(table.grad()) == Doubles{0, 0, 1, 1, 1, 1, 3, 3});
    CHECK_THROWS_AS(embedding(table, index, 4), IndexError);
}

TEST_CASE("gradients of attention") {
    const std::vector<Shape> shapes = {{2, 3, 4}, {2, 5, 4}, {2, 5, 3}};
    const auto attention = [](const AttentionOptions& o) {
        return [o](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2], o); };
    };
    check_gradients(attention({}), shapes);
    check_gradients(attention({.is_causal = true, .scale = 0.7}), shapes);
    check_gradients(attention({.mask = tensor({{1, 0, 1, 1, 0}, {0, 0, 0, 0, 0}, {1, 1, 1, 1, 1}}) == 1}), shapes);
    check_gradients(
        [](const Inputs& in) { return scaled_dot_product_attention(in[0], in[1], in[2], {.enable_gqa = true}); },
        {{4, 2, 3}, {2, 3, 3}, {2, 3, 2}});
}

TEST_CASE("gradients of recurrent networks") {
    const auto cell = [](const Inputs& in, std::size_t first) {
        return CellWeights{in[first], in[first + 1], in[first + 2], in[first + 3]};
    };
    const auto shapes = [](std::int64_t gates) {
        const std::int64_t rows = gates * 2;
        return std::vector<Shape>{{3, 2, 3}, {1, 2, 2}, {rows, 3}, {rows, 2}, {rows}, {rows}};
    };
    check_gradients([&](const Inputs& in) { return rnn(in[0], in[1], std::vector{cell(in, 2)}).output; }, shapes(1));
    check_gradients([&](const Inputs& in) { return gru(in[0], in[1], std::vector{cell(in, 2)}).output; }, shapes(3));
    check_gradients(
        [&](const Inputs& in) {
            const RecurrentResult r = lstm(in[0], in[1], {}, std::vector{cell(in, 2)});
            return cat({r.output.flatten(), r.h.flatten(), r.c.flatten()});
        },
        shapes(4));
}

// ---- values ----------------------------------------------------------------------------------------------------------

TEST_CASE("a query that sees nothing gets zeros, and one key is all of the weight") {
    const Tensor q = random_f64({2, 3}, 1), k = random_f64({4, 3}, 2), v = random_f64({4, 2}, 3);
    const Tensor mask = tensor({{0, 0, 0, 0}, {0, 1, 0, 0}}) == 1;
    const Doubles all = values(v);
    CHECK(close(scaled_dot_product_attention(q, k, v, {.mask = mask}), {0, 0, all[2], all[3]}));
    CHECK(close(scaled_dot_product_attention(q, k, v, {.is_causal = true})[0], {all[0], all[1]}));
    CHECK_THROWS_AS(scaled_dot_product_attention(q, k, v, {.mask = mask, .is_causal = true}), ValueError);
    CHECK_THROWS_AS(scaled_dot_product_attention(q, zeros({4, 2}, f64), v), ShapeError);
}

TEST_CASE("recurrent layers of ones") {
    nn::RNN net(1, 1, {.bias = false, .nonlinearity = Nonlinearity::Relu});
    fill(net, 1);
    const auto [output, h, c] = net.run(tensor({{{1.0}}, {{2.0}}, {{3.0}}}));
    CHECK(values(output) == Doubles{1, 3, 6});
    CHECK(values(h) == Doubles{6});
    CHECK_FALSE(c.defined());
    nn::LSTM lstm(2, 3, {.layers = 2, .batch_first = true, .bidirectional = true, .proj_size = 2});
    const RecurrentResult r = lstm.run(zeros({5, 4, 2}));
    CHECK(r.output.shape() == Shape{5, 4, 4});
    CHECK(r.h.shape() == Shape{4, 5, 2});
    CHECK(r.c.shape() == Shape{4, 5, 3});
    nn::GRUCell cell(2, 3);
    CHECK(cell(zeros({2}), zeros({3})).shape() == Shape{3});
    CHECK_THROWS_AS(lstm.run(zeros({5, 4, 3})), ShapeError);
    CHECK_THROWS_AS(nn::GRU(2, 3, {.proj_size = 1}), ValueError);
}

TEST_CASE("a sequence is its cell step by step") {
    manual_seed(3);
    nn::LSTM lstm(3, 4);
    nn::LSTMCell cell(3, 4);
    {
        const NoGrad no_grad;
        cell.weights.input.assign(lstm.cells[0].input);
        cell.weights.hidden.assign(lstm.cells[0].hidden);
        cell.weights.input_bias.assign(lstm.cells[0].input_bias);
        cell.weights.hidden_bias.assign(lstm.cells[0].hidden_bias);
    }
    const Tensor x = randn({5, 2, 3}).realize();
    const RecurrentResult all = lstm.run(x);
    Tensor h = zeros({2, 4}), c = zeros({2, 4});
    for (int t = 0; t < 5; ++t) {
        std::tie(h, c) = cell(x[t], h, c);
        CHECK(close(all.output[t], values(h)));
    }
    CHECK(close(all.c[0], values(c)));
}

TEST_CASE("batch norm without momentum keeps the plain mean of its batches") {
    nn::BatchNorm1d norm(1, {.momentum = {}});
    for (const double batch : {2.0, 4.0, 9.0}) norm(tensor({{batch - 1}, {batch + 1}}, f32)).realize();
    CHECK(close(norm.running_mean, {5}));
    CHECK(close(norm.running_var, {(2.0 + 2.0 + 2.0) / 3}));
    CHECK(norm.num_batches_tracked.item<int>() == 3);
    norm.eval();
    CHECK(close(norm(tensor({{5.0}}, f32)), {0}));
}

TEST_CASE("instance norm tracks the mean over the examples") {
    nn::InstanceNorm1d norm(1, {.momentum = 0.5, .affine = false});
    const Tensor x = tensor({{{0.0, 2.0}}, {{4.0, 8.0}}});
    CHECK(close(norm(x), {-1, 1, -1, 1}, 1e-4));
    CHECK(close(norm.running_mean, {1.75}));
    CHECK(close(norm.running_var, {0.5 + 0.5 * (2 + 8) / 2}));
    CHECK(norm(x[0]).shape() == Shape{1, 2});
    CHECK(nn::InstanceNorm2d(3).state().empty());
    CHECK_THROWS_AS(norm(zeros({1, 1, 1, 1})), ShapeError);
}

TEST_CASE("the other layers") {
    CHECK(nn::ConvTranspose2d(4, 6, 3, {.stride = 2, .groups = 2})(zeros({1, 4, 5, 5})).shape() == Shape{1, 6, 11, 11});
    CHECK(nn::ConvTranspose1d(4, 6, 2).weight.shape() == Shape{4, 6, 2});
    CHECK(nn::Conv1d(2, 3, 5, {.padding = kSame})(zeros({1, 2, 7})).shape() == Shape{1, 3, 7});
    CHECK(nn::Conv3d(2, 3, {1, 2, 3})(zeros({1, 2, 4, 4, 4})).shape() == Shape{1, 3, 4, 3, 2});
    CHECK(nn::AdaptiveAvgPool2d({2, -1})(zeros({1, 2, 5, 7})).shape() == Shape{1, 2, 2, 7});
    CHECK(nn::MaxPool3d(2)(zeros({1, 2, 4, 4, 4})).shape() == Shape{1, 2, 2, 2, 2});
    CHECK(nn::Bilinear(2, 3, 4)(zeros({5, 2}), zeros({5, 3})).shape() == Shape{5, 4});
    CHECK(nn::GroupNorm(2, 4)(zeros({2, 4, 3})).shape() == Shape{2, 4, 3});
    CHECK(nn::Unflatten(-1, {2, -1})(zeros({3, 6})).shape() == Shape{3, 2, 3});
    CHECK(values(nn::PReLU()(tensor({-4.0, 4.0}))) == Doubles{-1, 4});
    CHECK(values(nn::Threshold(1, 7)(tensor({0.5, 2.0}))) == Doubles{7, 2});
    CHECK(values(nn::Embedding(4, 2, 1).weight[1]) == Doubles{0, 0});
    manual_seed(0);
    const Doubles dropped = values(nn::Dropout2d(0.5)(ones({1, 64, 2, 2})));
    int zeroed = 0;
    for (std::size_t i = 0; i < dropped.size(); i += 4) {
        zeroed += dropped[i] == 0;
        for (std::size_t k = 0; k < 4; ++k) CHECK(dropped[i + k] == dropped[i]);
    }
    CHECK(zeroed > 16);
    CHECK(zeroed < 48);
    CHECK_THROWS_AS(nn::Conv2d(3, 4, {3, 3, 3}), ValueError);
    CHECK_THROWS_AS(nn::GroupNorm(3, 4), ValueError);
    CHECK_THROWS_AS(nn::MultiheadAttention(6, 4), ValueError);
}

TEST_CASE("attention in heads, and the encoder") {
    manual_seed(1);
    nn::MultiheadAttention attention(8, 2, {.batch_first = true});
    const Tensor x = randn({3, 5, 8}).realize();
    const auto [y, weights] = attention(x, x, x);
    CHECK(y.shape() == Shape{3, 5, 8});
    CHECK(weights.shape() == Shape{3, 5, 5});
    CHECK(close(weights.sum(-1), Doubles(15, 1)));
    CHECK(close(attention(x, x.clone(), x.clone()).output, values(y), 1e-5));  // three products instead of one
    CHECK(close(attention(x, x, x, {.need_weights = false}).output, values(y), 1e-5));
    CHECK(attention(x, x, x, {.average_attn_weights = false}).weights.shape() == Shape{3, 2, 5, 5});
    CHECK_THROWS_AS(attention(x, x, x, {.attn_mask = zeros({4, 5})}), ShapeError);

    nn::TransformerEncoder encoder(8, 2, 2, {.dim_feedforward = 16, .dropout = 0.1, .norm_first = true}, true);
    CHECK(encoder.state().size() == 2 * 12 + 2);
    encoder.eval();
    const Tensor later = triu(ones({5, 5}), 1) == 1;
    const Tensor tokens = randn({5, 3, 8}).realize();
    const Tensor seen = encoder(tokens, {.mask = later});
    Tensor changed = tokens.clone();
    changed[4].fill_(1);
    CHECK(close(encoder(changed, {.mask = later})[0], values(seen[0])));  // the first token does not see the last one
    CHECK(values(encoder(changed)[0]) != values(encoder(tokens)[0]));
}

// ---- names -----------------------------------------------------------------------------------------------------------

TEST_CASE("parameters have PyTorch's names") {
    CHECK(names(nn::BatchNorm3d(2)) == Names{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"});
    CHECK(names(nn::LSTM(1, 2, {.bidirectional = true, .proj_size = 1})) ==
          Names{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0", "weight_hr_l0", "weight_ih_l0_reverse",
                "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_hr_l0_reverse"});
    CHECK(names(nn::GRUCell(1, 2, {.bias = false})) == Names{"weight_ih", "weight_hh"});
    CHECK(names(nn::MultiheadAttention(4, 2)) ==
          Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"});
    CHECK(names(nn::MultiheadAttention(4, 2, {.bias = false, .add_bias_kv = true, .kdim = 3})) ==
          Names{"q_proj_weight", "k_proj_weight", "v_proj_weight", "bias_k", "bias_v", "out_proj.weight"});
    CHECK(names(nn::TransformerEncoderLayer(4, 2)) ==
          Names{"self_attn.in_proj_weight", "self_attn.in_proj_bias", "self_attn.out_proj.weight",
                "self_attn.out_proj.bias", "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias",
                "norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"});
    CHECK(names(nn::TransformerEncoder(4, 2, 1)).front() == "layers.0.self_attn.in_proj_weight");
}

TEST_CASE("lists and dicts of modules, and a summary") {
    nn::ModuleList list;
    list.add<nn::Linear>(2, 3);
    list.add<nn::ReLU>();
    CHECK(list.size() == 2);
    CHECK(names(list) == Names{"0.weight", "0.bias"});
    nn::ModuleDict dict;
    dict.add<nn::Linear>("out", 3, 1, false);
    CHECK(dict.contains("out"));
    CHECK(dict["out"](ones({3})).shape() == Shape{1});
    CHECK_THROWS_AS(dict.add<nn::ReLU>("out"), ValueError);
    CHECK_THROWS_AS(dict["in"], IndexError);
    CHECK(list.summary() ==
          "parameter  shape          elements\n"
          "0.weight   f32[3, 2]             6\n"
          "0.bias     f32[3]                3\n"
          "in all                           9\n");
}

// ---- kernels ---------------------------------------------------------------------------------------------------------

TEST_CASE("how many kernels a layer takes") {
    const Tensor image = randn({2, 4, 12, 12}).realize(), w = randn({4, 4, 3, 3}).realize(), b = randn({4}).realize();
    const Tensor spread = rand({4}).realize();
    CHECK(launches([&] { return relu(conv2d(image, w, b, {.padding = kSame})); }) == 1);
    CHECK(launches([&] {
              return relu(conv_transpose2d(image, w, b, {.stride = 2, .padding = 1, .output_padding = 1}));
          }) == 1);
    CHECK(launches([&] { return max_pool2d(image, 3, {.stride = 2, .padding = 1, .ceil_mode = true}); }) == 1);
    CHECK(launches([&] { return avg_pool2d(image, 3, {.stride = 2, .padding = 1, .ceil_mode = true}); }) == 1);
    CHECK(launches([&] { return adaptive_avg_pool2d(image, 1); }) <= 2);
    CHECK(launches([&] { return adaptive_avg_pool2d(image, {5, 7}); }) == 2);
    CHECK(launches([&] { return group_norm(image, 2, b, b); }) == 1);
    CHECK(launches([&] { return instance_norm(image, {}, {}, b, b); }) == 1);
    CHECK(launches([&] { return batch_norm(image, b, spread, b, b); }) == 1);
    CHECK(launches([&] { return layer_norm(image, {12}); }) == 1);
    CHECK(launches([&] { return mish(hardswish(selu(image))); }) == 1);
    const Tensor q = randn({2, 4, 16, 8}).realize(), k = randn({2, 4, 16, 8}).realize(),
                 v = randn({2, 4, 16, 8}).realize();
    CHECK(launches([&] { return scaled_dot_product_attention(q, k, v, {.is_causal = true}); }) <= 3);
    nn::LSTM lstm(8, 16);
    for (const Tensor& p : lstm.parameters()) p.realize();
    const Tensor x = randn({10, 4, 8}).realize();
    CHECK(launches([&] { return lstm(x); }) <= 2 + 2 * 10);  // a product and the gates for each time
}
