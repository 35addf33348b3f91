// kernel/bounds_proof.cpp: a goal (a sum that must not be negative) holds if its least value does, with ranges that the facts have
// narrowed; if it is a fact plus something that is not negative; or if it holds in each of several cases. Facts are gates, counts, and
// what quotients and remainders are by definition.
#include "kernel/bounds_proof.h"

#include "kernel/enumeration.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace weft::kernel {

using ir::Node;
using ir::Op;

namespace {

constexpr int kDeepest = 4, kFewSteps = 8, kMostSteps = 200, kMostRounds = 4;
constexpr std::size_t kMostKnown = 48;

bool is_const(const Node& node) { return node.op == Op::Const; }
std::int64_t number(const Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); }

Int128 ceil_div(Int128 a, Int128 b) { return -wide_floor_div(-a, b); }
std::int64_t saturated(Int128 x) { return static_cast<std::int64_t>(std::clamp<Int128>(x, INT64_MIN, INT64_MAX)); }

}  // namespace

bool is_ratio(const Node& node) {
    return (node.op == Op::IDiv || node.op == Op::Mod) && node.dtype == DType::I64 && is_const(node.source(1)) &&
           ratio_of(node) > 0;
}

void BoundsProof::assume_positive(LinearForm form) {
    if (form.exact && (!form.terms.empty() || form.constant < 0)) facts_.push_back(std::move(form));
}

void BoundsProof::assume_less(const Node& a, const Node& b, std::int64_t by) {
    const LinearForm left = linear_form(a), right = linear_form(b);
    if (!ranges_.of(left).fits() || !ranges_.of(right).fits()) return;  // a side may have wrapped
    LinearForm fact;
    fact.add(right, 1);
    fact.add(left, -1);
    fact.exact &= !__builtin_sub_overflow(fact.constant, by, &fact.constant);
    assume_positive(std::move(fact));
}

BoundsProof::Mark BoundsProof::assume(const Node& condition, bool holds) {
    const Mark mark{facts_.size(), splits_.size()};
    const auto both = [&] {
        assume(condition.source(0), holds);
        assume(condition.source(1), holds);
    };
    const bool on_indices = !condition.sources.empty() && condition.source(0).dtype == DType::I64;
    switch (condition.op) {
        case Op::Xor:
            if (is_const(condition.source(1)) && number(condition.source(1)) == 1) assume(condition.source(0), !holds);
            break;
        case Op::And:
            if (holds && is_bool(condition.dtype)) both();
            break;
        case Op::Or:
            if (!is_bool(condition.dtype)) break;
            if (holds) splits_.push_back(&condition);
            else both();
            break;
        case Op::CmpLt:
            if (!on_indices) break;
            if (holds) assume_less(condition.source(0), condition.source(1), 1);
            else assume_less(condition.source(1), condition.source(0), 0);
            break;
        case Op::CmpLe:
            if (!on_indices) break;
            if (holds) assume_less(condition.source(0), condition.source(1), 0);
            else assume_less(condition.source(1), condition.source(0), 1);
            break;
        case Op::CmpEq:
            if (!on_indices || !holds) break;
            assume_less(condition.source(0), condition.source(1), 0);
            assume_less(condition.source(1), condition.source(0), 0);
            break;
        default: break;
    }
    return mark;
}

void BoundsProof::take_back(const Mark& mark) {
    facts_.resize(mark.facts);
    splits_.resize(mark.splits);
}

// ---- ranges ----------------------------------------------------------------------------------------------------------

ir::Bounds BoundsProof::range(const Node& atom) const {
    for (const Known& known : known_)
        if (known.atom == &atom) return known.range;
    return ranges_.of(atom);
}

Ranges::Sum BoundsProof::sum(const LinearForm& form) const {
    constexpr Int128 far = Int128{1} << 100;
    if (!form.exact) return {-far, far};
    Ranges::Sum total{form.constant, form.constant};
    for (const LinearForm::Term& term : form.terms) {
        const ir::Bounds bounds = range(*term.atom);
        const Int128 a = Int128{term.factor} * bounds.low, b = Int128{term.factor} * bounds.high;
        total.low = std::max(-far, total.low + std::min(a, b));
        total.high = std::min(far, total.high + std::max(a, b));
    }
    return total;
}

