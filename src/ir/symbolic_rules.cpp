// ir/symbolic_rules.cpp: the algebra of the index simplifier. Division and modulus floor, divisors are positive once
// the sign is out of the way, and every rule shows its identity. Each rule makes the divisor, a factor or the number of
// divisions smaller, so none can loop; idempotence is tested on random expressions.
#include "ir/symbolic_forms.h"

#include "core/checked.h"

#include <algorithm>
#include <numeric>

namespace weft::ir {
namespace {

constexpr int kMaxDepth = 12;      // of rules within rules: nested moduli beyond that stay as they are
constexpr int kMaxConjuncts = 32;  // an And or Or of more parts is no longer flattened: sorting would be quadratic
constexpr int kFuel = 64;          // steps of one rule loop; far more than any index needs

struct DepthGuard {
    explicit DepthGuard(int& depth) : depth(depth) { ++depth; }
    ~DepthGuard() { --depth; }
    int& depth;
};

std::uint64_t magnitude(std::int64_t x) {
    return x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x);
}

// Divisors g of `by` (by = 0: any) that some terms share, largest first: each term's own, and those of the largest few
// together. They are where g*S + T may be split.
InlineVector<std::int64_t, 8> shared_factors(FormView form, std::int64_t by) {
    InlineVector<std::int64_t, 8> factors;
    for (const Term& term : form.terms) {
        const std::uint64_t g = std::gcd(magnitude(term.factor), static_cast<std::uint64_t>(by));
        if (g > 1 && g <= static_cast<std::uint64_t>(kHighest)) factors.push_back(static_cast<std::int64_t>(g));
    }
    std::sort(factors.begin(), factors.end(), std::greater<>());
    std::int64_t common = 0;
    const std::size_t own = factors.size();
    for (std::size_t i = 0; i < own; ++i) {
        common = std::gcd(common, factors[i]);
        if (common > 1) factors.push_back(common);
    }
    std::sort(factors.begin(), factors.end(), std::greater<>());
    const auto* last = std::unique(factors.begin(), factors.end());
    while (factors.end() != last) factors.pop_back();
    return factors;
}

// form = g*(multiple) + remainder with 0 <= remainder < g.
struct Split {
    Form multiple, remainder;
};
bool split_by(FormView form, std::int64_t g, Split& split, Wide (*range)(FormView)) {
    split = {};
    for (const Term& term : form.terms) {
        if (term.factor % g == 0) split.multiple.terms.push_back({term.atom, term.factor / g});
        else split.remainder.terms.push_back(term);
    }
    split.remainder.constant = form.constant;
    const Wide bounds = range(split.remainder);
    if (!bounds.fits()) return false;
    const std::int64_t block = floor_div(static_cast<std::int64_t>(bounds.low), g);
    if (block != floor_div(static_cast<std::int64_t>(bounds.high), g)) return false;
    split.multiple.constant = block;
    std::int64_t start;
    return !__builtin_mul_overflow(block, g, &start) &&
           !__builtin_sub_overflow(split.remainder.constant, start, &split.remainder.constant);
}

bool is_ratio(const Node& node, Op op) {  // op by a positive constant
    return node.op == op && node.source(1).op == Op::Const &&
           static_cast<std::int64_t>(node.source(1).as<ConstArg>().value) > 0;
}
std::int64_t divisor_of(const Node& node) { return static_cast<std::int64_t>(node.source(1).as<ConstArg>().value); }

}  // namespace

// ---- products, division, modulus ------------------------------------------------------------------------------------

