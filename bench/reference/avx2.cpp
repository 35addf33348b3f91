// bench/reference/avx2.cpp: the loops for AVX2 with FMA. Compiled for it, so called only where loops() has found it.
#include "reference/loops_of.h"

#include <immintrin.h>

namespace bench {
namespace {

struct Vector {
    static constexpr int kLanes = 8, kTileRows = 4;
    __m256 v;

    static Vector load(const float* p) { return {_mm256_loadu_ps(p)}; }
    static Vector all(float x) { return {_mm256_set1_ps(x)}; }
    void store(float* p) const { _mm256_storeu_ps(p, v); }
    void stream(float* p) const { _mm256_stream_ps(p, v); }
    static void fence() { _mm_sfence(); }

    // Lane l goes to p[l], for first <= l < last.
    void store_lanes(float* p, std::int64_t first, std::int64_t last) const {
        const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i early = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(first)), lane);
        const __m256i below = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(last)), lane);
        _mm256_maskstore_ps(p, _mm256_andnot_si256(early, below), v);
    }
    static void copy4(const float* from, float* to) { _mm_storeu_ps(to, _mm_loadu_ps(from)); }

    friend Vector operator+(Vector a, Vector b) { return {_mm256_add_ps(a.v, b.v)}; }
    friend Vector operator-(Vector a, Vector b) { return {_mm256_sub_ps(a.v, b.v)}; }
    friend Vector operator*(Vector a, Vector b) { return {_mm256_mul_ps(a.v, b.v)}; }
    friend Vector operator/(Vector a, Vector b) { return {_mm256_div_ps(a.v, b.v)}; }
    static Vector fma(Vector a, Vector b, Vector c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
    static Vector max(Vector a, Vector b) { return {_mm256_max_ps(a.v, b.v)}; }
    static Vector min(Vector a, Vector b) { return {_mm256_min_ps(a.v, b.v)}; }
    static Vector magnitude(Vector a) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0f), a.v)}; }
    static Vector with_sign(Vector a, Vector of) {  // of a >= 0
        return {_mm256_or_ps(a.v, _mm256_and_ps(_mm256_set1_ps(-0.0f), of.v))};
    }
    static Vector round(Vector a) { return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static Vector times_power(Vector a, Vector n) {  // a 2^n, for n of normal results
        const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n.v), 23);
        return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a.v), exponent))};
    }
    float sum() const {
        const __m128 half = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 pair = _mm_add_ps(half, _mm_movehl_ps(half, half));
        return _mm_cvtss_f32(_mm_add_ss(pair, _mm_movehdup_ps(pair)));
    }
    float max() const {
        const __m128 half = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
        const __m128 pair = _mm_max_ps(half, _mm_movehl_ps(half, half));
        return _mm_cvtss_f32(_mm_max_ss(pair, _mm_movehdup_ps(pair)));
    }

    // Rows become columns: in pairs, in fours, then the halves of the registers.
    static void transpose(Vector (&rows)[8]) {
        __m256 pairs[8], fours[8];
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) {
            pairs[i] = _mm256_unpacklo_ps(rows[i].v, rows[i + 1].v);
            pairs[i + 1] = _mm256_unpackhi_ps(rows[i].v, rows[i + 1].v);
        }
#pragma GCC unroll 2
        for (int i = 0; i < 8; i += 4) {
            fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
            fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
            fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
            fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            rows[i].v = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
            rows[i + 4].v = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
        }
    }
};

}  // namespace

const Loops& avx2_loops(Stores stores) {
    static constexpr Loops kPlain = LoopsOf<Vector, Stores::Plain>::table();
    static constexpr Loops kStreaming = LoopsOf<Vector, Stores::Streaming>::table();
    return stores == Stores::Plain ? kPlain : kStreaming;
}

}  // namespace bench
