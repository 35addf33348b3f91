// After a run that failed: what did not need the value that failed is there, what did has its last value that does not.
#include "device/pool.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/write_group.h>

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

namespace {

using Floats = std::vector<float>;

Floats values(const Tensor& x) { return x.to_vector<float>(); }
Tensor filled(float value) { return full({2}, value).clone().realize(); }

// Fails in the run, not at the call.
Tensor bad() { return take(from_data(Floats{1, 2}), from_data(std::vector<std::int64_t>{7, 7})); }

void fail() { CHECK_THROWS_AS(bad().realize(), IndexError); }

}  // namespace

TEST_CASE("writes beside the failure are kept") {
    Tensor a = zeros({3}), b = filled(5);
    a += 1;
    b += bad();
    fail();
    CHECK(values(a) == Floats{1, 1, 1});
    CHECK(values(b) == Floats{5, 5});
    CHECK(values(b + 1) == Floats{6, 6});
}

TEST_CASE("of a chain of writes those before the failure are kept") {
    for (const int before : {0, 1, 2, 5, 40}) {
        for (const int after : {0, 1, 3, 30}) {
            CAPTURE(before);
            CAPTURE(after);
            Tensor a = filled(0), b = filled(0), other = filled(0);
            for (int i = 0; i < before; ++i) a += 1, b += a, other += 1;
            a += bad();
            for (int i = 0; i < after; ++i) a += 1, b += a, other += 1;
            fail();
            const auto sum = static_cast<float>(before * (before + 1) / 2);
            CHECK(values(a) == Floats(2, static_cast<float>(before)));
            CHECK(values(b) == Floats(2, sum));  // what came after needs a
            CHECK(values(other) == Floats(2, static_cast<float>(before + after)));
        }
    }
}

TEST_CASE("a value that is written over does not fail, and the one before a failed one is the value") {
    Tensor a = filled(0), b = filled(0);
    a += bad();
    a.assign(3);
    CHECK(values(a) == Floats{3, 3});  // nothing that failed is needed
    b.assign(filled(1) * 7);
    b.assign(bad());
    fail();
    CHECK(values(b) == Floats{7, 7});
}

TEST_CASE("a part that is written through a view goes back with its base") {
    Tensor a = filled(1), view = a[0];
    view += 1;
    Tensor(a[1]) += bad().sum();
    fail();
    CHECK(values(a) == Floats{2, 1});
    CHECK(view.item() == 2);
}

TEST_CASE("gradients: of one backward() all or none; those of others stay") {
    const Tensor v = filled(2).set_requires_grad(), w = filled(3).set_requires_grad();
    (v * 2).sum().backward();
    ((v * 5).sum() + (w * bad()).sum()).backward();  // the gradient of v does not need what failed, the loss does
    fail();
    CHECK(values(v.grad()) == Floats{2, 2});
    CHECK_FALSE(w.grad().defined());
    (w * v).sum().backward();
    CHECK(values(v.grad()) == Floats{5, 5});
    CHECK(values(w.grad()) == Floats{2, 2});
}

TEST_CASE("a gradient with a history goes back to the gradient before") {
    const Tensor v = filled(2).set_requires_grad();
    (v * 3).sum().backward();
    CHECK(values(v.grad()) == Floats{3, 3});
    backward(std::vector{(v * v * bad()).sum()}, {.create_graph = true});
    fail();
    CHECK(values(v.grad()) == Floats{3, 3});
}

TEST_CASE("an optimiser's step beside a failure has happened, with all of its state; one that needs it has not") {
    for (const bool depends : {false, true}) {
        CAPTURE(depends);
        const Tensor v = filled(2).set_requires_grad(), w = filled(3).set_requires_grad();
        optim::Adam adam({v, w}, {.lr = 0.5});
        Tensor b = filled(1);
        b += bad();
        (v * 2).sum().backward();
        (depends ? (w * bad()).sum() : (w * 3).sum()).backward();
        CHECK_THROWS_AS(adam.step(), IndexError);
        CHECK(values(b) == Floats{1, 1});
        CHECK(adam.steps() == (depends ? 0 : 1));
        CHECK(values(v)[0] == doctest::Approx(depends ? 2 : 1.5));
        CHECK(values(w)[0] == doctest::Approx(depends ? 3 : 2.5));
        CHECK(v.grad().defined());
        CHECK(w.grad().defined() != depends);
    }
}

TEST_CASE("writes of a group are kept or taken back together") {
    for (const bool fails : {false, true}) {
        CAPTURE(fails);
        Tensor a = filled(1), b = filled(1), c = filled(1);
        a += 1;
        {
            const WriteGroup together;
            a += 10;
            if (fails) b += bad();
            else b += 10;
            c += 10;
        }
        c += 100;
        fail();
        CHECK(values(a) == Floats(2, fails ? 2.f : 12.f));
        CHECK(values(b) == Floats(2, fails ? 1.f : 11.f));
        CHECK(values(c) == Floats(2, fails ? 1.f : 111.f));
    }
}

TEST_CASE("a group that is undone") {
    Tensor a = filled(1);
    a += 1;
    {
        WriteGroup together;
        a += 10;
        CHECK_FALSE(together.is_kept());
        together.undo();
    }
    CHECK(values(a) == Floats{2, 2});
    WriteGroup together;
    a += 10;
    a.realize();
    CHECK(together.is_kept());
    together.undo();
    CHECK(values(a) == Floats{12, 12});
}

TEST_CASE("too little memory for one tensor: the writes to others are kept") {
    Tensor a = filled(1), big = zeros({2});
    a += 1;
    const Tensor huge = ones({1 << 20, 1 << 20}).clone();
    CHECK_THROWS_AS(huge.realize(), MemoryError);
    CHECK(values(a) == Floats{2, 2});
}

TEST_CASE("an interrupt loses nothing, and who did not ask does not wait for it again") {
    const BackendScope slow("ref");
    Tensor a = filled(1), b = filled(1);
    const Tensor v = filled(2).set_requires_grad();
    a += 1;
    b += sum(exp(from_data(Floats(1 << 20, 0.f)))) - (1 << 20);
    (v * b).sum().backward();
    set_interrupt_callback([] { return true; });
    CHECK_THROWS_AS(b.realize(), Interrupted);
    set_interrupt_callback({});
    const CounterScope count;
    CHECK(values(a) == Floats{2, 2});
    CHECK(count.kernels_launched() <= 1);
    CHECK(values(v.grad()) == Floats{1, 1});
    CHECK(values(b) == Floats{1, 1});
}

TEST_CASE("a loop that only writes keeps no more than two values") {
    Tensor a = filled(0);
    std::vector<Tensor> given;
    for (int i = 0; i < 50; ++i) given.push_back(filled(static_cast<float>(i)));
    const std::int64_t before = counters().live_buffers;
    for (Tensor& each : given) {
        a.assign(each * 2);
        each = Tensor();
    }
    CHECK(counters().live_buffers <= before - 50 + 3);
    CHECK(values(a) == Floats{98, 98});
}