// A product of two sums stays a product, less what divides all of a sum: (4*i + 8) * (3*p) = 12 * ((i + 2) * p). Nested
// products are one sorted list of factors.
Form Simplifier::multiply(FormView a, FormView b) {
    if (a.is_constant()) return scaled(b, a.constant);
    if (b.is_constant()) return scaled(a, b.constant);
    InlineVector<Entry*, 6> factors;
    std::int64_t scale = 1;
    for (const FormView form : {a, b}) {
        std::uint64_t common = magnitude(form.constant);
        for (const Term& term : form.terms) common = std::gcd(common, magnitude(term.factor));
        std::int64_t content = common > static_cast<std::uint64_t>(kHighest) ? 1 : static_cast<std::int64_t>(common);
        bool has_lowest = form.constant == kLowest;  // that / -1 would trap
        for (const Term& term : form.terms) has_lowest |= term.factor == kLowest;
        if (form.terms[0].factor < 0 && (common > 1 || !has_lowest)) content = -content;
        Form primitive;
        primitive.constant = form.constant / content;
        for (const Term& term : form.terms) primitive.terms.push_back({term.atom, term.factor / content});
        scale = static_cast<std::int64_t>(static_cast<std::uint64_t>(scale) * static_cast<std::uint64_t>(content));
        Entry* factor = &to_node(primitive);
        for (; factor->node->op == Op::Mul && factor->node->source(1).op != Op::Const;
             factor = &entry(factor->node->sources[0].get()))
            factors.push_back(&entry(factor->node->sources[1].get()));
        factors.push_back(factor);
    }
    std::sort(factors.begin(), factors.end(), [](const Entry* x, const Entry* y) { return order(*x, *y) < 0; });
    Entry* product = factors[0];
    for (std::size_t i = 1; i < factors.size(); ++i)
        product = &atom(Op::Mul, DType::I64, {ref(*product), ref(*factors[i])});
    return scaled(product->form, scale);
}

Form Simplifier::opaque_ratio(Op op, FormView form, std::int64_t by) {
    return single(atom(op, DType::I64, {NodeRef(to_node(form).node), ref(constant(DType::I64, to_word(by)))}));
}

// floor((s + floor(x / a)) / c) = floor((a*s + x) / (a*c))
bool Simplifier::merge_ratio(Form& dividend, std::int64_t& by) {
    for (const Term& term : dividend.terms) {
        if (term.factor != 1 || !is_ratio(*term.atom->node, Op::IDiv)) continue;
        const std::int64_t a = divisor_of(*term.atom->node);
        const FormView x = entry(term.atom->node->sources[0].get()).form;
        Form merged, outer;
        std::int64_t product;
        add(outer, dividend);
        add(outer, term.atom->form, -1);
        if (!fits(x) || __builtin_mul_overflow(a, by, &product) || !add(merged, x) || !add(merged, outer, a) ||
            !fits(merged))
            continue;
        dividend = std::move(merged);
        by = product;
        return true;
    }
    return false;
}

