// Lines S70 to S97 of docs/semantics.md: indices, random numbers, views and writes, runs and errors.
#include "support/backends.h"
#include "tests/semantics/lines.h"

#include <weft/shared_memory.h>
#include <weft/write_group.h>

#include <array>

using namespace weft;
using namespace weft::testing;

namespace {

using Floats = std::vector<float>;
Floats values(const Tensor& x) { return x.to_vector<float>(); }
std::string run_error(const Tensor& x) {
    return error_of<IndexError>([&] { x.realize(); });
}

}  // namespace

// ---- indices ---------------------------------------------------------------------------------------------------------

LINE("S70: a number as index raises at the call; slices move their ends in, as Python's") {
    const Tensor x = floats({1, 2, 3});
    CHECK_THROWS_AS(x[3], IndexError);
    CHECK_THROWS_AS(x[-4], IndexError);
    CHECK_THROWS_AS(x.slice(0, {0, 3, 0}), ValueError);
    CHECK_THROWS_AS(x.narrow(0, 2, 2), IndexError);
    line.is(x[-1], {3});
    line.is(x.slice(0, {-100, 100}), {1, 2, 3});
    line.is(x.slice(0, {2, 1}), {});
    line.is(x.slice(0, {{}, {}, -2}), {3, 1});
}

LINE("S71: in index(), take() and take_along_dim() negative indices count from the end") {
    line.is(take(floats({1, 2, 3}), tensor({-1, 0, -3})), {3, 1, 1});
    line.is(index(floats({{1, 2}, {3, 4}}), {tensor({-1, 0}), tensor({0, -1})}), {3, 2});
    line.is(take_along_dim(floats({{1, 2}, {3, 4}}), tensor({{-1}, {0}}), 1), {2, 3});
}

LINE_ALONE("S72: everywhere else a negative index is out of range") {
    const BackendScope scope("ref");
    const Tensor x = floats({1, 2, 3}), at = tensor({-1});
    CHECK(contains(run_error(index_select(x, 0, at)),
                   "index_select(x: f32[3], axis: 0, index: i64[1]): index out of range"));
    CHECK(contains(run_error(gather(x, 0, at)), "gather("));
    CHECK(contains(run_error(embedding(floats({{1}, {2}}), at)), "embedding("));
    CHECK(contains(run_error(scatter(x, 0, at, 5)), "scatter("));
    CHECK(contains(run_error(scatter_add(x, 0, at, floats({5}))), "scatter_add("));
    CHECK(contains(run_error(index_add(x, 0, at, floats({5}))), "index_add("));
    CHECK(contains(run_error(one_hot(at, 3)), "one_hot("));
}

LINE_ALONE("S73: an index tensor out of range raises IndexError when the graph runs, and names the call") {
    const Tensor x = floats({1, 2, 3});
    const std::string expected = "take(x: f32[3], positions: i64[2], axis: 0): index out of range [-3, 3) of axis 0";
    for (const std::string& backend : testing::backends()) {
        CAPTURE(backend);
        const BackendScope scope(backend);
        CHECK(run_error(take(x, tensor({0, 3}))).starts_with(expected));
    }
    const BackendScope scope("ref");
    CHECK(run_error(take(x, tensor({0, -4}))).starts_with(expected));
    CHECK(run_error(take(x, tensor({1, 1}) * tensor({1, 3}))).starts_with(expected));  // computed
    CHECK(run_error(take(x, full({2}, 3))).starts_with(expected));                     // a constant
    CHECK(run_error(take(x, arange(2) + 2)).starts_with(expected));
}

