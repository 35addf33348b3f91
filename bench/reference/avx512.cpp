// bench/reference/avx512.cpp: the loops for AVX-512. Compiled for it, so called only where loops() has found it.
#include "reference/loops_of.h"

#include <immintrin.h>

namespace bench {
namespace {

struct Vector {
    static constexpr int kLanes = 16, kTileRows = 8;
    __m512 v;

    static Vector load(const float* p) { return {_mm512_loadu_ps(p)}; }
    static Vector all(float x) { return {_mm512_set1_ps(x)}; }
    void store(float* p) const { _mm512_storeu_ps(p, v); }
    void stream(float* p) const { _mm512_stream_ps(p, v); }
    static void fence() { _mm_sfence(); }

    // Lane l goes to p[l], for first <= l < last.
    void store_lanes(float* p, std::int64_t first, std::int64_t last) const {
        const unsigned below = last >= kLanes ? 0xffffu : (1u << last) - 1;
        _mm512_mask_storeu_ps(p, static_cast<__mmask16>(below & ~((1u << first) - 1)), v);
    }
    static void copy4(const float* from, float* to) { _mm_storeu_ps(to, _mm_loadu_ps(from)); }

    friend Vector operator+(Vector a, Vector b) { return {_mm512_add_ps(a.v, b.v)}; }
    friend Vector operator-(Vector a, Vector b) { return {_mm512_sub_ps(a.v, b.v)}; }
    friend Vector operator*(Vector a, Vector b) { return {_mm512_mul_ps(a.v, b.v)}; }
    friend Vector operator/(Vector a, Vector b) { return {_mm512_div_ps(a.v, b.v)}; }
    static Vector fma(Vector a, Vector b, Vector c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
    static Vector max(Vector a, Vector b) { return {_mm512_max_ps(a.v, b.v)}; }
    static Vector min(Vector a, Vector b) { return {_mm512_min_ps(a.v, b.v)}; }
    static Vector magnitude(Vector a) { return {_mm512_andnot_ps(_mm512_set1_ps(-0.0f), a.v)}; }
    static Vector with_sign(Vector a, Vector of) {  // of a >= 0
        return {_mm512_or_ps(a.v, _mm512_and_ps(_mm512_set1_ps(-0.0f), of.v))};
    }
    static Vector round(Vector a) { return {_mm512_roundscale_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
    static Vector times_power(Vector a, Vector n) { return {_mm512_scalef_ps(a.v, n.v)}; }  // a 2^n
    float sum() const { return _mm512_reduce_add_ps(v); }
    float max() const { return _mm512_reduce_max_ps(v); }

    // Rows become columns: in pairs, in fours, then the quarters of the registers.
    static void transpose(Vector (&rows)[16]) {
        __m512 pairs[16], fours[16];
#pragma GCC unroll 8
        for (int i = 0; i < 16; i += 2) {
            pairs[i] = _mm512_unpacklo_ps(rows[i].v, rows[i + 1].v);
            pairs[i + 1] = _mm512_unpackhi_ps(rows[i].v, rows[i + 1].v);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 16; i += 4) {
            fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
            fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
            fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
            fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
        }
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) {
            const __m512 a = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0x88);
            const __m512 b = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0x88);
            const __m512 c = _mm512_shuffle_f32x4(fours[i], fours[i + 4], 0xdd);
            const __m512 d = _mm512_shuffle_f32x4(fours[i + 8], fours[i + 12], 0xdd);
            rows[i].v = _mm512_shuffle_f32x4(a, b, 0x88);
            rows[i + 4].v = _mm512_shuffle_f32x4(c, d, 0x88);
            rows[i + 8].v = _mm512_shuffle_f32x4(a, b, 0xdd);
            rows[i + 12].v = _mm512_shuffle_f32x4(c, d, 0xdd);
        }
    }
};

}  // namespace

const Loops& avx512_loops(Stores stores) {
    static constexpr Loops kPlain = LoopsOf<Vector, Stores::Plain>::table();
    static constexpr Loops kStreaming = LoopsOf<Vector, Stores::Streaming>::table();
    return stores == Stores::Plain ? kPlain : kStreaming;
}

}  // namespace bench
