// kernel/verify_memory.cpp: proves bounds while it walks over the kernel, and collects the accesses that may meet; then proves races and
// order for each pair of them, from the difference of their addresses (ir/address.h).
#include "kernel/verify.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/address.h"
#include "ir/node_table.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "kernel/apart.h"
#include "kernel/bounds_proof.h"

#include <weft/error.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>

namespace weft::kernel {
namespace {

using ir::Bounds;
using ir::Node;
using ir::Op;

struct Access {
    const Node* index;
    const Node* gate;                    // of a load; null: none
    LinearForm form, whole;              // whole: with quotients of all that they were taken of
    InlineVector<const Loop*, 12> path;  // the loops around, outermost first
    InlineVector<Bounds, 12> ranges;     // of their variables here
    Ranges::Sum reach;                   // of the index here
    int position;                        // in the text: a statement's loads come before its store
    bool store;
};

[[noreturn]] void fail(const Kernel& kernel, std::string_view after, const std::string& what) {
    throw InternalError(str("kernel ", kernel.name, ", after ", after, ": ", what, "\n", print(kernel)));
}

std::string name_of(const Kernel& kernel, int buffer) {
    return str("b", buffer, " (", kernel.buffers[buffer].name, ")");
}

// Simplified indices have i + (i + j) // 2 for (3 * i + j) // 2, and (i + j) % 2 for its remainder, which tell less of the number that they
// are digits of. This puts variables that a quotient speaks of back into it.
LinearForm with_whole_quotients(const Kernel& kernel, const LinearForm& form, std::vector<NodeRef>& made) {
    LinearForm result = form;
    for (const LinearForm::Term& quotient : form.terms) {
        if (quotient.atom->op != Op::IDiv || !is_ratio(*quotient.atom)) continue;
        NodeRef x = quotient.atom->sources[0];
        const NodeRef by = quotient.atom->sources[1];
        for (const LinearForm::Term& inside : linear_form(*x).terms) {
            const std::int64_t factor = result.factor_of(inside.atom);
            if (inside.atom->op != Op::LoopVar || factor == 0 || factor % quotient.factor != 0) continue;
            const NodeRef times = kernel.mul(by, kernel.index(factor / quotient.factor));
            x = kernel.make(Op::Add, DType::I64, {x, kernel.make(Op::Mul, DType::I64, {NodeRef(inside.atom), times})});
            result.add(inside.atom, -factor);
        }
        if (x == quotient.atom->sources[0]) continue;
        for (const Op op : {Op::IDiv, Op::Mod}) {
            const NodeRef before = kernel.make(op, DType::I64, quotient.atom->sources);
            const std::int64_t factor = form.factor_of(before.get());
            made.push_back(kernel.make(op, DType::I64, {x, by}));
            result.add(before.get(), -factor);
            result.add(made.back().get(), factor);
        }
    }
    return result;
}

// ---- bounds ----------------------------------------------------------------------------------------------------------

class Walk {
public:
    Walk(const Kernel& kernel, std::string_view after)
        : kernel_(kernel),
          after_(after),
          ranges_(kernel.next_var),
          proof_(kernel, ranges_),
          accesses_(kernel.buffers.size()),
          stored_(kernel.buffers.size(), false) {
        find_stored(kernel.body);
    }

    void run() { body(kernel_.body); }

    const std::vector<std::vector<Access>>& accesses() const { return accesses_; }  // by buffer
    const std::vector<const Loop*>& loops() const { return loops_; }

private:
    void find_stored(const Body& body) {
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) find_stored(loop->body);
            else if (stmt.store()) stored_[static_cast<std::size_t>(stmt.store()->buffer)] = true;
        }
    }

