// tests/support/ptx_scalar.cpp: instructions on the registers of one thread: arithmetic, bits, comparisons, selections, branches. Floats are rounded by
// the host, which flushes subnormal numbers as the instruction says (Block::set_mode).
#include "support/ptx_arithmetic.h"
#include "support/ptx_decode.h"

namespace weft::testing::ptx {
namespace {

// ---- handlers: what is computed from a value that is not there is not there -----------------------------------------

template <class F, class T>
const Instruction* unary(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<T>(F()(from_slot<T>(t.r[i.a])));
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <class F, class T>
const Instruction* binary(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<T>(F()(from_slot<T>(t.r[i.a]), from_slot<T>(t.r[i.b])));
    t.p[i.d] = t.p[i.a] | t.p[i.b];
    return &i + 1;
}

template <class F, class T>
const Instruction* ternary(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<T>(F()(from_slot<T>(t.r[i.a]), from_slot<T>(t.r[i.b]), from_slot<T>(t.r[i.c])));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}

template <class T>
const Instruction* multiply_wide(Thread& t, const Instruction& i) {
    using Wide = Doubled<T>;
    t.r[i.d] = to_slot<Wide>(Multiply()(Wide{from_slot<T>(t.r[i.a])}, Wide{from_slot<T>(t.r[i.b])}));
    t.p[i.d] = t.p[i.a] | t.p[i.b];
    return &i + 1;
}
template <class T>
const Instruction* multiply_add_wide(Thread& t, const Instruction& i) {
    using Wide = Doubled<T>;
    const Wide product = Multiply()(Wide{from_slot<T>(t.r[i.a])}, Wide{from_slot<T>(t.r[i.b])});
    t.r[i.d] = to_slot<Wide>(Add()(product, from_slot<Wide>(t.r[i.c])));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}

// By zero the manual promises nothing.
template <class F, class T>
const Instruction* divide(Thread& t, const Instruction& i) {
    const T by = from_slot<T>(t.r[i.b]);
    t.r[i.d] = to_slot<T>(F()(from_slot<T>(t.r[i.a]), by));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | (by == 0 ? kUndefined : 0);
    return &i + 1;
}

// A zero, or for `or` a number of ones, decides whatever the other one is.
template <class F, class T, bool kOnes>
const Instruction* masking(Thread& t, const Instruction& i) {
    const T a = from_slot<T>(t.r[i.a]), b = from_slot<T>(t.r[i.b]);
    const T deciding = kOnes ? static_cast<T>(i.mask) : T{0};
    t.r[i.d] = F()(a, b);
    const bool decided = (a == deciding && !t.p[i.a]) || (b == deciding && !t.p[i.b]);
    t.p[i.d] = decided ? 0 : t.p[i.a] | t.p[i.b];
    return &i + 1;
}
template <class T>
const Instruction* invert(Thread& t, const Instruction& i) {
    t.r[i.d] = static_cast<T>(~t.r[i.a]) & i.mask;
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

template <class T, bool kLeft>
const Instruction* shift(Thread& t, const Instruction& i) {
    const auto by = static_cast<std::uint32_t>(t.r[i.b]);
    const T a = from_slot<T>(t.r[i.a]);
    t.r[i.d] = to_slot<T>(kLeft ? shift_left(a, by) : shift_right(a, by));
    t.p[i.d] = t.p[i.a] | t.p[i.b];
    return &i + 1;
}

// Two registers as one: by how much is taken modulo 32, or at most 32.
template <bool kLeft, bool kWrap>
const Instruction* funnel_shift(Thread& t, const Instruction& i) {
    const std::uint64_t both = t.r[i.b] << 32 | static_cast<std::uint32_t>(t.r[i.a]);
    const auto given = static_cast<std::uint32_t>(t.r[i.c]);
    const std::uint32_t by = kWrap ? given & 31 : std::min(given, 32u);
    t.r[i.d] = static_cast<std::uint32_t>(kLeft ? both << by >> 32 : both >> by);
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}

template <class T>
const Instruction* extract(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<T>(extract_bits(from_slot<T>(t.r[i.a]), static_cast<std::uint32_t>(t.r[i.b]),
                                       static_cast<std::uint32_t>(t.r[i.c])));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}
template <class T>
const Instruction* insert(Thread& t, const Instruction& i) {
    t.r[i.d] = to_slot<T>(insert_bits(from_slot<T>(t.r[i.a]), from_slot<T>(t.r[i.b]),
                                      static_cast<std::uint32_t>(t.r[i.c]), static_cast<std::uint32_t>(t.r[i.e])));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c] | t.p[i.e];
    return &i + 1;
}
const Instruction* permute(Thread& t, const Instruction& i) {
    t.r[i.d] = permute_bytes(static_cast<std::uint32_t>(t.r[i.a]), static_cast<std::uint32_t>(t.r[i.b]),
                             static_cast<std::uint32_t>(t.r[i.c]));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}
const Instruction* logic(Thread& t, const Instruction& i) {
    t.r[i.d] = by_table(static_cast<std::uint32_t>(t.r[i.a]), static_cast<std::uint32_t>(t.r[i.b]),
                        static_cast<std::uint32_t>(t.r[i.c]), static_cast<std::uint8_t>(i.offset));
    t.p[i.d] = t.p[i.a] | t.p[i.b] | t.p[i.c];
    return &i + 1;
}

// What is not chosen need not be there.
const Instruction* select(Thread& t, const Instruction& i) {
    const std::uint32_t from = t.r[i.c] ? i.a : i.b;
    t.r[i.d] = t.r[from] & i.mask;
    t.p[i.d] = t.p[from] | t.p[i.c];
    return &i + 1;
}

template <class T>
const Instruction* compare(Thread& t, const Instruction& i) {
    t.r[i.d] = compared(static_cast<Compare>(i.how), from_slot<T>(t.r[i.a]), from_slot<T>(t.r[i.b]));
    t.p[i.d] = t.p[i.a] | t.p[i.b];
    return &i + 1;
}

// With another predicate, and perhaps into two: the comparison and its opposite, each with that predicate.
enum Combination : std::uint8_t { kNothing, kAnd, kOr, kXor };
constexpr std::uint8_t kCombination = 3, kNegatedC = 4;

template <class T>
const Instruction* compare_and(Thread& t, const Instruction& i) {
    const bool found = compared(static_cast<Compare>(i.how), from_slot<T>(t.r[i.a]), from_slot<T>(t.r[i.b]));
    const bool with = t.r[i.c] != ((i.flags & kNegatedC) != 0);
    const Poison poison = t.p[i.a] | t.p[i.b], with_poison = i.c ? t.p[i.c] : 0;
    const auto store = [&](std::uint32_t to, bool value) {
        const int how = i.flags & kCombination;
        const bool decides = how == kOr;  // one such operand is enough
        const bool decided =
            (how == kAnd || how == kOr) && ((value == decides && !poison) || (with == decides && !with_poison));
        t.r[to] = how == kAnd ? value && with : how == kOr ? value || with : how == kXor ? value != with : value;
        t.p[to] = decided ? 0 : poison | with_poison;
    };
    store(i.d, found);
    if (i.e) store(i.e, !found);
    return &i + 1;
}

const Instruction* move(Thread& t, const Instruction& i) {
    t.r[i.d] = t.r[i.a] & i.mask;
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}
// mov.b64 %d, {%lo, %hi}, and back: parts of how.bits each.
const Instruction* pack(Thread& t, const Instruction& i) {
    const std::uint32_t* const parts = &t.block->code().lists[i.list];
    std::uint64_t all = 0;
    Poison poison = 0;
    for (std::uint32_t k = 0; k < i.c; ++k) {
        all |= (t.r[parts[k]] & ((1ull << i.how) - 1)) << (k * i.how);
        poison |= t.p[parts[k]];
    }
    t.r[i.d] = all;
    t.p[i.d] = poison;
    return &i + 1;
}
const Instruction* unpack(Thread& t, const Instruction& i) {
    const std::uint32_t* const parts = &t.block->code().lists[i.list];
    const std::uint64_t all = t.r[i.a];
    const Poison poison = t.p[i.a];
    for (std::uint32_t k = 0; k < i.c; ++k) {
        t.r[parts[k]] = all >> (k * i.how) & ((1ull << i.how) - 1);
        t.p[parts[k]] = poison;
    }
    return &i + 1;
}

const Instruction* branch(Thread& t, const Instruction& i) {
    if (++t.branches > t.block->most_branches()) t.block->fault(t, i, "the thread does not come to an end");
    return i.target;
}
const Instruction* leave(Thread& t, const Instruction& i) {
    t.state = Thread::State::Exited;
    t.pc = &i;
    return nullptr;
}
const Instruction* nothing(Thread&, const Instruction& i) { return &i + 1; }
const Instruction* trap(Thread& t, const Instruction& i) { t.block->fault(t, i, "the kernel traps"); }

// ---- which handler ---------------------------------------------------------------------------------------------------

// `pick` is a lambda with a template parameter, the type of the operands. Null, where there is none.
template <class Pick>
Handler for_unsigned(Type type, Pick pick) {
    if (type.kind != 'u' && type.kind != 'b') return nullptr;
    if (type.bits == 16) return pick.template operator()<std::uint16_t>();
    if (type.bits == 32) return pick.template operator()<std::uint32_t>();
    return type.bits == 64 ? pick.template operator()<std::uint64_t>() : nullptr;
}
template <class Pick>
Handler for_signed(Type type, Pick pick) {
    if (type.kind != 's') return nullptr;
    if (type.bits == 16) return pick.template operator()<std::int16_t>();
    if (type.bits == 32) return pick.template operator()<std::int32_t>();
    return type.bits == 64 ? pick.template operator()<std::int64_t>() : nullptr;
}
template <class Pick>
Handler for_integer(Type type, Pick pick) {
    return type.kind == 's' ? for_signed(type, pick) : for_unsigned(type, pick);
}
template <class Pick>
Handler for_float(Type type, Pick pick) {
    if (type == Type{'f', 32}) return pick.template operator()<float>();
    return type == Type{'f', 64} ? pick.template operator()<double>() : nullptr;
}

void operands2(Decoder& d, Type type) {
    d.expect_operands(2);
    d.out().a = d.read(1, type);
    d.out().d = d.write(0, type);
}
void operands3(Decoder& d, Type type) {
    d.expect_operands(3);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().d = d.write(0, type);
}
void operands4(Decoder& d, Type type) {
    d.expect_operands(4);
    d.out().c = d.read(3, type);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().d = d.write(0, type);
}

// An instruction on integers and floats alike. Of floats, every rounding is spelled out: else the assembler may fuse two of them.
template <class F, bool kRounds>
void decode_binary(Decoder& d) {
    const Type type = d.take_type();
    operands3(d, type);
    if (type.kind == 'f') {
        if (kRounds && !d.take("rn")) d.fail("says nothing about its rounding");
        d.take_mode(type);
        d.out().run = for_float(type, []<class T>() -> Handler { return binary<F, T>; });
    } else d.out().run = for_integer(type, []<class T>() -> Handler { return binary<F, T>; });
}

void decode_mul(Decoder& d) {
    const Type type = d.take_type();
    if (type.kind == 'f') {
        operands3(d, type);
        if (!d.take("rn")) d.fail("says nothing about its rounding");
        d.take_mode(type);
        d.out().run = for_float(type, []<class T>() -> Handler { return binary<Multiply, T>; });
        return;
    }
    const std::string_view part = d.take_one({"lo", "hi", "wide"});
    if (part != "wide") {
        operands3(d, type);
        d.out().run = part == "lo" ? for_integer(type, []<class T>() -> Handler { return binary<Multiply, T>; })
                                   : for_integer(type, []<class T>() -> Handler { return binary<MultiplyHigh, T>; });
        return;
    }
    d.expect_operands(3);
    if (type.bits == 64) d.fail("there are no 128 bits");
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().d = d.write(0, {type.kind, 2 * type.bits});
    d.out().run = type.bits == 16 ? (type.kind == 's' ? multiply_wide<std::int16_t> : multiply_wide<std::uint16_t>)
                                  : (type.kind == 's' ? multiply_wide<std::int32_t> : multiply_wide<std::uint32_t>);
}

void decode_mad(Decoder& d) {
    const Type type = d.take_type();
    if (type.kind == 'f') d.fail("is fma for floats");
    const std::string_view part = d.take_one({"lo", "hi", "wide"});
    if (part != "wide") {
        operands4(d, type);
        d.out().run =
            part == "lo"
                ? for_integer(type, []<class T>() -> Handler { return ternary<MultiplyAdd<Multiply>, T>; })
                : for_integer(type, []<class T>() -> Handler { return ternary<MultiplyAdd<MultiplyHigh>, T>; });
        return;
    }
    d.expect_operands(4);
    if (type.bits == 64) d.fail("there are no 128 bits");
    const Type wide{type.kind, 2 * type.bits};
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().c = d.read(3, wide);
    d.out().d = d.write(0, wide);
    d.out().run = type.bits == 16
                      ? (type.kind == 's' ? multiply_add_wide<std::int16_t> : multiply_add_wide<std::uint16_t>)
                      : (type.kind == 's' ? multiply_add_wide<std::int32_t> : multiply_add_wide<std::uint32_t>);
}

void decode_fma(Decoder& d) {
    const Type type = d.take_type();
    operands4(d, type);
    if (!d.take("rn")) d.fail("says nothing about its rounding");
    d.take_mode(type);
    d.out().run = for_float(type, []<class T>() -> Handler { return ternary<Fused, T>; });
}

template <class F>
void decode_divide(Decoder& d) {
    const Type type = d.take_type();
    operands3(d, type);
    if (type.kind == 'f') {
        if (!std::is_same_v<F, Divide> || !d.take("rn")) d.fail("says nothing about its rounding");
        d.take_mode(type);
        d.out().run = for_float(type, []<class T>() -> Handler { return binary<Divide, T>; });
    } else d.out().run = for_integer(type, []<class T>() -> Handler { return divide<F, T>; });
}

// rcp and sqrt
template <class F>
void decode_root(Decoder& d) {
    const Type type = d.take_type();
    operands2(d, type);
    if (!d.take("rn")) d.fail("says nothing about its rounding");
    d.take_mode(type);
    d.out().run = for_float(type, []<class T>() -> Handler { return unary<F, T>; });
}

// The sign of a float is a bit: a NaN keeps its others.
template <bool kNegate>
const Instruction* sign_bit(Thread& t, const Instruction& i) {
    const std::uint64_t sign = 1ull << (i.how - 1);
    t.r[i.d] = kNegate ? t.r[i.a] ^ sign : t.r[i.a] & ~sign;
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}
template <class F, bool kNegate>
void decode_sign(Decoder& d) {
    const Type type = d.take_type();
    operands2(d, type);
    if (type.kind != 'f') {
        d.out().run = for_signed(type, []<class T>() -> Handler { return unary<F, T>; });
    } else if (d.take("ftz")) {
        if (type.bits == 32) d.out().run = unary<Flushed<F>, float>;
    } else {
        d.out().how = static_cast<std::uint8_t>(type.bits);
        d.out().run = sign_bit<kNegate>;
    }
}

template <bool kMax>
void decode_extreme(Decoder& d) {
    const Type type = d.take_type();
    operands3(d, type);
    if (type.kind != 'f') {
        d.out().run = for_integer(type, []<class T>() -> Handler { return binary<Extreme<kMax>, T>; });
        return;
    }
    const bool nan = d.take("NaN"), flush = d.take("ftz");
    if (flush && type.bits == 32)
        d.out().run = nan ? binary<Flushed<Extreme<kMax, true>>, float> : binary<Flushed<Extreme<kMax>>, float>;
    else if (nan) d.out().run = for_float(type, []<class T>() -> Handler { return binary<Extreme<kMax, true>, T>; });
    else d.out().run = for_float(type, []<class T>() -> Handler { return binary<Extreme<kMax>, T>; });
    d.out().mode = flush ? Mode::Any : Mode::Keep;
}

template <class F, bool kDecides, bool kOnes>
void decode_bits(Decoder& d) {
    const Type type = d.take_type();
    if (type.kind != 'b' && type.kind != 'p') d.fail("is an instruction on bits");
    operands3(d, type);
    const Type as{'b', type.kind == 'p' ? 16 : type.bits};
    if (kDecides) d.out().run = for_unsigned(as, []<class T>() -> Handler { return masking<F, T, kOnes>; });
    else d.out().run = for_unsigned(as, []<class T>() -> Handler { return binary<F, T>; });
}
void decode_not(Decoder& d) {
    const Type type = d.take_type();
    if (type.kind != 'b' && type.kind != 'p') d.fail("is an instruction on bits");
    operands2(d, type);
    d.out().run = invert<std::uint64_t>;
}

// How many bits: the result has 32.
template <class F>
void decode_count(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(2);
    d.out().a = d.read(1, type);
    d.out().d = d.write(0, {'u', 32});
    if (type.bits == 32 || type.bits == 64)
        d.out().run = for_unsigned(type, []<class T>() -> Handler { return unary<F, T>; });
}
void decode_reverse(Decoder& d) {
    const Type type = d.take_type();
    operands2(d, type);
    d.out().run = for_unsigned(type, []<class T>() -> Handler { return unary<Reverse, T>; });
}

template <bool kLeft>
void decode_shift(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(3);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, {'u', 32});
    d.out().d = d.write(0, type);
    if (kLeft && type.kind != 'b') d.fail("is an instruction on bits");
    d.out().run = for_integer(type, []<class T>() -> Handler { return shift<T, kLeft>; });
}
void decode_funnel(Decoder& d) {
    const bool left = d.take_one({"l", "r"}) == "l", wrap = d.take_one({"wrap", "clamp"}) == "wrap";
    if (d.take_type() != Type{'b', 32}) d.fail("has 32 bits");
    operands4(d, {'b', 32});
    d.out().run = left ? (wrap ? funnel_shift<true, true> : funnel_shift<true, false>)
                       : (wrap ? funnel_shift<false, true> : funnel_shift<false, false>);
}

void decode_extract(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(4);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, {'u', 32});
    d.out().c = d.read(3, {'u', 32});
    d.out().d = d.write(0, type);
    if (type.bits >= 32) d.out().run = for_integer(type, []<class T>() -> Handler { return extract<T>; });
}
void decode_insert(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(5);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().c = d.read(3, {'u', 32});
    d.out().e = d.read(4, {'u', 32});
    d.out().d = d.write(0, type);
    if (type.bits >= 32) d.out().run = for_unsigned(type, []<class T>() -> Handler { return insert<T>; });
}
void decode_permute(Decoder& d) {
    if (d.take_type() != Type{'b', 32}) d.fail("has 32 bits");
    operands4(d, {'b', 32});
    d.out().run = permute;
}
void decode_logic(Decoder& d) {
    if (d.take_type() != Type{'b', 32}) d.fail("has 32 bits");
    d.expect_operands(5);
    d.out().a = d.read(1, {'b', 32});
    d.out().b = d.read(2, {'b', 32});
    d.out().c = d.read(3, {'b', 32});
    d.out().offset = d.number(4);
    d.out().d = d.write(0, {'b', 32});
    d.out().run = logic;
}

void decode_select(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(4);
    d.out().a = d.read(1, type);
    d.out().b = d.read(2, type);
    d.out().c = d.read(3, {'p', 1});
    d.out().d = d.write(0, type);
    d.out().run = select;
}

void decode_setp(Decoder& d) {
    const std::size_t how = d.take_index({"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu",
                                          "num", "nan", "lo", "ls", "hi", "hs"});
    const Type type = d.take_type();
    Instruction& out = d.out();
    constexpr std::size_t kFirstUnordered = 6, kFirstUnsigned = 14;
    if (how >= kFirstUnordered && how < kFirstUnsigned && type.kind != 'f') d.fail("is a comparison of floats");
    if (how >= kFirstUnsigned && type.kind != 'u') d.fail("is a comparison of unsigned numbers");
    out.how = static_cast<std::uint8_t>(how < kFirstUnsigned ? how : how - kFirstUnsigned + 2);
    const int combination = d.take("and") ? kAnd : d.take("or") ? kOr : d.take("xor") ? kXor : kNothing;
    d.expect_operands(combination == kNothing ? 3 : 4);
    out.a = d.read(1, type);
    out.b = d.read(2, type);
    if (combination != kNothing) {
        out.c = d.read(3, {'p', 1});
        out.flags = static_cast<std::uint8_t>(combination | (d.operand(3).negated ? kNegatedC : 0));
    }
    out.d = d.write(0, {'p', 1});
    if (!d.operand(0).parts.empty()) out.e = d.write(d.operand(0).parts[0], {'p', 1});
    const bool plain = combination == kNothing && !out.e;
    const auto pick = [&]<class T>() -> Handler { return plain ? compare<T> : compare_and<T>; };
    if (type.kind == 'f') {
        d.take_mode(type);
        if (how == static_cast<std::size_t>(Compare::Nan)) out.mode = Mode::Any;  // small numbers are none
        out.run = for_float(type, pick);
    } else out.run = for_integer(type, pick);
}

void decode_mov(Decoder& d) {
    const Type type = d.take_type();
    d.expect_operands(2);
    Instruction& out = d.out();
    const Operand &to = d.operand(0), &from = d.operand(1);
    if (to.kind != Operand::Vector && from.kind != Operand::Vector) {
        out.a = d.read(1, type);
        out.d = d.write(0, type);
        out.run = move;
        return;
    }
    const bool packs = from.kind == Operand::Vector;
    const auto& parts = packs ? from.parts : to.parts;
    const Type part{'b', type.bits / static_cast<int>(parts.size())};
    if (type.kind != 'b' || (parts.size() != 2 && parts.size() != 4)) d.fail("cannot be cut so");
    std::vector<std::uint32_t> slots;
    for (const Operand& each : parts) slots.push_back(packs ? d.read(each, part) : d.write(each, part));
    out.list = d.add_list(slots);
    out.c = static_cast<std::uint32_t>(slots.size());
    out.how = static_cast<std::uint8_t>(part.bits);
    if (packs) out.d = d.write(0, type);
    else out.a = d.read(1, type);
    out.run = packs ? pack : unpack;
}

void decode_branch(Decoder& d) {
    d.take("uni");
    d.expect_operands(1);
    d.set_target(0);
    d.out().run = branch;
}
void decode_exit(Decoder& d) {
    d.expect_operands(0);
    d.take("uni");
    d.out().run = leave;
}
void decode_trap(Decoder& d) { d.out().run = trap; }
void decode_setmaxnreg(Decoder& d) {
    d.take_one({"inc", "dec"});
    d.take("sync"), d.take("aligned"), d.take_type();
    d.expect_operands(1);
    d.out().run = nothing;
}

}  // namespace

