// Random nests: loops of all kinds, expressions of all ops and dtypes, loads of all forms, locals that are stored and
// read again. `c` must equal `ref` bit for bit (any NaN equals any other).
#include "backend/support.h"
#include "support/target.h"

#include <cmath>
#include <random>

namespace weft::test {
namespace {

constexpr DType kTypes[] = {bool_, u8, i16, u16, i32, u32, i64, u64, i8, f32, f32, f32, f64, f16, bf16};
constexpr std::int64_t kSize = 256;

class Fuzzer {
public:
    Fuzzer(unsigned seed) : random_(seed), n_(str("fuzz_", seed)) {}

    std::pair<Nest, std::vector<Memory>> run() {
        for (int i = 0; i < 4; ++i) {
            const DType t = pick(kTypes);
            n_.input(str("in", i), t, kSize);
            memories_.push_back(noise(t));
        }
        for (int i = 0; i < 3; ++i) {
            const DType t = pick(kTypes);
            n_.output(str("out", i), t, kSize);
            memories_.push_back(noise(t));
        }
        const bool parallel = chance(40);
        if (parallel) {
            const NodeRef var = n_.k.new_var(1 + below(5));
            vars_.push_back(var);
            n_.k.body = {Nest::loop(var, LoopKind::Parallel, body(1, false))};
        } else n_.k.body = body(0, false);
        return {std::move(n_), std::move(memories_)};
    }

private:
    int below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }
    bool chance(int percent) { return below(100) < percent; }
    template <class T, std::size_t N>
    T pick(const T (&list)[N]) {
        return list[below(N)];
    }

    Memory noise(DType t) {
        Memory memory(t, kSize);
        for (std::int64_t i = 0; i < kSize; ++i) {
            const double x = chance(10) ? 0 : (below(4001) - 2000) / (chance(50) ? 16.0 : 1.0);
            memory.set(i, is_bool(t) ? Word(below(2)) : cast_word(f64, t, to_word(x)));
        }
        return memory;
    }

    // ---- statements

    Body body(int depth, bool in_lanes) {
        Body result;
        const std::size_t locals = locals_.size();
        for (int count = 1 + below(3); count > 0; --count) {
            if (depth < 4 && chance(55)) result.push_back(loop(depth, in_lanes));
            else if (chance(50)) result.push_back(store_output(in_lanes));
            else store_local(result, in_lanes);
        }
        locals_.resize(locals);  // what was stored here is defined only here
        return result;
    }

    Stmt loop(int depth, bool in_lanes) {
        LoopKind kinds[] = {LoopKind::Serial, LoopKind::Serial, LoopKind::Unrolled, LoopKind::Vector, LoopKind::Vector};
        LoopKind kind = pick(kinds);
        if (in_lanes && kind == LoopKind::Vector) kind = LoopKind::Serial;
        const int most = kind == LoopKind::Vector ? 16 : kind == LoopKind::Unrolled ? 4 : 6;
        const int extents[] = {most, 1 + below(most), most == 16 ? 8 : most};
        NodeRef count;
        if (kind == LoopKind::Serial && chance(15)) count = n_.k.cast(bounded(expression(i64, 2, false), 9), i64);
        const NodeRef var = n_.k.new_var(pick(extents));
        vars_.push_back(var);
        const int old_lane = lane_;
        if (kind == LoopKind::Vector) lane_ = var->as<ir::LoopArg>().id;
        Loop loop{var, kind, body(depth + 1, in_lanes || kind == LoopKind::Vector)};
        lane_ = old_lane;
        vars_.pop_back();
        loop.count = count;
        return loop;
    }

    // Every iteration of every loop around writes a place of its own, so that the order of lanes does not matter.
    Stmt store_output(bool) {
        const int out = 4 + below(3);
        NodeRef at = n_.at(0);
        std::int64_t span = 1;
        for (std::size_t v = vars_.size(); v-- > 0;) {
            const std::int64_t extent = vars_[v]->as<ir::LoopArg>().extent;
            if (span * extent > kSize) return fallback_store();
            at = n_.k.add(at, n_.k.mul(vars_[v], n_.at(span)));
            span *= extent;
        }
        if (const std::int64_t stride = kSize / span; stride > 1 && chance(30))
            at = n_.k.mul(at, n_.at(1 + below(static_cast<int>(std::min<std::int64_t>(stride, 3)))));
        if (std::find(stored_.begin(), stored_.end(), out) != stored_.end()) return fallback_store();
        stored_.push_back(out);
        return Store{out, at, expression(n_.k.buffers[out].dtype, 4, true)};
    }

