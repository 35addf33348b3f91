// kernel/apart.cpp: see apart.h.
#include "kernel/apart.h"

#include "core/checked.h"
#include "kernel/bounds_proof.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

namespace weft::kernel {
namespace {

using ir::Node;
using ir::Op;

constexpr std::int64_t kMostAddresses = 1 << 19, kLargestTable = 1 << 22, kLargestFactor = std::int64_t{1} << 60;

// Computes index expressions from the values of loop variables.
class Evaluator {
public:
    // Its place among the values; -1: it depends on more than loop variables.
    int add(const Node& node) {
        if (const auto found = place_.find(&node); found != place_.end()) return found->second;
        Step step{.op = node.op};
        if (node.op == Op::Const) step.number = static_cast<std::int64_t>(node.as<ir::ConstArg>().value);
        else if (node.op == Op::LoopVar) variables_.emplace(node.as<ir::LoopArg>().id, steps_.size());
        else {
            if (!is_known(node)) return -1;
            step.a = add(node.source(0));
            step.b = node.sources.size() > 1 ? add(node.source(1)) : step.a;
            if (step.a < 0 || step.b < 0) return -1;
        }
        steps_.push_back(step);
        return place_[&node] = static_cast<int>(steps_.size()) - 1;
    }

    bool uses(const Loop& loop) const { return variables_.contains(loop.id()); }
    void set(const Loop& loop, std::int64_t value) {
        if (const auto found = variables_.find(loop.id()); found != variables_.end())
            steps_[found->second].number = value;
    }
    std::int64_t value(int place) {
        compute(place + 1);
        return steps_[place].number;
    }
    std::int64_t computed(int place) const { return steps_[place].number; }
    void compute() { compute(static_cast<int>(steps_.size())); }

private:
    struct Step {
        Op op;
        int a = 0, b = 0;
        std::int64_t number = 0;
    };

    static bool is_known(const Node& node) {
        switch (node.op) {
            case Op::Add:
            case Op::Sub:
            case Op::Mul:
            case Op::Neg:
            case Op::Min:
            case Op::Max: return node.dtype == DType::I64;
            case Op::CmpLt:
            case Op::CmpLe:
            case Op::CmpEq: return node.source(0).dtype == DType::I64;
            case Op::Xor: return is_bool(node.dtype) || node.dtype == DType::I64;
            case Op::And:
            case Op::Or: return is_bool(node.dtype);
            default: return is_ratio(node);
        }
    }

    void compute(int end) {
        for (int i = 0; i < end; ++i) {
            Step& s = steps_[i];
            const std::int64_t a = steps_[s.a].number, b = steps_[s.b].number;
            switch (s.op) {
                case Op::Add: s.number = a + b; break;
                case Op::Sub: s.number = a - b; break;
                case Op::Mul: s.number = a * b; break;
                case Op::Neg: s.number = -a; break;
                case Op::Min: s.number = std::min(a, b); break;
                case Op::Max: s.number = std::max(a, b); break;
                case Op::CmpLt: s.number = a < b; break;
                case Op::CmpLe: s.number = a <= b; break;
                case Op::CmpEq: s.number = a == b; break;
                case Op::And: s.number = a & b; break;
                case Op::Or: s.number = a | b; break;
                case Op::Xor: s.number = a ^ b; break;
                case Op::IDiv: s.number = floor_div(a, b); break;
                case Op::Mod: s.number = a - floor_div(a, b) * b; break;
                default: break;  // set already
            }
        }
    }

    std::vector<Step> steps_;
    std::unordered_map<const Node*, int> place_;
    std::unordered_map<int, std::size_t> variables_;
};

// From the least to the most of several ranges.
struct Hull {
    bool empty = true;
    Int128 low = 0, high = 0;

