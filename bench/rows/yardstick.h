// bench/rows/yardstick.h: the f32 matrix product of 1024 by OpenBLAS, whose rate is the measure for convolutions.
#pragma once

#include "harness/harness.h"
#include "reference/blas.h"
#include "reference/memory.h"

namespace bench {

class Yardstick {
public:
    Yardstick() : a_(uniform({kSize, kSize}, 1)), b_(uniform({kSize, kSize}, 2)), c_(kSize * kSize) {}

    void operator()() { blas::multiply(kProduct, data(a_), data(b_), c_.data()); }
    static double flops() { return kProduct.flops(); }

private:
    static constexpr std::int64_t kSize = 1024;
    static constexpr blas::Product kProduct{kSize, kSize, kSize};
    weft::Tensor a_, b_;
    Floats c_;
};

}  // namespace bench
