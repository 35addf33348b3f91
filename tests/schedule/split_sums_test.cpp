// Long sums with few results: which are split on a GPU, where, and into what graph. tests/device/split_sums_test.cpp has their bits.
#include "schedule/split_sums.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "schedule/capture.h"
#include "schedule/simplify.h"
#include "tensor/cell.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

using namespace weft;
using schedule::SumSplit;

namespace {

Target gpu() {
    Target target;
    target.processor = Processor::Gpu;
    target.multiprocessors = 132;
    target.tensor_cores = TensorCores::Warpgroup;
    return target;
}

ir::Rewritten simple(const Tensor& asked) {
    const std::vector<ir::NodeRef> roots{node_of(asked)};
    const schedule::Captured captured = schedule::capture(roots, {});
    return schedule::simplify(schedule::canonical_graph(captured, {}).outputs);
}

std::vector<SumSplit> chosen(const Tensor& asked) {
    const std::lock_guard lock(ir::graph_lock());
    const ir::Rewritten graph = simple(asked);
    std::vector<SumSplit> result;
    for (const ir::Node* node : ir::topological_order(graph.roots))
        if (node->op == ir::Op::Reduce)
            if (const auto split = schedule::choose_split(*node, gpu())) result.push_back(*split);
    return result;
}

// A matrix whose rows overlap in memory: large ones cost nothing.
Tensor matrix(std::int64_t rows, std::int64_t columns, DType dtype = f32) {
    return unfold(zeros({rows + columns - 1}, dtype).clone().realize(), 0, columns, 1);
}

Tensor product(std::int64_t m, std::int64_t k, std::int64_t n, DType dtype = f32) {
    return matmul(matrix(m, k, dtype), matrix(k, n, dtype));
}

Tensor weight_gradient(const Shape& image, const Shape& kernels, const Conv2dOptions& options = {}) {
    Tensor weight = rand(kernels).realize();
    weight.set_requires_grad();
    square(conv2d(rand(image).realize(), weight, {}, options)).sum().backward();
    return weight.grad();
}

using Splits = std::vector<SumSplit>;

}  // namespace

TEST_CASE("a product with few results and a long sum is split into the blocks of the sum") {
    CHECK(chosen(product(256, 8192, 64)) == Splits{{0, 512, 16}});
    CHECK(chosen(product(256, 5001, 64)) == Splits{{0, 501, 10}});  // the last block has 492 steps
    CHECK(chosen(product(256, 1024, 64)).empty());                  // one chain
    CHECK(chosen(product(4096, 8192, 4096)).empty());               // tiles enough
    CHECK(chosen(product(4, 8192, 64)).empty());                    // no tiles at all
    CHECK(chosen(product(1024, 100'000, 1000)).empty());            // 784 MB of sums
    const Tensor a = matrix(300 * 64, 4096).reshape({300, 64, 4096});
    CHECK(chosen(matmul(a, a.transpose(1, 2))).empty());
    CHECK(chosen(matmul(a.narrow(0, 0, 3), a.narrow(0, 3, 3).transpose(1, 2))) == Splits{{0, 512, 8}});
}

TEST_CASE("tensor cores compute faster than memory stores: they need fewer tiles or longer sums") {
    CHECK(chosen(product(256, 65'536, 256, bf16)).size() == 1);
    CHECK(chosen(product(1024, 8192, 1024, bf16)).empty());
    CHECK(chosen(product(800, 2048, 800)).size() == 1);
    CHECK(chosen(product(800, 2048, 800, bf16)).empty());
}

TEST_CASE("the gradient of a convolution's weights: blocks are counted through images and rows") {
    CHECK(chosen(weight_gradient({4, 16, 26, 26}, {16, 16, 3, 3})) == Splits{{1, 12, 8}});
    CHECK(chosen(weight_gradient({4, 16, 25, 25}, {16, 16, 3, 3}, {.padding = 1})) == Splits{{1, 13, 8}});
    CHECK(chosen(weight_gradient({5, 16, 50, 50}, {16, 16, 3, 3}, {.stride = 2, .padding = 1})).size() == 1);
}

TEST_CASE("a sum that a stride thins out has phases with blocks of their own, and stays") {
    Tensor x = rand({1, 16, 20, 20}).realize();
    x.set_requires_grad();
    square(conv2d(x, rand({300, 16, 3, 3}).realize(), {}, {.stride = 2, .padding = 1})).sum().backward();
    CHECK(chosen(x.grad()).empty());
}

TEST_CASE("remainders that only summed axes are in make no phases: what max_pool2d hands back") {
    Tensor weight = rand({16, 16, 3, 3}).realize();
    weight.set_requires_grad();
    square(max_pool2d(relu(conv2d(rand({4, 16, 26, 26}).realize(), weight)), {2, 2})).sum().backward();
    CHECK(chosen(weight.grad()).size() == 1);
}

TEST_CASE("a sum in lanes has a row per block, until there are rows for all threads") {
    const auto rows_of = [](std::int64_t count) {
        const std::lock_guard lock(ir::graph_lock());
        const std::vector<ir::NodeRef> roots =
            schedule::split_sums(simple(expand(rand({1}).realize(), {count}).sum()).roots, gpu()).roots;
        std::vector<std::int64_t> rows;
        for (const ir::Node* node : ir::topological_order(roots))
            if (node->op == ir::Op::Reduce) rows.push_back(numel(node->shape));
        return rows;
    };
    using Rows = std::vector<std::int64_t>;
    CHECK(rows_of(1 << 24) == Rows{256, 1});  // the blocks of a row are computed at the same time
    CHECK(rows_of(1 << 26) == Rows{16384, 1024, 256, 1});
    CHECK(rows_of(1 << 28) == Rows{65536, 4096, 256, 1});
}

TEST_CASE("blocks are a batch, and their sums are added in order") {
    const std::lock_guard lock(ir::graph_lock());
    const std::vector<ir::NodeRef> roots = schedule::split_sums(simple(product(64, 2048, 64)).roots, gpu()).roots;
    const std::string text = ir::print_graph(roots);
    CAPTURE(text);
    CHECK(text.find("in sequence") != std::string::npos);
    std::vector<const ir::Node*> sums;
    for (const ir::Node* node : ir::topological_order(roots))
        if (node->op == ir::Op::Reduce) sums.push_back(node);
    REQUIRE(sums.size() == 2);
    CHECK(numel(sums[0]->shape) == 4 * 64 * 64);
    CHECK(sums[1]->as<ir::ReduceArg>().order.kind == ir::SumOrder::Kind::Sequence);
}