    Stmt fallback_store() {
        const int local = n_.local("spare", f32, 1, Buffer::MemoryType::Register, lane_);
        return Store{local, n_.at(0), expression(f32, 3, true)};
    }

    void store_local(Body& result, bool in_lanes) {
        const DType t = pick(kTypes);
        const bool scratch = !in_lanes && chance(40);
        const int size = scratch ? 16 : 1 + below(3);
        const int local =
            n_.local("local", t, size, scratch ? Buffer::MemoryType::Scratch : Buffer::MemoryType::Register,
                     in_lanes ? lane_ : -1);
        if (scratch) {  // filled by a loop of its own
            const NodeRef l = n_.k.new_var(16);
            vars_.push_back(l);
            const int old = std::exchange(lane_, l->as<ir::LoopArg>().id);
            Body fill{Store{local, l, expression(t, 3, true)}};
            lane_ = old;
            vars_.pop_back();
            result.push_back(Nest::loop(l, chance(70) ? LoopKind::Vector : LoopKind::Serial, std::move(fill)));
        } else {
            for (int i = 0; i < size; ++i) result.emplace_back(Store{local, n_.at(i), expression(t, 3, true)});
            if (chance(50)) {  // and again, from itself
                locals_.push_back(local);
                result.emplace_back(Store{local, n_.at(below(size)), expression(t, 3, true)});
                locals_.pop_back();
            }
        }
        locals_.push_back(local);
    }

    // ---- expressions

    // 0 <= result < limit, of an i64 expression
    NodeRef bounded(const NodeRef& x, std::int64_t limit) { return n_.k.binary(Op::Mod, x, n_.at(limit)); }

    NodeRef index(std::int64_t size) {
        NodeRef sum = n_.at(below(20));
        std::int64_t most = sum->as<ir::ConstArg>().value;
        for (const NodeRef& var : vars_) {
            if (chance(40)) continue;
            const std::int64_t by = chance(50) ? 1 : 1 + below(4);
            most += by * (var->as<ir::LoopArg>().extent - 1);
            sum = n_.k.add(sum, n_.k.mul(var, n_.at(by)));
        }
        if (chance(20)) return bounded(expression(i64, 2, true), size);
        return most < size ? sum : bounded(sum, size);
    }

    NodeRef load_input(DType t) {
        const int b = below(4);
        NodeRef at = index(kSize), gate;
        if (chance(25)) {
            gate = expression(bool_, 2, true);
            if (chance(50)) {  // out of the buffer where the gate is false
                at = n_.k.binary(Op::Sub, at, n_.at(below(40)));
                gate = n_.k.binary(Op::And, gate, n_.k.binary(Op::CmpLe, n_.at(0), at));
            }
        }
        return converted(n_.k.load(b, at, gate), t);
    }

    NodeRef converted(const NodeRef& x, DType t) {
        if (x->dtype == t) return x;
        return n_.k.make(
            size_of(t) == size_of(x->dtype) && !is_bool(t) && !is_bool(x->dtype) && !is_float(t) && chance(30)
                ? Op::Bitcast
                : Op::Cast,
            t, {x});
    }

    NodeRef leaf(DType t, bool loads) {
        if (!locals_.empty() && loads && chance(35)) {
            const int local = locals_[static_cast<std::size_t>(below(static_cast<int>(locals_.size())))];
            const auto& buffer = n_.k.buffers[local];
            const NodeRef at = buffer.memory == Buffer::MemoryType::Scratch
                                   ? (chance(50) && lane_ >= 0 ? bounded(lane_var(), 16) : bounded(index(99), 16))
                                   : n_.at(0);
            return converted(n_.k.load(local, at), t);
        }
        if (loads && chance(60)) return load_input(t);
        if (!vars_.empty() && chance(60))
            return converted(vars_[static_cast<std::size_t>(below(static_cast<int>(vars_.size())))], t);
        return n_.k.constant(t, is_bool(t) ? Scalar(chance(50)) : Scalar((below(400) - 200) / 8.0));
    }

    NodeRef lane_var() {
        for (const NodeRef& var : vars_)
            if (var->as<ir::LoopArg>().id == lane_) return var;
        return n_.at(0);
    }

    NodeRef expression(DType t, int depth, bool loads) {
        if (depth == 0 || chance(20)) return leaf(t, loads);
        if (!made_.empty() && chance(15))  // share: the same node in several statements
            if (const NodeRef& old = made_[static_cast<std::size_t>(below(static_cast<int>(made_.size())))];
                loads && old->dtype == t && usable(old))
                return old;
        const NodeRef result = make(t, depth, loads);
        made_.push_back(result);
        return result;
    }

