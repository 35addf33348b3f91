// Graphs that make a naive fuser explode: in time, in kernel size, in work, in memory or in stack.
#include "ir/build.h"
#include "ir/walk.h"
#include "kernel/contraction_nest.h"
#include "kernel/lower.h"
#include "kernel/nest.h"
#include "tensor/cell.h"
#include "tests/support/differential.h"
#include "tests/support/random.h"
#include "tests/support/random_leaves.h"
#include "tests/support/small_stack.h"
#include "tests/tensor/support.h"

#include <weft/debug.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

namespace weft::testing {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;

Tensor data(const Shape& shape, unsigned seed = 1) {
    return from_data(noise(static_cast<std::size_t>(numel(shape)), seed), shape);
}

// Of this thread: what others do on the machine is not in it.
double processor_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Planned {
    schedule::Plan plan;
    std::size_t nodes = 0;
    double seconds = 0;
};

Planned plan(const Roots& roots) {
    Planned result;
    {
        const std::lock_guard lock(ir::graph_lock());
        result.nodes = ir::topological_order(roots).size();
    }
    const double start = processor_seconds();
    result.plan = plan_of(roots);
    result.seconds = processor_seconds() - start;
    return result;
}

Planned plan(const std::vector<Tensor>& tensors) {
    Roots roots;
    for (const Tensor& t : tensors) roots.push_back(node_of(t));
    return plan(roots);
}

// The limits of one kernel: 512 expression nodes (views are none), 32 buffers, 8 loop nests.
void check_limits(const schedule::Plan& plan) {
    std::size_t expressions = 0, buffers = 0, nests = 0;  // the most in any kernel
    for (const schedule::PlanStep& step : plan.steps) {
        Roots values;
        for (const auto& output : step.kernel.graph.outputs) values.push_back(output.value);
        const std::lock_guard lock(ir::graph_lock());
        std::size_t here = 0, reduces = 0;
        for (const Node* node : ir::topological_order(values)) {
            here += !ir::is_movement(node->op) && node->op != Op::Const;
            reduces += node->op == Op::Reduce;
        }
        expressions = std::max(expressions, here);
        buffers = std::max(buffers, step.kernel.graph.params.size());
        nests = std::max(nests, reduces + 1);
    }
    CHECK(expressions <= 512);
    CHECK(buffers <= 32);
    CHECK(nests <= 8);
}

// 0.1 ms per node, times five: noise must not fail it.
void check_time(const Planned& planned) {
    CAPTURE(planned.nodes);
    CAPTURE(planned.seconds);
    CHECK(planned.seconds <= 5 * 1e-4 * static_cast<double>(planned.nodes) + 0.02);
}

// Twice the graph takes about twice the time: three times the ratio of the sizes is allowed. The best of three of each.
void check_linear(const std::function<Planned(int)>& make, int small, int large) {
    const auto best = [&](int size) {
        Planned fastest = make(size);
        for (int i = 0; i < 2; ++i)
            if (Planned again = make(size); again.seconds < fastest.seconds) fastest = std::move(again);
        return fastest;
    };
    const Planned a = best(small), b = best(large);
    CAPTURE(a.seconds);
    CAPTURE(b.seconds);
    CHECK(b.seconds <= 3 * a.seconds * static_cast<double>(b.nodes) / static_cast<double>(a.nodes) + 0.02);
    check_time(b);
    check_limits(b.plan);
}

// Terms of all sums: of the graph as it is written, and of the kernels.
std::int64_t terms_of(const Roots& roots) {
    const std::lock_guard lock(ir::graph_lock());
    std::int64_t terms = 0;
    for (const Node* node : ir::topological_order(roots))
        if (node->op == Op::Reduce) terms += numel(node->source().shape);
    return terms;
}
std::int64_t terms_of(const schedule::Plan& plan) {
    std::int64_t terms = 0;
    for (const schedule::PlanStep& step : plan.steps) {
        Roots values;
        for (const auto& output : step.kernel.graph.outputs) values.push_back(output.value);
        const kernel::Kernel kernel = kernel::lower(step.kernel.graph);
        for (const kernel::ContractionNest& nest :
             kernel::contractions_of(kernel))  // one per phase: what the loops really multiply
            terms += kernel::product(nest.rows) * kernel::product(nest.outer) * kernel::product(nest.inner);
        if (!kernel::has_contraction(kernel.body)) terms += terms_of(values);
    }
    return terms;
}

void check_work(const std::vector<Tensor>& tensors) {
    Roots roots;
    for (const Tensor& t : tensors) roots.push_back(node_of(t));
    const schedule::Plan planned = plan_of(roots);
    check_limits(planned);
    CHECK(static_cast<double>(terms_of(planned)) <= 1.1 * static_cast<double>(terms_of(roots)));
}

// Engine and oracle agree on a graph that is cut into several kernels.
void check_values(const Tensor& t) {
    const Roots roots{node_of(t)};
    const std::string text = oracle_complaint(roots);
    CHECK_MESSAGE(text.empty(), text);
}

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4096;
}