// floor(form / by) = out + sign * floor(dividend / by), step by step until the dividend is nothing or an atom.
Form Simplifier::divide(Form dividend, std::int64_t by) {
    const DepthGuard guard(depth_);
    if (by == 0) return {};
    if (by == 1) return dividend;
    if (dividend.is_constant() && by != -1) return {{}, floor_div(dividend.constant, by)};
    recombine(dividend, false);
    if (!fits(dividend) || depth_ > kMaxDepth) return opaque_ratio(Op::IDiv, dividend, by);
    if (by < 0) {  // floor(x / -c) = floor(-x / c)
        Form negated;
        if (by == kLowest || !add(negated, dividend, -1) || !fits(negated)) return opaque_ratio(Op::IDiv, dividend, by);
        return divide(std::move(negated), -by);
    }
    Form out;
    std::int64_t sign = 1;
    Split split;
    for (int fuel = kFuel; fuel > 0; --fuel) {
        recombine(dividend, true);
        // floor((c*q + r) / c) = q + floor(r / c), term by term; the remainders keep the signs of their terms
        Form whole, part;
        for (const Term& term : dividend.terms) {
            if (const std::int64_t q = term.factor / by) whole.terms.push_back({term.atom, q});
            if (const std::int64_t r = term.factor % by) part.terms.push_back({term.atom, r});
        }
        whole.constant = floor_div(dividend.constant, by);
        part.constant = remainder(dividend.constant, by);
        const Wide range = wide_range(part);
        if (!range.fits()) break;
        add(out, whole, sign);
        dividend = std::move(part);
        if (recombine(dividend, true)) continue;  // smaller factors may have become partners

        const std::int64_t low = floor_div(static_cast<std::int64_t>(range.low), by);
        if (low == floor_div(static_cast<std::int64_t>(range.high), by)) {  // r within one block: a constant
            add(out, {{}, low}, sign);
            recombine(out, false);
            return out;
        }
        // floor((g*s + t) / (g*c)) = floor(s / c) for 0 <= t < g
        bool changed = false;
        for (const std::int64_t g : shared_factors(dividend, by)) {
            if (!split_by(dividend, g, split, wide_range) || !fits(split.multiple)) continue;
            dividend = std::move(split.multiple);
            by /= g;
            changed = true;
            break;
        }
        if (changed) continue;
        if (merge_ratio(dividend, by)) continue;
        // (x % (a*c)) / c = (x / c) % a
        if (dividend.terms.size() == 1 && dividend.terms[0].factor == 1 && dividend.constant == 0 &&
            is_ratio(*dividend.terms[0].atom->node, Op::Mod) && divisor_of(*dividend.terms[0].atom->node) % by == 0) {
            const Node& mod = *dividend.terms[0].atom->node;
            Form x;
            add(x, entry(mod.sources[0].get()).form);
            add(out, modulo(divide(std::move(x), by), divisor_of(mod) / by), sign);
            recombine(out, false);
            return out;
        }
        // floor(r / c) = -floor((c - 1 - r) / c): the first term becomes positive, and flips meet their originals
        Form mirrored{{}, by - 1};
        if (dividend.terms[0].factor > 0 || !add(mirrored, dividend, -1) || !fits(mirrored)) break;
        dividend = std::move(mirrored);
        sign = -sign;
    }
    add(out, opaque_ratio(Op::IDiv, dividend, by), sign);
    recombine(out, false);
    return out;
}

// form mod by = out + scale * (dividend mod by), step by step.
Form Simplifier::modulo(Form dividend, std::int64_t by) {
    const DepthGuard guard(depth_);
    if (by == 0 || by == 1 || by == -1) return {};
    if (dividend.is_constant()) return {{}, remainder(dividend.constant, by)};
    recombine(dividend, false);
    if (!fits(dividend) || depth_ > kMaxDepth) return opaque_ratio(Op::Mod, dividend, by);
    if (by < 0) {  // x mod -c = -(-x mod c)
        Form negated;
        if (by == kLowest || !add(negated, dividend, -1) || !fits(negated)) return opaque_ratio(Op::Mod, dividend, by);
        return scaled(modulo(std::move(negated), -by), -1);
    }
    Form out;
    std::int64_t scale = 1;
    Split split;
    for (int fuel = kFuel; fuel > 0; --fuel) {
        recombine(dividend, true);
        // (c*q + r) mod c = r mod c
        Form part;
        for (const Term& term : dividend.terms)
            if (const std::int64_t r = term.factor % by) part.terms.push_back({term.atom, r});
        part.constant = remainder(dividend.constant, by);
        const Wide range = wide_range(part);
        if (!range.fits()) break;
        dividend = std::move(part);
        if (recombine(dividend, true)) continue;

        const std::int64_t low = floor_div(static_cast<std::int64_t>(range.low), by);
        if (low == floor_div(static_cast<std::int64_t>(range.high), by)) {  // r mod c = r - low*c within one block
            add(dividend, {{}, low}, -by);
            add(out, dividend, scale);
            recombine(out, false);
            return out;
        }
        // (g*s + t) mod (g*c) = g*(s mod c) + t for 0 <= t < g
        bool changed = false;
        for (const std::int64_t g : shared_factors(dividend, by)) {
            if (!split_by(dividend, g, split, wide_range) || !fits(split.multiple)) continue;
            add(out, split.remainder, scale);
            dividend = std::move(split.multiple);
            scale *= g;  // scale * by is the divisor asked for
            by /= g;
            changed = true;
            break;
        }
        if (changed) continue;
        // (s + r*(x mod m)) mod c = (s + r*x) mod c if c divides r*m
        for (const Term& term : dividend.terms) {
            if (!is_ratio(*term.atom->node, Op::Mod)) continue;
            std::int64_t period;
            const FormView x = entry(term.atom->node->sources[0].get()).form;
            if (__builtin_mul_overflow(term.factor, divisor_of(*term.atom->node), &period) || period % by != 0)
                continue;
            Form opened;
            if (!fits(x) || !add(opened, dividend) || !add(opened, term.atom->form, -term.factor) ||
                !add(opened, x, term.factor) || !fits(opened))
                continue;
            dividend = std::move(opened);
            changed = true;
            break;
        }
        if (changed) continue;
        // r mod c = (c - 1) - (c - 1 - r) mod c, as for the quotient
        Form mirrored{{}, by - 1};
        if (dividend.terms[0].factor > 0 || !add(mirrored, dividend, -1) || !fits(mirrored)) break;
        dividend = std::move(mirrored);
        add(out, {{}, by - 1}, scale);
        scale = -scale;
    }
    add(out, opaque_ratio(Op::Mod, dividend, by), scale);
    recombine(out, false);
    return out;
}

