// backend/c/prelude_memory.cpp: helpers that move vectors between memory and registers. A vector may have fewer lanes
// in use (n) than it has: the others are read as 0 and never written. `_if`: only lanes whose mask is set touch memory.
#include "backend/c/prelude.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::backend::c {
namespace {

// Instructions that load and store under a mask, where the machine has them for this shape of vector.
struct Masked {
    std::string_view load, store, to_bits, bits;
    DType as;
};
const Masked* masked_instructions(DType t, int lanes) {
    static constexpr Masked kFloats16 = {"__builtin_ia32_loadups512_mask", "__builtin_ia32_storeups512_mask",
                                         "__builtin_ia32_cvtd2mask512", "u16", DType::F32};
    static constexpr Masked kFloats8 = {"__builtin_ia32_loadups256_mask", "__builtin_ia32_storeups256_mask",
                                        "__builtin_ia32_cvtd2mask256", "u8", DType::F32};
    static constexpr Masked kDoubles8 = {"__builtin_ia32_loadupd512_mask", "__builtin_ia32_storeupd512_mask",
                                         "__builtin_ia32_cvtq2mask512", "u8", DType::F64};
    if (size_of(t) == 4) return lanes == 16 ? &kFloats16 : lanes == 8 ? &kFloats8 : nullptr;
    return size_of(t) == 8 && lanes == 8 ? &kDoubles8 : nullptr;
}

constexpr std::string_view kIfMasked = "#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512VL__)\n";

// $V vector, $T element, $M masks, $I indices, $L lanes; $K, $R, $B, $C and $F: masked instructions, see above.
struct Definition {
    std::string_view what, signature, masked, plain;
};
constexpr Definition kDefinitions[] = {
    {"load", "$V $N(const $T* p)", "", R"(    typedef $V Loose __attribute__((aligned(sizeof($T)), may_alias));
    return *(const Loose*)p;
)"},
    {"load_some", "$V $N(const $T* p, int n)", R"(    return ($V)$K((const void*)p, ($F){0}, ($C)((1u << n) - 1));
)",
     R"(    $V v = {0};
    __builtin_memcpy(&v, p, (unsigned)n * sizeof v[0]);
    return v;
)"},
    {"load_if", "$V $N(const $T* p, $M m, int n)",
     R"(    return ($V)$K((const void*)p, ($F){0}, ($C)($B(m) & ((1u << n) - 1)));
)",
     R"(    $V v = {0};
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l)
        if (m[l]) v[l] = p[l];
    return v;
)"},
    {"strided", "$V $N(const $T* p, i64 stride, int n)", "", R"(    $V v = {0};
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l) v[l] = p[l * stride];
    return v;
)"},
    {"strided_if", "$V $N(const $T* p, i64 stride, $M m, int n)", "", R"(    $V v = {0};
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l)
        if (m[l]) v[l] = p[l * stride];
    return v;
)"},
    {"gather", "$V $N(const $T* p, $I at, int n)", "", R"(    $V v = {0};
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l) v[l] = p[at[l]];
    return v;
)"},
    {"gather_if", "$V $N(const $T* p, $I at, $M m, int n)", "", R"(    $V v = {0};
#pragma GCC unroll 16
    for (int l = 0; l < n; ++l)
        if (m[l]) v[l] = p[at[l]];
    return v;
)"},
    // Not by memcpy: GCC 12 copies 32 bytes as one integer, and stores the constant {2, 2, 2, 2, 2, 2, 0, 0} as eight
    // twos.
    {"store", "void $N($T* p, $V v)", "", R"(    typedef $V Loose __attribute__((aligned(sizeof($T)), may_alias));
    *(Loose*)p = v;
)"},
    {"store_some", "void $N($T* p, int n, $V v)", R"(    $R((void*)p, ($F)v, ($C)((1u << n) - 1));
)",
     R"(#pragma GCC unroll 16
    for (int l = 0; l < n; ++l) p[l] = v[l];
)"},
    {"store_strided", "void $N($T* p, i64 stride, int n, $V v)", "", R"(#pragma GCC unroll 16
    for (int l = 0; l < n; ++l) p[l * stride] = v[l];
)"},
    {"store_gather", "void $N($T* p, $I at, int n, $V v)", "", R"(#pragma GCC unroll 16
    for (int l = 0; l < n; ++l) p[at[l]] = v[l];
)"},
};

// Past the cache, where the address allows it; the kernel ends with a fence.
constexpr std::string_view kStream = R"(HELPER void $N($T* p, $V v) {
#if defined($A)
    if (((u64)p & (sizeof v - 1)) == 0) {
#if defined(__clang__)
        __builtin_nontemporal_store(v, ($V*)p);
#else
        $S((void*)p, ($F)v);
#endif
        return;
    }
#endif
    typedef $V Loose __attribute__((aligned(sizeof($T)), may_alias));
    *(Loose*)p = v;
}
)";
constexpr std::string_view kFence = R"(HELPER void $N(void) {
#if defined(__SSE__)
    __builtin_ia32_sfence();
