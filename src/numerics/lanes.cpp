// numerics/lanes.cpp: the innermost loops of the decompositions for each level of processor, and the product of matrices that is
// made of them.
#include "core/cpu.h"
#include "core/interrupt.h"
#include "numerics/dense.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace weft::dense {
namespace {

constexpr int kLanes = 8;
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double))));

struct Routines {
    void (*add_scaled)(double*, double, const double*, std::int64_t);
    double (*dot)(const double*, const double*, std::int64_t);
    void (*divide)(double*, double, std::int64_t);
    double (*largest_magnitude)(const double*, std::int64_t);
    void (*rotate)(double*, double*, double, double, std::int64_t);
    void (*rotate_rows)(const Matrix&, const Sweep&, const double*);
    void (*add_rows)(double*, double, const double*, std::int64_t, const Matrix&);
    PoleSum (*sum_poles)(const double*, const double*, double, std::int64_t);
    void (*multiply)(const Matrix&, const double*, double*);
    void (*multiply_tile)(std::int64_t, const double*, const double*, double*, std::int64_t);
    int tile_rows, tile_columns;
};

namespace baseline {
constexpr int kTileRows = 2, kTileVectors = 1;
#define WEFT_TARGET
#include "numerics/lanes_body.h"
#undef WEFT_TARGET
}  // namespace baseline

#if defined(__x86_64__)
namespace avx2 {
constexpr int kTileRows = 4, kTileVectors = 1;
#define WEFT_TARGET __attribute__((target("avx2")))
#include "numerics/lanes_body.h"
#undef WEFT_TARGET
}  // namespace avx2

namespace avx512 {
constexpr int kTileRows = 8, kTileVectors = 2;
#define WEFT_TARGET __attribute__((target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")))
#include "numerics/lanes_body.h"
#undef WEFT_TARGET
}  // namespace avx512

const Routines& routines_of(CpuLevel level) {
    return level == CpuLevel::Avx512 ? avx512::kRoutines
           : level == CpuLevel::Avx2 ? avx2::kRoutines
                                     : baseline::kRoutines;
}
#else
const Routines& routines_of(CpuLevel) { return baseline::kRoutines; }
#endif

thread_local const Routines* chosen = nullptr;

const Routines& routines() { return chosen ? *chosen : routines_of(machine_level()); }

// ---- the product -----------------------------------------------------------------------------------------------------

constexpr std::int64_t kFairShare = std::int64_t{1} << 15;  // elements of a vector's product that are worth a thread
constexpr std::int64_t kDepth = 256, kHeight = 64,
                       kWidth = 256;  // of the packed blocks: both in the L2 cache, a panel of b's in L1