Form Simplifier::divide_or_modulo(Op op, Entry& x, Entry& by) {
    Form dividend;
    add(dividend, x.form);
    if (by.form.is_constant())
        return op == Op::IDiv ? divide(std::move(dividend), by.form.constant)
                              : modulo(std::move(dividend), by.form.constant);
    const Wide low = wide_range(x.form), high = wide_range(by.form);
    if (low.fits() && high.fits() && low.low >= 0 && low.high < high.low)  // 0 <= x < by
        return op == Op::IDiv ? Form{} : dividend;
    return single(atom(op, DType::I64, {ref(x), ref(by)}));
}

// Puts together again what division and modulus took apart, also as part of a larger sum:
//   k*c*(x / c) + k*(x mod c) = k*x
//   k*b*(t mod c) + k*(r mod b) = k*(x mod (b*c)) with x = b*(t - r/b) + r, if t contains r/b:
//   then x mod b = r mod b and x / b = t
// `exact`: the form must stay the same integer, not only the same modulo 2^64.
bool Simplifier::recombine(Form& form, bool exact) {
    if (form.terms.size() < 2) return false;
    const DepthGuard guard(depth_);
    if (depth_ > kMaxDepth) return false;
    int found = 0;
    for (std::size_t at = 0; at < form.terms.size() && found < kFuel;) {
        if (recombine_term(form, at, exact)) {
            ++found;
            at = 0;  // a new term may be the partner of an earlier one
        } else {
            ++at;
        }
    }
    return found > 0;
}