    void add(const Ranges::Sum& range) {
        low = empty ? range.low : std::min(low, range.low);
        high = empty ? range.high : std::max(high, range.high);
        empty = false;
    }
    Int128 width() const { return high - low; }
};

// What is tried of one access: its address without the axes that are plainly apart.
struct Tried {
    const Touch* touch;
    LinearForm form;
    Evaluator values;
    std::vector<int> atoms, counts;  // places of the form's atoms, and of the counts of the loops around (-1: none)
    std::vector<bool> runs;          // by loop: its variable matters
    int gate = -1;                   // its place; -1: none that can be computed
};

class Trial {
public:
    // Without conditions, every access is made: also those that counts and gates leave out.
    Trial(std::span<const Touch> touches, const Loop& loop, bool conditions) : loop_(loop), conditions_(conditions) {
        for (const Touch& touch : touches) tried_.push_back({.touch = &touch, .form = touch.form});
        while (depth_ < touches[0].path.size() && touches[0].path[depth_] != &loop) ++depth_;
    }

    bool run() {
        while (join_digits()) {}
        drop_common_axes();
        return run_classes();
    }

private:
    struct Element {
        std::uint32_t stamp = 0;
        std::int32_t owner = 0;  // the iteration; -1: several, which all load
        bool stored = false;
    };

    // Addresses that differ by no multiple of what all axes move by are never equal.
    bool run_classes() {
        while (drop_apart_axis()) {}
        std::int64_t step = 0;
        for (const Tried& tried : tried_)
            for (const LinearForm::Term& term : tried.form.terms) step = std::gcd(step, term.factor);
        step_ = std::max<std::int64_t>(1, step);
        std::map<std::int64_t, std::vector<Tried>> classes;
        for (Tried& tried : tried_) {
            const std::int64_t c = tried.form.constant;
            classes[step == 0 ? c : c - floor_div(c, step_) * step_].push_back(std::move(tried));
        }
        return std::all_of(classes.begin(), classes.end(), [&](auto& each) {
            tried_ = std::move(each.second);
            return classes.size() > 1 ? run_classes() : try_all();
        });
    }

    bool try_all() {
        for (Tried& tried : tried_)
            if (!prepare(tried)) return false;
        if (!fits()) return false;
        table_.assign(static_cast<std::size_t>((high_ - low_) / step_ + 1), {});
        return outer(0);
    }

    // ---- digits ----

    // x // n * high + x % n * low, where what else is added lies below `low` or is a multiple of n * low below `high`: equal addresses have
    // equal x. Then the address may be replaced by one in which x stands as the sum that it is. Multiples of `high` are a part of x, n times.
    bool join_digits() {
        for (const LinearForm::Term& term : tried_[0].form.terms)
            if (term.atom->op == Op::IDiv && is_ratio(*term.atom) && term.factor > 0)
                for (const LinearForm::Term& other : tried_[0].form.terms)
                    if (is_pair(term, other) && other.factor > 0)
                        return join_digits(ratio_of(*term.atom), term.factor, other.factor);
        return false;
    }

    static bool is_pair(const LinearForm::Term& quotient, const LinearForm::Term& remainder) {
        return remainder.atom->op == Op::Mod && is_ratio(*remainder.atom) &&
               remainder.atom->sources == quotient.atom->sources;
    }

