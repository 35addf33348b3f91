// Every elementwise op and cast, on every dtype, at its edges: `c` (scalars, whole vectors, part vectors) and `ref`
// against the op table's evaluators.
#include "backend/support.h"
#include "kernel/math.h"

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <span>

namespace weft::test {
namespace {

constexpr DType kAll[] = {bool_, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64};

template <class T>
std::vector<Word> edges_of() {
    std::vector<Word> words;
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) {
        for (const double x : {0.0,     1.0,   0.5,    1.5,          2.5,     3.7,     7.0,     100.25, 127.0,
                               128.5,   255.0, 256.5,  32767.0,      65504.0, 65519.9, 65520.0, 1e-7,   6e-8,
                               2.98e-8, 1e10,  0x1p31, 0x1p31 - 128, 0x1p32,  0x1p63,  0x1p64,  1e30,   1e-30})
            for (const double s : {x, -x}) words.push_back(to_word(static_cast<T>(s)));
        for (const T x : {Limits::infinity(), Limits::max(), Limits::min(), Limits::denorm_min(), Limits::quiet_NaN()})
            for (const T s : {x, static_cast<T>(-x)}) words.push_back(to_word(s));
    } else {
        for (const std::int64_t x : {0, 1, 2, 3, 7, 8, 13, 15, 16, 31, 32, 63, 64, 65, 100, 127, 128, 255})
            for (const std::int64_t s : {x, -x}) words.push_back(to_word(static_cast<T>(s)));
        for (const T x :
             {Limits::min(), Limits::max(), static_cast<T>(Limits::min() + 1), static_cast<T>(Limits::max() / 3)})
            words.push_back(to_word(x));
    }
    return words;
}

std::vector<Word> edges(DType t) {
    if (is_bool(t)) return {0, 1};
    if (is_half(t)) {
        std::vector<Word> all;
        for (Word w = 0; w < 0x10000; w += 1) all.push_back(w);
        return all;
    }
    return visit_dtype(t, [](auto zero) -> std::vector<Word> {
        if constexpr (std::is_arithmetic_v<decltype(zero)>) return edges_of<decltype(zero)>();
        else return {};
    });
}

bool is_nan_word(DType t, Word w) { return is_float(t) && std::isnan(word_to_double(t, w)); }

// A NaN's sign and payload are the processor's choice; everything else must be equal.
bool same(DType t, Word a, Word b) { return a == b || (is_nan_word(t, a) && is_nan_word(t, b)); }

// for each way of looping: out[i] = f(in[i] …) over n elements
enum class Way { Serial, Vector16, Vector8, Odd };

using Make = std::function<Body(const NodeRef&)>;

Body loops_over(Nest& n, Way way, std::int64_t count, const Make& make) {
    if (way == Way::Serial) {
        const NodeRef i = n.k.new_var(count);
        return {Nest::loop(i, LoopKind::Serial, make(i))};
    }
    const std::int64_t lanes = way == Way::Vector16 ? 16 : way == Way::Vector8 ? 8 : 5;
    Body body;
    if (count / lanes) {
        const NodeRef i = n.k.new_var(count / lanes), l = n.k.new_var(lanes);
        body.push_back(
            Nest::loop(i, LoopKind::Serial, {Nest::loop(l, LoopKind::Vector, make(n.affine({{i, lanes}, {l, 1}})))}));
    }
    if (count % lanes) {
        const NodeRef l = n.k.new_var(count % lanes);
        body.push_back(Nest::loop(l, LoopKind::Vector, make(n.affine({{l, 1}}, count / lanes * lanes))));
    }
    return body;
}

struct Case {
    std::shared_ptr<Nest> nest;
    std::vector<Memory> memories;
    int inputs = 0;
    std::vector<std::string> names;           // per output
    std::vector<std::vector<Word>> expected;  // per output
};

void check_cases(const std::vector<Case>& cases) {
    std::vector<const Kernel*> kernels;
    for (const Case& c : cases) {
        kernel::verify(c.nest->k, "test");
        kernels.push_back(&c.nest->k);
    }
    std::vector<Target> all = targets();
    all.push_back({"ref", "native"});
    for (const Target& target : all) {
        const std::string backend = target.backend + " " + target.cpu;
        const auto programs = compile_for(target, kernels);
        for (std::size_t k = 0; k < cases.size(); ++k) {
            const Case& c = cases[k];
            const Result result = run_program(*programs[k], c.nest->k, c.memories);
            for (std::size_t o = 0; o < c.expected.size(); ++o) {
                const Memory& out = result.memories[static_cast<std::size_t>(c.inputs) + o];
                for (std::size_t i = 0; i < c.expected[o].size(); ++i) {
                    const Word got = out.get(static_cast<std::int64_t>(i));
                    if (same(out.dtype(), got, c.expected[o][i])) continue;
                    std::string operands;
                    for (int in = 0; in < c.inputs; ++in)
                        operands += word_to_string(c.memories[in].dtype(), c.memories[in].get(i)) + " ";
                    FAIL_CHECK(str(backend, " ", c.nest->k.name, ": ", c.names[o], " of ", operands, "gave ",
                                   word_to_string(out.dtype(), got), " instead of ",
                                   word_to_string(out.dtype(), c.expected[o][i])));
                    break;
                }
            }
        }
    }
}

bool allowed(Op op, DType t) {
    const auto rule = ir::info(op).dtype;
    using R = ir::DTypeRule;
    if (is_half(t)) return false;
    if (op == Op::Pow || op == Op::IDiv) return is_int(t);
    if (op == Op::Scale) return false;  // not of any two numbers: see scale_case
    return rule == R::Any || rule == R::ToBool || (rule == R::Number && !is_bool(t)) ||
           (rule == R::FloatOnly && is_float(t)) || (rule == R::IntOrBool && !is_float(t)) ||
           (rule == R::IntOnly && is_int(t));
}

Case arithmetic_case(DType t, Way way, std::string name) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    Nest& n = *c.nest;
    const std::vector<Word> values = edges(t);
    const auto count = static_cast<std::int64_t>(values.size() * values.size());
    for (int in = 0; in < 3; ++in) {
        n.input(str("x", in), t, count);
        c.memories.emplace_back(t, count);
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const auto size = static_cast<std::int64_t>(values.size());
        const std::int64_t at[3] = {i / size, i % size, (i * 7 + i / size) % size};
        for (int in = 0; in < 3; ++in) c.memories[in].set(i, values[at[in]]);
    }
    c.inputs = 3;
    std::vector<Op> ops;
    for (int o = 0; o < ir::kOpCount; ++o)
        if (const Op op = static_cast<Op>(o); ir::can_eval(op) && op != Op::Where && allowed(op, t)) ops.push_back(op);
    std::vector<int> outputs;
    for (const Op op : ops) {
        const DType result = ir::info(op).kind == ir::OpKind::Compare ? bool_ : t;
        outputs.push_back(n.output(std::string(ir::name_of(op)), result, count));
        c.memories.emplace_back(result, count);
        c.names.emplace_back(ir::name_of(op));
        std::vector<Word> expected;
        for (std::int64_t i = 0; i < count; ++i) {
            const Word in[3] = {c.memories[0].get(i), c.memories[1].get(i), c.memories[2].get(i)};
            expected.push_back(ir::info(op).eval(t, in));
        }
        c.expected.push_back(std::move(expected));
    }
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        Body body;
        for (std::size_t o = 0; o < ops.size(); ++o) {
            ir::Sources sources;
            for (int in = 0; in < ir::info(ops[o]).arity; ++in) sources.push_back(n.k.load(in, i));
            body.emplace_back(Store{outputs[o], i, n.k.make(ops[o], n.k.buffers[outputs[o]].dtype, sources)});
        }
        return body;
    });
    return c;
}

