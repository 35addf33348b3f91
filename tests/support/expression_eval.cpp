// tests/support/expression_eval.cpp: a flat list of (loop, operand slots); one typed loop per op and dtype.
#include "support/expression_eval.h"

#include "ir/walk.h"

#include <weft/error.h>

#include <cmath>
#include <cstring>
#include <unordered_map>

namespace weft::test {
namespace {

using ir::Op;
constexpr int kBlock = ExpressionProgram::kBlock;

// Clones are chosen while the program is loaded, before the thread sanitizer is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define WEFT_TEST_CLONES __attribute__((target_clones("arch=x86-64-v3", "default"), optimize("O3")))
#else
#define WEFT_TEST_CLONES
#endif

// No result shares memory with an operand; that promise and -O3 have the loops vectorised.
template <class F, class R, class T>
WEFT_TEST_CLONES void loop1(const void* a, const void*, const void*, void* out) {
    const T* __restrict x = static_cast<const T*>(a);
    R* __restrict result = static_cast<R*>(out);
    for (int i = 0; i < kBlock; ++i) result[i] = F()(x[i]);
}
template <class F, class R, class T>
WEFT_TEST_CLONES void loop2(const void* a, const void* b, const void*, void* out) {
    const T* __restrict x = static_cast<const T*>(a), * __restrict y = static_cast<const T*>(b);
    R* __restrict result = static_cast<R*>(out);
    for (int i = 0; i < kBlock; ++i) result[i] = F()(x[i], y[i]);
}
template <class F, class R, class C, class T>
WEFT_TEST_CLONES void loop3(const void* a, const void* b, const void* c, void* out) {
    const C* __restrict x = static_cast<const C*>(a);
    const T* __restrict y = static_cast<const T*>(b), * __restrict z = static_cast<const T*>(c);
    R* __restrict result = static_cast<R*>(out);
    for (int i = 0; i < kBlock; ++i) result[i] = F()(x[i], y[i], z[i]);
}

// clang-format off
struct Neg { template <class T> T operator()(T a) const { return -a; } };
struct Abs { template <class T> T operator()(T a) const { return std::fabs(a); } };
struct Recip { template <class T> T operator()(T a) const { return T(1) / a; } };
struct Sqrt { template <class T> T operator()(T a) const { return std::sqrt(a); } };
struct Trunc { template <class T> T operator()(T a) const { return std::trunc(a); } };
struct Add { template <class T> T operator()(T a, T b) const { return a + b; } };
struct Sub { template <class T> T operator()(T a, T b) const { return a - b; } };
struct Mul { template <class T> T operator()(T a, T b) const { return a * b; } };
struct Div { template <class T> T operator()(T a, T b) const { return a / b; } };
struct Max { template <class T> T operator()(T a, T b) const { return ((a > b) | (a != a)) ? a : b; } };
struct Min { template <class T> T operator()(T a, T b) const { return ((a < b) | (a != a)) ? a : b; } };
struct Lt { template <class T> bool operator()(T a, T b) const { return a < b; } };
struct Le { template <class T> bool operator()(T a, T b) const { return a <= b; } };
struct Eq { template <class T> bool operator()(T a, T b) const { return a == b; } };
struct And { template <class T> T operator()(T a, T b) const { return static_cast<T>(a & b); } };
struct Or { template <class T> T operator()(T a, T b) const { return static_cast<T>(a | b); } };
struct Xor { template <class T> T operator()(T a, T b) const { return static_cast<T>(a ^ b); } };
template <class T> inline constexpr T kLast = 8 * sizeof(T) - 1;  // the largest shift; further ones give 0
struct Shl { template <class T> T operator()(T a, T b) const { return b <= kLast<T> ? a << (b & kLast<T>) : 0; } };
struct Shr { template <class T> T operator()(T a, T b) const { return b <= kLast<T> ? a >> (b & kLast<T>) : 0; } };
struct Scale {  // in one step, unlike the op table
    template <class T> T operator()(T a, T b) const { return b != b ? b : std::ldexp(a, static_cast<int>(std::floor(b))); }
};
struct Fma { template <class T> T operator()(T a, T b, T c) const { return std::fma(a, b, c); } };
struct Where { template <class T> T operator()(std::uint8_t c, T a, T b) const { return c ? a : b; } };
// clang-format on
template <class R>
struct Convert {
    template <class T>
    R operator()(T a) const {
        return static_cast<R>(a);
    }
};

using Loop = void (*)(const void*, const void*, const void*, void*);

template <class T>
Loop float_loop(Op op) {
    switch (op) {
        case Op::Neg: return loop1<Neg, T, T>;
        case Op::Abs: return loop1<Abs, T, T>;
        case Op::Recip: return loop1<Recip, T, T>;
        case Op::Sqrt: return loop1<Sqrt, T, T>;
        case Op::Trunc: return loop1<Trunc, T, T>;
        case Op::Add: return loop2<Add, T, T>;
        case Op::Sub: return loop2<Sub, T, T>;
        case Op::Mul: return loop2<Mul, T, T>;
        case Op::Div: return loop2<Div, T, T>;
        case Op::Max: return loop2<Max, T, T>;
        case Op::Min: return loop2<Min, T, T>;
        case Op::CmpLt: return loop2<Lt, std::uint8_t, T>;
        case Op::CmpLe: return loop2<Le, std::uint8_t, T>;
        case Op::CmpEq: return loop2<Eq, std::uint8_t, T>;
        case Op::Fma: return loop3<Fma, T, T, T>;
        case Op::Scale: return loop2<Scale, T, T>;
        default: return nullptr;
    }
}

template <class T>
Loop unsigned_loop(Op op) {
    switch (op) {
        case Op::Add: return loop2<Add, T, T>;
        case Op::Sub: return loop2<Sub, T, T>;
        case Op::Mul: return loop2<Mul, T, T>;
        case Op::CmpLt: return loop2<Lt, std::uint8_t, T>;
        case Op::CmpLe: return loop2<Le, std::uint8_t, T>;
        case Op::CmpEq: return loop2<Eq, std::uint8_t, T>;
        case Op::And: return loop2<And, T, T>;
        case Op::Or: return loop2<Or, T, T>;
        case Op::Xor: return loop2<Xor, T, T>;
        case Op::Shl: return loop2<Shl, T, T>;
        case Op::Shr: return loop2<Shr, T, T>;
        default: return nullptr;
    }
}

Loop bool_loop(Op op) {
    switch (op) {
        case Op::And: return loop2<And, std::uint8_t, std::uint8_t>;
        case Op::Or: return loop2<Or, std::uint8_t, std::uint8_t>;
        case Op::Xor: return loop2<Xor, std::uint8_t, std::uint8_t>;
        default: return nullptr;
    }
}

template <std::size_t Bytes>
void copy(const void* a, const void*, const void*, void* out) {
    std::memcpy(out, a, Bytes * kBlock);
}

Loop loop_for(const ir::Node& node) {
    const DType from = node.sources.back()->dtype, to = node.dtype;
    const bool wide = size_of(from) == 8;
    switch (node.op) {
        case Op::Bitcast: return size_of(from) == 4 ? copy<4> : size_of(from) == 8 ? copy<8> : nullptr;
        case Op::Where:
            return size_of(from) == 4   ? loop3<Where, std::uint32_t, std::uint8_t, std::uint32_t>
                   : size_of(from) == 8 ? loop3<Where, std::uint64_t, std::uint8_t, std::uint64_t>
                                        : nullptr;
        case Op::Cast:
            if (from == DType::F32 && to == DType::F64) return loop1<Convert<double>, double, float>;
            if (from == DType::F64 && to == DType::F32) return loop1<Convert<float>, float, double>;
            if (from == DType::U64 && to == DType::U32)
                return loop1<Convert<std::uint32_t>, std::uint32_t, std::uint64_t>;
            if (from == DType::I64 && to == DType::F64) return loop1<Convert<double>, double, std::int64_t>;
            if (from == DType::U64 && to == DType::F64) return loop1<Convert<double>, double, std::uint64_t>;
            return nullptr;
        default: break;
    }
    if (from == DType::Bool) return bool_loop(node.op);
    if (is_unsigned(from) && size_of(from) >= 4)
        return wide ? unsigned_loop<std::uint64_t>(node.op) : unsigned_loop<std::uint32_t>(node.op);
    if (from == DType::F32) return float_loop<float>(node.op);
    if (from == DType::F64) return float_loop<double>(node.op);
    return nullptr;
}

Word evaluate(const ir::Node& node, const Word* sources) {
    const DType operand = node.sources.back()->dtype;
    if (node.op == Op::Cast) return cast_word(operand, node.dtype, sources[0]);
    if (node.op == Op::Bitcast)
        return sources[0];  // between types of one width, and no signed ones narrower than a word
    if (node.op == Op::Lookup) return ir::look_up(node.as<ir::TableArg>().entries, sources[0]);
    if (!ir::can_eval(node.op)) throw InternalError("an expression with an op that cannot be evaluated");
    return ir::info(node.op).eval(operand, sources);
}

}  // namespace

ExpressionProgram::ExpressionProgram(const ir::NodeRef& root, std::span<const ir::NodeRef> inputs) : root_(root) {
    std::unordered_map<const ir::Node*, int> slot_of;
    const auto new_slot = [&](const ir::Node& node, bool is_constant) {
        slot_of[&node] = static_cast<int>(slots_.size());
        slots_.push_back({node.dtype, is_constant ? node.as<ir::ConstArg>().value : 0, is_constant});
        return slot_of[&node];
    };
    for (const ir::NodeRef& input : inputs) inputs_.push_back(new_slot(*input, false));
    for (const ir::Node* node :
         ir::topological_order(std::span(&root, 1), [&](const ir::Node& n) { return !slot_of.contains(&n); })) {
        if (slot_of.contains(node)) continue;
        if (node->op == Op::Const) {
            new_slot(*node, true);
            continue;
        }
        if (node->sources.empty()) throw InternalError("an expression with a leaf that is no input");
        Step step{node, loop_for(*node), {0, 0, 0}, 0};
        for (std::size_t i = 0; i < node->sources.size(); ++i) step.sources[i] = slot_of.at(node->sources[i].get());
        step.result = new_slot(*node, false);
        steps_.push_back(step);
    }
    result_ = slot_of.at(root.get());
    memory_.resize(slots_.size() * kBlock * sizeof(Word));
    for (std::size_t s = 0; s < slots_.size(); ++s) {
        const std::size_t size = size_of(slots_[s].dtype);
        char* to = static_cast<char*>(memory_of(static_cast<int>(s)));
        for (int i = 0; i < kBlock; ++i)
            store_word(slots_[s].dtype, to + size * static_cast<std::size_t>(i), slots_[s].constant);
    }
}

void ExpressionProgram::run(std::span<const void* const> inputs, void* result) {
    for (std::size_t i = 0; i < inputs_.size(); ++i)
        std::memcpy(memory_of(inputs_[i]), inputs[i], kBlock * size_of(slots_[inputs_[i]].dtype));
    for (const Step& step : steps_) {
        const int* s = step.sources;
        if (step.loop) {
            step.loop(memory_of(s[0]), memory_of(s[1]), memory_of(s[2]), memory_of(step.result));
            continue;
        }
        for (int i = 0; i < kBlock; ++i) {
            const auto at = [&](int slot) {
                return static_cast<char*>(memory_of(slot)) + size_of(slots_[slot].dtype) * static_cast<std::size_t>(i);
            };
            Word words[3] = {};
            for (std::size_t k = 0; k < step.node->sources.size(); ++k)
                words[k] = load_word(slots_[s[k]].dtype, at(s[k]));
            store_word(step.node->dtype, at(step.result), evaluate(*step.node, words));
        }
    }
    std::memcpy(result, memory_of(result_), kBlock * size_of(slots_[result_].dtype));
}

Word ExpressionProgram::run_by_table(std::span<const Word> inputs) const {
    std::vector<Word> values(slots_.size());
    for (std::size_t s = 0; s < slots_.size(); ++s) values[s] = slots_[s].constant;
    for (std::size_t i = 0; i < inputs_.size(); ++i) values[inputs_[i]] = inputs[i];
    for (const Step& step : steps_) {
        Word words[3] = {};
        for (std::size_t k = 0; k < step.node->sources.size(); ++k) words[k] = values[step.sources[k]];
        values[step.result] = evaluate(*step.node, words);
    }
    return values[result_];
}

}  // namespace weft::test
