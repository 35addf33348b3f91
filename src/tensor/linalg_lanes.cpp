// tensor/linalg_lanes.cpp: the innermost loops of the decompositions for each level of processor, and the product of matrices that is
// made of them.
#include "core/cpu.h"
#include "core/interrupt.h"
#include "tensor/linalg_dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace weft::dense {
namespace {

constexpr int kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

struct Routines {
    void (*add_scaled)(double*, double, const double*, std::int64_t);
    double (*dot)(const double*, const double*, std::int64_t);
    void (*rotate)(double*, double*, double, double, std::int64_t);
    void (*multiply_tile)(std::int64_t, const double*, const double*, double*);
    int tile_rows, tile_columns;
};

namespace baseline {
constexpr int kTileRows = 2, kTileVectors = 1;
#define WEFT_TARGET
#include "tensor/linalg_lanes_body.h"
#undef WEFT_TARGET
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
constexpr int kTileRows = 4, kTileVectors = 1;
#define WEFT_TARGET __attribute__((target("avx2")))
#include "tensor/linalg_lanes_body.h"
#undef WEFT_TARGET
}  // namespace avx2

namespace avx512 {
constexpr int kTileRows = 8, kTileVectors = 2;
#define WEFT_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")))
#include "tensor/linalg_lanes_body.h"
#undef WEFT_TARGET
}  // namespace avx512

const Routines& routines() {
    static const Routines& chosen = cpu_level() == CpuLevel::Avx512 ? avx512::kRoutines
                                    : cpu_level() == CpuLevel::Avx2 ? avx2::kRoutines
                                                                    : baseline::kRoutines;
    return chosen;
}
#else
const Routines& routines() { return baseline::kRoutines; }
#endif

// ---- the product -----------------------------------------------------------------------------------------------------

constexpr std::int64_t kDepth = 256, kHeight = 64,
                       kWidth = 512;  // of the packed blocks: a's in the L2 cache, a panel of b's in L1

// Panels of `width` columns (or rows, of a transposed view) one after the other, filled up with zeros.
void pack(const Strided& from, std::int64_t width, double factor, double* to) {
    for (std::int64_t j = 0; j < from.columns; j += width) {
        const std::int64_t count = std::min(width, from.columns - j);
        for (std::int64_t p = 0; p < from.rows; ++p, to += width) {
            const double* source = from.data + p * from.row_stride + j * from.column_stride;
            for (std::int64_t k = 0; k < count; ++k) to[k] = factor * source[k * from.column_stride];
            std::fill(to + count, to + width, 0.0);
        }
    }
}

std::int64_t rounded_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

}  // namespace

void add_scaled(double* y, double factor, const double* x, std::int64_t count) {
    routines().add_scaled(y, factor, x, count);
}
double dot(const double* x, const double* y, std::int64_t count) { return routines().dot(x, y, count); }
void rotate(double* x, double* y, double c, double s, std::int64_t count) { routines().rotate(x, y, c, s, count); }

void add_product(const Matrix& c, double factor, const Strided& a, const Strided& b) {
    if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
    const Routines& use = routines();
    const std::int64_t rows = use.tile_rows, columns = use.tile_columns;
    static thread_local std::vector<double> left, right;
    double tile[8 * 2 * kLanes];
    for (std::int64_t p = 0; p < a.columns; p += kDepth) {
        const std::int64_t depth = std::min(kDepth, a.columns - p);
        for (std::int64_t j = 0; j < c.columns; j += kWidth) {
            const std::int64_t width = std::min(kWidth, c.columns - j);
            right.resize(static_cast<std::size_t>(depth * rounded_up(width, columns)));
            pack(b.block(p, j, depth, width), columns, 1, right.data());
            for (std::int64_t i = 0; i < c.rows; i += kHeight) {
                poll_interrupt();
                const std::int64_t height = std::min(kHeight, c.rows - i);
                left.resize(static_cast<std::size_t>(depth * rounded_up(height, rows)));
                pack(a.block(i, p, height, depth).t(), rows, factor, left.data());
                for (std::int64_t jj = 0; jj < width; jj += columns)
                    for (std::int64_t ii = 0; ii < height; ii += rows) {
                        use.multiply_tile(depth, left.data() + ii * depth, right.data() + jj * depth, tile);
                        const std::int64_t most = std::min(rows, height - ii), wide = std::min(columns, width - jj);
                        for (std::int64_t r = 0; r < most; ++r)
                            use.add_scaled(c[i + ii + r] + j + jj, 1, tile + r * columns, wide);
                    }
            }
        }
    }
}

void copy(const Strided& from, const Matrix& to) {
    for (std::int64_t i = 0; i < from.rows; ++i)
        for (std::int64_t j = 0; j < from.columns; ++j) to[i][j] = from(i, j);
}

void set_identity(const Matrix& a) {
    for (std::int64_t i = 0; i < a.rows; ++i) {
        std::fill(a[i], a[i] + a.columns, 0.0);
        if (i < a.columns) a[i][i] = 1;
    }
}

double largest(const Strided& a) {
    double result = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.columns; ++j) {
            const double size = std::fabs(a(i, j));
            if (!(size <= result)) result = size;
            if (std::isnan(result)) return result;
        }
    return result;
}

bool all_finite(const Strided& a) { return std::isfinite(largest(a)); }

}  // namespace weft::dense