// a * 2^b where the result is normal, subnormal, zero or infinite; a is what a polynomial gives.
Case scale_case(DType t, Way way, std::string name) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    Nest& n = *c.nest;
    const double factors[] = {0.7071067811865476, 1, 1.2599210498948732, 1.4142135, -1.75, 0, NAN};
    const std::int64_t low = t == f32 ? -160 : -1085, high = t == f32 ? 130 : 1026, count = 7 * (high - low + 1);
    for (int in = 0; in < 2; ++in) {
        n.input(str("x", in), t, count);
        c.memories.emplace_back(t, count);
    }
    c.inputs = 2;
    const int out = n.output("scaled", t, count);
    c.memories.emplace_back(t, count);
    c.names.emplace_back("scale");
    std::vector<Word> expected;
    for (std::int64_t i = 0; i < count; ++i) {
        const double a = factors[i % 7];
        const auto b = static_cast<int>(low + i / 7);
        c.memories[0].set(i, scalar_word(t, a));
        c.memories[1].set(i, scalar_word(t, static_cast<double>(b)));
        expected.push_back(t == f32 ? to_word(std::ldexp(static_cast<float>(a), b)) : to_word(std::ldexp(a, b)));
    }
    c.expected.push_back(std::move(expected));
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        return Body{Store{out, i, n.k.make(Op::Scale, t, {n.k.load(0, i), n.k.load(1, i)})}};
    });
    return c;
}