    void body(const Body& body) {
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) inside(*loop);
            else if (stmt.store()) statement(*stmt.store());
            else hint(*stmt.prefetch());
        }
    }

    void inside(const Loop& loop) {
        if (loop.extent() <= 0) return;
        if (loop.count) {
            ++statement_;
            expression(*loop.count);
        }
        const Ranges before = loop.count ? ranges_ : Ranges(0);
        const BoundsProof::Mark mark = proof_.mark();
        ranges_[loop.id()] = {0, loop.extent() - 1};
        bool runs = true;
        if (loop.count) runs = narrow(loop);
        narrowed_ += loop.count != nullptr;
        path_.push_back(&loop);
        loops_.push_back(&loop);
        if (runs) body(loop.body);
        path_.pop_back();
        narrowed_ -= loop.count != nullptr;
        proof_.take_back(mark);
        if (loop.count) ranges_ = before;
    }

    // Inside the loop its variable is less than the count, so the count is positive.
    bool narrow(const Loop& loop) {
        LinearForm left = linear_form(*loop.count);
        const Ranges::Sum count = ranges_.of(left);
        if (!count.fits()) return true;
        if (count.high <= 0) return false;
        Bounds& own = ranges_[loop.id()];
        own.high = std::min(own.high, static_cast<std::int64_t>(count.high) - 1);
        for (const LinearForm::Term& term : left.terms) {
            if (term.atom->op != Op::LoopVar) continue;
            Bounds& range = ranges_[term.atom->as<ir::LoopArg>().id];
            // factor * v >= 1 - what the others add up to at most
            const Int128 most =
                count.high - std::max(Int128{term.factor} * range.low, Int128{term.factor} * range.high);
            const Int128 least = 1 - most, by = term.factor;
            const Int128 quotient = least / by, exact = quotient * by;
            if (by > 0) range.low = static_cast<std::int64_t>(std::max<Int128>(range.low, quotient + (exact < least)));
            else range.high = static_cast<std::int64_t>(std::min<Int128>(range.high, quotient - (exact < least)));
            if (range.low > range.high) return false;
        }
        left.add(loop.var.get(), -1);
        left.constant -= 1;
        proof_.assume_positive(std::move(left));
        return true;
    }

    void statement(const Store& store) {
        ++statement_;
        expression(*store.index);
        expression(*store.value);
        if (!proof_.within(*store.index, kernel_.buffers[static_cast<std::size_t>(store.buffer)].size))
            fail(kernel_, after_,
                 str("a store to ", name_of(kernel_, store.buffer), " at ", ir::print_expression(store.index),
                     ", which is not proven to be below ",
                     kernel_.buffers[static_cast<std::size_t>(store.buffer)].size));
        note(store.buffer, *store.index, nullptr, true);
    }

    // It must be an address of the buffer, but meets nobody.
    void hint(const Prefetch& prefetch) {
        ++statement_;
        hint_ = true;
        expression(*prefetch.load);
        hint_ = false;
    }

    void expression(const Node& root) {
        InlineVector<const Node*, 32> stack;
        stack.push_back(&root);
        while (!stack.empty()) {
            const Node* node = stack[stack.size() - 1];
            stack.pop_back();
            if (node->sources.empty()) continue;
            Seen& seen = seen_[node];
            if (seen.statement == statement_) continue;
            seen.statement = statement_;
            for (const NodeRef& source : node->sources) stack.push_back(source.get());
            if (node->op == Op::Load) load(*node, seen.proven);
        }
    }

    void load(const Node& node, bool& proven) {
        const int buffer = node.as<ir::LoadArg>().buffer;
        const std::int64_t size = kernel_.buffers[static_cast<std::size_t>(buffer)].size;
        if (!proven) {
            const BoundsProof::Mark mark = proof_.mark();
            if (node.sources.size() > 1) proof_.assume(node.source(1));
            if (!proof_.within(node.source(0), size))
                fail(kernel_, after_,
                     str("a load of ", name_of(kernel_, buffer), " at ", ir::print_expression(node.sources[0]),
                         node.sources.size() > 1 ? str(" if ", ir::print_expression(node.sources[1])) : "",
                         ", which is not proven to be below ", size));
            proof_.take_back(mark);
            proven = narrowed_ == 0;  // … wherever it stands
        }
        if (!hint_) note(buffer, node.source(0), node.sources.size() > 1 ? &node.source(1) : nullptr, false);
    }

    // Inputs and what is private to a lane meet nobody.
    void note(int buffer, const Node& index, const Node* gate, bool store) {
        const Buffer& to = kernel_.buffers[static_cast<std::size_t>(buffer)];
        if (!stored_[static_cast<std::size_t>(buffer)] || to.lane_loop >= 0) return;
        Access access{&index, gate, linear_form(index), {}, {}, {}, {}, 2 * statement_ + store, store};
        access.whole = with_whole_quotients(kernel_, access.form, made_);
        for (const Loop* loop : path_) {
            access.path.push_back(loop);
            access.ranges.push_back(ranges_[loop->id()]);
        }
        access.reach = proof_.reach(access.form);
        accesses_[static_cast<std::size_t>(buffer)].push_back(std::move(access));
    }

    struct Seen {
        int statement = 0;
        bool proven = false;
    };

    const Kernel& kernel_;
    std::string_view after_;
    Ranges ranges_;
    BoundsProof proof_;
    std::vector<std::vector<Access>> accesses_;
    std::vector<bool> stored_;
    std::vector<const Loop*> loops_;
    InlineVector<const Loop*, 12> path_;
    ir::NodeTable<Seen> seen_;
    std::vector<NodeRef> made_;         // that accesses speak of
    int statement_ = 0, narrowed_ = 0;  // loops around that have a count
    bool hint_ = false;
};

