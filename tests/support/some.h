// tests/support/some.h: numbers for tests that look at values and do not care which.
#pragma once

#include <weft/weft.h>

#include <vector>

namespace weft::testing {

// Computed numbers between -0.4 and 0.6, in no order that a test could rely on; another seed has others.
inline Tensor some(const Shape& shape, DType dtype = f32, int seed = 0) {
    const Tensor x = ((arange(numel(shape)) * (7919 + seed)) % 1021).to(f32) / 1021 - 0.4;
    return x.to(dtype).reshape(shape).clone().realize();
}

inline std::vector<double> values(const Tensor& x) { return x.to(f64).to_vector<double>(); }

}  // namespace weft::testing
