// bench/reference/loops.h: hand-written vector loops, the practical limit that Weft's kernels are compared with: the structures that won
// when they were measured against their alternatives. A loop does one thread's piece; a table holds them for one instruction set.
#pragma once

#include <cstdint>

namespace bench {

// The convolutions are of one size, so that the compiler knows every bound.
inline constexpr std::int64_t kSide = 28, kPlane = kSide * kSide;  // 3 x 3, padding 1: outputs are as large as inputs
inline constexpr std::int64_t kGroup = 8;                          // channels in and out of a group

// Whether large results are written past the cache. That wins where they do not fit it: which one is faster depends on the machine,
// so a row takes both as references.
enum class Stores { Plain, Streaming };

// Counts of elements and columns are multiples of 64, counts of rows of 16; results are aligned to 64 bytes.
struct Loops {
    void (*add)(const float* a, const float* b, float* out, std::int64_t count);                   // a + b
    void (*add3)(const float* a, const float* b, const float* c, float* out, std::int64_t count);  // a + b + c
    void (*chain)(const float* a, const float* b, const float* c, float* out,
                  std::int64_t count);  // tanh(a b + c) sigmoid(a) - relu(b) / 2, to about 2 ULP
    float (*sum)(const float* x, std::int64_t count);
    void (*sum_rows)(const float* x, float* out, std::int64_t rows, std::int64_t columns);  // out[columns]
    void (*add_to)(const float* x, float* out, std::int64_t count);                         // out += x

    // out[j][i] = x[i][j] + 1 for `some` rows i; a row of out has `rows` elements.
    void (*transpose_plus_1)(const float* x, float* out, std::int64_t some, std::int64_t rows, std::int64_t columns);

    void (*softmax)(const float* x, float* out, std::int64_t rows, std::int64_t columns);  // columns <= 4096
    void (*layer_norm)(const float* x, const float* weight, const float* bias, float eps, float* out, std::int64_t rows,
                       std::int64_t columns);
    void (*bias_relu)(float* x, const float* bias, std::int64_t rows, std::int64_t columns);  // x = max(x + bias, 0)

    // Convolutions of one image.
    void (*depthwise)(const float* x, const float* weight, float* out, std::int64_t groups);  // weight[groups][3][3]
    void (*grouped)(const float* x, const float* weight, float* out,
                    std::int64_t groups);  // [groups][kGroup][kGroup][3][3]
};

// The best that this processor has; with WEFT_CPU=avx2, no better than that. Throws where there is none.
const Loops& loops(Stores stores = Stores::Plain);

const char* loops_name();  // of the instruction set, or why there are no loops

const Loops& avx512_loops(Stores stores);
const Loops& avx2_loops(Stores stores);

}  // namespace bench