// A result that is computed from elements of the inputs, in two ways.
struct Result {
    std::string name;
    std::function<Word(std::span<const Word>)> want;
    std::function<NodeRef(Kernel&, std::span<const NodeRef>)> make;
};

// All results of inputs of one type; the inputs are tuples of elements.
Case results_case(DType t, Way way, std::string name, const std::vector<std::vector<Word>>& tuples,
                  const std::vector<Result>& results) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    Nest& n = *c.nest;
    const auto count = static_cast<std::int64_t>(tuples.size());
    c.inputs = static_cast<int>(tuples[0].size());
    for (int k = 0; k < c.inputs; ++k) {
        n.input(str("in", k), t, count);
        c.memories.emplace_back(t, count);
        for (std::int64_t i = 0; i < count; ++i)
            c.memories.back().set(i, tuples[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)]);
    }
    for (const Result& result : results) {
        Memory wanted(t, count);
        std::vector<Word>& expected = c.expected.emplace_back();
        for (std::int64_t i = 0; i < count; ++i) {
            std::vector<Word> in;
            for (int k = 0; k < c.inputs; ++k) in.push_back(c.memories[static_cast<std::size_t>(k)].get(i));
            wanted.set(i, result.want(in));
            expected.push_back(wanted.get(i));
        }
        c.names.push_back(result.name);
        n.output(str("out", c.names.size()), t, count);
    }
    c.memories.insert(c.memories.end(), results.size(), Memory(t, count));
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        std::vector<NodeRef> in;
        for (int k = 0; k < c.inputs; ++k) in.push_back(n.k.load(k, i));
        Body body;
        for (const Result& result : results)
            body.emplace_back(Store{c.inputs + static_cast<int>(body.size()), i, result.make(n.k, in)});
        return body;
    });
    return c;
}

// The remainder of a division, as lowering writes it: first small quotients, which need no library, then the edges.
Case remainder_case(DType t, Way way, std::string name) {
    std::vector<std::vector<Word>> pairs;
    for (int i = 0; i < 1000; ++i)
        pairs.push_back({scalar_word(t, (i * 389 % 1009 - 500) * 0.37), scalar_word(t, (i * 211 % 997 - 498) * 0.11)});
    for (const Word a : edges(t))
        for (const Word b : edges(t)) pairs.push_back({a, b});
    const auto want = [t](std::span<const Word> in) { return ir::info(Op::Mod).eval(t, in.data()); };
    const auto make = [](Kernel& k, std::span<const NodeRef> in) {
        return kernel::expand_math(k, Op::Mod, in[0], in[1]);
    };
    return results_case(t, way, std::move(name), pairs, {{"remainder", want, make}});
}