// ---- pairs -----------------------------------------------------------------------------------------------------------

bool uses_only(const Node& expression, std::span<const Loop* const> loops) {
    InlineVector<const Node*, 32> stack;
    stack.push_back(&expression);
    for (int fuel = 128; !stack.empty(); --fuel) {
        const Node* node = stack[stack.size() - 1];
        stack.pop_back();
        if (fuel == 0 || node->op == Op::Load) return false;
        if (node->op == Op::LoopVar &&
            std::none_of(loops.begin(), loops.end(), [&](const Loop* loop) { return loop->var.get() == node; }))
            return false;
        for (const NodeRef& source : node->sources) stack.push_back(source.get());
    }
    return true;
}

// A store and another access of the same buffer.
class Pair {
public:
    Pair(const Access& store, const Access& other) : store_(store), other_(other) {
        while (common_ < std::min(store.path.size(), other.path.size()) && store.path[common_] == other.path[common_])
            ++common_;
        find_sums();
    }

    std::size_t common() const { return common_; }

    // What follows from equal addresses, if the first `equal` of the common loops are at the same iteration. Tags are depths of common
    // loops, for the difference of their variables. `before`: at depth `equal`, the store's iteration is an earlier one.
    ir::Zero same_address(std::size_t equal, bool before = false) const {
        if (store_.reach.high < other_.reach.low || other_.reach.high < store_.reach.low || in_other_slots(equal))
            return {.never = true, .zeros = {}};
        ir::Zero zero = same_sum(store_.form, other_.form, equal, before);
        const auto is_quotient = [](const LinearForm::Term& term) { return term.atom->op == Op::IDiv; };
        if (zero.never || std::none_of(store_.form.terms.begin(), store_.form.terms.end(), is_quotient)) return zero;
        const ir::Zero more = same_sum(store_.whole, other_.whole, equal, before);
        zero.never |= more.never;
        for (const int tag : more.zeros) zero.zeros.push_back(tag);
        return zero;
    }

private:
    static constexpr int kSum = 64, kRatio = 128;