bool Simplifier::recombine_term(Form& form, std::size_t at, bool exact) {
    const Term term = form.terms[at];
    if (!is_ratio(*term.atom->node, Op::Mod)) return false;
    const std::int64_t by = divisor_of(*term.atom->node);
    std::int64_t wanted;  // the factor of a partner
    if (__builtin_mul_overflow(term.factor, by, &wanted)) return false;
    const auto is_partner = [&](const Term& other) {
        return other.factor == wanted && (other.atom->node->op == Op::IDiv || is_ratio(*other.atom->node, Op::Mod));
    };
    if (std::none_of(form.terms.begin(), form.terms.end(), is_partner)) return false;

    const FormView x = entry(term.atom->node->sources[0].get()).form;
    const bool x_fits = fits(x);
    if (exact && !x_fits) return false;
    Form copy;
    add(copy, x);
    const Form quotient = divide(std::move(copy), by);
    if (quotient.terms.size() != 1 || quotient.terms[0].factor != 1) return false;
    Form result;
    if (factor_of(form, quotient.terms[0].atom) == wanted) {
        bool same_integer = add(result, form) && add(result, term.atom->form, -term.factor);
        same_integer = add(result, quotient, -wanted) && same_integer;
        same_integer = add(result, x, term.factor) && same_integer;
        if (exact && !same_integer) return false;
        form = std::move(result);
        return true;
    }
    if (!x_fits) return false;
    for (const Term& other : form.terms) {
        if (other.factor != wanted || !is_ratio(*other.atom->node, Op::Mod)) continue;
        const FormView t = entry(other.atom->node->sources[0].get()).form;
        if (!fits(t) || factor_of(t, quotient.terms[0].atom) != 1) continue;
        std::int64_t product;
        if (__builtin_mul_overflow(by, divisor_of(*other.atom->node), &product)) continue;
        Form merged, outer;
        if (!add(outer, t) || !add(outer, quotient, -1) || !add(merged, x) || !add(merged, outer, by) || !fits(merged))
            continue;
        bool same_integer = add(result, form) && add(result, term.atom->form, -term.factor);
        same_integer = add(result, other.atom->form, -wanted) && same_integer;
        same_integer = add(result, modulo(std::move(merged), product), term.factor) && same_integer;
        if (exact && !same_integer) return false;
        form = std::move(result);
        return true;
    }
    return false;
}

// min and max, decided by the range of the difference where that does not wrap
Form Simplifier::extreme(Op op, Entry& a, Entry& b) {
    Entry *x = &to_node(a.form), *y = &to_node(b.form);
    if (order(*x, *y) > 0) std::swap(x, y);
    Form difference;
    if (fits(x->form) && fits(y->form) && add(difference, x->form) & add(difference, y->form, -1)) {
        recombine(difference, true);
        const Wide range = wide_range(difference);
        if (range.high <= 0) return single(op == Op::Min ? *x : *y);
        if (range.low >= 0) return single(op == Op::Min ? *y : *x);
    }
    return single(x == y ? *x : atom(op, DType::I64, {NodeRef(x->node), NodeRef(y->node)}));
}

// ---- comparisons ----------------------------------------------------------------------------------------------------

Entry& Simplifier::compare(Op op, Entry& a, Entry& b) {
    if (same(a.form, b.form)) return boolean(op != Op::CmpLt);
    Entry *x = &a, *y = &b;
    if (op == Op::CmpEq && order(to_node(a.form), to_node(b.form)) > 0) std::swap(x, y);
    Form difference;
    const bool exact = add(difference, x->form) & add(difference, y->form, -1);
    if (op == Op::CmpEq && difference.is_constant()) return boolean(difference.constant == 0);  // also modulo 2^64
    if (exact && fits(x->form) && fits(y->form)) {
        if (op == Op::CmpEq) return zero(std::move(difference), *x, *y);
        if (op == Op::CmpLt || !__builtin_sub_overflow(difference.constant, 1, &difference.constant))
            return negative(std::move(difference), op, *x, *y);  // x <= y is x - y - 1 < 0
    }
    return atom(op, DType::Bool, {ref(*x), ref(*y)});
}