// Numbers of every length, their multiples and what lies beside those; by constants too.
Case division_case(DType t, Way way, std::string name) {
    std::vector<std::vector<Word>> pairs;
    std::mt19937_64 random(11);
    const auto any = [&] { return static_cast<Word>(static_cast<std::int64_t>(random()) >> random() % 64); };
    for (int i = 0; i < 3000; ++i) {
        const Word b = any(), times = any();
        pairs.push_back({i % 2 ? any() : b * times + random() % 3 - 1, b});
    }
    const std::vector<Word> special = edges(t);
    for (const Word a : special)
        for (const Word b : special) pairs.push_back({a, b});
    std::vector<std::optional<Word>> divisors = {std::nullopt, scalar_word(t, 7), scalar_word(t, 100),
                                                 scalar_word(t, 0)};
    divisors.emplace_back(is_unsigned(t) ? special.back() : scalar_word(t, -3));
    std::vector<Result> results;
    for (const Op op : {Op::IDiv, Op::Mod})
        for (const std::optional<Word> by : divisors)
            results.push_back({str(ir::name_of(op), by ? str(" by ", word_to_double(t, *by)) : ""),
                               [=](std::span<const Word> in) {
                                   const Word operands[] = {in[0], by.value_or(in[1])};
                                   return ir::info(op).eval(t, operands);
                               },
                               [=](Kernel& k, std::span<const NodeRef> in) {
                                   return k.binary(op, in[0], by ? k.make(Op::Const, t, {}, ir::ConstArg{*by}) : in[1]);
                               }});
    return results_case(t, way, std::move(name), pairs, results);
}

std::vector<std::vector<Word>> many_bits(int values) {
    std::vector<std::vector<Word>> tuples(75);
    for (std::size_t i = 0; i < tuples.size(); ++i)
        for (int v = 0; v < values; ++v) tuples[i].push_back((i + 1) * 0x9e3779b97f4a7c15u >> (7 * v));
    return tuples;
}

// x << by | x >> back, in either order; a turn only where the two add up to all bits.
Case rotation_case(DType t, Way way, std::string name) {
    const int all = 8 * static_cast<int>(size_of(t));
    std::vector<Result> results;
    for (const auto& [by, back] : {std::pair{1, all - 1}, {all - 3, 3}, {3, all - 4}, {all / 2, all / 2}})
        for (const bool swapped : {false, true})
            results.push_back({str(by, " and ", back, swapped ? ", swapped" : ""),
                               [=](std::span<const Word> in) { return in[0] << by | in[0] >> back; },
                               [=](Kernel& k, std::span<const NodeRef> in) {
                                   const NodeRef left = k.binary(Op::Shl, in[0], k.constant(t, by)),
                                                 right = k.binary(Op::Shr, in[0], k.constant(t, back));
                                   return swapped ? k.binary(Op::Or, right, left) : k.binary(Op::Or, left, right);
                               }});
    return results_case(t, way, std::move(name), many_bits(1), results);
}

// outer(x, inner(y, z)) and outer(inner(y, z), x), which may be one instruction; and an inner value that is needed twice.
Case bits_case(DType t, Way way, std::string name) {
    const auto apply = [](Op op, Word a, Word b) { return op == Op::And ? a & b : op == Op::Or ? a | b : a ^ b; };
    std::vector<Result> results;
    for (const Op outer : {Op::And, Op::Or, Op::Xor})
        for (const Op inner : {Op::And, Op::Or, Op::Xor})
            for (const int form : {0, 1, 2})
                results.push_back({str(ir::name_of(outer), " of ", ir::name_of(inner), ", form ", form),
                                   [=](std::span<const Word> in) {
                                       const Word within = apply(inner, in[1], in[2]);
                                       const Word result = apply(outer, in[0], within);
                                       return form < 2 ? result : result ^ within;
                                   },
                                   [=](Kernel& k, std::span<const NodeRef> in) {
                                       const NodeRef within = k.binary(inner, in[1], in[2]);
                                       if (form == 1) return k.binary(outer, within, in[0]);
                                       const NodeRef result = k.binary(outer, in[0], within);
                                       return form == 0 ? result : k.binary(Op::Xor, result, within);
                                   }});
    return results_case(t, way, std::move(name), many_bits(3), results);
}

// A case that reads these values; what it computes follows.
Case case_of(std::string name, DType from, const std::vector<Word>& values) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    const auto count = static_cast<std::int64_t>(values.size());
    c.nest->input("x", from, count);
    c.memories.emplace_back(from, count);
    for (std::int64_t i = 0; i < count; ++i) c.memories[0].set(i, values[i]);
    c.inputs = 1;
    return c;
}

