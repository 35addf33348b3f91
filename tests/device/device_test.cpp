// Devices as a user sees them: where tensors are made, computed and moved, with "guarded", whose memory the host cannot touch.
#include "support/error_of.h"

#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/shared_memory.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace weft;

namespace {

using testing::error_of;

const Device& guarded() {
    static const Device device("guarded");
    return device;
}

using Floats = std::vector<float>;
Floats values(const Tensor& x) { return x.to_vector<float>(); }

}  // namespace

TEST_CASE("a device has a type and a number") {
    CHECK(Device("guarded") == Device("guarded:0"));
    CHECK(Device("guarded:1") != guarded());
    CHECK(guarded().name() == "guarded:0");
    CHECK(guarded().type() == "guarded");
    CHECK(Device() == cpu);
    CHECK(cpu.name() == "cpu");
    CHECK(error_of<ValueError>([] { Device("gpu"); }).find("the types are cpu") != std::string::npos);
    CHECK(error_of<ValueError>([] { Device("cuda:x"); }).find("comes a number") != std::string::npos);
    CHECK(error_of<ValueError>([] { Device("cpu:1"); }).find("one CPU") != std::string::npos);
}

TEST_CASE("tensors are made where they are told, and stay there") {
    const DeviceScope host(cpu);
    const Tensor x = tensor({1.0, 2.0, 3.0});
    {
        const DeviceScope scope(guarded());
        CHECK(zeros({2}).device() == guarded());
        CHECK(arange(3).device() == guarded());
        CHECK(rand({2}).device() == guarded());
        CHECK(tensor({1, 2}).device() == guarded());
        CHECK(zeros_like(x).device() == cpu);
    }
    CHECK(zeros({2}).device() == cpu);
    const Tensor y = x.to(guarded());
    CHECK(y.device() == guarded());
    CHECK((y * 2 + 1).device() == guarded());
    CHECK(values(y * 2 + 1) == Floats{3, 5, 7});
    CHECK(values(y.to(cpu) + x) == Floats{2, 4, 6});
    CHECK(x.to(cpu).cell() == x.cell());
    CHECK(y.memory().device == guarded());
    CHECK(ones_like(y).device() == guarded());
}

TEST_CASE("modules are made where their settings say, with all that they hold, or where a scope says") {
    const DeviceScope host(cpu);
    const auto is_there = [](const nn::Module& module) {
        for (const auto& [name, tensor] : module.state())
            if (tensor.device() != guarded()) return false;
        return !module.state().empty();
    };
    CHECK(is_there(nn::Conv2d(3, 4, 3, {.device = "guarded"})));
    CHECK(is_there(nn::ConvTranspose1d(3, 4, 3, {.device = guarded()})));
    CHECK(is_there(nn::BatchNorm2d(3, {.device = guarded()})));
    CHECK(is_there(nn::LSTM(3, 4, {.layers = 2, .device = guarded()})));
    CHECK(is_there(nn::MultiheadAttention(4, 2, {.add_bias_kv = true, .device = guarded()})));
    CHECK(is_there(nn::TransformerEncoder(4, 2, 2, {.dim_feedforward = 8, .device = guarded()}, true)));
    CHECK(nn::Linear(3, 4).weight.device() == cpu);
    const DeviceScope scope(guarded());
    CHECK(is_there(nn::Linear(3, 4)));
    CHECK(is_there(nn::Conv2d(3, 4, 3)));
    CHECK(nn::Conv2d(3, 4, 3, {.device = cpu}).weight.device() == cpu);
}

TEST_CASE("different devices do not mix, and the message names both; numbers do") {
    const DeviceScope host(cpu);
    const Tensor x = ones({2, 2}), y = ones({2, 2}).to(guarded());
    const auto names_both = [](const std::string& message) {
        return message.find("on cpu") != std::string::npos && message.find("on guarded:0") != std::string::npos;
    };
    CHECK(names_both(error_of<ValueError>([&] { add(x, y); })));
    CHECK(names_both(error_of<ValueError>([&] { matmul(x, y); })));
    CHECK(names_both(error_of<ValueError>([&] { cat({x, y}); })));
    CHECK(names_both(error_of<ValueError>([&] { where(x > 0, x, y); })));
    CHECK(names_both(error_of<ValueError>([&] { gather(y, 0, zeros({2, 2}, i64)); })));
    CHECK(values(y * tensor(3.0)) == Floats{3, 3, 3, 3});
    CHECK(values(tensor(3.0) - y) == Floats{2, 2, 2, 2});
    CHECK(values(where(y > 0, y, tensor(0.0))) == Floats{1, 1, 1, 1});
    CHECK(error_of<ValueError>([&] { x.to("guarded").to("cuda"); }).find("cuda:0") != std::string::npos);
}

