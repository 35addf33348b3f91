// bench/reference/no_blas.cpp: stands in where OpenBLAS is not installed.
#include "reference/blas.h"

#include <stdexcept>

namespace bench::blas {

void set_threads(int) {}
std::string name() { return "no OpenBLAS"; }

void multiply(const Product&, const float*, const float*, float*) {
    throw std::runtime_error("needs OpenBLAS (Debian: libopenblas-dev)");
}

}  // namespace bench::blas
