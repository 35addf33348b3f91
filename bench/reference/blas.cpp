// bench/reference/blas.cpp: calls OpenBLAS; a single row or column goes to its routine for vectors, which is the faster one.
#include "reference/blas.h"

#include <cblas.h>

namespace bench::blas {

void set_threads(int threads) { openblas_set_num_threads(threads); }

std::string name() { return openblas_get_config(); }

void multiply(const Product& p, const float* a, const float* b, float* c) {
    const auto m = static_cast<blasint>(p.m), k = static_cast<blasint>(p.k), n = static_cast<blasint>(p.n);
    const blasint a_pitch = p.a_transposed ? m : k, b_pitch = p.b_transposed ? k : n;
    if (m == 1 && p.b_transposed) cblas_sgemv(CblasRowMajor, CblasNoTrans, n, k, 1, b, k, a, 1, 0, c, 1);
    else if (m == 1) cblas_sgemv(CblasRowMajor, CblasTrans, k, n, 1, b, n, a, 1, 0, c, 1);
    else if (n == 1 && p.a_transposed) cblas_sgemv(CblasRowMajor, CblasTrans, k, m, 1, a, m, b, 1, 0, c, 1);
    else if (n == 1) cblas_sgemv(CblasRowMajor, CblasNoTrans, m, k, 1, a, k, b, 1, 0, c, 1);
    else
        cblas_sgemm(CblasRowMajor, p.a_transposed ? CblasTrans : CblasNoTrans,
                    p.b_transposed ? CblasTrans : CblasNoTrans, m, n, k, 1, a, a_pitch, b, b_pitch, 0, c, n);
}

}  // namespace bench::blas