TEST_CASE(
    "another library's memory on a device is read where it is, copied for what is recorded, and written in place") {
    const DeviceScope host(cpu);
    const Tensor theirs = tensor({{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}}).to(guarded()).realize();
    const MemoryView memory = theirs.memory();
    const auto over = [&](const Shape& shape, const Dims& strides) {
        return from_shared_memory(const_cast<void*>(memory.data), shape, strides, f32,
                                  std::const_pointer_cast<void>(memory.owner), guarded());
    };
    Tensor x = over({2, 3}, {3, 1}), turned = over({3, 2}, {1, 3});
    CHECK((x.device() == guarded() && x.data_ptr() == memory.data));
    const Tensor before = x * 2, column = turned * 1;
    x += 1;
    CHECK(values(before) == Floats{2, 4, 6, 8, 10, 12});
    CHECK(values(column) == Floats{1, 4, 2, 5, 3, 6});
    CHECK(values(turned) == Floats{2, 5, 3, 6, 4, 7});
    turned *= tensor({{1.0, 10.0}, {1.0, 10.0}, {1.0, 10.0}}).to(guarded());
    CHECK(values(x) == Floats{2, 3, 4, 50, 60, 70});
    CHECK(from_shared_memory(nullptr, {0}, {1}, f32, nullptr, guarded()).device() == guarded());
}

TEST_CASE("what is moved is computed once, and gradients come back") {
    const DeviceScope host(cpu);
    Tensor w = tensor({1.0, 2.0}).set_requires_grad();
    const Tensor moved = (w * 3).to(guarded());
    const Tensor loss = (moved * moved).sum().to(cpu) * 2;
    loss.backward();
    CHECK(w.grad().device() == cpu);
    CHECK(values(w.grad()) == Floats{36, 72});
    const Tensor x = rand({8, 8}).to(guarded());
    const Tensor y = matmul(x, x);
    (void)y.to(cpu).sum().item();
    const CounterScope count;
    (void)values(y);
    CHECK(count.kernels_launched() == 0);
}

TEST_CASE("a constant that is moved is the same constant elsewhere, and keeps no memory") {
    const DeviceScope host(cpu);
    const Tensor x = ones({4}).to(guarded()), index = arange(3).to(guarded());
    CHECK(values(x + tensor(1.0) + ones({4}).to(guarded())) == Floats{3, 3, 3, 3});
    CHECK(values(index * 2) == Floats{0, 2, 4});
    CHECK(ones({100}).memory().strides == Dims{1});
    CHECK(zeros({5, 3}).memory().strides == Dims{3, 1});
    const CounterScope count;
    (void)ones({4}).to(guarded()).memory();
    CHECK(count.runs() == 1);  // made there, not copied
}

TEST_CASE("two devices in one run, and writes to each") {
    const DeviceScope host(cpu);
    Tensor a = ones({3}), b = ones({3}).to(guarded());
    a += b.to(cpu);
    b += a.to(guarded());
    realize(std::vector{a, b});
    CHECK(values(a) == Floats{2, 2, 2});
    CHECK(values(b) == Floats{3, 3, 3});
    b.assign(a * 5);  // a copy, as in PyTorch
    CHECK(b.device() == guarded());
    CHECK(values(b) == Floats{10, 10, 10});
}

TEST_CASE("set_data takes over shape, type and device; the gradient is asked for as before") {
    const DeviceScope host(cpu);
    Tensor w = ones({2}).set_requires_grad();
    const Tensor before = w * 2;
    w.set_data(tensor({3.0, 4.0, 5.0}, f64).to(guarded()));
    CHECK(w.device() == guarded());
    CHECK(w.dtype() == f64);
    CHECK(w.requires_grad());
    (w * 2).sum().backward();
    CHECK(values(w.grad()) == Floats{2, 2, 2});
    CHECK(values(before) == Floats{2, 2});
    CHECK_THROWS_AS(w.set_data(tensor({1, 2})), DTypeError);
    Tensor view = w.detach();
    view.set_data(ones({4}));  // now an array of its own
    CHECK(values(w) == Floats{3, 4, 5});
    CHECK(values(view) == Floats{1, 1, 1, 1});
}

TEST_CASE("a training step on another device has the CPU's bits") {
    const auto train = [](Device device) {
        const DeviceScope scope(device);
        manual_seed(3);
        nn::Sequential net;
        net.add<nn::Linear>(20, 33);
        net.add<nn::BatchNorm1d>(33);
        net.add<nn::Linear>(33, 5);
        optim::Adam adam(net.parameters());
        const Tensor x = randn({17, 20}), y = randint(0, 5, {17});
        for (int i = 0; i < 3; ++i) {
            adam.zero_grad();
            cross_entropy(net(x), y).backward();
            adam.step();
        }
        std::vector<Floats> result;
        for (const Tensor& parameter : net.parameters()) {
            CHECK(parameter.device() == device);
            result.push_back(values(parameter));
        }
        return result;
    };
    CHECK(train(cpu) == train(guarded()));
}