// The edges, and numbers of every size around the places where f32, f64 and the integers round, end or change sign.
std::vector<Word> values_to_cast(DType t) {
    std::vector<Word> values = edges(t);
    if (is_half(t) || is_bool(t)) return values;
    std::mt19937_64 random(5);
    for (int power = 0; power < 64; ++power)
        for (const int below : {64, 1, 11, 23, 24, 25, 52, 53, 54})
            for (int beside = -1; beside <= 1; ++beside) {
                const Word tie = (Word(1) << power) + (below <= power ? Word(1) << (power - below) : 0) +
                                 static_cast<Word>(static_cast<std::int64_t>(beside));
                for (const Word whole : {tie, ~tie + 1, tie ^ (random() >> (64 - power) % 64)}) {
                    if (!is_float(t)) values.push_back(cast_word(DType::U64, t, whole));
                    else {
                        const double number = static_cast<double>(static_cast<std::int64_t>(whole));
                        for (const double by : {1.0, 2.0, 0x1p-8, 0.3}) values.push_back(scalar_word(t, number * by));
                    }
                }
            }
    return values;
}

Case cast_case(DType from, Way way, Op op, std::string name) {
    const std::vector<Word> values = values_to_cast(from);
    Case c = case_of(std::move(name), from, values);
    Nest& n = *c.nest;
    const auto count = static_cast<std::int64_t>(values.size());
    std::vector<DType> targets;
    for (const DType to : kAll)
        if (op == Op::Cast ? to != from : size_of(to) == size_of(from)) targets.push_back(to);
    for (const DType to : targets) {
        n.output(str("to ", to), to, count);
        c.memories.emplace_back(to, count);
        c.names.push_back(str(ir::name_of(op), " to ", to));
        std::vector<Word> expected;
        for (std::int64_t i = 0; i < count; ++i)
            expected.push_back(op == Op::Cast ? cast_word(from, to, values[i]) : bitcast_word(from, to, values[i]));
        c.expected.push_back(std::move(expected));
    }
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        Body body;
        for (std::size_t o = 0; o < targets.size(); ++o)
            body.emplace_back(Store{static_cast<int>(o) + 1, i, n.k.make(op, targets[o], {n.k.load(0, i)})});
        return body;
    });
    return c;
}

// op(x, c) for every constant c at the edges: divisions, shifts and limits by constants have spellings of their own.
Case constant_case(DType t, Way way, std::string name) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    Nest& n = *c.nest;
    const std::vector<Word> values = edges(t);
    const auto count = static_cast<std::int64_t>(values.size());
    n.input("x", t, count);
    c.memories.emplace_back(t, count);
    for (std::int64_t i = 0; i < count; ++i) c.memories[0].set(i, values[i]);
    c.inputs = 1;
    std::vector<std::pair<Op, Word>> uses;
    for (const Op op : {Op::Max, Op::Min, Op::IDiv, Op::Mod, Op::Shl, Op::Shr})
        for (std::size_t v = 0; v < values.size(); v += 3)
            if (allowed(op, t)) uses.emplace_back(op, values[v]);
    for (const auto& [op, constant] : uses) {
        n.output("out", t, count);
        c.memories.emplace_back(t, count);
        c.names.push_back(str(ir::name_of(op), " with ", word_to_string(t, constant)));
        std::vector<Word> expected;
        for (const Word value : values) {
            const Word in[2] = {value, constant};
            expected.push_back(ir::info(op).eval(t, in));
        }
        c.expected.push_back(std::move(expected));
    }
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        Body body;
        for (std::size_t o = 0; o < uses.size(); ++o) {
            const NodeRef constant = n.k.make(Op::Const, t, {}, ir::ConstArg{uses[o].second});
            body.emplace_back(Store{static_cast<int>(o) + 1, i, n.k.binary(uses[o].first, n.k.load(0, i), constant)});
        }
        return body;
    });
    return c;
}