    // Slices of an array that follow each other round: (v + 2) % 3 * size + … and v % 3 * size + … are never the same one.
    bool in_other_slots(std::size_t equal) const {
        const std::span<const Loop* const> outer(store_.path.data(), equal);
        for (const LinearForm::Term& term : store_.form.terms) {
            const Node& slot = *term.atom;
            if (slot.op != Op::Mod || slot.source(1).op != Op::Const || !uses_only(slot, outer)) continue;
            const auto slots = static_cast<std::int64_t>(slot.source(1).as<ir::ConstArg>().value);
            for (const LinearForm::Term& match : other_.form.terms) {
                const bool whole = match.atom->op == Op::LoopVar && match.atom->as<ir::LoopArg>().extent <= slots;
                if (match.factor != term.factor || !uses_only(*match.atom, outer) ||
                    !(whole || (match.atom->op == Op::Mod && match.atom->sources[1] == slot.sources[1])))
                    continue;
                LinearForm apart = linear_form(slot.source(0));
                apart.add(linear_form(whole ? *match.atom : match.atom->source(0)), -1);
                if (!apart.exact || !apart.terms.empty() || apart.constant % slots == 0) continue;
                const std::pair<Int128, Int128> a = range_without(store_, term.atom),
                                                b = range_without(other_, match.atom);
                if (a.first - b.second > -term.factor && a.second - b.first < term.factor) return true;
            }
        }
        return false;
    }

    static std::pair<Int128, Int128> range_without(const Access& access, const Node* atom) {
        const Ranges none(0);
        std::pair<Int128, Int128> sum{access.form.constant, access.form.constant};
        for (const LinearForm::Term& term : access.form.terms) {
            if (term.atom == atom) continue;
            const Bounds range = term.atom->op == Op::LoopVar ? range_of(term.atom, access) : none.of(*term.atom);
            sum.first += std::min(Int128{term.factor} * range.low, Int128{term.factor} * range.high);
            sum.second += std::max(Int128{term.factor} * range.low, Int128{term.factor} * range.high);
        }
        return sum;
    }

    ir::Zero same_sum(const LinearForm& a, const LinearForm& b, std::size_t equal, bool before) const {
        InlineVector<const Node*, 4> ratios;
        ir::Zero zero = solve(a, b, equal, before, ratios);
        // The same sum of variables that a count bounds together: each of them is the same, if it is a mixed radix number.
        for (std::size_t i = 0; i < sums_.size() && !zero.never; ++i) {
            if (!zero.contains(kSum + static_cast<int>(i))) continue;
            LinearForm moved = sums_[i].form;
            moved.constant = -sums_[i].offset;
            const ir::Zero more = solve(moved, sums_[i].form, equal, before, ratios, false);
            zero.never |= more.never;
            for (const int tag : more.zeros) zero.zeros.push_back(tag);
        }
        // x // c and x % c are the same: so is x.
        for (std::size_t i = 0; i < ratios.size() && !zero.never; ++i)
            for (std::size_t j = 0; j < ratios.size(); ++j) {
                if (ratios[i]->op != Op::IDiv || ratios[j]->op != Op::Mod || ratios[i]->sources != ratios[j]->sources ||
                    !zero.contains(kRatio + static_cast<int>(i)) || !zero.contains(kRatio + static_cast<int>(j)))
                    continue;
                const LinearForm x = linear_form(ratios[i]->source(0));
                InlineVector<const Node*, 4> inner;
                const ir::Zero more = solve(x, x, equal, before, inner);
                zero.never |= more.never;
                for (const int tag : more.zeros)
                    if (tag < kRatio) zero.zeros.push_back(tag);
            }
        return zero;
    }

    // Variables that a count bounds together: chunks of chunks, the last of which is shorter. A quotient or a remainder of variables is one. Their factors
    // have no common divisor: a column that is a multiple of 8 below 1000 is at most 992.
    struct Sum {
        LinearForm form;
        std::int64_t low, high;
        std::int64_t offset = 0;  // what the sum is less than, as a multiple
    };

