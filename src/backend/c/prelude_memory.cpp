// backend/c/prelude_memory.cpp: helpers that move vectors between memory and registers. A vector may have fewer lanes
// in use (n) than it has: the others are read as 0 and never written. `_if`: only lanes whose mask is set touch memory.
#include "backend/c/prelude.h"

#include "core/str.h"

#include <weft/error.h>

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

}  // namespace weft::backend::c