LINE_ALONE("S74: it raises even where the element does not depend on the index") {
    const Tensor bad = tensor({1, 10});
    for (const std::string& backend : testing::backends()) {
        CAPTURE(backend);
        const BackendScope scope(backend);
        CHECK(contains(run_error(embedding(zeros({10, 4}), bad)), "embedding(weight: f32[10, 4], index: i64[2])"));
        // Index arithmetic and bounds make these indices 0, whatever is read by the bad one.
        const Tensor x = floats({1, 2, 3}), read = take(tensor({0, 0}), bad),
                     small = take(tensor({0, 0}, u8), bad).to(i64);
        CHECK(contains(run_error(take(x, read * 0)), "take("));
        CHECK(contains(run_error(take(x, remainder(read, 1))), "take("));
        CHECK(contains(run_error(take(x, clamp(read, 0, 0))), "take("));
        CHECK(contains(run_error(take(x, read - read)), "take("));
        CHECK(contains(run_error(take(x, floor_divide(small, 256))), "take("));
        CHECK(contains(run_error(where(small < 256, floats({8, 9}), floats({4, 5}))), "take("));
        CHECK(contains(run_error(scatter_add(x, 0, read * 0, floats({1, 1}))), "take("));
        CHECK(contains(run_error(take(take(floats({{1, 2}, {3, 4}}), tensor({0, 1}), 0), read * 0, 1)), "take("));
        CHECK(contains(run_error(one_hot(bad, 1)), "one_hot("));
        CHECK(contains(run_error(cross_entropy(floats({{1}, {2}}), bad)), "cross_entropy("));
    }
    const BackendScope scope("ref");
    CHECK(contains(run_error(take(floats({7}).expand({10}), bad)), "take("));
    CHECK(contains(run_error(index_select(ones({10}) + 1, 0, bad)), "index_select("));
    CHECK(values(embedding(full({10, 2}, 3.0), tensor({9, 0}))) == Floats{3, 3, 3, 3});
    CHECK(values(take(floats({7}), tensor({0, -1}))) == Floats{7, 7});
    CHECK(values(take(floats({5, 6}), take(tensor({0, 1}), tensor({-1, -2})) * 0)) == Floats{5, 5});
}

LINE_ALONE("S75: labels out of range raise at the run; no label is ignored unless ignore_index says so") {
    const BackendScope scope("ref");
    const Tensor logits = floats({{1, 2}, {3, 4}});
    CHECK(contains(run_error(cross_entropy(logits, tensor({0, 2}))), "label out of range [0, 2)"));
    CHECK(contains(run_error(cross_entropy(logits, tensor({0, -100}))), "label out of range [0, 2)"));
    CHECK(contains(run_error(nll_loss(logits, tensor({-1, 0}))), "nll_loss("));
}

LINE("S76: an index has an integer type, and an axis of size 0 has no index: both raise at the call") {
    const Tensor x = floats({1, 2, 3});
    CHECK_THROWS_AS(take(x, floats({0})), DTypeError);
    CHECK_THROWS_AS(take(x, tensor({true})), DTypeError);
    CHECK_THROWS_AS(take(zeros({0}), tensor({0})), IndexError);
    line.is(take(zeros({0}).clone(), zeros({0}, i64)), {});
    line.is(take(x, tensor({2, 0}, u8)), {3, 1});
}

LINE("S77: scatter: of several values for one place the last wins; scatter_add adds them in index order") {
    line.is(scatter(floats({0, 0, 0}), 0, tensor({1, 1, 2}), floats({5, 6, 7})), {0, 6, 7});
    line.is(scatter_add(floats({0, 1e8}), 0, tensor({1, 1, 0}), floats({1, -1e8, 3})), {3, 0});
    line.is(index_add(tensor({2048}, f16), 0, tensor({0, 0}), tensor({1, 1}, f16)), {2050});
}

// ---- random numbers --------------------------------------------------------------------------------------------------

LINE_ALONE("S78: random numbers depend on the seed and the order of the calls, not on when or where they run") {
    std::vector<Floats> drawn;
    for (const std::string& backend : testing::backends()) {
        const BackendScope scope(backend);
        manual_seed(7);
        const Tensor a = rand({5}), b = rand({5});
        drawn.push_back(values(b));  // b runs first
        drawn.push_back(values(a));
    }
    CHECK(drawn[0] == drawn[2]);
    CHECK(drawn[1] == drawn[3]);
    CHECK(drawn[0] != drawn[1]);
}