    bool usable(const NodeRef& node) {
        std::vector<const ir::Node*> pending{node.get()};
        while (!pending.empty()) {
            const ir::Node* at = pending.back();
            pending.pop_back();
            if (at->op == Op::LoopVar &&
                std::none_of(vars_.begin(), vars_.end(), [&](const NodeRef& v) { return v.get() == at; }))
                return false;
            if (at->op == Op::Load) {
                const int b = at->as<ir::LoadArg>().buffer;
                if (b >= n_.k.parameters && std::find(locals_.begin(), locals_.end(), b) == locals_.end()) return false;
            }
            for (const NodeRef& s : at->sources) pending.push_back(s.get());
        }
        return true;
    }

    NodeRef make(DType t, int depth, bool loads) {
        const auto sub = [&](DType u) { return expression(u, depth - 1, loads); };
        if (is_half(t) || chance(15))
            return chance(30) ? n_.k.where(sub(bool_), sub(t), sub(t)) : converted(sub(pick(kTypes)), t);
        if (is_bool(t) && chance(60)) {
            DType u = pick(kTypes);
            if (is_half(u)) u = f32;
            const Op ops[] = {Op::CmpLt, Op::CmpLe, Op::CmpEq};
            return n_.k.binary(pick(ops), sub(u), sub(u));
        }
        if (chance(12)) return n_.k.where(sub(bool_), sub(t), sub(t));
        if (is_bool(t)) {
            const Op ops[] = {Op::And, Op::Or, Op::Xor, Op::Max, Op::Min, Op::CmpEq};
            return n_.k.binary(pick(ops), sub(t), sub(t));
        }
        if (is_float(t)) {
            if (chance(20)) return n_.k.fma(sub(t), sub(t), sub(t));
            const Op unary[] = {Op::Neg, Op::Abs, Op::Recip, Op::Sqrt, Op::Trunc};
            if (chance(25)) return n_.k.unary(pick(unary), sub(t));
            const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Min, Op::Mod};
            return n_.k.binary(pick(ops), sub(t), sub(t));
        }
        if (chance(15)) return n_.k.unary(chance(50) ? Op::Neg : Op::Abs, sub(t));
        const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::IDiv, Op::Mod, Op::Max, Op::Min,
                          Op::And, Op::Or,  Op::Xor, Op::Shl,  Op::Shr, Op::Pow};
        return n_.k.binary(pick(ops), sub(t), chance(20) ? n_.k.constant(t, 1 + below(9)) : sub(t));
    }

    std::mt19937 random_;
    Nest n_;
    std::vector<Memory> memories_;
    std::vector<NodeRef> vars_, made_;
    std::vector<int> locals_, stored_;
    int lane_ = -1;
};

bool same_bits(const Memory& a, const Memory& b) {
    for (std::int64_t i = 0; i < a.count(); ++i) {
        if (a.get(i) == b.get(i)) continue;
        if (!is_float(a.dtype()) || !std::isnan(word_to_double(a.dtype(), a.get(i))) ||
            !std::isnan(word_to_double(b.dtype(), b.get(i))))
            return false;
    }
    return true;
}

}  // namespace

TEST_CASE("random kernels: c and x86 equal ref") {
    const char* more = std::getenv("WEFT_FUZZ");  // the first seed of a hundred others
    const int first = more ? std::atoi(more) : 0, count = more ? 100 : 12;
    for (const Target& target : targets()) {
        CAPTURE(target.backend);
        CAPTURE(target.cpu);
        // Machine code is made so fast that many more kernels can be tried.
        const int cases_count = target.backend == "c" ? count : 25 * count;
        std::vector<std::pair<Nest, std::vector<Memory>>> cases;
        std::vector<const Kernel*> kernels;
        for (int seed = 0; seed < cases_count; ++seed)
            cases.push_back(Fuzzer(static_cast<unsigned>(first + seed)).run());
        for (const auto& [nest, memories] : cases) {
            kernel::verify(nest.k, "fuzz");
            kernels.push_back(&nest.k);
        }
        const auto expected = backend::ref_backend().compile(kernels, testing::target_for("ref")),
                   got = compile_for(target, kernels);
        for (std::size_t i = 0; i < cases.size(); ++i) {
            const auto& [nest, memories] = cases[i];
            const Result a = run_program(*expected[i], nest.k, memories),
                         b = run_program(*got[i], nest.k, memories, {}, 2);
            for (std::size_t m = 0; m < memories.size(); ++m) {
                if (same_bits(a.memories[m], b.memories[m])) continue;
                FAIL_CHECK(str("seed ", first + static_cast<int>(i), ": ", nest.k.buffers[m].name, " differs\n",
                               kernel::print(nest.k)));
                break;
            }
        }
    }
}

}  // namespace weft::test