// With a fact f >= 0, the form is at least what is left of it without a multiple of f, and at most that with one more. What all factors
// divide, the form is a multiple of, but for its constant.
Ranges::Sum BoundsProof::tight(const LinearForm& form, int facts) const {
    Ranges::Sum best = sum(form);
    std::int64_t divisor = 0;
    for (const LinearForm::Term& term : form.terms) divisor = std::gcd(divisor, term.factor);
    for (const LinearForm& fact : facts_)
        for (const LinearForm::Term& term : form.terms) {
            const std::int64_t factor = fact.factor_of(term.atom);
            if (factor == 0 || factor == INT64_MIN || term.factor == INT64_MIN) continue;
            LinearForm remainder;
            remainder.add(form, std::abs(factor));
            const bool same = (factor > 0) == (term.factor > 0);
            remainder.add(fact, same ? -std::abs(term.factor) : std::abs(term.factor));
            if (!remainder.exact) continue;
            const Ranges::Sum left = facts > 1 ? tight(remainder, facts - 1) : sum(remainder);
            if (same) best.low = std::max(best.low, ceil_div(left.low, std::abs(factor)));
            else best.high = std::min(best.high, wide_floor_div(left.high, std::abs(factor)));
        }
    if (divisor > 1) {
        best.low = ceil_div(best.low - form.constant, divisor) * divisor + form.constant;
        best.high = wide_floor_div(best.high - form.constant, divisor) * divisor + form.constant;
    }
    return best;
}

bool BoundsProof::impossible(std::size_t first) const {
    return std::any_of(facts_.begin() + static_cast<std::ptrdiff_t>(first), facts_.end(),
                       [&](const LinearForm& fact) { return sum(fact).high < 0; }) ||
           std::any_of(known_.begin(), known_.end(), [](const Known& k) { return k.range.low > k.range.high; });
}

void BoundsProof::note_atoms(const LinearForm& form) {
    for (const LinearForm::Term& term : form.terms) {
        const Node& atom = *term.atom;
        const auto is_this = [&](const Known& known) { return known.atom == &atom; };
        if (known_.size() >= kMostKnown || std::any_of(known_.begin(), known_.end(), is_this)) continue;
        known_.push_back({&atom, ranges_.of(atom)});
        if (is_ratio(atom)) note_atoms(linear_form(atom.source(0)));
        if (is_extreme(atom))
            for (const NodeRef& source : atom.sources) note_atoms(linear_form(*source));
        if (atom.op == Op::Mod && is_ratio(atom)) {  // its quotient may stand nowhere
            made_.push_back(kernel_.make(Op::IDiv, DType::I64, atom.sources));
            LinearForm quotient;
            if (is_ratio(*made_.back())) quotient.add(made_.back().get(), 1);
            note_atoms(quotient);
        }
    }
}

void BoundsProof::define_atoms() {
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const Node& atom = *known_[i].atom;
        if (atom.op == Op::IDiv && is_ratio(atom)) define_quotient(atom);
        if (is_extreme(atom)) define_extreme(atom);
    }
}

// q = x // c: 0 <= x - c * q < c, and that is x % c.
void BoundsProof::define_quotient(const Node& quotient) {
    const LinearForm x = linear_form(quotient.source(0));
    if (!ranges_.of(x).fits()) return;
    const std::int64_t by = number(quotient.source(1));
    LinearForm low = x, high;
    low.add(&quotient, -by);
    high.constant = by - 1;
    high.add(low, -1);
    const LinearForm remainder = low;
    assume_positive(std::move(low));
    assume_positive(std::move(high));
    for (const Known& other : known_) {
        if (other.atom->op != Op::Mod || other.atom->sources != quotient.sources) continue;
        LinearForm at_least = remainder, at_most;
        at_least.add(other.atom, -1);
        at_most.add(at_least, -1);
        assume_positive(std::move(at_least));
        assume_positive(std::move(at_most));
    }
}