LINE_ALONE(
    "S79: the counter advances at the call, by one for each element; a failed or dropped run does not turn it back") {
    manual_seed(7);
    rand({5});
    CHECK(random_state().counter == 5);
    randn({2, 3});
    CHECK(random_state().counter == 11);
    rand({0});
    CHECK(random_state().counter == 11);
    CHECK(random_state().seed == 7);
}

LINE_ALONE(
    "S80: a tensor of random numbers has one value, however often it is read; a state that is set continues there") {
    const BackendScope scope("ref");
    manual_seed(3);
    const Tensor x = rand({4}), difference = x - x;
    CHECK(values(difference) == Floats{0, 0, 0, 0});
    const RandomState state = random_state();
    const Floats first = values(rand({3}));
    set_random_state(state);
    CHECK(values(rand({3})) == first);
    CHECK(values(x) == values(x));
}

LINE_ALONE("S81: rand lies in [0, 1) in every type, randint in [low, high), which must not be empty") {
    const BackendScope scope("ref");
    manual_seed(1);
    for (const DType dtype : {f16, bf16, f32, f64}) {
        const Tensor x = rand({3000}, dtype);
        CHECK(max(x).item() < 1);
        CHECK(min(x).item() >= 0);
    }
    const Tensor whole = randint(-2, 3, {500});
    CHECK(min(whole).item() == -2);
    CHECK(max(whole).item() == 2);
    CHECK_THROWS_AS(randint(3, 3, {1}), ValueError);
    CHECK_THROWS_AS(rand({2}, i32), DTypeError);
}

LINE_ALONE(
    "S82: dropout with probability 0 or outside training is x, with 1 it is zeros; backward draws the same mask") {
    const BackendScope scope("ref");
    const Tensor x = floats({1, 2, 3, 4}).set_requires_grad();
    CHECK(values(dropout(x, 0)) == Floats{1, 2, 3, 4});
    CHECK(values(dropout(x, 0.9, false)) == Floats{1, 2, 3, 4});
    CHECK(values(dropout(x, 1)) == Floats{0, 0, 0, 0});
    CHECK_THROWS_AS(dropout(x, 1.5), ValueError);
    const Tensor y = dropout(x, 0.5);
    y.sum().backward();
    CHECK(values(x.grad() * x.detach()) == values(y));
}

// ---- views and writes ------------------------------------------------------------------------------------------------

LINE("S83: a write through a view is seen by its base and by all other views, whenever they were made") {
    Tensor x = floats({{1, 2}, {3, 4}}), row = x[0], column = x.t()[1], turned = x.slice(0, {{}, {}, -1});
    row.assign(9);
    column += 1;
    line.is(x, {9, 10, 3, 5});
    line.is(row, {9, 10});
    line.is(turned, {3, 5, 9, 10});
}

LINE("S84: handles share a value, clone() and expressions do not; an expression keeps what its operands were") {
    Tensor x = floats({{1, 2}, {3, 4}}), same = x, copy = x.clone(), dense = x.contiguous(), row = x[1].contiguous();
    Tensor turned = x.t().contiguous(), column = x.slice(1, {0, 1}).contiguous();
    const Tensor doubled = x * 2;
    x += 10;
    line.is(same, {11, 12, 13, 14});
    line.is(copy, {1, 2, 3, 4});
    line.is(dense, {11, 12, 13, 14});  // x itself, since its elements lie in row-major order …
    line.is(row, {13, 14});
    line.is(turned, {1, 3, 2, 4});  // … and these do not
    line.is(column, {1, 3});
    line.is(doubled, {2, 4, 6, 8});
}

LINE("S85: a write reads all of its source before it changes anything, so overlaps are safe") {
    Tensor x = floats({1, 2, 3, 4}), y = floats({1, 2, 3});
    x.slice(0, {1, 4}).assign(x.slice(0, {0, 3}));
    y += y.flip({0});
    line.is(x, {1, 1, 2, 3});
    line.is(y, {4, 4, 4});
}

