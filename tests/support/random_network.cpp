// tests/support/random_network.cpp: what people really write: softmax, norms, convolutions, attention, losses, and
// their gradients; and the large graphs, which are such pieces with sizes that reach threads, blocks and splits.
#include "tests/support/random_network.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tests/support/random_graph.h"

#include <weft/ops.h>

namespace weft::testing {
namespace {

class Network {
public:
    Network(Rng& rng, Data data) : rng_(rng), data_(data), dtype_(rng.pick({f32, f32, f32, f64, f16, bf16})) {}

    std::vector<ir::NodeRef> run() {
        const Tensor out = piece();
        std::vector<Tensor> results{out};
        if (is_float(out.dtype()) && rng_.chance(0.5) && !parameters_.empty()) {
            const Tensor loss = rng_.chance(0.5) ? sum(out) : sum(out * input(out.shape(), false));
            for (const Tensor& g : gradient(loss, parameters_)) results.push_back(g);
        }
        std::vector<ir::NodeRef> nodes;
        for (const Tensor& t : results) nodes.push_back(node_of(t));
        return nodes;
    }

private:
    Tensor input(const Shape& shape, bool learns = true) {
        Tensor x = make_tensor(random_leaf(rng_, dtype_, shape, data_));
        if (learns && rng_.chance(0.7)) parameters_.push_back(x.set_requires_grad());
        return x;
    }
    Tensor labels(const Shape& shape, std::int64_t classes) {
        return make_tensor(random_indices(rng_, shape, classes));
    }
    std::int64_t some(std::int64_t low, std::int64_t high) { return rng_.within(low, high); }

    Tensor piece() {
        switch (rng_.below(16)) {
            case 0: return softmax(input({some(1, 6), some(1, 40)}), rng_.pick({0, 1}));
            case 1: return log_softmax(input({some(1, 6), some(1, 40)}));
            case 2: return norm_piece();
            case 3: return conv_piece();
            case 4: return conv_piece();
            case 5: return pool_piece();
            case 6: return attention_piece();
            case 7: return mlp_piece();
            case 8: return loss_piece();
            case 9: return embedding_piece();
            case 10: return scan_piece();
            case 11: return var(input({some(2, 5), some(2, 9), some(1, 4)}), rng_.pick({Axes{0}, Axes{1}, Axes{0, 2}}));
            case 12: return matmul_piece();
            case 13: return logsumexp(input({some(1, 5), some(1, 50)}), Axes{1}) * input({1});
            case 14: return norm(input({some(1, 4), some(1, 30)}), rng_.pick({1.0, 2.0, 3.0}), Axes{1});
            default: return slice_piece();
        }
    }

    Tensor norm_piece() {
        const std::int64_t n = some(1, 5), c = 2 * some(1, 4), l = some(1, 7);
        if (rng_.chance(0.4)) return layer_norm(input({n, c, l}), {l}, input({l}), input({l}));
        if (rng_.chance(0.5)) return rms_norm(input({n, l, c}), {c}, input({c}));
        return group_norm(input({n, c, l, 2}), 2, input({c}), input({c}));
    }

    Tensor conv_piece() {
        const std::int64_t groups = some(1, 2), in = groups * some(1, 3), out = groups * some(1, 4), k = some(1, 3);
        const Conv2dOptions options{
            .stride = {some(1, 3), some(1, 2)}, .padding = some(0, 2), .dilation = {some(1, 2), 1}, .groups = groups};
        const Tensor x = input({some(1, 2), in, some(5, 9), some(5, 8)});
        const Tensor y =
            conv2d(x, input({out, in / groups, k, some(1, 3)}), rng_.chance(0.5) ? input({out}) : Tensor(), options);
        return rng_.chance(0.5) ? relu(y) : y;
    }

    Tensor pool_piece() {
        const Tensor x = input({some(1, 2), some(1, 3), some(4, 8), some(4, 9)});
        const PoolOptions options{.stride = some(1, 3), .padding = some(0, 1), .count_include_pad = rng_.chance(0.5)};
        const std::int64_t window = some(2, 3);
        return rng_.chance(0.5) ? max_pool2d(x, window, options) : avg_pool2d(x, window, options);
    }

    Tensor attention_piece() {
        const std::int64_t batch = some(1, 2), t = some(1, 7), d = some(1, 9);
        const Tensor q = input({batch, t, d}), k = input({batch, t, d}), v = input({batch, t, d});
        const Tensor scores = matmul(q, k.transpose(1, 2)) * 0.5;
        const Tensor mask = tril(ones({t, t})) == 0;
        return matmul(softmax(masked_fill(scores, mask, -1e4)), v);
    }

    Tensor mlp_piece() {
        const std::int64_t in = some(1, 20), hidden = some(1, 17);
        const Tensor h = linear(input({some(1, 9), in}), input({hidden, in}), input({hidden}));
        const Tensor a = rng_.chance(0.3) ? gelu(h) : rng_.chance(0.5) ? relu(h) : sigmoid(h);
        return linear(a, input({some(1, 5), hidden}));
    }