    // The same sum of variables of common loops, bounded around both accesses, if not by the same loop: its difference, less that of the bounds. So rows
    // that one access has 64 below another one's are equal where the difference is zero.
    void find_sums() {
        const InlineVector<Sum, 2> others = sums_of(other_);
        for (const Sum& sum : sums_of(store_)) {
            const std::span<const Loop* const> common(store_.path.data(), common_);
            const auto is_common = [&](const LinearForm::Term& term) { return uses_only(*term.atom, common); };
            const auto is_same = [&](const Sum& other) { return is_sum_of(other.form, sum.form); };
            const auto* const other = std::find_if(others.begin(), others.end(), is_same);
            if (other == others.end() || !std::all_of(sum.form.terms.begin(), sum.form.terms.end(), is_common) ||
                std::any_of(sums_.begin(), sums_.end(), is_same))
                continue;
            const std::int64_t offset = sum.offset - other->offset;
            sums_.push_back({sum.form, sum.low - other->high - offset, sum.high - other->low - offset, offset});
        }
    }

    static bool is_sum_of(const LinearForm& a, const LinearForm& b) {
        return a.terms.size() == b.terms.size() && multiple_of(a, b) == 1;
    }

    // Those of the loops around an access.
    static InlineVector<Sum, 2> sums_of(const Access& access) {
        InlineVector<Sum, 2> sums;
        const Ranges none(0);
        for (std::size_t d = 0; d < access.path.size(); ++d) {
            const NodeRef& count = access.path[d]->count;
            if (!count) continue;
            const LinearForm form = linear_form(*count);
            if (form.terms.size() < 2 || !form.exact || sums.size() >= 8) continue;
            const bool falls = form.terms[0].factor < 0;
            Sum sum{{}, 0, 0};
            bool plain = true;
            const std::span<const Loop* const> around(access.path.data(), d);
            for (const LinearForm::Term& term : form.terms) {
                const bool is_number = term.atom->op == Op::LoopVar || is_ratio(*term.atom);
                plain = plain && is_number && uses_only(*term.atom, around) && (term.factor < 0) == falls &&
                        term.factor != INT64_MIN;
                if (!plain) break;
                sum.form.add(term.atom, falls ? -term.factor : term.factor);
                const Bounds range = term.atom->op == Op::LoopVar ? range_of(term.atom, access) : none.of(*term.atom);
                plain = add_product(sum.low, std::abs(term.factor), range.low) &&
                        add_product(sum.high, std::abs(term.factor), range.high);
            }
            if (!plain) continue;
            if (falls) sum.high = std::min(sum.high, form.constant - 1);  // constant - sum > 0
            else sum.low = std::max(sum.low, 1 - form.constant);          // sum + constant > 0
            std::int64_t unit = 0;
            for (const LinearForm::Term& term : sum.form.terms) unit = std::gcd(unit, term.factor);
            for (LinearForm::Term& term : sum.form.terms) term.factor /= unit;
            sum.low = static_cast<std::int64_t>(-wide_floor_div(-Int128{sum.low}, unit));
            sum.high = floor_div(sum.high, unit);
            sum.offset = floor_div(falls ? form.constant : -form.constant, unit);
            sums.push_back(std::move(sum));
        }
        return sums;
    }

    // to += a * b; false: that does not fit.
    static bool add_product(std::int64_t& to, std::int64_t a, std::int64_t b) {
        std::int64_t product = 0;
        return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(to, product, &to);
    }

    // A sum that only one of the two addresses has in it is one variable. Returns what it consists of.
    static InlineVector<const Node*, 8> add_alone(const Access& access, const LinearForm& own, const LinearForm& other,
                                                  std::int64_t sign, ir::Difference& difference) {
        InlineVector<const Node*, 8> atoms;
        for (const Sum& sum : sums_of(access)) {
            const std::int64_t multiple = multiple_of(own, sum.form);
            if (multiple == 0 || !atoms.empty()) continue;
            bool alone = true;
            for (const LinearForm::Term& term : sum.form.terms) alone = alone && other.factor_of(term.atom) == 0;
            if (!alone) continue;
            difference.add(sign * multiple, sum.low, sum.high);
            for (const LinearForm::Term& term : sum.form.terms) atoms.push_back(term.atom);
        }
        return atoms;
    }