    bool join_digits(std::int64_t n, std::int64_t high, std::int64_t low) {
        std::int64_t middle = 0;
        if (__builtin_mul_overflow(n, low, &middle)) return false;
        std::vector<Tried> joined = tried_;  // low * x + what is below low
        std::vector<LinearForm> between(tried_.size());
        Hull below, above, sums;
        for (std::size_t i = 0; i < tried_.size(); ++i) {
            const LinearForm& form = tried_[i].form;
            const LinearForm::Term *quotient = nullptr, *remainder = nullptr;
            for (const LinearForm::Term& term : form.terms)
                for (const LinearForm::Term& other : form.terms)
                    if (term.atom->op == Op::IDiv && is_ratio(*term.atom) && ratio_of(*term.atom) == n &&
                        term.factor == high && is_pair(term, other) && other.factor == low)
                        quotient = &term, remainder = &other;
            if (!quotient) return false;
            LinearForm rest, x = linear_form(quotient->atom->source(0));
            for (const LinearForm::Term& term : form.terms) {
                if (&term == quotient || &term == remainder) continue;
                std::int64_t in_x = 0;
                if (term.factor % high != 0)
                    (term.factor % middle == 0 ? between[i] : rest).add(term.atom, term.factor);
                else if (__builtin_mul_overflow(term.factor / high, n, &in_x)) return false;
                else x.add(term.atom, in_x);
            }
            between[i].constant = floor_div(form.constant, middle) * middle;
            rest.constant = form.constant - between[i].constant;
            below.add(range_of(tried_[i], rest));
            above.add(range_of(tried_[i], between[i]));
            joined[i].form = rest;
            joined[i].form.add(x, low);
            if (!x.exact || !joined[i].form.exact) return false;
            sums.add(range_of(joined[i]));
        }
        if (below.width() >= low || above.width() + Int128{low} * (n - 1) + below.width() >= high) return false;
        const Int128 apart = (sums.width() / low + 1) * low;  // a digit above all of x
        if (std::max(-above.low, above.high) / middle * apart > kLargestFactor) return false;
        for (std::size_t i = 0; i < tried_.size(); ++i) {
            for (const LinearForm::Term& term : between[i].terms)
                joined[i].form.add(term.atom, term.factor / middle * static_cast<std::int64_t>(apart));
            joined[i].form.constant += between[i].constant / middle * static_cast<std::int64_t>(apart);
            if (!joined[i].form.exact) return false;
        }
        tried_ = std::move(joined);
        return true;
    }

    // Does the loop's variable matter besides as factor * variable?
    bool is_plain(const Tried& tried, const Loop& loop) const {
        const auto depends = [&](const Node& node) { return ir::depends_on(NodeRef(&node), loop.id()); };
        for (const LinearForm::Term& term : tried.form.terms)
            if (term.atom != loop.var.get() && depends(*term.atom)) return false;
        if (!conditions_) return true;
        if (tried.touch->gate && depends(*tried.touch->gate)) return false;
        return std::none_of(tried.touch->path.begin(), tried.touch->path.end(),
                            [&](const Loop* other) { return other->count && depends(*other->count); });
    }

    // Loops around ours stand still: what all addresses have in common cancels.
    void drop_common_axes() {
        for (std::size_t d = 0; d < depth_; ++d) {
            const Loop& loop = *tried_[0].touch->path[d];
            const std::int64_t factor = tried_[0].form.factor_of(loop.var.get());
            const auto same = [&](const Tried& tried) {
                return tried.form.factor_of(loop.var.get()) == factor && is_plain(tried, loop);
            };
            if (!std::all_of(tried_.begin(), tried_.end(), same)) continue;
            for (Tried& tried : tried_) tried.form.add(loop.var.get(), -factor);
        }
    }

    Ranges::Sum range_of(const Tried& tried) const { return range_of(tried, tried.form); }
    Ranges::Sum range_of(const Tried& tried, const LinearForm& form) const {
        Ranges ranges(most_variable());
        for (std::size_t d = 0; d < tried.touch->path.size(); ++d)
            ranges[tried.touch->path[d]->id()] = tried.touch->ranges[d];
        return ranges.of(form);
    }

    int most_variable() const {
        int most = 0;
        for (const Tried& tried : tried_)
            for (const Loop* loop : tried.touch->path) most = std::max(most, loop->id());
        return most + 1;
    }