// ---- chains that use a value twice in every step --------------------------------------------------------------------

TEST_CASE("x = x + x.t(), thirty times") {
    const auto chain = [](int length, const Tensor& start) {
        Tensor x = start;
        for (int i = 0; i < length; ++i) x = x + x.t() * 0.25f;
        return x;
    };
    const Tensor x = data({12, 12});
    check_linear([&](int length) { return plan({chain(length, x)}); }, 30, 120);
    check_values(chain(30, x));
}

TEST_CASE("x = x[1:] + x[:-1], two hundred times") {
    const auto chain = [](int length, const Tensor& start) {
        Tensor x = start;
        for (int i = 0; i < length; ++i) x = (x[{Slice{1, {}}}] + x[{Slice{0, -1}}]) * 0.5f;
        return x;
    };
    const Tensor x = data({460});
    check_linear([&](int length) { return plan({chain(length, x)}); }, 100, 400);
    check_values(chain(200, x));
}

TEST_CASE("reshapes of transposes do not tangle the index") {
    const auto chain = [](int length, const Tensor& start) {
        Tensor x = start;
        for (int i = 0; i < length; ++i) x = ((x + 0.5f).flip(0) * 0.75f).reshape({8, 6}).t().reshape({6, 8});
        return x;
    };
    const Tensor x = data({6, 8});
    check_linear([&](int length) { return plan({chain(length, x)}); }, 25, 100);
    check_values(chain(60, x));
    const BackendScope ref("ref");
    const auto start = std::chrono::steady_clock::now();
    chain(100, x).realize();
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));
}

TEST_CASE("a value that is used by everything after it is computed once, or cheaply") {
    const Tensor x = data({50, 50});
    Tensor y = exp(x), sum_of_all = y;
    for (int i = 0; i < 40; ++i) {
        y = tanh(y) + y.t();
        sum_of_all = sum_of_all + y;
    }
    const Planned planned = plan({sum_of_all});
    check_limits(planned.plan);
    check_time(planned);
    std::int64_t maths = 0;  // tanh of 2,500 elements, forty times, and not thousands of times
    for (const schedule::PlanStep& step : planned.plan.steps)
        for (const auto& output : step.kernel.graph.outputs) {
            const std::lock_guard lock(ir::graph_lock());
            for (const Node* node : ir::topological_order(std::span(&output.value, 1))) maths += ir::is_math(node->op);
        }
    CHECK(maths <= 4 * 41);
}

TEST_CASE("rows that depend on rows before them: a hundred softmaxes in a chain") {
    const DeviceScope host(cpu);
    const auto chain = [](int length, const Tensor& start) {
        Tensor x = start;
        for (int i = 0; i < length; ++i) x = softmax(x * 2) + 0.5f;
        return x;
    };
    const Tensor x = data({6, 11});
    check_linear([&](int length) { return plan({chain(length, x)}); }, 25, 100);
    check_values(chain(20, x));
}

// ---- convolutions: no fusion may multiply their work ----------------------------------------------------------------

TEST_CASE("a convolution under a pool is computed once") {
    const DeviceScope host(cpu);
    const Tensor x = data({2, 3, 12, 12}, 1), w = data({4, 3, 3, 3}, 2), b = data({4}, 3);
    check_work({avg_pool2d(conv2d(x, w, b), 2)});
    check_work({avg_pool2d(relu(conv2d(x, w, b, {.padding = 1})), 3, {.stride = 1})});
    check_work({max_pool2d(conv2d(x, w, b), 2)});
    check_work({avg_pool2d(avg_pool2d(x, 3, {.stride = 1}), 3, {.stride = 1})});
    check_values(avg_pool2d(conv2d(x, w, b), 2));
}

TEST_CASE("gradients of convolutions do no more multiply-adds than they say") {
    const DeviceScope host(cpu);
    for (const int stride : {1, 2}) {
        CAPTURE(stride);
        Tensor x = data({2, 3, 11, 11}, 1), w = data({4, 3, 3, 3}, 2);
        x.set_requires_grad();
        w.set_requires_grad();
        const Tensor y = conv2d(x, w, {}, {.stride = stride, .padding = 1});
        const std::vector<Tensor> targets{x, w};
        const std::vector<Tensor> g = gradient(sum(y * y), targets);
        check_work({g[0]});
        check_work({g[1]});
        check_work({g[0], g[1]});
        check_values(g[0]);
        check_values(g[1]);
        // The gradient of the input: every tap of every output once. A loop over gates that are false would be stride²
        // times that.
        const std::int64_t forward = terms_of(Roots{node_of(y)});
        CHECK(terms_of(plan({g[0]}).plan) <= 2.1 * static_cast<double>(forward));  // the output itself, and this
    }
}