    // The factor by which the form has this sum in it; 0: it has not.
    static std::int64_t multiple_of(const LinearForm& form, const LinearForm& sum) {
        std::int64_t multiple = 0;
        for (const LinearForm::Term& term : sum.terms) {
            const std::int64_t factor = form.factor_of(term.atom);
            if (factor % term.factor != 0 || (multiple != 0 && factor / term.factor != multiple)) return 0;
            multiple = factor / term.factor;
            if (multiple == 0) return 0;
        }
        return multiple;
    }

    std::size_t common_depth(const Node* var) const {
        std::size_t depth = 0;
        while (depth < common_ && store_.path[depth]->var.get() != var) ++depth;
        return depth;
    }

    ir::Zero solve(const LinearForm& a, const LinearForm& b, std::size_t equal, bool before,
                   InlineVector<const Node*, 4>& ratios, bool with_sums = true) const {
        if (!a.exact || !b.exact) return {};
        ir::Difference difference;
        if (__builtin_sub_overflow(a.constant, b.constant, &difference.constant)) return {};
        const Ranges none(0);
        InlineVector<const Node*, 8> summed;
        for (std::size_t i = 0; with_sums && !before && equal == 0 && i < sums_.size(); ++i) {
            const std::int64_t multiple = multiple_of(a, sums_[i].form);
            const auto is_summed = [&](const LinearForm::Term& term) {
                return std::find(summed.begin(), summed.end(), term.atom) != summed.end();
            };
            if (multiple == 0 || multiple != multiple_of(b, sums_[i].form) ||
                std::any_of(sums_[i].form.terms.begin(), sums_[i].form.terms.end(), is_summed))
                continue;
            std::int64_t moved = 0;
            if (__builtin_mul_overflow(multiple, sums_[i].offset, &moved) ||
                __builtin_add_overflow(difference.constant, moved, &difference.constant))
                return {};
            difference.add(multiple, sums_[i].low, sums_[i].high, kSum + static_cast<int>(i));
            for (const LinearForm::Term& term : sums_[i].form.terms) summed.push_back(term.atom);
        }
        const bool alone = with_sums && !before && equal == 0;
        const auto in_a = alone ? add_alone(store_, a, b, 1, difference) : InlineVector<const Node*, 8>();
        const auto in_b = alone ? add_alone(other_, b, a, -1, difference) : InlineVector<const Node*, 8>();
        const auto contains = [](const InlineVector<const Node*, 8>& atoms, const Node* atom) {
            return std::find(atoms.begin(), atoms.end(), atom) != atoms.end();
        };
        for (std::size_t depth = 0; depth < common_; ++depth) {
            const Node* var = store_.path[depth]->var.get();
            if (contains(summed, var)) continue;
            const std::int64_t fa = a.factor_of(var), fb = b.factor_of(var);
            const Bounds &ra = store_.ranges[depth], &rb = other_.ranges[depth];
            if (depth < equal) {
                difference.add(fa - fb, std::max(ra.low, rb.low), std::min(ra.high, rb.high));
                if (fa == fb && std::max(ra.low, rb.low) > std::min(ra.high, rb.high))
                    difference.add(0, 1, 0, static_cast<int>(depth));  // they never are
                continue;
            }
            Bounds between{ra.low - rb.high, ra.high - rb.low};
            if (before && depth == equal) between.high = std::min<std::int64_t>(between.high, -1);
            if (fa == fb) {
                difference.add(fa, between.low, between.high, static_cast<int>(depth));
            } else {
                if (!contains(in_a, var)) difference.add(fa, ra.low, ra.high);
                if (!contains(in_b, var)) difference.add(-fb, rb.low, rb.high);
                difference.add(0, between.low, between.high, static_cast<int>(depth));
            }
        }
        const std::span<const Loop* const> outer(store_.path.data(), equal);
        const auto each = [&](const LinearForm& form, const Access& access, bool first) {
            for (const LinearForm::Term& term : form.terms) {
                const bool loop = term.atom->op == Op::LoopVar;
                if (loop && common_depth(term.atom) < common_) continue;
                if (contains(first ? in_a : in_b, term.atom) || contains(summed, term.atom)) continue;
                const std::int64_t factor = first ? term.factor : -term.factor;
                if (loop) {
                    const Bounds range = range_of(term.atom, access);
                    difference.add(factor, range.low, range.high);
                    continue;
                }
                const Bounds range = none.of(*term.atom);
                const std::int64_t fa = a.factor_of(term.atom), fb = b.factor_of(term.atom);
                if (uses_only(*term.atom, outer)) {  // the same value in both
                    if (first || fa == 0) difference.add(fa - fb, range.low, range.high);
                } else if (fa == fb) {
                    if (!first) continue;
                    std::int64_t width = 0;
                    if (__builtin_sub_overflow(range.high, range.low, &width)) width = INT64_MAX;
                    int tag = -1;
                    if ((term.atom->op == Op::IDiv || term.atom->op == Op::Mod) &&
                        term.atom->source(1).op == Op::Const) {
                        tag = kRatio + static_cast<int>(ratios.size());
                        ratios.push_back(term.atom);
                    }
                    difference.add(fa, -width, width, tag);
                } else {
                    difference.add(factor, range.low, range.high);
                }
            }
        };
        each(a, store_, true);
        each(b, other_, false);
        return ir::when_zero(std::move(difference));
    }