LINE("S86: reshape is a view where the elements have strides in the new shape, else a value of its own") {
    Tensor x = floats({{1, 2}, {3, 4}}), flat = x.reshape({4}), turned = x.t().reshape({4}), y = floats({1, 2});
    Tensor column = x.slice(1, {1, 2}).reshape({2}), pairs = x.t().reshape({2, 1, 2}),
           wide = y.expand({2, 2}).flatten();
    flat.slice(0, {1, 2}).assign(9);
    turned.slice(0, {0, 1}).assign(7);
    column.slice(0, {1, 2}).assign(5);
    pairs[1][0].slice(0, {0, 1}).assign(8);
    wide += 1;
    line.is(x, {1, 8, 3, 5});
    line.is(turned, {7, 3, 2, 4});
    line.is(wide, {2, 3, 2, 3});
    line.is(y, {1, 2});
}

LINE_ALONE("S87: an expanded view cannot be written") {
    const BackendScope scope("ref");
    Tensor x = floats({1, 2}), wide = x.expand({3, 2});
    CHECK_THROWS_AS(wide += 1, ValueError);
    CHECK(values(x) == Floats{1, 2});
}

LINE("S88: writing a slice with a step leaves what lies between") {
    Tensor x = floats({0, 1, 2, 3, 4});
    x.slice(0, {{}, {}, -2}).assign(floats({7, 8, 9}));
    line.is(x, {9, 1, 8, 3, 7});
}

LINE("S89: detach() shares the value: writes are seen on both sides") {
    Tensor x = floats({1, 2}), cut = x.detach();
    cut += 1;
    x *= 2;
    line.is(cut, {4, 6});
    line.is(x, {4, 6});
    const Tensor w = floats({1, 1}).set_requires_grad();
    Tensor h = (w * 1.).detach();
    h += w * 2;
    ((h * h).sum() + (w * .5).sum()).backward();
    line.is(w.grad(), {12.5, 12.5});
}

LINE_ALONE("S90: a leaf that requires a gradient is written under NoGrad or through detach() only") {
    const BackendScope scope("ref");
    Tensor w = floats({1, 2}).set_requires_grad();
    CHECK_THROWS_AS(w += 1, GradError);
    CHECK_THROWS_AS(w[0].assign(5), GradError);
    {
        const NoGrad scope_of_update;
        w += 1;
    }
    w.detach()[0].assign(7);
    CHECK(values(w) == Floats{7, 3});
    CHECK(w.requires_grad());
}

LINE_ALONE("S91: foreign memory is read when the graph runs and never written; memory() stays as it was") {
    const BackendScope scope("ref");
    std::array<float, 2> foreign = {1, 2};
    Tensor x = from_memory(foreign.data(), {2}, {1}, f32, nullptr);
    const Tensor sum_of_both = sum(x);
    foreign[0] = 5;
    CHECK(sum_of_both.item() == 7);
    x += 1;
    CHECK(values(x) == Floats{6, 3});
    CHECK(foreign == std::array<float, 2>{5, 2});
    const MemoryView seen = x.memory();
    x += 1;
    CHECK(values(x) == Floats{7, 4});
    CHECK(static_cast<const float*>(seen.data)[0] == 6);
}

LINE_ALONE("S98: an op sees shared memory as it is at the call, a read as it is then; a write in place writes it") {
    const DeviceScope host(cpu);
    const BackendScope scope("ref");
    std::array<float, 4> foreign = {1, 2, 3, 4};
    Tensor x = from_shared_memory(foreign.data(), {2, 2}, {2, 1}, f32, nullptr);
    const Tensor doubled = x * 2, second = x[1] + 0, transposed = x.t() + 0;
    foreign[2] = 30;
    const Tensor tripled = x * 3;
    CHECK(values(doubled) == Floats{2, 4, 6, 8});
    CHECK(values(second) == Floats{3, 4});
    CHECK(values(transposed) == Floats{1, 3, 2, 4});
    CHECK(values(tripled) == Floats{3, 6, 90, 12});
    CHECK(values(x) == Floats{1, 2, 30, 4});
    CHECK(values(x.t()) == Floats{1, 30, 2, 4});
    const Tensor rows = take(x, tensor({1, 1}));
    foreign[3] = 40;
    CHECK(values(rows) == Floats{30, 4, 30, 4});
    x += 1;
    CHECK(foreign == std::array<float, 4>{2, 3, 31, 41});
    x[0].assign(7);
    x.t()[1] *= 2;
    CHECK(foreign == std::array<float, 4>{7, 14, 31, 82});
    CHECK(values(doubled) == Floats{2, 4, 6, 8});
    {
        WriteGroup together;
        x += 1;
        x.realize();
    }
    CHECK(foreign == std::array<float, 4>{8, 15, 32, 83});
    CHECK_THROWS_AS(x += take(floats({1, 2, 3}), tensor({{9, 0}, {0, 0}})), IndexError);
    CHECK(foreign == std::array<float, 4>{8, 15, 32, 83});
}