    Tensor loss_piece() {
        const std::int64_t n = some(1, 8), classes = some(1, 12);
        if (rng_.chance(0.3)) return mse_loss(input({n, classes}), input({n, classes}));
        return cross_entropy(input({n, classes}), labels({n}, classes),
                             {.label_smoothing = rng_.chance(0.3) ? 0.1 : 0});
    }

    Tensor embedding_piece() {
        const std::int64_t rows = some(1, 9), features = some(1, 6);
        return embedding(input({rows, features}), labels({some(1, 3), some(1, 7)}, rows)) * input({features});
    }

    Tensor scan_piece() {
        const Tensor x = input({some(1, 5), some(1, 12)});
        return rng_.chance(0.7) ? cumsum(x, rng_.pick({0, 1})) : cumprod(x, 1);
    }

    Tensor matmul_piece() {
        const std::int64_t m = some(1, 33), k = some(1, 37), n = some(1, 35);
        Tensor a = input(rng_.chance(0.5) ? Shape{m, k} : Shape{k, m}), b = input({k, n});
        if (a.size(0) == k && a.size(1) == m) a = a.t();
        return relu(matmul(a, b) + input({n}));
    }

    Tensor slice_piece() {
        const Tensor x = input({some(3, 9), some(3, 9)});
        const Tensor y = x[{Slice{1, {}, some(1, 2)}, Slice{{}, {}, -1}}];
        return cat({y, y * 2}, 0) + (rng_.chance(0.5) ? tril(ones({1, y.size(1)})) : ones({1}, dtype_)).to(dtype_);
    }

    Rng& rng_;
    const Data data_;
    const DType dtype_;
    std::vector<Tensor> parameters_;
};

Tensor leaf(Rng& rng, const Shape& shape, DType dtype = f32) {
    return make_tensor(dense_leaf(rng, dtype, shape, rng.pick({Data::Whole, Data::Tame})));
}

std::vector<Tensor> large_piece(Rng& rng, std::uint64_t which) {
    const auto some = [&](std::int64_t low, std::int64_t high) { return rng.within(low, high); };
    switch (which % 14) {
        case 0: {  // a map for several threads
            const Tensor a = leaf(rng, {some(90, 130), some(400, 500)}), b = leaf(rng, {a.size(1)});
            return {relu(a * b + 1), a - b};
        }
        case 1: return {sum(leaf(rng, {some(3, 9), some(513, 1100)}), Axes{1})};          // a chain in blocks
        case 2: return {sum(leaf(rng, {some(513, 1300), some(3, 40)}), Axes{0})};         // … down the columns
        case 3: return {sum(leaf(rng, {2, some(33000, 36000)}), Axes{1})};                // blocks of lanes
        case 4: return {sum(leaf(rng, {8, 16500})), max(leaf(rng, {some(1000, 5000)}))};  // split into chunks
        case 5: {  // a long contraction of two batches in f64
            const std::int64_t k = some(1025, 1300);
            return {matmul(leaf(rng, {2, some(3, 9), k}, f64), leaf(rng, {k, some(3, 9)}, f64))};
        }
        case 6: {
            const std::int64_t k = some(1025, 1700);
            return {relu(matmul(leaf(rng, {some(3, 20), k}), leaf(rng, {k, some(3, 20)})) + leaf(rng, {1}))};
        }
        case 7: {  // matrix times vector, along rows and along columns
            const std::int64_t m = some(100, 300), k = some(200, 400);
            const Tensor a = leaf(rng, {m, k});
            return {matmul(a, leaf(rng, {k})), matmul(leaf(rng, {m}), a)};
        }
        case 8: return {softmax(leaf(rng, {some(20, 50), some(600, 1500)}))};
        case 9: {
            const std::int64_t row = some(513, 900);
            return {layer_norm(leaf(rng, {some(30, 60), row}, rng.pick({f32, f64, bf16})), {row})};
        }
        case 10: {
            const Tensor x = leaf(rng, {some(1, 3), some(3, 6), some(14, 20), some(14, 20)});
            const Tensor w = leaf(rng, {some(5, 9), x.size(1), 3, 3});
            return {relu(conv2d(x, w, leaf(rng, {w.size(0)}), {.stride = some(1, 2), .padding = 1}))};
        }
        case 11: return {cumsum(leaf(rng, {some(60, 100), some(300, 500)}), rng.pick({0, 1}))};
        case 12: {
            const std::int64_t k = some(60, 90);
            const Tensor a = leaf(rng, {some(30, 70), k}, rng.pick({f32, f64, f16})),
                         b = leaf(rng, {k, some(30, 70)}, a.dtype());
            return {matmul(a, b), sum(a, Axes{0})};
        }
        default:
            return {sum(leaf(rng, {some(20, 40), some(9, 17), some(200, 300)}),
                        rng.pick({Axes{0, 2}, Axes{1}, Axes{0, 1}}))};
    }
}

}  // namespace

std::vector<ir::NodeRef> random_network(Rng& rng, Data data) { return Network(rng, data).run(); }

std::vector<ir::NodeRef> large_graph(std::uint64_t seed) {
    Rng rng(seed);
    std::vector<ir::NodeRef> roots;
    for (const Tensor& t : large_piece(rng, seed)) roots.push_back(node_of(t));
    return roots;
}

}  // namespace weft::testing