    static Bounds range_of(const Node* var, const Access& access) {
        for (std::size_t depth = 0; depth < access.path.size(); ++depth)
            if (access.path[depth]->var.get() == var) return access.ranges[depth];
        return {0, std::max<std::int64_t>(0, var->as<ir::LoopArg>().extent - 1)};
    }

    const Access &store_, &other_;
    std::size_t common_ = 0;
    InlineVector<Sum, 2> sums_;  // from the least to the greatest difference
};

// ---- races and order -------------------------------------------------------------------------------------------------

class Meetings {
public:
    Meetings(const Kernel& kernel, std::string_view after, const Walk& walk)
        : kernel_(kernel), after_(after), walk_(walk) {}

    std::vector<int> run(std::span<const int> donated) {
        std::vector<int> unproven;
        for (int b = 0; b < static_cast<int>(kernel_.buffers.size()); ++b) {
            const std::vector<Access>& accesses = walk_.accesses()[static_cast<std::size_t>(b)];
            const bool old_values = std::find(donated.begin(), donated.end(), b) != donated.end();
            bool ordered = true;
            for (const Access& store : accesses) {
                if (!store.store) continue;
                for (const Access& other : accesses) {
                    if (other.store && &other < &store) continue;
                    const Pair pair(store, other);
                    check_races(b, store, other, pair);
                    if (old_values && !other.store) ordered = ordered && loads_first(store, other, pair);
                }
            }
            if (!ordered) unproven.push_back(b);
        }
        return unproven;
    }

private:
    // Does this loop run its iterations in any order, with this buffer in common? Whatever runs such a loop in another way gives each
    // iteration locals of its own, if that is all the same: if it stores to them before it loads.
    bool concurrent(const Loop& loop, int b) const {
        if (loop.extent() < 2) return false;
        if (loop.kind == LoopKind::Vector) return true;
        const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
        const bool local = buffer.role == Buffer::Role::Local;
        if (loop.kind == LoopKind::Block) return !local;
        if (loop.kind == LoopKind::Thread)
            return !local || buffer.memory == Buffer::MemoryType::Shared ||
                   (!buffer.per_thread && !stores_first(loop, b));
        if (local) return loop.independent && loop.kind == LoopKind::Serial && !stores_first(loop, b);
        return loop.kind == LoopKind::Parallel || loop.independent;
    }