std::span<const Family> scalar_instructions() {
    static constexpr Family kTable[] = {
        {"add", decode_binary<Add, true>},
        {"sub", decode_binary<Subtract, true>},
        {"mul", decode_mul},
        {"mad", decode_mad},
        {"fma", decode_fma},
        {"div", decode_divide<Divide>},
        {"rem", decode_divide<Remainder>},
        {"rcp", decode_root<Reciprocal>},
        {"sqrt", decode_root<SquareRoot>},
        {"neg", decode_sign<Negate, true>},
        {"abs", decode_sign<Absolute, false>},
        {"max", decode_extreme<true>},
        {"min", decode_extreme<false>},
        {"and", decode_bits<And, true, false>},
        {"or", decode_bits<Or, true, true>},
        {"xor", decode_bits<Xor, false, false>},
        {"not", decode_not},
        {"popc", decode_count<CountOnes>},
        {"clz", decode_count<CountLeadingZeros>},
        {"brev", decode_reverse},
        {"shl", decode_shift<true>},
        {"shr", decode_shift<false>},
        {"shf", decode_funnel},
        {"bfe", decode_extract},
        {"bfi", decode_insert},
        {"prmt", decode_permute},
        {"lop3", decode_logic},
        {"selp", decode_select},
        {"setp", decode_setp},
        {"mov", decode_mov},
        {"bra", decode_branch},
        {"ret", decode_exit},
        {"exit", decode_exit},
        {"trap", decode_trap},
        {"setmaxnreg", decode_setmaxnreg},
    };
    return kTable;
}

}  // namespace weft::testing::ptx