// difference < 0, the difference an exact integer. Printed with positive terms on both sides: 4*i + j < k + 3, 2 < i.
Entry& Simplifier::negative(Form d, Op op, Entry& a, Entry& b) {
    Split split;
    for (int fuel = kFuel; fuel > 0; --fuel) {
        recombine(d, true);
        const Wide range = wide_range(d);
        if (range.high < 0) return boolean(true);
        if (range.low >= 0) return boolean(false);
        bool changed = false;
        // g*s + t < 0 is s < 0 for 0 <= t < g; with t constant this divides by the common factor
        for (const std::int64_t g : shared_factors(d, 0)) {
            if (!split_by(d, g, split, wide_range)) continue;
            d = std::move(split.multiple);
            changed = true;
            break;
        }
        if (changed) continue;
        // s + floor(x / c) < 0 is c*s + x < 0;  s - floor(x / c) < 0 is c*s + c - 1 - x < 0
        for (const Term& term : d.terms) {
            if ((term.factor != 1 && term.factor != -1) || !is_ratio(*term.atom->node, Op::IDiv)) continue;
            const std::int64_t c = divisor_of(*term.atom->node);
            const FormView x = entry(term.atom->node->sources[0].get()).form;
            Form outer, merged;
            if (!fits(x) || !add(outer, d) || !add(outer, term.atom->form, -term.factor) || !add(merged, outer, c) ||
                !add(merged, x, term.factor) || !add(merged, {{}, term.factor > 0 ? 0 : c - 1}))
                continue;
            d = std::move(merged);
            changed = true;
            break;
        }
        if (!changed) break;
    }
    Form left, right;
    for (const Term& term : d.terms) {
        if (term.factor == kLowest) return atom(op, DType::Bool, {ref(a), ref(b)});
        if (term.factor > 0) left.terms.push_back(term);
        else right.terms.push_back({term.atom, -term.factor});
    }
    bool exact = true;
    if (left.terms.empty()) left.constant = d.constant;
    else exact = !__builtin_sub_overflow(0, d.constant, &right.constant);
    if (!exact || !fits(left) || !fits(right)) return atom(op, DType::Bool, {ref(a), ref(b)});
    return atom(Op::CmpLt, DType::Bool, {NodeRef(to_node(left).node), NodeRef(to_node(right).node)});
}

// difference == 0
Entry& Simplifier::zero(Form d, Entry& a, Entry& b) {
    recombine(d, true);
    const Wide range = wide_range(d);
    if (range.low > 0 || range.high < 0) return boolean(false);
    if (d.is_constant()) return boolean(true);
    Split split;
    for (const std::int64_t g : shared_factors(d, 0)) {
        // g*s + t == 0 with 0 <= t < g needs t == 0
        if (!split_by(d, g, split, wide_range)) continue;
        const Wide bounds = wide_range(split.remainder);
        if (bounds.low > 0) return boolean(false);
        if (bounds.high == 0 && split.remainder.is_constant()) return zero(std::move(split.multiple), a, b);
    }
    const bool mirror = d.terms[0].factor < 0;
    Form left, right;
    bool exact = true;
    for (const Term& term : d.terms) {
        exact &= term.factor != kLowest;
        const std::int64_t size = static_cast<std::int64_t>(magnitude(term.factor));
        ((term.factor > 0) != mirror ? left : right).terms.push_back({term.atom, size});
    }
    if (mirror) right.constant = d.constant;
    else exact &= !__builtin_sub_overflow(0, d.constant, &right.constant);
    if (exact && fits(left) && fits(right))
        return atom(Op::CmpEq, DType::Bool, {NodeRef(to_node(left).node), NodeRef(to_node(right).node)});
    return atom(Op::CmpEq, DType::Bool, {ref(a), ref(b)});
}

// ---- logic ----------------------------------------------------------------------------------------------------------

// !(a < b) is b <= a; of anything else it is written x ^ true.
Entry& Simplifier::negation(Entry& x) {
    if (is_constant(x)) return boolean(is_false(x));
    const Node& node = *x.node;
    if ((node.op == Op::CmpLt || node.op == Op::CmpLe) && node.source().dtype == DType::I64)
        return compare(node.op == Op::CmpLt ? Op::CmpLe : Op::CmpLt, entry(node.sources[1].get()),
                       entry(node.sources[0].get()));
    if (node.op == Op::Xor && node.source(1).op == Op::Const) return entry(node.sources[0].get());
    return atom(Op::Xor, DType::Bool, {NodeRef(&node), ref(boolean(true))});
}