    bool stores_first(const Loop& loop, int b) const {
        const Access* first = nullptr;
        for (const Access& access : walk_.accesses()[static_cast<std::size_t>(b)]) {
            const bool inside = std::find(access.path.begin(), access.path.end(), &loop) != access.path.end();
            if (inside && (!first || access.position < first->position)) first = &access;
        }
        return first && first->store;
    }

    void check_races(int b, const Access& store, const Access& other, const Pair& pair) {
        ir::Zero zero;
        bool solved = false;
        for (std::size_t depth = 0; depth < pair.common(); ++depth) {
            const Loop& loop = *store.path[depth];
            if (!concurrent(loop, b)) continue;
            if (!solved) zero = pair.same_address(0), solved = true;
            if (zero.never) return;
            const int tag = static_cast<int>(depth);
            if (zero.contains(tag)) continue;
            if (const ir::Zero inside = pair.same_address(depth); inside.never || inside.contains(tag)) continue;
            if (apart_when_tried(b, loop)) continue;
            const Touch two[] = {touch(store), touch(other)};
            if (iterations_are_apart(std::span(two, &store == &other ? 1 : 2), loop)) continue;
            fail(kernel_, after_,
                 str("two iterations of the ", weft::kernel::name_of(loop.kind), " loop i", loop.id(),
                     loop.kind == LoopKind::Serial ? " (independent)" : "", " may meet in ", name_of(kernel_, b),
                     ": one stores at ", ir::print_expression(NodeRef(store.index)),
                     other.store ? ", another one stores at " : ", another one loads at ",
                     ir::print_expression(NodeRef(other.index))));
        }
    }

    static Touch touch(const Access& access) {
        return {access.form, access.path, access.ranges, access.gate, access.store};
    }

    // All accesses together, so that each address is computed once. Where they have no axes in common, that may be too many.
    bool apart_when_tried(int b, const Loop& loop) {
        const auto [found, fresh] = tried_.try_emplace({b, &loop}, false);
        if (!fresh) return found->second;
        std::vector<Touch> touches;
        for (const Access& access : walk_.accesses()[static_cast<std::size_t>(b)])
            if (std::find(access.path.begin(), access.path.end(), &loop) != access.path.end())
                touches.push_back(touch(access));
        return found->second = iterations_are_apart(touches, loop);
    }

    // No element is loaded after it was stored to?
    static bool loads_first(const Access& store, const Access& load, const Pair& pair) {
        const ir::Zero zero = pair.same_address(0);
        if (zero.never) return true;
        for (std::size_t depth = 0; depth < pair.common(); ++depth) {
            if (zero.contains(static_cast<int>(depth)) || store.path[depth]->extent() < 2) continue;
            if (!pair.same_address(depth, true).never) return false;
        }
        return load.position < store.position || pair.same_address(pair.common()).never;
    }

    const Kernel& kernel_;
    std::string_view after_;
    const Walk& walk_;
    std::map<std::pair<int, const Loop*>, bool> tried_;
};

}  // namespace

std::vector<int> donated_parameters(const ir::KernelGraph& graph) {
    if (graph.kind == ir::KernelGraph::Kind::Scatter) return {};
    std::vector<NodeRef> values;
    for (const ir::KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    std::vector<int> donated;
    for (const Node* node : ir::topological_order(values)) {
        if (node->op != Op::Param) continue;
        const int slot = node->as<ir::SlotArg>().slot;
        if (graph.params[slot].output && std::find(donated.begin(), donated.end(), slot) == donated.end())
            donated.push_back(slot);
    }
    return donated;
}

std::vector<int> verify_memory(const Kernel& kernel, std::string_view after, std::span<const int> donated) {
    Walk walk(kernel, after);
    walk.run();
    return Meetings(kernel, after, walk).run(donated);
}

}  // namespace weft::kernel