TEST_CASE("a reduction is not repeated along an axis that it does not depend on") {
    const Tensor x = data({40, 30}), y = data({30, 50}, 2);
    check_work({matmul(softmax(x), y)});
    check_work({matmul(x, y).unsqueeze(2) * ones({20})});
    check_work({(sum(x, Axes{1}, true) * y.t()[{Slice{0, 40}}].slice(1, {0, 30})).t()});
    check_work({sum(matmul(x, y), Axes{0}), sum(matmul(x, y), Axes{1})});
}

TEST_CASE("products with a reduction's result are summed where they are made, never stored") {
    const DeviceScope host(cpu);
    const auto largest_output = [](const std::vector<Tensor>& tensors) {
        std::int64_t largest = 0;
        for (const schedule::PlanStep& step : plan(tensors).plan.steps)
            for (const auto& output : step.kernel.graph.outputs)
                largest = std::max(largest, numel(output.value->shape));
        return largest;
    };
    Tensor x = data({4, 3, 12, 12}, 1), w = data({5, 108}, 2), kernel = data({6, 3, 3, 3}, 3);
    x.set_requires_grad();
    w.set_requires_grad();
    kernel.set_requires_grad();
    const Tensor pooled = matmul(avg_pool2d(x, 2).reshape({4, 108}), w.t());
    CHECK(largest_output({pooled}) == 4 * 108);
    check_values(pooled);
    const std::vector<Tensor> targets{x, w}, both{x, kernel};
    CHECK(largest_output(gradient(sum(pooled * pooled), targets)) == 4 * 3 * 12 * 12);
    const Tensor loss = sum(softmax(max_pool2d(conv2d(x, kernel, {}, {.padding = 1}), 2)));
    CHECK(largest_output(gradient(loss, both)) == 4 * 6 * 12 * 12);
    for (const Tensor& slope : gradient(loss, both)) check_values(slope);
    // Few classes: what softmax's gradient is multiplied with is a contraction as well, so its bits do not depend on what else is asked for.
    const Tensor logits = matmul(x.reshape({4, 432}).slice(1, {0, 108}), w.t());
    const Tensor slope = gradient(cross_entropy(logits, arange(4)), std::vector<Tensor>{w})[0];
    CHECK(largest_output({slope}) == 5 * 108);
}

TEST_CASE("what a pool's gradient moves is stored once for all who use it; a value and its reshape are one output") {
    Tensor x = data({4, 3, 12, 12}, 1), w = data({8, 3, 3, 3}, 2), b = data({8}, 3);
    x.set_requires_grad();
    w.set_requires_grad();
    b.set_requires_grad();
    const Tensor y = max_pool2d(relu(conv2d(x, w, b, {.padding = 1})), 2);
    const std::vector<Tensor> slopes = gradient(y, std::vector<Tensor>{x, w, b}, data(y.shape(), 4));
    int moved = 0;
    const Planned planned = plan(slopes);
    const std::lock_guard lock(ir::graph_lock());
    for (const schedule::PlanStep& step : planned.plan.steps) {
        Roots values;
        std::unordered_set<const Node*> memories;
        for (const auto& output : step.kernel.graph.outputs) {
            values.push_back(output.value);
            const Node* memory = output.value.get();
            while (memory->op == Op::Reshape) memory = &memory->source();
            CHECK(memories.insert(memory).second);
        }
        moved += step.kernel.graph.cut == ir::KernelGraph::Cut::OutOfOrderRepeated;
        if (!step.kernel.contraction) continue;
        for (const Node* node : ir::topological_order(values)) CHECK(node->op != Op::Where);  // it reads what is stored
    }
    CHECK(moved == 1);
}

TEST_CASE("of an operand with more pieces than a kernel has buffers its own elements are stored, not its products") {
    std::vector<Tensor> steps;
    for (unsigned i = 0; i < 40; ++i) steps.push_back(data({1, 8}, i + 1));
    const Tensor product = matmul(cat(steps, 0), data({8, 6}, 50));
    std::int64_t largest = 0;
    const Planned planned = plan({product});
    for (const schedule::PlanValue& value : planned.plan.values)
        if (value.where != schedule::PlanValue::Where::Leaf) largest = std::max(largest, numel(value.shape));
    CHECK(largest == 40 * 8);
    check_values(product);
}

// ---- large graphs ---------------------------------------------------------------------------------------------------

