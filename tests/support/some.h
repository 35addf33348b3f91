// tests/support/some.h: numbers for tests that look at values and do not care which.
#pragma once

#include <weft/weft.h>

#include <cstdlib>
#include <vector>

namespace weft::testing {

// Computed numbers between -0.4 and 0.6, in no order that a test could rely on; another seed has others.
inline Tensor some(const Shape& shape, DType dtype = f32, int seed = 0) {
    const Tensor x = ((arange(numel(shape)) * (7919 + seed)) % 1021).to(f32) / 1021 - 0.4;
    return x.to(dtype).reshape(shape).clone().realize();
}

// Whether loops are interpreted (WEFT_TEST_SHORT): a thousand times as slow, so long rows are shorter, and fewer.
inline bool is_short_run() {
    static const bool is = std::getenv("WEFT_TEST_SHORT") != nullptr;
    return is;
}

inline std::vector<double> values(const Tensor& x) { return x.to(f64).to_vector<double>(); }

}  // namespace weft::testing
