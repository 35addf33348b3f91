// Arrays without elements have no kernel of their own, but what is computed from them has: sums over an axis of size 0, joins with
// parts of nothing.
#include "support/differential.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

using namespace weft;

namespace {

// Freed memory that is no zeros: the next results may lie in it.
void leave_something_behind() {
    std::vector<Tensor> old;
    for (int i = 0; i < 8; ++i) old.push_back((rand({17, 17}) + 5).realize());
}

void check_zeros(const Tensor& result) {
    for (const float value : result.to_vector<float>()) CHECK(value == 0);
}

}  // namespace

TEST_CASE("an expensive value without elements that one kernel reads twice") {
    for (const char* backend : {"ref", "c", "x86"}) {
        if (!testing::have_backend(backend)) continue;
        CAPTURE(backend);
        const BackendScope scope(backend);
        const Tensor x = zeros({17, 0}).realize();
        const auto expensive = [&] { return exp(x) + sin(x); };
        leave_something_behind();
        const Tensor y = expensive();
        CHECK(explain(y.matmul(y.t())).kernels.size() == 1);
        check_zeros(y.matmul(y.t()));
        leave_something_behind();
        const Tensor z = expensive();
        check_zeros(z.sum(1) + z.t().sum(0));
        leave_something_behind();
        const Tensor u = expensive();
        check_zeros(cat({u, zeros({17, 3}), u}, 1));
        leave_something_behind();
        const Tensor w = expensive(), both = (w.matmul(w.t()) + w.matmul(w.t()).t()).matmul(zeros({17, 17}));
        check_zeros(both);
    }
}