    // Axes that need not be tried, since equal addresses are equal without them, too.
    bool drop_apart_axis() {
        std::vector<std::int64_t> factors;
        for (const Tried& tried : tried_)
            for (const LinearForm::Term& term : tried.form.terms)
                if (term.atom->op == Op::LoopVar && term.factor > 0) factors.push_back(term.factor);
        std::sort(factors.rbegin(), factors.rend());
        factors.erase(std::unique(factors.begin(), factors.end()), factors.end());
        return std::any_of(factors.begin(), factors.end(),
                           [&](std::int64_t factor) { return drop_multiples(factor) || drop_digit(factor); });
    }

    // The place in the path of an inner loop whose variable is a plain axis with this term.
    std::optional<std::size_t> axis_of(const Tried& tried, const LinearForm::Term& term) const {
        for (std::size_t d = depth_ + 1; d < tried.touch->path.size(); ++d)
            if (tried.touch->path[d]->var.get() == term.atom && is_plain(tried, *tried.touch->path[d])) return d;
        return {};
    }

    // Axes that move by multiples of a number: what is left differs by less than that, so it is equal where addresses are.
    bool drop_multiples(std::int64_t of) {
        std::vector<Tried> without = tried_;
        Hull remainder;
        for (std::size_t i = 0; i < tried_.size(); ++i) {
            for (const LinearForm::Term& term : tried_[i].form.terms) {
                if (term.factor % of != 0) continue;
                if (!axis_of(tried_[i], term)) return false;
                without[i].form.add(term.atom, -term.factor);
            }
            remainder.add(range_of(without[i]));
        }
        if (remainder.width() >= of) return false;
        tried_ = std::move(without);
        return true;
    }

    // One axis with this factor in each access, or none. What moves by less stays below the factor; what moves by more does so by multiples of
    // something larger than the axis and what is below it.
    bool drop_digit(std::int64_t factor) {
        std::vector<Tried> without = tried_;
        Hull along, below;
        std::int64_t above = 0;
        for (const Tried& tried : tried_)
            for (const LinearForm::Term& term : tried.form.terms)
                if (std::abs(term.factor) > factor) above = std::gcd(above, term.factor);
        for (std::size_t i = 0; i < tried_.size(); ++i) {
            ir::Bounds own{0, 0};
            for (const LinearForm::Term& term : tried_[i].form.terms) {
                if (term.factor != factor) continue;
                const std::optional<std::size_t> axis = axis_of(tried_[i], term);
                if (!axis) continue;
                without[i].form.add(term.atom, -factor);
                own = tried_[i].touch->ranges[*axis];
                break;
            }
            along.add({own.low, own.high});
            LinearForm rest;
            for (const LinearForm::Term& term : without[i].form.terms)
                if (std::abs(term.factor) <= factor) rest.add(term.atom, term.factor);
            rest.constant = tried_[i].form.constant - tried_[0].form.constant;
            if (above > 0) rest.constant -= floor_div(rest.constant + above / 2, above) * above;
            below.add(range_of(tried_[i], rest));
        }
        if (along.width() == 0 || below.width() >= factor) return false;
        if (above > 0 && along.width() * factor + below.width() >= above) return false;
        tried_ = std::move(without);
        return true;
    }

    bool prepare(Tried& tried) const {
        for (const LinearForm::Term& term : tried.form.terms) tried.atoms.push_back(tried.values.add(*term.atom));
        if (tried.touch->gate && conditions_) tried.gate = tried.values.add(*tried.touch->gate);
        for (const Loop* loop : tried.touch->path)
            tried.counts.push_back(loop->count && conditions_ ? tried.values.add(*loop->count) : -1);
        for (std::size_t d = 0; d < tried.touch->path.size(); ++d) {
            if (tried.touch->path[d]->count && conditions_ && tried.counts[d] < 0) return false;
            tried.runs.push_back(tried.values.uses(*tried.touch->path[d]));
        }
        return std::none_of(tried.atoms.begin(), tried.atoms.end(), [](int place) { return place < 0; });
    }