#endif
}
)";

}  // namespace

std::string Prelude::stream_fence() {
    const std::string name = "stream_fence";
    return defined(name) ? name : define(name, fill(kFence, {{'N', name}}));
}

std::string Prelude::memory(const std::string& what, DType t, int lanes) {
    const std::string type = vector(t, lanes), name = what + "_" + type;
    if (defined(name)) return name;
    const std::string mask = vector(mask_dtype(size_of(t)), lanes), indices = vector(DType::I64, lanes);
    std::vector<std::pair<char, std::string>> values = {{'V', type},    {'T', memory_type(t)}, {'M', mask},
                                                        {'I', indices}, {'L', str(lanes)},     {'N', name}};
    if (what == "stream") {
        const bool wide = size_of(t) * static_cast<std::size_t>(lanes) == 64;
        values.insert(values.end(), {{'A', wide ? "__AVX512F__" : "__AVX__"},
                                     {'S', wide ? "__builtin_ia32_movntps512" : "__builtin_ia32_movntps256"},
                                     {'F', vector(DType::F32, wide ? 16 : 8)}});
        return define(name, fill(kStream, values));
    }
    for (const Definition& definition : kDefinitions) {
        if (definition.what != what) continue;
        std::string body(definition.plain);
        if (const Masked* with = masked_instructions(t, lanes); with && !definition.masked.empty()) {
            body = str(kIfMasked, definition.masked, "#else\n", definition.plain, "#endif\n");
            values.insert(values.end(), {{'K', std::string(with->load)},
                                         {'R', std::string(with->store)},
                                         {'B', std::string(with->to_bits)},
                                         {'C', std::string(with->bits)},
                                         {'F', vector(with->as, lanes)}});
        }
        return define(name, fill(str("HELPER ", definition.signature, " {\n", body, "}\n"), values));
    }
    throw InternalError(str("the C printer has no helper called ", what));
}

// Within 16 bytes, neighbouring rows are interleaved by ever larger units; then pieces of 16 bytes change places. Every step is one
// shuffle of two registers.
std::string Prelude::transpose(DType t, int lanes) {
    const std::string type = vector(t, lanes), name = "transpose_" + type;
    if (defined(name)) return name;
    const int piece = std::min(lanes, 16 / static_cast<int>(size_of(t)));
    std::vector<std::string> now;
    std::string parameters, body;
    for (int r = 0; r < lanes; ++r) {
        parameters += str(r ? ", " : "", "$V* p", r);
        now.push_back(str("*p", r));
    }
    int names = 0;
    // The rows a and b become first(l) and second(l): the lane l of the result is lane first(l) of a and b concatenated.
    const auto step = [&](int a, int b, const auto& first, const auto& second) {
        std::string orders[2];
        for (int l = 0; l < lanes; ++l) {
            orders[0] += str(", ", first(l));
            orders[1] += str(", ", second(l));
        }
        std::string results[2];
        for (int i = 0; i < 2; ++i) {
            results[i] = str("t", names++);
            body += str("    const $V ", results[i], " = SHUFFLE_$V(", now[a], ", ", now[b], orders[i], ");\n");
        }
        now[a] = results[0];
        now[b] = results[1];
    };
    for (int unit = 1; unit < piece; unit *= 2)  // halves of each piece: a0 b0 a1 b1 …
        for (int r = 0; r < lanes; ++r) {
            if (r & unit) continue;
            const auto half = [&](int l, int which) {
                const int in_piece = l % piece,
                          from = which * piece / 2 + in_piece / (2 * unit) * unit + in_piece % unit;
                return l - in_piece + from + (in_piece / unit % 2 ? lanes : 0);
            };
            step(
                r, r + unit, [&](int l) { return half(l, 0); }, [&](int l) { return half(l, 1); });
        }
    std::vector<std::string> ordered(now);  // within a piece the columns stand in bit-reversed order
    for (int r = 0; r < lanes; ++r) {
        int reversed = 0;
        for (int bit = 1; bit < piece; bit *= 2) reversed = reversed * 2 + (r & bit ? 1 : 0);
        ordered[r / piece * piece + reversed] = now[r];
    }
    now = ordered;
    for (int far = piece; far < lanes; far *= 2)
        for (int r = 0; r < lanes; ++r) {
            if (r & far) continue;
            step(
                r, r + far, [&](int l) { return l & far ? lanes + l - far : l; },
                [&](int l) { return l & far ? lanes + l : l + far; });
        }
    for (int r = 0; r < lanes; ++r) body += str("    *p", r, " = ", now[r], ";\n");
    const std::string text =
        str("#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)\n",
            "#define SHUFFLE_$V(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)\n", "#else\n",
            "#define SHUFFLE_$V(a, b, ...) __builtin_shuffle(a, b, ($M){__VA_ARGS__})\n", "#endif\n", "HELPER void $N(",
            parameters, ") {\n", body, "}\n");
    return define(name, fill(text, {{'V', type}, {'N', name}, {'M', vector(mask_dtype(size_of(t)), lanes)}}));
}

}  // namespace weft::backend::c
