// bench/reference/blas.h: OpenBLAS, the yardstick for products of matrices. Without it (no_blas.cpp) rows that need it fail, and say so.
#pragma once

#include <cstdint>
#include <string>

namespace bench::blas {

void set_threads(int threads);
std::string name();  // "OpenBLAS 0.3.21 …", with the kernels that it chose

// c[m, n] = a[m, k] b[k, n], all dense and row-major; a transposed factor lies in memory as [k, m] or [n, k].
struct Product {
    std::int64_t m, k, n;
    bool a_transposed = false, b_transposed = false;
    double flops() const { return 2.0 * static_cast<double>(m) * static_cast<double>(k) * static_cast<double>(n); }
};
void multiply(const Product& product, const float* a, const float* b, float* c);

}  // namespace bench::blas
