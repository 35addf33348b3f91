// kernel/elimination.cpp: the second attempt of a proof of bounds, for windows with padding and strides, whose gates speak of remainders and
// whose index of quotients. Variables that an equation determines are replaced; x = c * (x // c) + x % c is such an equation, so that goal
// and facts become numbers of mixed radix in the same digits. Then facts are taken from the goal until its least value shows. All sums
// are whole numbers: one that is a multiple of d, but for its constant, is divided by d and its constant rounded down.
#include "core/checked.h"
#include "kernel/bounds_proof.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <numeric>

namespace weft::kernel {

using ir::Node;
using ir::Op;

namespace {

constexpr int kMostTaken = 4, kMostTries = 200, kDeepestRatio = 8;
constexpr std::size_t kMostFacts = 40, kMostWays = 6;

// form >= 0 if and only if the result is.
LinearForm divided(const LinearForm& form) {
    std::int64_t divisor = 0;
    for (const LinearForm::Term& term : form.terms) divisor = std::gcd(divisor, term.factor);
    if (divisor < 2) return form;
    LinearForm result;
    result.exact = form.exact;
    result.constant = floor_div(form.constant, divisor);
    for (const LinearForm::Term& term : form.terms) result.add(term.atom, term.factor / divisor);
    return result;
}

// By how much the second factor's sum is multiplied so that the two cancel.
std::int64_t cofactor(std::int64_t factor, std::int64_t other) { return std::abs(factor / std::gcd(factor, other)); }

bool is_negative_of(const LinearForm& a, const LinearForm& b) {
    if (a.terms.size() != b.terms.size() || a.constant != -b.constant) return false;
    return std::all_of(a.terms.begin(), a.terms.end(),
                       [&](const LinearForm::Term& term) { return b.factor_of(term.atom) == -term.factor; });
}

// What runs fastest in a number: a quotient of something that does, or the innermost loop.
const LinearForm::Term* last_digit(const LinearForm& number) {
    const auto rank = [](const Node& atom) { return atom.op == Op::LoopVar ? atom.as<ir::LoopArg>().id : INT_MAX; };
    const LinearForm::Term* best = nullptr;
    for (const LinearForm::Term& term : number.terms)
        if (std::abs(term.factor) == 1 && (term.atom->op == Op::LoopVar || is_ratio(*term.atom)) &&
            (!best || rank(*term.atom) > rank(*best->atom)))
            best = &term;
    return best;
}

// What an equation, form = 0, says of one of its atoms: its factor is 1 or -1.
void replace(LinearForm& in, const LinearForm& equation, const LinearForm::Term& determined) {
    const std::int64_t factor = in.factor_of(determined.atom);
    if (factor != 0) in.add(equation, determined.factor > 0 ? -factor : factor);
}

}  // namespace

// x // c, with (x // a) // b as x // (a * b).
const Node* BoundsProof::quotient(const Node& ratio) {
    NodeRef x = ratio.sources[0], by = ratio.sources[1];
    while (x->op == Op::IDiv && is_ratio(*x)) {
        std::int64_t product = 0;
        if (__builtin_mul_overflow(ratio_of(*x), static_cast<std::int64_t>(by->as<ir::ConstArg>().value), &product))
            break;
        by = kernel_.index(product);
        x = x->sources[0];
    }
    made_.push_back(kernel_.make(Op::IDiv, DType::I64, {x, by}));
    return made_.back().get();
}

LinearForm BoundsProof::without_remainders(const LinearForm& form, int depth) {
    LinearForm result;
    result.constant = form.constant;
    result.exact = form.exact && depth > 0;
    for (const LinearForm::Term& term : form.terms) {
        const Node& atom = *term.atom;
        const bool plain = !is_ratio(atom) || !ranges_.of(linear_form(atom.source(0))).fits();
        if (plain || !result.exact) {
            result.add(&atom, term.factor);
            continue;
        }
        const Node* whole = quotient(atom);
        if (!is_ratio(*whole)) {  // a number, after all
            result.add(&atom, term.factor);
        } else if (atom.op == Op::IDiv) {
            result.add(whole, term.factor);
        } else {
            std::int64_t factor = 0;
            result.exact &= !__builtin_mul_overflow(-ratio_of(atom), term.factor, &factor);
            result.add(without_remainders(linear_form(atom.source(0)), depth - 1), term.factor);
            result.add(whole, factor);
        }
    }
    return result;
}

// Finer ones of the same number first.
std::vector<const Node*> BoundsProof::quotients() const {
    std::vector<const Node*> result;
    for (const Known& known : known_)
        if (known.atom->op == Op::IDiv && is_ratio(*known.atom)) result.push_back(known.atom);
    for (std::size_t i = 0; i < result.size(); ++i)
        for (std::size_t j = i + 1; j < result.size(); ++j)
            if (result[i]->sources[0] == result[j]->sources[0] && ratio_of(*result[j]) < ratio_of(*result[i]))
                std::swap(result[i], result[j]);
    return result;
}

// max(a, b) is b where it is larger than a can be.
void BoundsProof::resolve_extremes() {
    for (std::size_t i = 0; i < known_.size(); ++i) {
        const Node& atom = *known_[i].atom;
        const bool most = atom.op == Op::Max;
        if ((!most && atom.op != Op::Min) || atom.dtype != DType::I64) continue;
        for (int side : {0, 1}) {
            const LinearForm own = linear_form(atom.source(side)), other = linear_form(atom.source(1 - side));
            const Ranges::Sum others = sum(other);
            if (!ranges_.of(own).fits() ||
                (most ? known_[i].range.low <= others.high : known_[i].range.high >= others.low))
                continue;
            LinearForm fact;
            fact.add(own, most ? 1 : -1);
            fact.add(&atom, most ? -1 : 1);
            assume_positive(std::move(fact));
        }
    }
}

void BoundsProof::replace_everywhere(LinearForm& goal, const LinearForm& equation, const LinearForm::Term& determined) {
    replace(goal, equation, determined);
    for (LinearForm& fact : facts_) replace(fact, equation, determined), fact = divided(fact);
}

// One variable of x becomes c * (x // c) + x % c without the others; its range becomes facts.
void BoundsProof::write_as_digits(LinearForm& goal) {
    std::vector<std::pair<LinearForm, LinearForm::Term>> done;
    for (const Node* whole : quotients()) {
        NodeRef x = whole->sources[0], by = whole->sources[1];
        for (const Node* finer : quotients())  // x // 4 is (x // 2) // 2, where there is an x // 2
            if (finer->sources[0] == x && ratio_of(*finer) < ratio_of(*whole) &&
                ratio_of(*whole) % ratio_of(*finer) == 0)
                x = NodeRef(finer), by = kernel_.index(ratio_of(*whole) / ratio_of(*finer));
        LinearForm equation = without_remainders(linear_form(*x), kDeepestRatio);
        for (const auto& [before, determined] : done) replace(equation, before, determined);
        const LinearForm::Term* digit = last_digit(equation);
        if (!equation.exact || !digit) continue;
        const LinearForm::Term determined = *digit;
        made_.push_back(kernel_.make(Op::Mod, DType::I64, {x, by}));
        equation.add(whole, -static_cast<std::int64_t>(by->as<ir::ConstArg>().value));
        equation.add(made_.back().get(), -1);
        const ir::Bounds bounds = range(*determined.atom);
        LinearForm low, high;
        low.add(determined.atom, 1), high.add(determined.atom, -1);
        low.exact &= !__builtin_sub_overflow(0, bounds.low, &low.constant);
        high.constant = bounds.high;
        assume_positive(std::move(low)), assume_positive(std::move(high));
        replace_everywhere(goal, equation, determined);
        done.emplace_back(std::move(equation), determined);
    }
}

// Replaces variables that equations determine, in the facts and in the goal.
void BoundsProof::solve_equations(LinearForm& goal) {
    for (std::size_t i = 0; i < facts_.size(); ++i)
        for (std::size_t j = i + 1; j < facts_.size(); ++j) {
            if (facts_[i].terms.empty() || !is_negative_of(facts_[i], facts_[j])) continue;
            const LinearForm equation = facts_[i];
            const auto unit =
                std::find_if(equation.terms.begin(), equation.terms.end(), [](const LinearForm::Term& term) {
                    return std::abs(term.factor) == 1 && term.atom->op == Op::LoopVar;
                });
            if (unit == equation.terms.end()) continue;
            replace_everywhere(goal, equation, *unit);
            break;
        }
}

bool BoundsProof::by_elimination(const LinearForm& goal) {
    const std::vector<LinearForm> outer = facts_;
    known_.clear();
    LinearForm own = without_remainders(goal, kDeepestRatio);
    for (LinearForm& fact : facts_) fact = without_remainders(fact, kDeepestRatio);
    note_atoms(own);
    for (std::size_t i = 0; i < facts_.size(); ++i) note_atoms(LinearForm(facts_[i]));
    define_atoms();
    for (LinearForm& fact : facts_) fact = divided(without_remainders(fact, kDeepestRatio));
    std::erase_if(facts_, [](const LinearForm& fact) { return !fact.exact || fact.terms.empty(); });
    narrow_ranges();
    resolve_extremes();
    solve_equations(own);
    write_as_digits(own);
    solve_equations(own);
    for (std::size_t i = 0; i < facts_.size(); ++i) note_atoms(LinearForm(facts_[i]));
    narrow_ranges();
    std::erase_if(facts_, [](const LinearForm& fact) { return !fact.exact || fact.terms.size() < 2; });
    cut_facts();
    fuel_ = kMostTries;
    const bool proven = own.exact && (impossible(0) || eliminates(divided(own), kMostTaken));
    known_.clear();
    facts_ = outer;
    return proven;
}

// Two facts in which an atom cancels, and what is left is a multiple of d but for its constant: rounded, that says more than the two.
void BoundsProof::cut_facts() {
    const std::size_t count = facts_.size();
    for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < i && facts_.size() < kMostFacts; ++j)
            for (const LinearForm::Term& term : LinearForm(facts_[i]).terms) {
                const std::int64_t factor = facts_[j].factor_of(term.atom);
                if (factor == 0 || (factor > 0) == (term.factor > 0)) continue;
                LinearForm both;
                both.add(facts_[i], cofactor(factor, term.factor));
                both.add(facts_[j], cofactor(term.factor, factor));
                LinearForm cut = divided(both);
                const bool rounded = !cut.terms.empty() && cut.terms[0].factor != both.terms[0].factor;
                if (cut.exact && rounded && !has_fact(cut)) facts_.push_back(std::move(cut));
            }
}