// ---- runs and errors -------------------------------------------------------------------------------------------------

LINE_ALONE("S92: wrong shapes, types and numbers raise at the call, with the call in the message; nothing is changed") {
    const BackendScope scope("ref");
    Tensor a = zeros({2, 3}), b = zeros({4, 5});
    CHECK(error_of<ShapeError>([&] { matmul(a, b); }).starts_with("matmul(a: f32[2, 3], b: f32[4, 5]): "));
    CHECK(error_of<ShapeError>([&] { a + b; }).starts_with("add(a: f32[2, 3], b: f32[4, 5]): "));
    CHECK_THROWS_AS(where(a, a, a), DTypeError);
    CHECK_THROWS_AS(sum(a, 2), IndexError);
    CHECK_THROWS_AS(sum(a, {0, 0}), ValueError);
    CHECK_THROWS_AS(zeros({-1}), ValueError);
    CHECK_THROWS_AS(zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}), ValueError);
    CHECK_THROWS_AS(Tensor() + a, ValueError);
    CHECK_THROWS_AS(a.assign(b), ShapeError);
    CHECK(values(a) == Floats(6, 0));
}

LINE_ALONE(
    "S93: after an error what needs the failed value has the last value that does not, and all else is computed") {
    for (const std::string& backend : testing::backends()) {
        CAPTURE(backend);
        const BackendScope scope(backend);
        Tensor x = floats({1, 2}), y = floats({5, 6});
        x += take(floats({10, 20}), tensor({7, 0}));
        y += 1;
        CHECK_THROWS_AS(x.realize(), IndexError);
        CHECK(values(x) == Floats{1, 2});
        CHECK(values(y) == Floats{6, 7});
        y += 1;
        CHECK(values(y) == Floats{7, 8});
    }
}

LINE_ALONE("S94: a gradient from a run that failed is taken back") {
    const BackendScope scope("ref");
    const Tensor w = floats({1, 2}).set_requires_grad();
    const Tensor loss = take(w, tensor({9})).sum();
    loss.backward();
    CHECK_THROWS_AS(loss.item(), IndexError);
    CHECK_FALSE(w.grad().defined());
    CHECK(values(w) == Floats{1, 2});
}

LINE_ALONE("S95: memory that cannot be had raises MemoryError at the run, with the number of bytes") {
    const BackendScope scope("ref");
    const Tensor big = zeros({1 << 20, 1 << 20}).clone();
    CHECK(contains(error_of<MemoryError>([&] { big.realize(); }), "4398046511104"));
}

LINE_ALONE("S96: an interrupt raises Interrupted and loses nothing") {
    const BackendScope scope("ref");
    Tensor x = floats({1, 2});
    Tensor y = floats({3});
    x += sum(exp(from_data(Floats(1 << 19, 0.5f)))) * 0 + 1;
    y += 1;
    set_interrupt_callback([] { return true; });
    CHECK_THROWS_AS(x.realize(), Interrupted);
    set_interrupt_callback({});
    CHECK(values(y) == Floats{4});
    CHECK(values(x) == Floats{2, 3});
}

LINE_ALONE("S97: a read runs all pending writes of the thread, in the order in which they were made") {
    const BackendScope scope("ref");
    Tensor x = floats({1}), y = floats({2});
    x += y;
    y *= 10;
    x += y;
    const CounterScope count;
    CHECK(y.item() == 20);
    CHECK(count.runs() == 1);
    CHECK(x.item() == 23);
}