    bool fits() {
        Hull all;
        std::int64_t addresses = 0;
        for (const Tried& tried : tried_) {
            all.add(range_of(tried));
            std::int64_t own = 1;
            for (std::size_t d = 0; d < tried.runs.size(); ++d) {
                if (!tried.runs[d] && d != depth_) continue;
                if (__builtin_mul_overflow(own, tried.touch->path[d]->extent(), &own) || own > kMostAddresses)
                    return false;
            }
            addresses += own;
        }
        if (addresses > kMostAddresses || all.width() / step_ >= kLargestTable) return false;
        low_ = static_cast<std::int64_t>(all.low);
        high_ = static_cast<std::int64_t>(all.high);
        return true;
    }

    static std::int64_t iterations(Tried& tried, std::size_t d) {
        const Loop& loop = *tried.touch->path[d];
        if (tried.counts[d] < 0) return loop.extent();
        return std::min(loop.extent(), tried.values.value(tried.counts[d]));
    }

    // The loops around ours, which all accesses have in common.
    bool outer(std::size_t d) {
        if (d == depth_) {
            ++stamp_;
            return std::all_of(tried_.begin(), tried_.end(), [&](Tried& tried) { return own(tried); });
        }
        const Loop& loop = *tried_[0].touch->path[d];
        const bool runs = std::any_of(tried_.begin(), tried_.end(), [&](const Tried& tried) { return tried.runs[d]; });
        const std::int64_t count = std::min<std::int64_t>(runs ? INT64_MAX : 1, iterations(tried_[0], d));
        for (std::int64_t i = 0; i < count; ++i) {
            for (Tried& tried : tried_) tried.values.set(loop, i);
            if (!outer(d + 1)) return false;
        }
        return true;
    }

    bool own(Tried& tried) {
        const std::int64_t count = iterations(tried, depth_);
        for (std::int64_t i = 0; i < count; ++i) {
            tried.values.set(loop_, i);
            if (!inner(tried, depth_ + 1, static_cast<std::int32_t>(i))) return false;
        }
        return true;
    }

    bool inner(Tried& tried, std::size_t d, std::int32_t iteration) {
        if (d == tried.runs.size()) return touch(tried, iteration);
        const std::int64_t most = tried.runs[d] ? INT64_MAX : 1, count = std::min(most, iterations(tried, d));
        for (std::int64_t i = 0; i < count; ++i) {
            tried.values.set(*tried.touch->path[d], i);
            if (!inner(tried, d + 1, iteration)) return false;
        }
        return true;
    }

    bool touch(Tried& tried, std::int32_t iteration) {
        tried.values.compute();
        if (tried.gate >= 0 && !tried.values.computed(tried.gate)) return true;
        std::int64_t address = tried.form.constant;
        for (std::size_t t = 0; t < tried.atoms.size(); ++t)
            address += tried.form.terms[t].factor * tried.values.computed(tried.atoms[t]);
        if (address < low_ || address > high_) return !conditions_;  // no access that is made has it
        Element& element = table_[static_cast<std::size_t>((address - low_) / step_)];
        if (element.stamp != stamp_) {
            element = {stamp_, iteration, tried.touch->store};
        } else if (element.owner == iteration) {
            element.stored |= tried.touch->store;
        } else {
            if (element.stored || tried.touch->store) return false;
            element.owner = -1;
        }
        return true;
    }

    const Loop& loop_;
    const bool conditions_;
    std::size_t depth_ = 0;  // of the loop
    std::int64_t step_ = 1;  // between addresses that may be equal
    std::vector<Tried> tried_;
    std::vector<Element> table_;
    std::uint32_t stamp_ = 0;
    std::int64_t low_ = 0, high_ = 0;
};

}  // namespace

bool iterations_are_apart(std::span<const Touch> touches, const Loop& loop) {
    const auto exact = [](const Touch& touch) { return touch.form.exact; };
    if (touches.empty() || !std::all_of(touches.begin(), touches.end(), exact)) return false;
    return Trial(touches, loop, true).run() || Trial(touches, loop, false).run();
}

}  // namespace weft::kernel