bool BoundsProof::has_fact(const LinearForm& form) const {
    return std::any_of(facts_.begin(), facts_.end(), [&](const LinearForm& fact) {
        return fact.constant <= form.constant && fact.terms.size() == form.terms.size() &&
               std::all_of(form.terms.begin(), form.terms.end(),
                           [&](const LinearForm::Term& term) { return fact.factor_of(term.atom) == term.factor; });
    });
}

// Takes a fact from the goal, and goes on with what is left: the shortest, and of those the one that lost least.
bool BoundsProof::eliminates(const LinearForm& goal, int depth) {
    if (!goal.exact || --fuel_ < 0) return false;
    if (by_sums(goal)) return true;
    if (depth == 0) return false;
    struct Way {
        LinearForm remainder;
        double least;  // of the remainder, as a part of the goal
    };
    std::vector<Way> ways;
    for (const LinearForm& fact : facts_)
        for (const LinearForm::Term& term : goal.terms) {
            const std::int64_t factor = fact.factor_of(term.atom);
            if (factor == 0 || (factor > 0) != (term.factor > 0)) continue;
            const std::int64_t times = cofactor(factor, term.factor);
            LinearForm remainder;  // times * goal >= 0 if it is above -times
            remainder.constant = times - 1;
            remainder.add(goal, times);
            remainder.add(fact, -cofactor(term.factor, factor));
            if (!remainder.exact || remainder.terms.size() > goal.terms.size() + 1) continue;
            const double least = static_cast<double>(sum(remainder).low) / static_cast<double>(times);
            const auto same = [&](const Way& way) {
                return way.least == least && way.remainder.terms.size() == remainder.terms.size();
            };
            if (std::none_of(ways.begin(), ways.end(), same)) ways.push_back({divided(remainder), least});
        }
    std::sort(ways.begin(), ways.end(), [](const Way& a, const Way& b) {
        return std::pair(a.remainder.terms.size(), -a.least) < std::pair(b.remainder.terms.size(), -b.least);
    });
    if (ways.size() > kMostWays) ways.resize(kMostWays);
    return std::any_of(ways.begin(), ways.end(), [&](const Way& way) { return eliminates(way.remainder, depth - 1); });
}

}  // namespace weft::kernel