Roots random_dag(int count, std::uint64_t seed) {
    Rng rng(seed);
    Roots pool;
    for (int i = 0; i < 8; ++i) pool.push_back(dense_leaf(rng, f32, {6, 6}, Data::Tame));
    std::unordered_set<const Node*> used;
    while (static_cast<int>(pool.size()) < count) {
        const auto size = static_cast<std::int64_t>(pool.size());
        const auto operand = [&]() -> const NodeRef& {
            return pool[static_cast<std::size_t>(
                rng.chance(0.8) ? size - 1 - rng.below(std::min<std::int64_t>(20, size)) : rng.below(size))];
        };
        const NodeRef a = operand(), b = operand();
        NodeRef fresh;
        switch (rng.below(12)) {
            case 0: fresh = ir::permute(a, {1, 0}); break;
            case 1: fresh = ir::flip(a, {rng.below(2)}); break;
            case 2: fresh = ir::expand(ir::reduce(Op::Add, a, {rng.below(2)}), {6, 6}); break;
            case 3: fresh = ir::unary(Op::Tanh, a); break;
            case 4: fresh = ir::reduce(Op::Max, a, {1}) - b; break;
            case 5: fresh = ir::pad(ir::shrink(a, {1, 0}, {5, 6}), {0, 0}, {1, 0}); break;
            case 6: fresh = ir::reshape(ir::permute(ir::reshape(a, {2, 3, 6}), {1, 0, 2}), {6, 6}); break;
            case 7: fresh = ir::binary(Op::Max, a, b); break;
            default: fresh = rng.chance(0.5) ? a + b : a * b; break;
        }
        pool.push_back(fresh);
        used.insert({a.get(), b.get()});
    }
    Roots roots;  // whatever nobody uses, so that the whole graph is asked for
    for (const NodeRef& node : pool)
        if (!used.contains(node.get()) && node->op != Op::Buffer) roots.push_back(node);
    return roots;
}

TEST_CASE("planning a random graph of 10,000 nodes takes time in proportion") {
    check_linear([](int size) { return plan(random_dag(size, 7)); }, 2500, 10000);
}

TEST_CASE("a random graph of 600 nodes has the oracle's values") {
    const Roots roots = random_dag(600, 11);
    const std::string text = oracle_complaint(roots);
    CHECK_MESSAGE(text.empty(), text);
}

TEST_CASE("the gradient of a deep network plans in time") {
    const auto network = [](int depth) {
        std::vector<Tensor> weights;
        for (int i = 0; i < depth; ++i)
            weights.push_back(data({8, 8}, static_cast<unsigned>(i) + 5).set_requires_grad());
        Tensor x = data({4, 8});
        for (const Tensor& w : weights) x = layer_norm(relu(matmul(x, w)) + x, {8});
        return plan(gradient(sum(x * x), weights));
    };
    check_linear(network, 10, 40);
}

TEST_CASE("ten thousand different shapes leave nothing behind but full caches") {
    const BackendScope ref("ref");
    const auto compute_shapes = [](std::int64_t from, std::int64_t to) {
        for (std::int64_t n = from; n < to; ++n) {
            const Tensor x = zeros({n % 97 + 1, n / 97 + 1});
            (x + 1).realize();
            if (n % 4 == 0) sum(x * 2, Axes{1}).realize();
        }
    };
    compute_shapes(0, 5000);  // fills both caches: 1,024 plans, 4,096 programs
    const std::int64_t before = resident_bytes(), live = counters().live_nodes;
    compute_shapes(5000, 10000);
    CHECK(counters().live_nodes - live < 50000);
    CHECK(resident_bytes() - before < 64 << 20);
}

TEST_CASE("a chain of a million nodes is built, run and freed on a small stack") {
    const std::int64_t before = counters().live_nodes;
    on_small_stack([] {
        Rng rng(3);
        NodeRef x = dense_leaf(rng, f32, {4}, Data::Whole);
        const NodeRef one = ir::constant(f32, 1.0, Shape{4});
        for (int i = 0; i < 500000; ++i) x = ir::unary(Op::Neg, x + one);
        const Roots roots{x};
        const WordLists words = compute(roots, {});
        CHECK(words[0].size() == 4);
        // -(-(a + 1) + 1) is a: an even number of rounds changes nothing
        CHECK(words == compute({ir::unary(Op::Neg, ir::unary(Op::Neg,
                                                             [&] {
                                                                 const Node* leaf = x.get();
                                                                 while (!leaf->sources.empty())
                                                                     leaf = leaf->sources[0].get();
                                                                 return NodeRef(leaf);
                                                             }()))},
                               {}));
    });
    CHECK(counters().live_nodes - before < 2000000);
}

TEST_CASE("a million ops on tensors run on a small stack") {
    on_small_stack([] {
        const BackendScope ref("ref");
        Tensor x = data({3});
        const std::vector<float> start = x.to_vector<float>();
        for (int i = 0; i < 500000; ++i) x = -(-x);
        CHECK(x.to_vector<float>() == start);
    });
}

}  // namespace
}  // namespace weft::testing
