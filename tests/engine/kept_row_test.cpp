// What a row kernel needs twice and is expensive to compute is kept in a row of scratch: still one kernel, with the bits of the same steps
// run one by one.
#include "core/config.h"
#include "support/decisions.h"
#include "support/differential.h"
#include "support/some.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

using namespace weft;
using testing::some;
using testing::values;

namespace {

Tensor computed(Tensor x) {
    x.realize();
    return x;
}

bool keeps(const Tensor& x) { return !testing::locals(testing::kernel_of(x), "kept").empty(); }

// exp(x - max) / sum, in one kernel.
Tensor at_once(const Tensor& x) {
    const Tensor e = exp(x - x.max(-1, true));
    return e / e.sum(-1, true);
}
Tensor step_by_step(const Tensor& x) {
    const Tensor top = computed(x.max(-1, true)), e = computed(exp(x - top)), sum = computed(e.sum(-1, true));
    return computed(e / sum);
}

}  // namespace

TEST_CASE("a softmax keeps its exponentials, for rows of every length") {
    for (const DType dtype : {f32, f64})
        for (const std::int64_t length : {32, 33, 100, 1000, 1024, 8192}) {
            CAPTURE(dtype);
            CAPTURE(length);
            const Tensor x = some({3, length}, dtype);
            for (const char* backend : {"ref", "c", "x86"}) {
                if (!testing::have_backend(backend)) continue;
                CAPTURE(backend);
                const BackendScope scope(backend);
                CHECK(keeps(at_once(x)));
                CHECK(values(at_once(x)) == values(step_by_step(x)));
            }
        }
}

TEST_CASE("rows that are too short or too long, and what is cheap, are computed again") {
    const BackendScope ref("ref");
    CHECK_FALSE(keeps(at_once(some({40, 10}, f32))));
    CHECK_FALSE(keeps(at_once(some({2, 20000}, f32))));
    const Tensor x = some({3, 100}, f32), d = x - x.mean(-1, true);
    CHECK_FALSE(keeps(d * (d * d).mean(-1, true)));
}

TEST_CASE("a row of which a sum sees only a part is not kept") {
    const Tensor x = some({8, 40}, f32), a = some({4, 40}, f32), b = some({4, 40}, f32) * 2;
    for (const char* backend : {"ref", "c", "x86"}) {
        if (!testing::have_backend(backend)) continue;
        CAPTURE(backend);
        const BackendScope scope(backend);
        const auto all = [&](const Tensor& e) {  // in one row: the sums of the first half and of both
            return (e.narrow(0, 0, 4) * a).sum() * (e.narrow(0, 4, 4) * b).sum() + (e * e).sum();
        };
        CHECK(values(all(exp(x))) == values(all(computed(exp(x)))));
    }
}

TEST_CASE("only what lies in the row's own order is read from it") {
    const Tensor x = some({6, 64}, f32);
    for (const char* backend : {"ref", "c", "x86"}) {
        if (!testing::have_backend(backend)) continue;
        CAPTURE(backend);
        const BackendScope scope(backend);
        const auto reversed = [](const Tensor& e, const Tensor& sum) { return e.flip(-1) / sum + e; };
        const Tensor e = exp(x), sum = e.sum(-1, true);
        const std::vector<double> got = values(reversed(e, sum));
        const Tensor known = computed(exp(x)), total = computed(known.sum(-1, true));
        CHECK(got == values(reversed(known, total)));
        const Tensor f = exp(x), of_others = f / f.sum(-1, true) + f.flip(0);  // another row's elements
        const Tensor g = computed(exp(x));
        CHECK(values(of_others) == values(g / computed(g.sum(-1, true)) + g.flip(0)));
        const Tensor p = exp(x), padded = pad(p, {2, 0}).slice(1, Slice{0, 64}) * p.sum(-1, true);
        const Tensor q = computed(exp(x));
        CHECK(values(padded) == values(pad(q, {2, 0}).slice(1, Slice{0, 64}) * computed(q.sum(-1, true))));
    }
}

TEST_CASE("rows of a large array that are read again ask for the next row") {
    const auto asks = [](const Tensor& x) { return testing::decides<kernel::PrefetchRow>(testing::kernel_of(x)); };
    const Tensor large = some({301, 1000}, f32), twice = some({150, 1000}, f64), small = some({100, 1000}, f32);
    const auto norm = [](const Tensor& x) { return layer_norm(x, {x.size(1)}); };
    for (const char* backend : {"ref", "c", "x86"}) {
        if (!testing::have_backend(backend)) continue;
        CAPTURE(backend);
        const BackendScope scope(backend);
        for (const Tensor& x : {large, twice}) {
            CHECK(asks(at_once(x)));
            CHECK(values(at_once(x)) == values(step_by_step(x)));
            CHECK(asks(norm(x)));
            const std::vector<double> got = values(norm(x));
            const OptScope off{"prefetch"};
            CHECK_FALSE(asks(norm(x)));
            CHECK(values(norm(x) + 0) == got);
        }
        CHECK_FALSE(asks(at_once(small)));                   // it stays in a near cache
        CHECK_FALSE(asks(sum(large, 1)));                    // read once
        CHECK_FALSE(asks(at_once(some({4000, 100}, f32))));  // short rows
    }
}