// min(a, b) is neither above a nor above b.
void BoundsProof::define_extreme(const Node& extreme) {
    const std::int64_t sign = extreme.op == Op::Min ? 1 : -1;
    for (const NodeRef& source : extreme.sources) {
        const LinearForm side = linear_form(*source);
        if (!ranges_.of(side).fits()) continue;
        LinearForm fact;
        fact.add(side, sign);
        fact.add(&extreme, -sign);
        assume_positive(std::move(fact));
    }
}

bool BoundsProof::narrow(std::size_t known, std::int64_t low, std::int64_t high) {
    ir::Bounds& bounds = known_[known].range;
    if (low <= bounds.low && high >= bounds.high) return false;
    bounds = {std::max(bounds.low, low), std::min(bounds.high, high)};
    return true;
}

// Each variable of a fact is bounded by what the others can be.
bool BoundsProof::narrow(const LinearForm& fact) {
    bool any = false;
    const Int128 most = sum(fact).high;
    for (const LinearForm::Term& term : fact.terms) {
        const auto is_this = [&](const Known& known) { return known.atom == term.atom; };
        const auto found = std::find_if(known_.begin(), known_.end(), is_this);
        if (found == known_.end()) continue;
        const Int128 own = std::max(Int128{term.factor} * found->range.low, Int128{term.factor} * found->range.high);
        const Int128 least = own - most;  // factor * variable is at least that
        const auto at = static_cast<std::size_t>(found - known_.begin());
        if (term.factor > 0) any |= narrow(at, saturated(ceil_div(least, term.factor)), INT64_MAX);
        else any |= narrow(at, INT64_MIN, saturated(wide_floor_div(least, term.factor)));
    }
    return any;
}

void BoundsProof::narrow_ranges() {
    for (int round = 0; round < kMostRounds; ++round) {
        bool any = false;
        for (const LinearForm& fact : facts_) any |= narrow(fact);
        for (std::size_t i = 0; i < known_.size(); ++i) {
            const Node& atom = *known_[i].atom;
            if (!is_ratio(atom)) continue;
            const Ranges::Sum x = tight(linear_form(atom.source(0)));
            const std::int64_t by = number(atom.source(1));
            if (!x.fits() || !ranges_.of(linear_form(atom.source(0))).fits()) continue;
            const Int128 first = wide_floor_div(x.low, by), last = wide_floor_div(x.high, by);
            if (atom.op == Op::IDiv) any |= narrow(i, saturated(first), saturated(last));
            else if (first == last) any |= narrow(i, saturated(x.low - first * by), saturated(x.high - first * by));
        }
        if (!any) return;
    }
}

// ---- goals -----------------------------------------------------------------------------------------------------------

bool BoundsProof::within(const Node& index, std::int64_t size) {
    const LinearForm form = linear_form(index);
    const Ranges::Sum plain = ranges_.of(form);
    if (plain.low >= 0 && plain.high < size) return true;
    LinearForm below;
    below.constant = size - 1;
    below.add(form, -1);
    bool proven = true;
    for (const LinearForm* goal : {&form, static_cast<const LinearForm*>(&below)}) {
        // A long search mostly ends in vain, where elimination finds a proof at once.
        const auto proves_in = [&](int steps) {
            fuel_ = steps;
            return proves(*goal, kDeepest);
        };
        proven = proven && (proves_in(kFewSteps) || by_elimination(*goal) || proves_in(kMostSteps) ||
                            by_two_facts(*goal) || Enumeration(ranges_, facts_).proves(*goal));
    }
    return proven;
}

// What facts make of the goal's atoms holds while the proof runs.
template <class Function>
bool BoundsProof::with_atoms_of(const LinearForm& goal, Function proof) {
    const Mark before = mark();
    const std::vector<Known> outer = std::move(known_);
    known_.clear();
    note_atoms(goal);
    for (std::size_t i = 0; i < facts_.size(); ++i) note_atoms(LinearForm(facts_[i]));
    define_atoms();
    narrow_ranges();
    const bool proven = impossible(0) || proof();
    known_ = outer;
    take_back(before);
    return proven;
}

