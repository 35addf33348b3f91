// tests/support/ptx_convert.cpp: cvt in the forms that Weft writes. The type that is written comes first in the name; a register may be wider than it.
#include "support/ptx_arithmetic.h"
#include "support/ptx_decode.h"

#include <utility>

namespace weft::testing::ptx {
namespace {

enum Rounding : std::uint8_t { kNearest, kZero, kDown, kUp };
constexpr std::uint8_t kFlush = 1, kSigned = 2, kSaturate = 4;

template <class S, class D>
const Instruction* int_to_int(Thread& t, const Instruction& i) {
    const S given = from_slot<S>(t.r[i.a]);
    auto value = static_cast<D>(given);
    if (i.flags & kSaturate) {
        if (std::cmp_greater(given, std::numeric_limits<D>::max())) value = std::numeric_limits<D>::max();
        if (std::cmp_less(given, std::numeric_limits<D>::min())) value = std::numeric_limits<D>::min();
    }
    t.r[i.d] = static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & i.mask;
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <class S, class D>
const Instruction* int_to_float(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<D>(static_cast<D>(from_slot<S>(t.r[i.a])));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <class T>
T to_integral(T x, int how) {
    switch (how) {
        case kZero: return std::trunc(x);
        case kDown: return std::floor(x);
        case kUp: return std::ceil(x);
        default: return std::nearbyint(x);
    }
}

// Saturates. A NaN is 0, or the lowest signed number where 64 bits take part.
template <class S>
const Instruction* float_to_int(Thread& t, const Instruction& i) {
    S x = from_slot<S>(t.r[i.a]);
    if constexpr (std::is_same_v<S, float>)
        if (i.flags & kFlush) x = flushed(x);
    const int bits = static_cast<int>(i.offset);
    const bool is_signed = i.flags & kSigned;
    const double most = std::ldexp(1.0, is_signed ? bits - 1 : bits), least = is_signed ? -most : 0;
    const std::uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1, highest = is_signed ? all >> 1 : all;
    const double whole = to_integral(static_cast<double>(x), i.how);
    std::uint64_t result;
    if (x != x) result = bits == 64 || sizeof(S) == 8 ? 1ull << (bits - 1) : 0;
    else if (whole >= most) result = highest;
    else if (whole <= least) result = is_signed ? all - highest : 0;
    else if (whole < 0) result = static_cast<std::uint64_t>(static_cast<std::int64_t>(whole));
    else result = static_cast<std::uint64_t>(whole);
    if (is_signed && bits < 64 && (result >> (bits - 1) & 1)) result |= ~all;
    t.r[i.d] = result & i.mask;
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <class S, class D>
const Instruction* float_to_float(Thread& t, const Instruction& i) {  // with the host's rounding
    t.r[i.d] = to_slot<D>(static_cast<D>(from_slot<S>(t.r[i.a])));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}
template <class T>
const Instruction* float_to_integral(Thread& t, const Instruction& i) {
    T x = from_slot<T>(t.r[i.a]);
    if constexpr (std::is_same_v<T, float>)
        if (i.flags & kFlush) x = flushed(x);
    t.r[i.d] = to_slot<T>(std::copysign(to_integral(x, i.how), x));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <float (*kFrom)(std::uint16_t)>
const Instruction* half_to_single(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<float>(kFrom(static_cast<std::uint16_t>(t.r[i.a])));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}
template <auto kTo>
const Instruction* single_to_bits(Thread& t, const Instruction& i) {
    t.r[i.d] = kTo(from_slot<float>(t.r[i.a]));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}
template <auto kTo>
const Instruction* singles_to_pair(Thread& t, const Instruction& i) {  // the first operand is the upper half
    t.r[i.d] = static_cast<std::uint32_t>(kTo(from_slot<float>(t.r[i.a]))) << 16 | kTo(from_slot<float>(t.r[i.b]));
    t.p[i.d] = t.p[i.a] | t.p[i.b];
    return &i + 1;
}

// ---- which handler ---------------------------------------------------------------------------------------------------

template <class Pick>
Handler for_any_integer(Type type, Pick pick) {
    const bool is_signed = type.kind == 's';
    switch (type.bits) {
        case 8: return is_signed ? pick.template operator()<std::int8_t>() : pick.template operator()<std::uint8_t>();
        case 16:
            return is_signed ? pick.template operator()<std::int16_t>() : pick.template operator()<std::uint16_t>();
        case 32:
            return is_signed ? pick.template operator()<std::int32_t>() : pick.template operator()<std::uint32_t>();
        case 64:
            return is_signed ? pick.template operator()<std::int64_t>() : pick.template operator()<std::uint64_t>();
        default: return nullptr;
    }
}

// cvt.rn.bf16.f32, .bf16x2, .f16, .f16x2, .tf32
bool decode_narrow(Decoder& d) {
    Instruction& out = d.out();
    const Type half{'b', 16}, word{'b', 32}, single{'f', 32};
    const auto one = [&](Type to, Handler run) {
        d.take("rn"), d.take("rna");
        if (d.take_type() != single) d.fail("converts f32");
        d.expect_operands(2);
        out.a = d.read(1, single);
        out.d = d.write(0, to);
        out.run = run;
        return true;
    };
    const auto two = [&](Handler run) {
        if (!d.take("rn") || d.take_type() != single) d.fail("converts f32");
        d.expect_operands(3);
        out.a = d.read(1, single);
        out.b = d.read(2, single);
        out.d = d.write(0, word);
        out.run = run;
        return true;
    };
    if (d.take("bf16x2")) return two(singles_to_pair<to_bfloat>);
    if (d.take("f16x2")) return two(singles_to_pair<to_half>);
    if (d.take("tf32")) return one(word, single_to_bits<to_tf32>);
    if (d.take("bf16")) {
        // .f32.bf16 is there on sm_90 only: Weft shifts instead.
        return one(half, single_to_bits<to_bfloat>);
    }
    return false;
}

void decode_cvt(Decoder& d) {
    if (decode_narrow(d)) return;
    Instruction& out = d.out();
    const Type to = d.take_type(), from = d.take_type();
    const bool flush = d.take("ftz");
    out.flags = static_cast<std::uint8_t>((flush ? kFlush : 0) | (to.kind == 's' ? kSigned : 0) |
                                          (d.take("sat") ? kSaturate : 0));
    const bool rn = d.take("rn");
    const bool integral = d.take("rni") || (d.take("rzi") && (out.how = kZero)) ||
                          (d.take("rmi") && (out.how = kDown)) || (d.take("rpi") && (out.how = kUp));
    d.expect_operands(2);
    out.a = d.read(1, from.kind == 'f' && from.bits == 16 ? Type{'b', 16} : from, true);
    out.d = d.write(0, to.kind == 'f' && to.bits == 16 ? Type{'b', 16} : to, true);
    const bool from_float = from.kind == 'f', to_float = to.kind == 'f';
    if (!from_float && !to_float) {
        out.run = for_any_integer(from, [&]<class S>() -> Handler {
            return for_any_integer(to, []<class D>() -> Handler { return int_to_int<S, D>; });
        });
        return;
    }
    if (to_float && !from_float) {
        if (!rn) d.fail("says nothing about its rounding");
        out.run = for_any_integer(from, [&]<class S>() -> Handler {
            if (to.bits == 32) return int_to_float<S, float>;
            return to.bits == 64 ? int_to_float<S, double> : nullptr;
        });
        return;
    }
    if (!to_float) {
        if (!integral) d.fail("says nothing about its rounding");
        out.offset = to.bits;
        out.mode = flush ? Mode::Any : Mode::Keep;  // the handler flushes
        out.run = from.bits == 32 ? float_to_int<float> : from.bits == 64 ? float_to_int<double> : nullptr;
        return;
    }
    out.mode = flush ? Mode::Flush : Mode::Keep;
    if (integral && to == from) {
        out.mode = flush ? Mode::Any : Mode::Keep;
        out.run = to.bits == 32 ? float_to_integral<float> : float_to_integral<double>;
    } else if (from.bits == 16) out.run = half_to_single<from_half>;
    else if (to.bits == 16) out.run = rn ? single_to_bits<to_half> : nullptr;
    else if (from.bits == 32 && to.bits == 64) out.run = float_to_float<float, double>;
    else if (from.bits == 64 && to.bits == 32) out.run = rn ? float_to_float<double, float> : nullptr;
}

}  // namespace

std::span<const Family> conversion_instructions() {
    static constexpr Family kTable[] = {{"cvt", decode_cvt}};
    return kTable;
}

}  // namespace weft::testing::ptx
