// What a user's program sees of an installed Weft: the public headers and one library, static or shared. It uses what could be lost at
// the boundary of a shared one: templates that the library instantiates, exceptions, and classes with virtual functions.
#include <weft/weft.h>

#include <cstdio>
#include <stdexcept>

using namespace weft;

namespace {

struct Net : nn::Module {
    nn::Linear hidden{4, 3}, out{3, 1};
    nn::BatchNorm1d norm{3};
    Net() { child("hidden", hidden), child("norm", norm), child("out", out); }
    Tensor forward(const Tensor& x) override { return out(relu(norm(hidden(x)))); }
};

bool catches_errors(const Tensor& x) {
    try {
        matmul(x, ones({2, 2}));
    } catch (const ShapeError&) {
        try {
            tensor({300}, u8).reshape({7});
        } catch (const std::runtime_error& error) {  // by a base that the standard library has
            return dynamic_cast<const Error*>(&error) != nullptr;
        }
    }
    return false;
}

bool learns() {
    Net net;
    nn::Module& module = net;
    if (dynamic_cast<Net*>(&module) != &net || net.parameters().size() != 6) return false;
    optim::SGD sgd(net.parameters(), {.lr = 0.01, .momentum = 0.9});
    sgd.add_param_group({zeros({2}).set_requires_grad()}, {.lr = 0.1});
    const Tensor before = net.out.weight.detach().clone().realize();
    sum(square(net(randn({8, 4})))).backward();
    sgd.step();
    return !equal(before, net.out.weight);
}

}  // namespace

int main() {
    const BackendScope interpreter("ref");  // so that this runs where there is no C compiler
    const Tensor x = tensor({1, 2, 3, 4}, f32);
    const double sum_of_squares = (x * x).sum().item();
    std::printf("1 + 4 + 9 + 16 = %g\n", sum_of_squares);
    const bool reads = x.sum().item<std::int64_t>() == 10 && x.to_vector<Half>().size() == 4 && x.to_vector<bool>()[0];
    const bool catches = catches_errors(x), learned = learns();
    std::printf("reads: %d, catches: %d, learns: %d\n", reads, catches, learned);
    return sum_of_squares == 30 && reads && catches && learned ? 0 : 1;
}