Entry& Simplifier::exclusive_or(Entry& a, Entry& b) {
    bool flip = false;  // !x ^ y = !(x ^ y)
    const auto strip = [&](Entry& x) -> Entry& {
        if (x.node->op != Op::Xor || x.node->source(1).op != Op::Const) return x;
        flip = !flip;
        return entry(x.node->sources[0].get());
    };
    Entry &x = strip(a), &y = strip(b);
    if (is_constant(x) || is_constant(y)) {
        Entry& other = is_constant(x) ? y : x;
        flip ^= is_true(is_constant(x) ? x : y);
        return flip ? negation(other) : other;
    }
    if (&x == &y) return boolean(flip);
    const bool swap = order(x, y) > 0;
    Entry& result = atom(Op::Xor, DType::Bool, {ref(swap ? y : x), ref(swap ? x : y)});
    return flip ? negation(result) : result;
}

// A sorted list of parts without doubles; of two comparisons with the same terms one is enough, and opposite ones may
// decide: i < 3 & i < 5 is i < 3, i < 3 & 4 < i is false, i < 3 | 2 <= i is true.
Entry& Simplifier::logic(Op op, Entry& a, Entry& b) {
    const bool is_and = op == Op::And;
    for (Entry* x : {&a, &b})
        if (is_constant(*x)) return is_true(*x) == is_and ? (x == &a ? b : a) : *x;
    if (&a == &b) return a;

    InlineVector<Entry*, 8> parts;
    const auto flatten = [&](Entry& x, std::size_t most) {
        const std::size_t before = parts.size();
        Entry* rest = &x;
        for (; rest->node->op == op && parts.size() < most; rest = &entry(rest->node->sources[0].get()))
            parts.push_back(&entry(rest->node->sources[1].get()));
        if (rest->node->op == op) {  // too many: one part as it is
            parts.resize(before);
            rest = &x;
        }
        parts.push_back(rest);
    };
    flatten(a, kMaxConjuncts);
    flatten(b, kMaxConjuncts);
    const auto before = [](const Entry* x, const Entry* y) { return order(*x, *y) < 0; };
    std::sort(parts.begin(), parts.end(), before);
    const auto* last = std::unique(parts.begin(), parts.end());
    while (parts.end() != last) parts.pop_back();

    const auto difference = [&](const Entry& x, Form& d) {  // x is d < 0
        if (x.node->op != Op::CmpLt || x.node->source().dtype != DType::I64) return false;
        const FormView left = entry(x.node->sources[0].get()).form, right = entry(x.node->sources[1].get()).form;
        return fits(left) && fits(right) && add(d, left) && add(d, right, -1);
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
        Form x;
        if (!difference(*parts[i], x)) continue;
        for (std::size_t j = i + 1; j < parts.size();) {
            Form y, gap, sum;
            if (!difference(*parts[j], y)) {
                ++j;
                continue;
            }
            if (add(gap, x) & add(gap, y, -1) && gap.is_constant()) {  // x = y + gap: x < 0 implies y < 0 if gap >= 0
                if ((gap.constant >= 0) != is_and) {
                    parts[i] = parts[j];
                    x = std::move(y);
                    parts.erase(parts.begin() + j);
                    j = i + 1;  // the tighter one may contradict a part that the looser one did not
                } else parts.erase(parts.begin() + j);
                continue;
            }
            if (add(sum, x) & add(sum, y) && sum.is_constant()) {  // x < 0 and y < 0: x + y <= -2; neither: x + y >= 0
                if (is_and && sum.constant >= -1) return boolean(false);
                if (!is_and && sum.constant < 0) return boolean(true);
            }
            ++j;
        }
    }
    std::sort(parts.begin(), parts.end(), before);
    Entry* result = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) result = &atom(op, DType::Bool, {ref(*result), ref(*parts[i])});
    return *result;
}

}  // namespace weft::ir