TEST_CASE("linear layers, tables, norms and PReLU have settings with a device") {
    const DeviceScope host(cpu);
    CHECK(nn::Linear(2, 3, {.device = guarded()}).bias.device() == guarded());
    CHECK_FALSE(nn::Linear(2, 3, {.bias = false}).bias.defined());
    CHECK(nn::Bilinear(2, 3, 2, {.device = guarded()}).bias.device() == guarded());
    CHECK(values(nn::Embedding(4, 2, {.padding = 1, .device = guarded()}).weight[1]) == Floats{0, 0});
    CHECK(nn::Embedding(4, 2, {.device = guarded()}).weight.device() == guarded());
    CHECK(nn::EmbeddingBag(4, 2, {.mode = BagMode::Sum, .device = guarded()}).weight.device() == guarded());
    const nn::GroupNorm groups(2, 4, {.eps = 1e-3, .device = guarded()});
    CHECK(groups.weight.device() == guarded());
    CHECK(groups.bias.device() == guarded());
    CHECK(groups.eps == 1e-3);
    const nn::LayerNorm rows({4}, {.bias = false, .device = guarded()});
    CHECK(rows.weight.device() == guarded());
    CHECK_FALSE(rows.bias.defined());
    CHECK(nn::RMSNorm({4}, {.device = guarded()}).weight.device() == guarded());
    CHECK_FALSE(nn::RMSNorm({4}, {.affine = false}).weight.defined());
    CHECK(values(nn::PReLU(2, {.start = 0.5, .device = guarded()}).weight) == Floats{0.5, 0.5});
    CHECK(nn::PReLU(1, {.device = guarded()}).weight.device() == guarded());
    CHECK_THROWS_AS(nn::LayerNorm({4}, {.device = "mps"}), ValueError);
}

TEST_CASE("settings by position: eps, bias, affine, a device last") {
    CHECK(nn::GroupNorm(2, 4, 1e-3, false).eps == 1e-3);
    CHECK_FALSE(nn::LayerNorm({4}, 1e-3, true, false).bias.defined());
    CHECK(nn::RMSNorm({4}, 1e-3).eps == 1e-3);
    CHECK(values(nn::PReLU(1, 0.5).weight) == Floats{0.5});
}

TEST_CASE("linear layers and tables take a device, and options a name") {
    CHECK(nn::Linear(2, 3, true, guarded()).bias.device() == guarded());
    CHECK(nn::Bilinear(2, 3, 2, true, guarded()).weight.device() == guarded());
    CHECK(nn::Embedding(4, 2, {}, guarded()).weight.device() == guarded());
    CHECK(nn::EmbeddingBag(4, 2, BagMode::Sum, {}, guarded()).weight.device() == guarded());
    CHECK(zeros({2}, "guarded").device() == guarded());
}

TEST_CASE("an optimiser's rates go along with its parameters, whatever the default device is") {
    for (const Device& where : {Device(cpu), guarded()}) {
        const Device elsewhere = where == cpu ? guarded() : Device(cpu);
        Tensor weight = ones({3}, where).clone().set_requires_grad();
        optim::Adam adam({weight}, {.lr = 0.1});
        const DeviceScope scope(elsewhere);
        sum(weight * weight).backward();
        adam.step();
        CHECK(weight.device() == where);
        CHECK(values(weight)[0] == doctest::Approx(0.9));
    }
}

TEST_CASE("a gradient is where its tensor is") {
    const Tensor weight = ones({2}, guarded()).clone().set_requires_grad();
    const std::string message = error_of<ValueError>([&] { weight.set_grad(ones({2}, cpu).clone()); });
    CHECK(message.find("guarded:0") != std::string::npos);
    CHECK(message.find("cpu") != std::string::npos);
}

TEST_CASE("explain() shows the kernels of every device that a value passes through, in their order") {
    const Tensor x = arange(6, TensorOptions(cpu)).to(f32).clone().realize();
    const Tensor there = (exp(x) + 1).to(guarded()), back = (there * 2).to(cpu).sum();
    CHECK(explain(back).kernels.size() == 3);
    CHECK(explain(back + there.sum().to(cpu)).kernels.size() >= 4);
    CHECK(back.item<float>() == doctest::Approx((2 * (exp(x) + 1)).sum().item<float>()));
}
