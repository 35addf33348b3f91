// backend/c/prelude.cpp: helpers for arithmetic, selection, checks and lanes; see prelude_memory.cpp and
// prelude_convert.cpp. Loops over lanes are how C says "an instruction per lane": gcc and clang turn them into vector
// instructions (fma, sqrt).
#include "backend/c/prelude.h"

#include "core/str.h"

#include <weft/error.h>

#include <functional>

namespace weft::backend::c {

using ir::Op;

std::string Prelude::define(const std::string& name, const std::string& text) {
    if (names_.insert(name).second) pieces_.push_back({name, text});
    return name;
}

std::string Prelude::vector(DType t, int lanes) {
    const std::string name = vector_type(t, lanes);
    return define(name, str("typedef ", memory_type(t), " ", name, " __attribute__((vector_size(",
                            size_of(t) * static_cast<std::size_t>(lanes), ")));\n"));
}

std::string Prelude::splat(DType t, int lanes) {
    const std::string type = vector(t, lanes), name = "all_" + type;
    if (defined(name)) return name;
    std::string xs;
    for (int l = 0; l < lanes; ++l) xs += l ? ", x" : "x";
    return define(name, fill("HELPER $V $N($T x) { return ($V){$X}; }\n",
                             {{'V', type}, {'N', name}, {'T', memory_type(t)}, {'X', xs}}));
}

std::string Prelude::iota(int lanes) {
    const std::string type = vector(DType::I64, lanes), name = "iota_" + type;
    std::string numbers;
    for (int l = 0; l < lanes; ++l) numbers += str(l ? ", " : "", l);
    return define(name, fill("HELPER $V $N(void) { return ($V){$X}; }\n", {{'V', type}, {'N', name}, {'X', numbers}}));
}

std::string Prelude::select(DType t, int lanes) {
    const std::string type = vector(t, lanes), mask = vector(mask_dtype(size_of(t)), lanes), name = "select_" + type;
    return define(name, fill("HELPER $V $N($M m, $V a, $V b) { return ($V)((m & ($M)a) | (~m & ($M)b)); }\n",
                             {{'V', type}, {'M', mask}, {'N', name}}));
}

std::string Prelude::bits(DType from, DType to) {
    const std::string name = str("bits_", memory_type(from), "_", memory_type(to));
    return define(name, fill("HELPER $T $N($F x) { return ((union { $F from; $T to; }){x}).to; }\n",
                             {{'N', name}, {'F', memory_type(from)}, {'T', memory_type(to)}}));
}

namespace {

// Scalar definitions of what C has no operator for; $T is the type, $B its width in bits, $N the name.
std::string scalar_definition(Op op, DType t) {
    const bool is_signed = is_signed_int(t), real = is_float(t);
    switch (op) {
        case Op::Abs: return "HELPER $T $N($T a) { return a < 0 ? ($T)-a : a; }\n";
        case Op::Max: return str("HELPER $T $N($T a, $T b) { return a > b", real ? " || a != a" : "", " ? a : b; }\n");
        case Op::Min: return str("HELPER $T $N($T a, $T b) { return a < b", real ? " || a != a" : "", " ? a : b; }\n");
        case Op::IDiv:
            if (!is_signed) return "HELPER $T $N($T a, $T b) { return b == 0 ? 0 : ($T)(a / b); }\n";
            return "HELPER $T $N($T a, $T b) {  // floors\n"
                   "    if (b == 0) return 0;\n"
                   "    if (b == -1) return ($T)-a;\n"
                   "    return ($T)(a / b - ((a % b != 0) & ((a < 0) != (b < 0))));\n"
                   "}\n";
        case Op::Mod:
            if (real)
                return "HELPER $T $N($T a, $T b) {  // the sign of the divisor\n"
                       "    const $T remainder = __builtin_fmod$S(a, b);\n"
                       "    return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;\n"
                       "}\n";
            if (!is_signed) return "HELPER $T $N($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }\n";
            return "HELPER $T $N($T a, $T b) {  // the sign of the divisor\n"
                   "    if (b == 0 || b == -1) return 0;\n"
                   "    const $T remainder = ($T)(a % b);\n"
                   "    return remainder != 0 && ((remainder < 0) != (b < 0)) ? ($T)(remainder + b) : remainder;\n"
                   "}\n";
        case Op::Pow:
            return str("HELPER $T $N($T a, $T b) {\n",
                       is_signed ? "    if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;\n" : "",
                       "    u64 result = 1, base = (u64)a, exponent = (u64)b;\n"
                       "    for (; exponent; exponent >>= 1, base *= base)\n"
                       "        if (exponent & 1) result *= base;\n"
                       "    return ($T)result;\n"
                       "}\n");
        case Op::Shl: return "HELPER $T $N($T a, $T b) { return (u64)b < $B ? ($T)((u64)a << b) : 0; }\n";
        case Op::Shr:
            if (!is_signed) return "HELPER $T $N($T a, $T b) { return (u64)b < $B ? ($T)(a >> b) : 0; }\n";
            return "HELPER $T $N($T a, $T b) { return ($T)(a >> ((u64)b < $B ? b : $B - 1)); }\n";
        case Op::Gcd:
            return str("HELPER $T $N($T a, $T b) {\n",
                       is_signed ? "    u64 x = a < 0 ? -(u64)a : (u64)a, y = b < 0 ? -(u64)b : (u64)b;\n"
                                 : "    u64 x = a, y = b;\n",
                       "    while (y != 0) {\n"
                       "        const u64 remainder = x % y;\n"
                       "        x = y;\n"
                       "        y = remainder;\n"
                       "    }\n"
                       "    return ($T)x;\n"
                       "}\n");
        case Op::Sqrt: return "HELPER $T $N($T a) { return __builtin_sqrt$S(a); }\n";
        case Op::Trunc: return "HELPER $T $N($T a) { return __builtin_trunc$S(a); }\n";
        case Op::RoundTf32:
            if (t == DType::F64) return "HELPER $T $N($T a) { return a; }\n";
            return "HELPER $T $N($T a) {\n"
                   "    union { float f; unsigned u; } bits = {a};\n"
                   "    bits.u = (bits.u + 0x1000u) & ~0x1fffu;\n"
                   "    return a != a ? a : bits.f;\n"
                   "}\n";
        case Op::Fma: return "HELPER $T $N($T a, $T b, $T c) { return __builtin_fma$S(a, b, c); }\n";
        case Op::Scale:
            return "HELPER $T $N($T a, $T b) {  // a * 2^floor(b)\n"
                   "    if (b != b) return b;\n"
                   "    const int whole = (int)__builtin_floor$S(b), half = whole >> 1;\n"
                   "    return a * __builtin_ldexp$S(1, half) * __builtin_ldexp$S(1, whole - half);\n"
                   "}\n";
        default: throw InternalError(str("the C printer has no helper for ", ir::name_of(op)));
    }
}

// Vector definitions that are better than a loop over lanes, if there is one. $M are masks of $V's element size.
std::string vector_definition(Op op, DType t) {
    const bool real = is_float(t);
    switch (op) {
        case Op::Abs:
            if (real) return "HELPER $V $N($V a) { return ($V)(($M)a & all_$M($H)); }\n";
            return "HELPER $V $N($V a) { return (a ^ (a < all_$V(0))) - (a < all_$V(0)); }\n";
        case Op::Max:
        case Op::Min:
            return str("HELPER $V $N($V a, $V b) { return select_$V(($M)(a ", op == Op::Max ? ">" : "<", " b)",
                       real ? " | ($M)(a != a)" : "", ", a, b); }\n");
        case Op::Scale: {  // a * 2^floor(b); adding the magic number leaves the eighths of b in the low bits
            const bool narrow = t == DType::F32;
            const std::string magic = narrow ? "0x1.8p20f" : "0x1.8p49", bias = narrow ? "127" : "1023",
                              mantissa = narrow ? "23" : "52";
            return str("HELPER $V $N($V a, $V b) {\n    const $M n = (($M)(b + ", magic, ") - ($M)all_$V(", magic,
                       ")) >> 3, half = n >> 1;\n    return a * ($V)((half + ", bias, ") << ", mantissa,
                       ") * ($V)((n - half + ", bias, ") << ", mantissa, ");\n}\n");
        }
        case Op::Shl:
        case Op::Shr: {
            const std::string_view result = op == Op::Shl      ? "(a << (b & near)) & near"
                                            : is_signed_int(t) ? "a >> ((b & near) | (all_$V($B - 1) & ~near))"
                                                               : "(a >> (b & near)) & near";
            return str(
                "HELPER $V $N($V a, $V b) {\n"
                "    const $V near = ($V)((b >= all_$V(0)) & (b < all_$V($B)));  // shifts by less than the width\n"
                "    return ",
                result, ";\n}\n");
        }
        default: return {};
    }
}

// The machine's own fused multiply-add: compilers find it in the loop below as well, but it takes them longer.
std::string native_fma(DType t, int lanes) {
    const std::size_t bytes = size_of(t) * static_cast<std::size_t>(lanes);
    const std::string_view suffix = t == DType::F32 ? "ps" : "pd";
    if (bytes == 64)
        return str("#if defined(__AVX512F__)\n    return __builtin_ia32_vfmadd", suffix,
                   "512_mask(a, b, c, -1, 4);\n#else\n");
    if (bytes == 32)
        return str("#if defined(__FMA__)\n    return __builtin_ia32_vfmadd", suffix, "256(a, b, c);\n#else\n");
    return {};
}

}  // namespace

// A vector helper that applies the scalar one lane by lane.
std::string Prelude::lane_loop(Op op, DType t, int lanes, const std::string& name) {
    const std::string type = vector(t, lanes), scalar = this->op(op, t, 0);
    const std::string native = op == Op::Fma ? native_fma(t, lanes) : "";
    const int arity = ir::info(op).arity;
    std::string parameters, operands;
    for (int i = 0; i < arity; ++i) {
        parameters += str(i ? ", " : "", type, " ", static_cast<char>('a' + i));
        operands += str(i ? ", " : "", static_cast<char>('a' + i), "[l]");
    }
    return define(name, str("HELPER ", type, " ", name, "(", parameters, ") {\n", native, "    ", type,
                            " r;\n    for (int l = 0; l < ", lanes, "; ++l) r[l] = ", scalar, "(", operands,
                            ");\n    return r;\n", native.empty() ? "" : "#endif\n", "}\n"));
}

std::string Prelude::op(Op op, DType t, int lanes) {
    const std::string scalar = str(ir::name_of(op), "_", memory_type(t)),
                      name = lanes ? str(scalar, "x", lanes) : scalar;
    if (defined(name)) return name;
    std::vector<std::pair<char, std::string>> values = {
        {'N', name}, {'T', memory_type(t)}, {'B', str(8 * size_of(t))}, {'S', t == DType::F32 ? "f" : ""}};
    if (!lanes) return define(name, fill(scalar_definition(op, t), values));
    const std::string text = vector_definition(op, t);
    if (text.empty()) return lane_loop(op, t, lanes, name);
    values.emplace_back('V', vector(t, lanes));
    values.emplace_back('M', vector(mask_dtype(size_of(t)), lanes));
    values.emplace_back('H', t == DType::F32 ? "0x7fffffff" : "0x7fffffffffffffffll");
    select(t, lanes);
    splat(t, lanes);
    splat(mask_dtype(size_of(t)), lanes);
    return define(name, fill(text, values));
}

std::string Prelude::limit(Op op, DType t, int lanes) {
    const std::string type = lanes ? vector(t, lanes) : value_type(t),
                      name = str(op == Op::Max ? "at_least_" : "at_most_", type);
    const std::string_view compare = op == Op::Max ? "x <= b" : "x >= b";  // false for NaN, which stays
    if (!lanes)
        return define(
            name, str("HELPER ", type, " ", name, "(", type, " x, ", type, " b) { return ", compare, " ? b : x; }\n"));
    return define(name, str("HELPER ", type, " ", name, "(", type, " x, ", type, " b) { return ", select(t, lanes), "(",
                            compare, ", b, x); }\n"));
}

// The table holds bits, which are constants in any C. Kernels that are compiled together share helpers by name: it has to say
// what is in the table.
std::string Prelude::lookup(const float* table, int lanes) {
    std::string entries;
    for (int i = 0; i < ir::kTableSize; ++i) entries += str(i ? ", " : "", to_word(table[i]), "u");
    const std::string number = str(std::hash<std::string>()(entries)), name = "table" + number,
                      helper = str("lookup", number, lanes ? str("x", lanes) : "");
    define(name, str("static const u32 ", name, "[", ir::kTableSize, "] = {", entries, "};\n"));
    const std::string at = str(" % ", ir::kTableSize, "u]");
    if (!lanes)
        return define(helper, str("HELPER f32 ", helper, "(u32 i) { return ", bits(DType::U32, DType::F32), "(", name,
                                  "[i", at, "); }\n"));
    const std::string result = vector(DType::F32, lanes), indices = vector(DType::U32, lanes);
    return define(helper, str("HELPER ", result, " ", helper, "(", indices, " i) {\n    for (int l = 0; l < ", lanes,
                              "; ++l) i[l] = ", name, "[i[l]", at, ";\n    return (", result, ")i;\n}\n"));
}

std::string Prelude::check(DType t, int lanes) {
    const std::string scalar = str("check_", memory_type(t)), name = lanes ? str(scalar, "x", lanes) : scalar;
    if (!lanes)
        return define(name, fill("HELPER $T $N($T value, i64 low, i64 high, i64 code, Check* check) {\n"
                                 "    if ((i64)value >= low && (i64)value < high) return value;\n"
                                 "    if (check && !check->code) check->code = code, check->value = (i64)value;\n"
                                 "    return ($T)low;\n"
                                 "}\n",
                                 {{'T', memory_type(t)}, {'N', name}}));
    check(t, 0);
    return define(name, fill("HELPER $V $N($V value, i64 low, i64 high, i64 code, int n, Check* check) {\n"
                             "    for (int l = 0; l < n; ++l) value[l] = $S(value[l], low, high, code, check);\n"
                             "    return value;\n"
                             "}\n",
                             {{'V', vector(t, lanes)}, {'N', name}, {'S', scalar}}));
}

std::string Prelude::shift_lanes(DType t, int lanes, int by) {
    const std::string type = vector(t, lanes), name = str("upper", by, "_", type);
    std::string order;
    for (int l = 0; l < lanes; ++l) order += str(l ? ", " : "", l + by < lanes ? l + by : l);
    return define(name, fill("HELPER $V $N($V v) {\n"
                             "#if defined(__has_builtin) && __has_builtin(__builtin_shufflevector)\n"
                             "    return __builtin_shufflevector(v, v, $O);\n"
                             "#else\n"
                             "    $V r = v;\n"
                             "    for (int l = 0; l + $B < $L; ++l) r[l] = v[l + $B];\n"
                             "    return r;\n"
                             "#endif\n"
                             "}\n",
                             {{'V', type}, {'N', name}, {'O', order}, {'B', str(by)}, {'L', str(lanes)}}));
}

std::string Prelude::put_lanes(DType t, int lanes, int at, int count) {
    const std::string type = vector(t, lanes), name = str("put", count, at ? str("at", at) : "", "_", type);
    if (at)
        return define(name, fill("HELPER $V $N($V old, $V v) {\n"
                                 "    for (int l = 0; l < $C; ++l) old[l + $A] = v[l];\n"
                                 "    return old;\n"
                                 "}\n",
                                 {{'V', type}, {'N', name}, {'C', str(count)}, {'A', str(at)}}));
    const std::string mask = vector(mask_dtype(size_of(t)), lanes);
    std::string ones;
    for (int l = 0; l < lanes; ++l) ones += str(l ? ", " : "", l < count ? "-1" : "0");
    select(t, lanes);
    return define(name, fill("HELPER $V $N($V old, $V v) { return select_$V(($M){$O}, v, old); }\n",
                             {{'V', type}, {'N', name}, {'M', mask}, {'O', ones}}));
}

}  // namespace weft::backend::c