Case rare_case(DType t, Way way, std::string name) {
    Case c;
    c.nest = std::make_shared<Nest>(std::move(name));
    Nest& n = *c.nest;
    constexpr std::int64_t kCount = 203;
    n.input("x", t, kCount);
    n.input("y", t, kCount);
    for (int o = 0; o < 4; ++o) n.output(str("out", o), t, kCount);
    for (int b = 0; b < 6; ++b) c.memories.emplace_back(t, kCount);
    c.inputs = 2;
    c.names = {"shared", "never", "nested", "deep"};
    c.expected.resize(4);
    const auto number = [&](double value) { return n.k.constant(t, value); };
    for (std::int64_t i = 0; i < kCount; ++i) {  // whole vectors without a rare lane, with one, with many
        const double x = i % 50 == 7 || i > 180 ? 60 + double(i) / 4 : double(i % 50), y = double(i * i);
        c.memories[0].set(i, scalar_word(t, x));
        c.memories[1].set(i, scalar_word(t, y));
        const double outs[] = {(x > 50 ? 2.0 * double(i) : x) + double(i), x, x > 50 ? (x > 100 ? y : x + 1) : x,
                               (x > 50 ? y + 40 : x) + 40 + y + 40};
        for (int o = 0; o < 4; ++o) c.expected[o].push_back(scalar_word(t, outs[o]));
    }
    n.k.body = loops_over(n, way, kCount, [&](const NodeRef& i) {
        const NodeRef x = n.k.load(0, i), y = n.k.load(1, i), root = n.k.unary(Op::Sqrt, y);
        const auto above = [&](double limit) { return n.k.binary(Op::CmpLt, number(limit), x); };
        const auto chain = [&](NodeRef from) {  // as deep as makes the emitter cut it into pieces
            for (int k = 0; k < 40; ++k) from = n.k.add(from, number(1));
            return from;
        };
        const NodeRef nested = n.k.rarely(above(100), y, n.k.add(x, number(1)));
        const NodeRef deep = n.k.rarely(above(50), chain(y), x);
        return Body{Store{2, i, n.k.add(n.k.rarely(above(50), n.k.binary(Op::Mul, root, number(2)), x), root)},
                    Store{3, i, n.k.rarely(above(1000), n.k.binary(Op::Div, y, x), x)},
                    Store{4, i, n.k.rarely(above(50), nested, x)}, Store{5, i, n.k.add(chain(deep), chain(y))}};
    });
    return c;
}

// Every way of looping over these types.
std::vector<Case> in_all_ways(std::string_view name, std::span<const DType> types,
                              const std::function<Case(DType, Way, std::string)>& make) {
    std::vector<Case> cases;
    for (const DType t : types)
        for (const Way way : {Way::Serial, Way::Vector16, Way::Vector8, Way::Odd})
            cases.push_back(make(t, way, str(name, "_", t, "_", static_cast<int>(way))));
    return cases;
}

// Two tables, of two kernels by turns: what one of them holds must not be read for the other. With t = f64 the sum of what is
// looked up halves the lanes of AVX-512.
Case lookup_case(DType t, Way way, std::string name) {
    static const std::array<std::array<float, ir::kTableSize>, 4> tables = [] {
        std::array<std::array<float, ir::kTableSize>, 4> numbers;
        for (int k = 0; k < 4; ++k)
            for (int i = 0; i < ir::kTableSize; ++i) numbers[k][i] = static_cast<float>(1000 * k + i * i) + 0.5f;
        return numbers;
    }();
    const std::size_t pair = (way == Way::Serial || way == Way::Vector8) ? 0 : 2;
    const std::vector<Word> places = edges(u32);
    Case c = case_of(std::move(name), u32, places);
    Nest& n = *c.nest;
    const auto count = static_cast<std::int64_t>(places.size());
    n.output("one", t, count);
    n.output("always", t, count);
    c.memories.insert(c.memories.end(), 2, Memory(t, count));
    c.names = {"lookup", "lookup of a number"};
    c.expected.resize(2);
    for (std::int64_t i = 0; i < count; ++i) {
        const Word at = places[static_cast<std::size_t>(i)];
        const double one = tables[pair][at % 16], other = tables[pair + 1][at % 16];
        c.expected[0].push_back(scalar_word(t, one + other));
        c.expected[1].push_back(scalar_word(t, tables[pair][places[1] % 16]));
    }
    const auto lookup = [&](std::size_t table, const NodeRef& at) {
        const NodeRef found = n.k.make(Op::Lookup, f32, {at}, ir::TableArg{tables[table].data()});
        return n.k.cast(found, t);
    };
    n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
        const NodeRef at = n.k.load(0, i), same = n.k.load(0, n.k.index(1));  // the second one is a scalar
        return Body{Store{1, i, n.k.binary(Op::Add, lookup(pair, at), lookup(pair + 1, at))},
                    Store{2, i, lookup(pair, same)}};
    });
    return c;
}

}  // namespace

