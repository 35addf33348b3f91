// bench/reference/loops_of.h: the loops of loops.h, written once for any vector type V. Each instruction set instantiates them with a V of
// its own, in a file that is compiled for it: nothing that another file might share may be called from here.
#pragma once

#include "reference/loops.h"

#include <cstdint>

namespace bench {

template <class V, Stores kStores>
struct LoopsOf {
    static constexpr std::int64_t kLanes = V::kLanes;
    static constexpr int kUnroll = 4;
    static constexpr std::int64_t kStep = kUnroll * kLanes;

    // ---- elementwise -------------------------------------------------------------------------------------------------

    static void add(const float* a, const float* b, float* out, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += kStep)
#pragma GCC unroll 4
            for (std::int64_t j = i; j < i + kStep; j += kLanes) put(V::load(a + j) + V::load(b + j), out + j);
        finish();
    }

    static void add3(const float* a, const float* b, const float* c, float* out, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += kStep)
#pragma GCC unroll 4
            for (std::int64_t j = i; j < i + kStep; j += kLanes)
                put(V::load(a + j) + V::load(b + j) + V::load(c + j), out + j);
        finish();
    }

    static void chain(const float* a, const float* b, const float* c, float* out, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += 2 * kLanes)
#pragma GCC unroll 2
            for (std::int64_t j = i; j < i + 2 * kLanes; j += kLanes) {
                const V x = V::load(a + j), y = V::load(b + j);
                const V product = tanh(V::fma(x, y, V::load(c + j))) * sigmoid(x);
                put(V::fma(V::max(y, V::all(0)), V::all(-0.5f), product), out + j);
            }
        finish();
    }

    static void add_to(const float* x, float* out, std::int64_t count) {
        for (std::int64_t i = 0; i < count; i += kLanes) (V::load(out + i) + V::load(x + i)).store(out + i);
    }

    static void bias_relu(float* x, const float* bias, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t i = 0; i < rows; ++i, x += columns)
            for (std::int64_t j = 0; j < columns; j += kLanes)
                V::max(V::load(x + j) + V::load(bias + j), V::all(0)).store(x + j);
    }

    // ---- reductions --------------------------------------------------------------------------------------------------

    // Two read streams, four accumulators each.
    static float sum(const float* x, std::int64_t count) {
        V low[kUnroll], high[kUnroll];
        for (int u = 0; u < kUnroll; ++u) low[u] = high[u] = V::all(0);
        const std::int64_t half = count / 2 / kStep * kStep;
        for (std::int64_t i = 0; i < half; i += kStep)
#pragma GCC unroll 4
            for (int u = 0; u < kUnroll; ++u) {
                low[u] = low[u] + V::load(x + i + u * kLanes);
                high[u] = high[u] + V::load(x + half + i + u * kLanes);
            }
        for (std::int64_t i = 2 * half; i < count; i += kLanes) low[0] = low[0] + V::load(x + i);
        return fold(low).sum() + fold(high).sum();
    }

    // Eight rows at a time are added to a row of sums, which stays in L1.
    static void sum_rows(const float* x, float* out, std::int64_t rows, std::int64_t columns) {
        for (std::int64_t j = 0; j < columns; j += kLanes) V::all(0).store(out + j);
        for (std::int64_t i = 0; i < rows; i += 8, x += 8 * columns)
            for (std::int64_t j = 0; j < columns; j += kLanes) {
                V pair[4];
#pragma GCC unroll 4
                for (int u = 0; u < 4; ++u)
                    pair[u] = V::load(x + 2 * u * columns + j) + V::load(x + (2 * u + 1) * columns + j);
                (V::load(out + j) + ((pair[0] + pair[1]) + (pair[2] + pair[3]))).store(out + j);
            }
    }

    // ---- transpose ---------------------------------------------------------------------------------------------------

    // Reads along the rows, 16 of them at a time, and writes whole lines of 16 elements.
    static void transpose_plus_1(const float* x, float* out, std::int64_t some, std::int64_t rows,
                                 std::int64_t columns) {
        constexpr std::int64_t kBlocks = 16 / kLanes;
        for (std::int64_t i = 0; i < some; i += 16)
            for (std::int64_t j = 0; j < columns; j += kLanes) {
                V block[kBlocks][kLanes];
#pragma GCC unroll 2
                for (std::int64_t b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 16
                    for (std::int64_t r = 0; r < kLanes; ++r)
                        block[b][r] = V::load(x + (i + b * kLanes + r) * columns + j);
                    V::transpose(block[b]);
                }
#pragma GCC unroll 16
                for (std::int64_t c = 0; c < kLanes; ++c)
#pragma GCC unroll 2
                    for (std::int64_t b = 0; b < kBlocks; ++b)
                        put(block[b][c] + V::all(1), out + (j + c) * rows + i + b * kLanes);
            }
        finish();
    }

    // ---- rows: three passes over a row in L1 -------------------------------------------------------------------------

    static void softmax(const float* x, float* out, std::int64_t rows, std::int64_t columns) {
        alignas(64) float row[4096];
        for (std::int64_t i = 0; i < rows; ++i, x += columns, out += columns) {
            V most[kUnroll], sums[kUnroll];
            for (int u = 0; u < kUnroll; ++u) most[u] = V::load(x + u * kLanes), sums[u] = V::all(0);
            for (std::int64_t j = kStep; j < columns; j += kStep)
#pragma GCC unroll 4
                for (int u = 0; u < kUnroll; ++u) most[u] = V::max(most[u], V::load(x + j + u * kLanes));
            const V top = V::all(V::max(V::max(most[0], most[1]), V::max(most[2], most[3])).max());
            for (std::int64_t j = 0; j < columns; j += kStep)
#pragma GCC unroll 4
                for (int u = 0; u < kUnroll; ++u) {
                    const V e = exp(V::load(x + j + u * kLanes) - top);
                    sums[u] = sums[u] + e;
                    e.store(row + j + u * kLanes);
                }
            const V scale = V::all(1 / fold(sums).sum());
            for (std::int64_t j = 0; j < columns; j += kStep)
#pragma GCC unroll 4
                for (int u = 0; u < kUnroll; ++u) put(V::load(row + j + u * kLanes) * scale, out + j + u * kLanes);
        }
        finish();
    }

    static void layer_norm(const float* x, const float* weight, const float* bias, float eps, float* out,
                           std::int64_t rows, std::int64_t columns) {
        const float share = 1 / static_cast<float>(columns);
        for (std::int64_t i = 0; i < rows; ++i, x += columns, out += columns) {
            V sums[kUnroll], squares[kUnroll];
            for (int u = 0; u < kUnroll; ++u) sums[u] = squares[u] = V::all(0);
            for (std::int64_t j = 0; j < columns; j += kStep)
#pragma GCC unroll 4
                for (int u = 0; u < kUnroll; ++u) sums[u] = sums[u] + V::load(x + j + u * kLanes);
            const V mean = V::all(fold(sums).sum() * share);
            for (std::int64_t j = 0; j < columns; j += kStep)
#pragma GCC unroll 4
                for (int u = 0; u < kUnroll; ++u) {
                    const V distance = V::load(x + j + u * kLanes) - mean;
                    squares[u] = V::fma(distance, distance, squares[u]);
                }
            const V scale = V::all(1 / __builtin_sqrtf(fold(squares).sum() * share + eps));
            for (std::int64_t j = 0; j < columns; j += kStep)
#pragma GCC unroll 4
                for (std::int64_t k = j; k < j + kStep; k += kLanes)
                    put(V::fma((V::load(x + k) - mean) * scale, V::load(weight + k), V::load(bias + k)), out + k);
        }
        finish();
    }

    // ---- convolution, 3 x 3, padding 1 -------------------------------------------------------------------------------

    // A plane with a border of zeros: the right border of one row is the left border of the next, so that vectors may run over the
    // ends of rows. Element (i, j) is at (i + 1) * kPitch + j + 1.
    static constexpr std::int64_t kPitch = kSide + 1;
    static constexpr std::int64_t kPadded = 960;  // (kSide + 2) * kPitch + 1, and what the last vectors read beyond

    static void pad(const float* x, float* padded) {
        for (std::int64_t i = 0; i < kSide; ++i)
            for (std::int64_t j = 0; j < kSide; j += 4) V::copy4(x + i * kSide + j, padded + (i + 1) * kPitch + 1 + j);
    }

    // Stores a vector of positions q, q + 1, … counted with kPitch into a plane without borders: at most two rows, each without its
    // last position.
    static void store_positions(V value, std::int64_t q, float* plane) {
        const std::int64_t row = q / kPitch, column = q % kPitch;
        const std::int64_t first = column < kSide ? kSide - column : 0;  // lanes in this row
        const std::int64_t skip = kPitch - column;                       // lanes before the next one
        if (row < kSide && first > 0) value.store_lanes(plane + row * kSide + column, 0, first);
        if (row + 1 < kSide && skip < kLanes) value.store_lanes(plane + (row + 1) * kSide - skip, skip, kLanes);
    }

    static void put_planes(const float* planes, float* out, std::int64_t count) {
        for (std::int64_t i = 0; i < count * kPlane; i += kLanes) put(V::load(planes + i), out + i);
    }

    static void depthwise(const float* x, const float* weight, float* out, std::int64_t groups) {
        for (std::int64_t g = 0; g < groups; ++g) depthwise_plane(x + g * kPlane, weight + g * 9, out + g * kPlane);
        finish();
    }

    static void depthwise_plane(const float* x, const float* weight, float* out) {
        alignas(64) thread_local float padded[kPadded];  // the border stays 0
        alignas(64) float plane[kPlane + kLanes];
        pad(x, padded);
        V w[9];
#pragma GCC unroll 9
        for (int tap = 0; tap < 9; ++tap) w[tap] = V::all(weight[tap]);
        for (std::int64_t i = 0; i < kSide; ++i)
#pragma GCC unroll 4
            for (std::int64_t j = 0; j < kSide; j += kLanes) {  // what runs over the end of the row is written again
                const float* from = padded + i * kPitch + j;
                V sum = V::all(0);
#pragma GCC unroll 9
                for (int tap = 0; tap < 9; ++tap) sum = V::fma(w[tap], V::load(from + tap / 3 * kPitch + tap % 3), sum);
                sum.store(plane + i * kSide + j);
            }
        put_planes(plane, out, 1);
    }

    static void grouped(const float* x, const float* weight, float* out, std::int64_t groups) {
        for (std::int64_t g = 0; g < groups; ++g)
            one_group(x + g * kGroup * kPlane, weight + g * kGroup * kGroup * 9, out + g * kGroup * kPlane);
        finish();
    }

    // A matrix product of weights [out][in, tap] and positions, in register tiles; the positions are read where they are.
    static void one_group(const float* x, const float* weight, float* out) {
        constexpr int kRows = V::kTileRows, kVectors = 3;
        alignas(64) thread_local float padded[kGroup][kPadded];  // the border stays 0
        alignas(64) float planes[kGroup * kPlane];
        for (std::int64_t c = 0; c < kGroup; ++c) pad(x + c * kPlane, padded[c]);
        for (std::int64_t q = 0; q < kSide * kPitch; q += kVectors * kLanes)
            for (std::int64_t o = 0; o < kGroup; o += kRows) {
                V sum[kRows][kVectors];
#pragma GCC unroll 8
                for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
                    for (int v = 0; v < kVectors; ++v) sum[r][v] = V::all(0);
                const float* w = weight + o * kGroup * 9;
                for (std::int64_t c = 0; c < kGroup; ++c)
#pragma GCC unroll 3
                    for (int tap = 0; tap < 9; ++tap, ++w) {
                        const float* from = padded[c] + q + tap / 3 * kPitch + tap % 3;
                        const V x0 = V::load(from), x1 = V::load(from + kLanes), x2 = V::load(from + 2 * kLanes);
#pragma GCC unroll 8
                        for (int r = 0; r < kRows; ++r) {
                            const V factor = V::all(w[r * kGroup * 9]);
                            sum[r][0] = V::fma(factor, x0, sum[r][0]);
                            sum[r][1] = V::fma(factor, x1, sum[r][1]);
                            sum[r][2] = V::fma(factor, x2, sum[r][2]);
                        }
                    }
#pragma GCC unroll 8
                for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 3
                    for (int v = 0; v < kVectors; ++v)
                        store_positions(sum[r][v], q + v * kLanes, planes + (o + r) * kPlane);
            }
        put_planes(planes, out, kGroup);
    }

    // ---- help --------------------------------------------------------------------------------------------------------

    static void put(V value, float* to) {
        if constexpr (kStores == Stores::Streaming) value.stream(to);
        else value.store(to);
    }
    static void finish() {
        if constexpr (kStores == Stores::Streaming) V::fence();
    }

    static V fold(const V (&parts)[kUnroll]) { return (parts[0] + parts[1]) + (parts[2] + parts[3]); }

    // x = n ln 2 + r; the Taylor polynomial of degree 7 without its 1, and n.
    struct Reduced {
        V p, r, n;  // exp(x) = 2^n (1 + r p)
    };
    static Reduced reduce(V x) {
        const V n = V::round(x * V::all(0x1.715476p+0f));
        const V r = V::fma(n, V::all(-0x1.7f7d1cp-20f), V::fma(n, V::all(-0x1.62e4p-1f), x));
        constexpr float kTaylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1};
        V p = V::all(1.0f / 5040);
#pragma GCC unroll 6
        for (int i = 0; i < 6; ++i) p = V::fma(p, r, V::all(kTaylor[i]));
        return {p, r, n};
    }
    static V exp(V x) {  // 0.9 ULP where the result is a normal number, else not 0 but tiny
        const Reduced y = reduce(V::max(x, V::all(-87)));
        return V::times_power(V::fma(y.p, y.r, V::all(1)), y.n);
    }
    static V sigmoid(V x) { return V::all(1) / (V::all(1) + exp(V::min(V::all(0) - x, V::all(87)))); }
    static V tanh(V x) {  // e / (e + 2) for e = exp(2|x|) - 1 = 2^n (r p) + (2^n - 1), with the sign of x
        const V most = V::min(V::magnitude(x), V::all(9.5f));
        const Reduced y = reduce(most + most);
        const V power = V::times_power(V::all(1), y.n), e = V::fma(y.p * y.r, power, power - V::all(1));
        return V::with_sign(e / (e + V::all(2)), x);
    }

    static constexpr Loops table() {
        return {add,     add3,       chain,     sum,       sum_rows, add_to, transpose_plus_1,
                softmax, layer_norm, bias_relu, depthwise, grouped};
    }
};

}  // namespace bench
