// Large values between two sums: which are computed in blocks, along which axis; and that blocks have the bits of the whole.
#include "schedule/blocks.h"
#include "schedule/capture.h"
#include "schedule/simplify.h"
#include "support/eager.h"
#include "support/random.h"
#include "tensor/cell.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

using namespace weft;
using schedule::BlockSchedule;

namespace {

// What is chosen, with the sizes of the results' axes along which it is cut.
struct Choice {
    std::int64_t extent, rows;
    bool operator==(const Choice&) const = default;
};

std::vector<Choice> chosen(const std::vector<Tensor>& asked) {
    std::vector<ir::NodeRef> roots;
    for (const Tensor& tensor : asked) roots.push_back(node_of(tensor));
    const std::lock_guard lock(ir::graph_lock());
    const schedule::Captured captured = schedule::capture(roots, {});
    const ir::Rewritten simple = schedule::simplify(schedule::canonical_graph(captured, {}).outputs);
    std::vector<Choice> result;
    for (const BlockSchedule& each : schedule::choose_blocks(simple.roots))
        result.push_back({each.result->shape[each.axis], each.rows});
    return result;
}

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v) {
    return matmul(softmax(matmul(q, k.transpose(-2, -1)), -1), v);
}

}  // namespace

TEST_CASE("attention over a long sequence is computed in blocks of queries") {
    const Tensor q = rand({2, 4100, 8}), k = rand({2, 4100, 8}), v = rand({2, 4100, 8});
    CHECK(chosen({attention(q, k, v)}) == std::vector<Choice>{{4100, 192}});  // 2 million scores, in tiles of 64 rows
    CHECK(chosen({attention(q.narrow(1, 0, 1000), k, v)}).empty());
}

TEST_CASE("layers of a network over many rows, and several in a row") {
    const Tensor x = rand({40'000, 16}), w = rand({16, 1024}), out = rand({1024, 4});
    const Tensor once = matmul(relu(matmul(x, w)), out);
    CHECK(chosen({once}) == std::vector<Choice>{{40'000, 2048}});
    CHECK(chosen({matmul(relu(matmul(once, rand({4, 1024}))), out)}).size() == 2);
}

TEST_CASE("what somebody else reads as a whole is stored as a whole") {
    const Tensor q = rand({4100, 8}), k = rand({4100, 8}), v = rand({4100, 8});
    const Tensor scores = matmul(q, k.t()), weights = softmax(scores, -1);
    CHECK(chosen({matmul(weights, v)}).size() == 1);
    CHECK(chosen({matmul(weights, v), scores}).empty());          // asked for
    CHECK(chosen({matmul(weights + scores.t(), v)}).empty());     // a block of rows needs all columns
    CHECK(chosen({matmul(weights - weights.max(), v)}).empty());  // … or all rows
    CHECK(chosen({weights * 2}).empty());                         // nothing is saved
    CHECK(chosen({weights.sum(0)}).empty());                      // along the sum there are no blocks
    CHECK(chosen({weights.sum(1)}).size() == 1);
}

TEST_CASE("blocks have the bits of the whole") {
    const Tensor q = randn({4100, 24}).realize(), k = randn({4300, 24}).realize(), v = randn({4300, 5}).realize();
    const Tensor whole = q.clone().set_requires_grad();  // a gradient may ask for the weights
    const CounterScope count;
    const std::vector<float> values = attention(q, k, v).to_vector<float>();
    CHECK(count.kernels_launched() > 20);
    CHECK(values == attention(whole, k, v).to_vector<float>());
    const auto captured = jit([](const Tensor& a, const Tensor& b, const Tensor& c) { return attention(a, b, c); });
    captured(q, k, v);
    CHECK(values == captured(q, k, v).to_vector<float>());
}

TEST_CASE("blocks of small values of odd sizes, against each op computed alone") {
    testing::Rng random(20261117);
    int cut = 0;
    for (int round = 0; round < 40; ++round) {
        const std::int64_t batch = random.below(3) + 1, heads = random.below(3) + 1, queries = random.below(60) + 9,
                           keys = random.below(40) + 9, width = random.below(4) + 1;
        CAPTURE(round);
        INFO("batch ", batch, " heads ", heads, " queries ", queries, " keys ", keys, " width ", width);
        // As multi-head attention has them: [batch, length, heads, width], seen as [batch, heads, length, width].
        const auto input = [&](std::int64_t length) {
            return randn({batch, length, heads * width})
                .realize()
                .reshape({batch, length, heads, width})
                .permute({0, 2, 1, 3});
        };
        const Tensor q = input(queries), k = input(keys), v = input(keys), bias = randn({queries, 1}).realize();
        Tensor scores = matmul(q * 0.5, k.transpose(-2, -1)) + bias;
        if (round % 2) scores = where(gt(arange(keys), arange(queries).unsqueeze(1)), -1e9, scores);
        const Tensor raised = exp(scores - scores.max(-1, true)), weights = raised / raised.sum(-1, true);
        const Tensor result = matmul(weights, v).permute({0, 2, 1, 3}).reshape({batch, queries, heads * width});
        const ir::NodeRef whole = node_of(result);
        const schedule::BlockLimits limits{.whole = 64, .block = 200, .fewest_rows = random.below(7) + 1};
        const std::vector<BlockSchedule> blocks = schedule::choose_blocks(std::span(&whole, 1), limits);
        if (blocks.empty()) continue;
        ++cut;
        const ir::NodeRef parts = schedule::in_blocks(std::span(&whole, 1), blocks)[0];
        CHECK(parts != whole);
        CHECK(testing::evaluate_eagerly(parts) == testing::evaluate_eagerly(whole));
        CHECK(make_tensor(parts).to_vector<float>() == result.to_vector<float>());
    }
    CHECK(cut > 20);
}
