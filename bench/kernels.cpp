// bench/kernels.cpp: how fast Weft is, as a table: each row against a reference measured in the same run, with the same number of threads
// and the same precision. The reference is OpenBLAS for products, a hand-written vector loop for what memory bounds, the rate of
// OpenBLAS's product for convolutions, and a time limit for compiling, steps and ops.
//
//     bench_kernels [--only NAME] [--json FILE]      # rows whose name contains NAME
//
// WEFT_BACKEND and WEFT_CPU choose as ever. With WEFT_CPU=avx2 the vector loops are AVX2 too; OPENBLAS_CORETYPE=Haswell asks OpenBLAS for it.
#include "backend/backend.h"
#include "core/config.h"
#include "reference/blas.h"
#include "reference/loops.h"
#include "rows/rows.h"

#include <weft/debug.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <string_view>

namespace {

struct Topic {
    const char* name;
    void (*rows)(bench::Harness&);
};
constexpr Topic kTopics[] = {{"matmul", bench::matmul_rows},
                             {"conv", bench::conv_rows},
                             {"memory", bench::memory_rows},
                             {"compile", bench::compile_rows},
                             {"steps", bench::step_rows}};

int run(int argc, char** argv) {
    const weft::ThreadScope threads(bench::kThreads);
    if (argc == 2 && std::string_view(argv[1]) == bench::kColdStep) return bench::cold_step();
    bench::blas::set_threads(bench::kThreads);
    double load = 0;
    std::ifstream("/proc/loadavg") >> load;
    std::printf("weft: %s\nreferences: %s, vector loops in %s\nload of the machine: %.1f\n\n",
                weft::system_info().backend.c_str(), bench::blas::name().c_str(), bench::loops_name(), load);
    bench::Harness harness(argc, argv);
    for (const auto& [name, rows] : kTopics) {
        try {
            rows(harness);
        } catch (const std::exception& error) {
            harness.failed(name, error.what());
        }
    }
    return harness.finish();
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