// Panels of `width` columns (or rows, of a transposed view) one after the other, filled up with zeros.
void pack(const Strided& from, std::int64_t width, double factor, double* to) {
    for (std::int64_t j = 0; j < from.columns; j += width) {
        const std::int64_t count = std::min(width, from.columns - j);
        for (std::int64_t p = 0; p < from.rows; ++p, to += width) {
            const double* source = from.data + p * from.row_stride + j * from.column_stride;
            if (from.column_stride == 1 && factor == 1) std::memcpy(to, source, static_cast<std::size_t>(count) * 8);
            else
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

void divide(double* x, double divisor, std::int64_t count) { routines().divide(x, divisor, count); }
void rotate_rows(const Matrix& rows, const Sweep& sweep, const double* cosines_and_sines) {
    routines().rotate_rows(rows, sweep, cosines_and_sines);
}
void add_rows(double* y, double sign, const double* factors, std::int64_t step, const Matrix& a) {
    routines().add_rows(y, sign, factors, step, a);
}

PoleSum sum_poles(const double* poles, const double* weights, double x, std::int64_t count) {
    return routines().sum_poles(poles, weights, x, count);
}

std::int64_t first_largest(const double* x, std::int64_t count) {
    const double most = routines().largest_magnitude(x, count);
    std::int64_t i = 0;
    if (std::isnan(most))
        while (!std::isnan(x[i])) ++i;
    else
        while (std::fabs(x[i]) != most) ++i;
    return i;
}

void Team::split(std::int64_t count, std::int64_t grain,
                 const std::function<void(std::int64_t, std::int64_t)>& f) const {
    constexpr std::int64_t kMostRanges = 8;
    const std::int64_t wanted = std::min(kMostRanges, count / std::max<std::int64_t>(grain, 1));
    if (!for_each_ || wanted < 2) return f(0, count);
    const std::int64_t step = rounded_up((count + wanted - 1) / wanted, kLanes), ranges = (count + step - 1) / step;
    (*for_each_)(ranges, [&](std::int64_t r) {
        const LevelScope scope(level_);
        f(r * step, std::min(count, (r + 1) * step));
    });
}

void multiply(const Team& team, const Matrix& a, const double* x, double* y) {
    team.split(a.rows, kFairShare / (a.columns + 1) + 1, [&](std::int64_t from, std::int64_t to) {
        routines().multiply(a.block(from, 0, to - from, a.columns), x, y + from);
    });
}

void multiply_transposed(const Team& team, const Matrix& a, const double* x, double* y) {
    constexpr std::int64_t kRows = 8;  // at a time: their lines come in order
    team.split(a.columns, kFairShare / (a.rows + 1) + 1, [&](std::int64_t from, std::int64_t to) {
        std::fill(y + from, y + to, 0.0);
        for (std::int64_t i = 0; i < a.rows; i += kRows)
            routines().add_rows(y + from, 1, x + i, 1, a.block(i, from, std::min(kRows, a.rows - i), to - from));
    });
}

namespace {

// The tiles of c's rows, from packed panels of b.
void add_block(const Matrix& c, double factor, const Strided& a, const double* right) {
    const Routines& use = routines();
    const std::int64_t rows = use.tile_rows, columns = use.tile_columns, depth = a.columns;
    static thread_local std::vector<double> left;
    double tile[8 * 2 * kLanes];
    left.resize(static_cast<std::size_t>(depth * rounded_up(a.rows, rows)));
    pack(a.t(), rows, factor, left.data());
    for (std::int64_t j = 0; j < c.columns; j += columns)
        for (std::int64_t i = 0; i < a.rows; i += rows) {
            const double *const of_a = left.data() + i * depth, *const of_b = right + j * depth;
            const std::int64_t most = std::min(rows, a.rows - i), wide = std::min(columns, c.columns - j);
            if (most == rows && wide == columns) {
                use.multiply_tile(depth, of_a, of_b, c[i] + j, c.stride);
                continue;
            }
            std::fill(tile, tile + rows * columns, 0.0);
            use.multiply_tile(depth, of_a, of_b, tile, columns);
            for (std::int64_t r = 0; r < most; ++r) add_scaled(c[i + r] + j, 1, tile + r * columns, wide);
        }
}

}  // namespace

void add_product(const Team& team, const Matrix& c, double factor, const Strided& a, const Strided& b) {
    if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
    if (!team.is_alone() && c.rows < 2 * kHeight && c.columns > c.rows) {  // threads share the columns
        const std::int64_t grain = std::max(kHeight, 4 * kFairShare / (a.columns * c.rows));
        if (c.columns >= 2 * grain) {
            return team.split(c.columns, grain, [&](std::int64_t from, std::int64_t to) {
                add_product({}, c.block(0, from, c.rows, to - from), factor, a, b.block(0, from, b.rows, to - from));
            });
        }
    }
    const std::int64_t columns = routines().tile_columns;
    static thread_local std::vector<double> right;
    for (std::int64_t p = 0; p < a.columns; p += kDepth) {
        const std::int64_t depth = std::min(kDepth, a.columns - p);
        for (std::int64_t j = 0; j < c.columns; j += kWidth) {
            const std::int64_t width = std::min(kWidth, c.columns - j);
            right.resize(static_cast<std::size_t>(depth * rounded_up(width, columns)));
            pack(b.block(p, j, depth, width), columns, 1, right.data());
            const double* const panels = right.data();  // of this thread
            const std::int64_t grain = std::max(kHeight, 4 * kFairShare / (depth * width));
            team.split(c.rows, grain, [&, panels](std::int64_t from, std::int64_t to) {
                for (std::int64_t i = from; i < to; i += kHeight) {
                    poll_interrupt();
                    const std::int64_t height = std::min(kHeight, to - i);
                    add_block(c.block(i, j, height, width), factor, a.block(i, p, height, depth), panels);
                }
            });
        }
    }
}

void copy(const Strided& from, const Matrix& to) {
    constexpr std::int64_t kSide = 8;  // of a block: a cache line, both ways
    const std::int64_t rows = from.column_stride == 1 ? 1 : kSide,
                       columns = from.column_stride == 1 ? from.columns : kSide;
    for (std::int64_t i = 0; i < from.rows; i += rows) {
        if (i % 64 == 0) poll_interrupt();  // the first touch of new memory takes a while
        for (std::int64_t j = 0; j < from.columns; j += columns) {
            const std::int64_t bottom = std::min(i + rows, from.rows), right = std::min(j + columns, from.columns);
            for (std::int64_t r = i; r < bottom; ++r)
                for (std::int64_t c = j; c < right; ++c) to[r][c] = from(r, c);
        }
    }
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

void choose_signs(const Matrix& columns, const Matrix& rows) {
    std::vector<double> top(static_cast<std::size_t>(columns.columns));
    for (std::int64_t i = 0; i < columns.rows; ++i)
        for (std::int64_t k = 0; k < columns.columns; ++k)
            if (std::fabs(columns[i][k]) > std::fabs(top[k])) top[k] = columns[i][k];
    for (std::int64_t i = 0; i < columns.rows; ++i)
        for (std::int64_t k = 0; k < columns.columns; ++k)
            if (top[k] < 0) columns[i][k] = -columns[i][k];
    for (std::int64_t k = 0; k < std::min(columns.columns, rows.rows); ++k)
        for (std::int64_t j = 0; j < rows.columns && top[k] < 0; ++j) rows[k][j] = -rows[k][j];
}

LevelScope::LevelScope(CpuLevel level)
    : before_(std::exchange(chosen, &routines_of(std::min(level, machine_level())))) {}
LevelScope::~LevelScope() { chosen = static_cast<const Routines*>(before_); }

}  // namespace weft::dense