TEST_CASE("every op has the op table's results on every dtype") {
    std::vector<Case> cases;
    for (const DType t : kAll)
        if (!is_half(t))
            for (const Way way : {Way::Serial, Way::Vector16, Way::Vector8, Way::Odd})
                cases.push_back(arithmetic_case(t, way, str("ops_", t, "_", static_cast<int>(way))));
    check_cases(cases);
}

TEST_CASE("scaling by a power of two rounds once") {
    check_cases(in_all_ways("scale", std::array{f32, f64}, scale_case));
}

TEST_CASE("the remainder of a division of floats is exact") {
    check_cases(in_all_ways("remainder", std::array{f32, f64}, remainder_case));
}

TEST_CASE("integers of every length are divided exactly") {
    check_cases(in_all_ways("division", std::array{u8, i8, u16, i16, u32, i32, u64, i64}, division_case));
}

TEST_CASE("bits that are rotated") {
    check_cases(in_all_ways("rotation", std::array{u8, u16, u32, u64}, rotation_case));
}

TEST_CASE("bit ops of bit ops") { check_cases(in_all_ways("bits", std::array{u8, i16, i32, u32, i64}, bits_case)); }

TEST_CASE("a lookup finds the entry of its own table, in every kernel that is compiled along") {
    check_cases(in_all_ways("lookup", std::array{f32, f64}, lookup_case));
}

TEST_CASE("a branch that is rarely taken: what is computed in it is computed again outside") {
    check_cases(in_all_ways("rare", std::array{f32, f64}, rare_case));
}

TEST_CASE("ops with a constant have the op table's results too") {
    std::vector<Case> cases;
    for (const DType t : {u8, i16, u32, i64, f32, f64})
        for (const Way way : {Way::Serial, Way::Vector16})
            cases.push_back(constant_case(t, way, str("constants_", t, "_", static_cast<int>(way))));
    check_cases(cases);
}

TEST_CASE("every cast and bitcast has core's results") {
    std::vector<Case> cases;
    for (const Op op : {Op::Cast, Op::Bitcast})
        for (const DType t : kAll)
            for (const Way way : {Way::Serial, Way::Vector16, Way::Vector8, Way::Odd})
                cases.push_back(cast_case(t, way, op, str(ir::name_of(op), "_", t, "_", static_cast<int>(way))));
    check_cases(cases);
}

TEST_CASE("where, on every dtype, with scalar and vector conditions") {
    for (const Way way : {Way::Serial, Way::Vector16, Way::Odd}) {
        std::vector<Case> cases;
        for (const DType t : kAll) {
            Case c;
            c.nest = std::make_shared<Nest>(str("where_", t, "_", static_cast<int>(way)));
            Nest& n = *c.nest;
            const std::int64_t count = 37;
            n.input("m", bool_, count);
            n.input("x", t, count);
            n.input("y", t, count);
            const int out = n.output("out", t, count), plain = n.output("plain", t, count);
            c.memories = {Memory(bool_, count), Memory(t, count), Memory(t, count), Memory(t, count), Memory(t, count)};
            const std::vector<Word> values = edges(t);
            c.expected.resize(2);
            for (std::int64_t i = 0; i < count; ++i) {
                const Word m = (i * 5 / 3) % 2, x = values[i * 7 % values.size()], y = values[i * 11 % values.size()];
                c.memories[0].set(i, m);
                c.memories[1].set(i, x);
                c.memories[2].set(i, y);
                c.expected[0].push_back(m ? x : y);
                c.expected[1].push_back(c.memories[0].get(3) ? x : y);
            }
            for (std::int64_t i = 0; i < count; ++i)
                c.expected[1][i] = c.memories[0].get(3) ? c.memories[1].get(i) : c.memories[2].get(i);
            c.inputs = 3;
            c.names = {"where", "where of a scalar"};
            n.k.body = loops_over(n, way, count, [&](const NodeRef& i) {
                const NodeRef x = n.k.load(1, i), y = n.k.load(2, i);
                return Body{Store{out, i, n.k.where(n.k.load(0, i), x, y)},
                            Store{plain, i, n.k.where(n.k.load(0, n.at(3)), x, y)}};
            });
            cases.push_back(std::move(c));
        }
        check_cases(cases);
    }
}

}  // namespace weft::test