bool BoundsProof::proves(const LinearForm& goal, int depth) {
    if (!goal.exact || --fuel_ < 0) return false;
    if (ranges_.of(goal).low >= 0) return true;
    return with_atoms_of(goal, [&] {
        bool proven = by_sums(goal);
        if (proven || depth == 0) return proven;
        for (std::size_t i = facts_.size(); !proven && i-- > 0;) proven = by_fact(goal, LinearForm(facts_[i]), depth);
        return proven || by_cases(goal, depth);
    });
}

// What a count bounds is cut into a variable and a quotient (256 * i + j < n, in 5 * i + (16 * i + j) // 48): the quotient's definition and the count
// together bound the terms whose factors have a common divisor, before the others are added.
bool BoundsProof::by_two_facts(const LinearForm& goal) {
    return goal.exact && with_atoms_of(goal, [&] { return by_sums(goal, 2); });
}

// The least value, also of the terms whose factors have a common divisor and of the others, taken apart.
bool BoundsProof::by_sums(const LinearForm& goal, int facts) const {
    if (tight(goal, facts).low >= 0) return true;
    for (const LinearForm::Term& term : goal.terms) {
        const std::int64_t divisor = std::abs(term.factor);
        if (divisor < 2) continue;
        LinearForm multiples, others;
        others.constant = goal.constant;
        for (const LinearForm::Term& each : goal.terms)
            (each.factor % divisor == 0 ? multiples : others).add(each.atom, each.factor);
        if (tight(multiples, facts).low + tight(others, facts).low >= 0) return true;
    }
    return false;
}

// goal >= 0 if f * goal - g * fact >= 0, for positive f and g that cancel a term in which the goal is small.
bool BoundsProof::by_fact(const LinearForm& goal, const LinearForm& fact, int depth) {
    for (const LinearForm::Term& term : goal.terms) {
        const std::int64_t factor = fact.factor_of(term.atom);
        if (factor == 0 || (factor > 0) != (term.factor > 0) || factor == INT64_MIN || term.factor == INT64_MIN)
            continue;
        LinearForm remainder;
        remainder.add(goal, std::abs(factor));
        remainder.add(fact, -std::abs(term.factor));
        if (!remainder.exact || --fuel_ < 0) continue;
        if (by_sums(remainder)) return true;
        if (depth > 1)
            for (std::size_t i = facts_.size(); i-- > 0;)
                if (by_fact(remainder, LinearForm(facts_[i]), depth - 2)) return true;
    }
    return false;
}

bool BoundsProof::in_case(const LinearForm& goal, const Node* atom, const Node& value, const Mark& before, int depth) {
    LinearForm here = goal;
    if (atom) {
        const std::int64_t factor = goal.factor_of(atom);
        here.add(atom, -factor);
        here.add(linear_form(value), factor);
    }
    const bool proven = proves(here, depth - 1);
    take_back(before);
    return proven;
}

bool BoundsProof::by_cases(const LinearForm& goal, int depth) {
    for (const LinearForm::Term& term : goal.terms) {
        const Node& atom = *term.atom;
        if (atom.dtype != DType::I64) continue;
        if (atom.op == Op::Where)
            return in_case(goal, &atom, atom.source(1), assume(atom.source(0), true), depth) &&
                   in_case(goal, &atom, atom.source(2), assume(atom.source(0), false), depth);
        if (atom.op == Op::Min || atom.op == Op::Max) {  // min(a, b) is a where a <= b
            const Node &a = atom.source(0), &b = atom.source(1);
            const Node &less = atom.op == Op::Min ? a : b, &more = atom.op == Op::Min ? b : a;
            const Mark before = mark();
            assume_less(less, more, 0);
            if (!in_case(goal, &atom, a, before, depth)) return false;
            assume_less(more, less, 0);
            return in_case(goal, &atom, b, before, depth);
        }
    }
    if (splits_.empty()) return false;
    const Node& either = *splits_.back();
    splits_.pop_back();
    const bool proven = in_case(goal, nullptr, either, assume(either.source(0)), depth) &&
                        in_case(goal, nullptr, either, assume(either.source(1)), depth);
    splits_.push_back(&either);
    return proven;
}

}  // namespace weft::kernel
