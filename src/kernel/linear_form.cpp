// kernel/linear_form.cpp: sums are taken apart with a stack; ranges are those of src/ir/symbolic.h, narrowed where loops are.
#include "kernel/linear_form.h"

#include "core/checked.h"

#include <algorithm>

namespace weft::kernel {

using ir::Node;
using ir::Op;

std::int64_t LinearForm::factor_of(const Node* atom) const {
    for (const Term& term : terms)
        if (term.atom == atom) return term.factor;
    return 0;
}

void LinearForm::add(const Node* atom, std::int64_t factor) {
    for (Term& term : terms) {
        if (term.atom != atom) continue;
        exact &= !__builtin_add_overflow(term.factor, factor, &term.factor);
        if (term.factor == 0) {
            term = terms[terms.size() - 1];
            terms.pop_back();
        }
        return;
    }
    if (factor != 0) terms.push_back({atom, factor});
}

void LinearForm::add(const LinearForm& other, std::int64_t factor) {
    const auto times = [&](std::int64_t x) {
        std::int64_t product = 0;
        exact &= !__builtin_mul_overflow(x, factor, &product);
        return product;
    };
    exact &= other.exact;
    exact &= !__builtin_add_overflow(constant, times(other.constant), &constant);
    for (const Term& term : other.terms) add(term.atom, times(term.factor));
}

LinearForm linear_form(const Node& expression) {
    LinearForm form;
    struct Part {
        const Node* node;
        std::int64_t factor;
    };
    InlineVector<Part, 16> stack;
    stack.push_back({&expression, 1});
    const auto number = [](const Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); };
    for (int fuel = 256; !stack.empty(); --fuel) {
        const auto [node, factor] = stack[stack.size() - 1];
        stack.pop_back();
        std::int64_t product = 0;
        if (node->op == Op::Const) {
            form.exact &= !__builtin_mul_overflow(number(*node), factor, &product) &&
                          !__builtin_add_overflow(form.constant, product, &form.constant);
        } else if (fuel <= 0 || node->dtype != DType::I64) {
            form.add(node, factor);
        } else if (node->op == Op::Add || node->op == Op::Sub) {
            form.exact &= factor != INT64_MIN;
            stack.push_back({node->sources[1].get(), node->op == Op::Add || !form.exact ? factor : -factor});
            stack.push_back({node->sources[0].get(), factor});
        } else if (node->op == Op::Neg && factor != INT64_MIN) {
            stack.push_back({node->sources[0].get(), -factor});
        } else if (node->op == Op::Mul && (node->source(1).op == Op::Const || node->source(0).op == Op::Const)) {
            const bool right = node->source(1).op == Op::Const;
            form.exact &= !__builtin_mul_overflow(factor, number(node->source(right ? 1 : 0)), &product);
            stack.push_back({node->sources[right ? 0 : 1].get(), product});
        } else if (node->op != Op::LoopVar || node->as<ir::LoopArg>().extent > 1) {
            form.add(node, factor);
        }
    }
    return form;
}

ir::Bounds Ranges::of(const Node& atom) const {
    if (atom.op == Op::LoopVar) {
        const int id = atom.as<ir::LoopArg>().id;
        const bool known = id < static_cast<int>(of_.size()) &&
                           of_[static_cast<std::size_t>(id)].low <= of_[static_cast<std::size_t>(id)].high;
        return known ? (*this)[id] : ir::Bounds{0, std::max<std::int64_t>(0, atom.as<ir::LoopArg>().extent - 1)};
    }
    if (atom.op == Op::Where && atom.dtype == DType::I64) return of_choice(atom);
    const ir::Bounds plain = ir::bounds(ir::NodeRef(&atom));
    const bool ratio = (atom.op == Op::IDiv || atom.op == Op::Mod) && atom.source(1).op == Op::Const;
    if (!ratio || atom.dtype != DType::I64) return plain;
    const auto by = static_cast<std::int64_t>(atom.source(1).as<ir::ConstArg>().value);
    const Sum x = of(linear_form(atom.source(0)));
    if (by <= 0 || !x.fits()) return plain;
    const std::int64_t first = floor_div(static_cast<std::int64_t>(x.low), by),
                       last = floor_div(static_cast<std::int64_t>(x.high), by);
    if (atom.op == Op::IDiv) return {std::max(plain.low, first), std::min(plain.high, last)};
    if (first != last) return plain;
    return {static_cast<std::int64_t>(x.low) - first * by, static_cast<std::int64_t>(x.high) - first * by};
}

// where(x < c, a, b): x is less in a, and not less in b. So a negative index that counts from the end is in range.
ir::Bounds Ranges::of_choice(const Node& choice) const {
    const Node& condition = choice.source(0);
    const bool less =
        condition.op == Op::CmpLt && condition.source(0).dtype == DType::I64 && condition.source(1).op == Op::Const;
    const Node* x = less ? condition.sources[0].get() : nullptr;
    ir::Bounds then{}, otherwise{};
    if (x) {
        const auto limit = static_cast<std::int64_t>(condition.source(1).as<ir::ConstArg>().value);
        then = otherwise = of(*x);
        then.high = std::min(then.high, limit == INT64_MIN ? limit : limit - 1);
        otherwise.low = std::max(otherwise.low, limit);
    }
    const Sum a = of(linear_form(choice.source(1)), x, then), b = of(linear_form(choice.source(2)), x, otherwise);
    if (!a.fits() || !b.fits()) return {INT64_MIN, INT64_MAX};
    if (x && then.low > then.high) return {static_cast<std::int64_t>(b.low), static_cast<std::int64_t>(b.high)};
    if (x && otherwise.low > otherwise.high)
        return {static_cast<std::int64_t>(a.low), static_cast<std::int64_t>(a.high)};
    return {static_cast<std::int64_t>(std::min(a.low, b.low)), static_cast<std::int64_t>(std::max(a.high, b.high))};
}

Ranges::Sum Ranges::of(const LinearForm& form, const Node* known, const ir::Bounds& as) const {
    constexpr Int128 far = Int128{1} << 100;
    if (!form.exact) return {-far, far};
    Sum sum{form.constant, form.constant};
    for (const LinearForm::Term& term : form.terms) {
        const ir::Bounds range = term.atom == known ? as : of(*term.atom);
        const Int128 a = Int128{term.factor} * range.low, b = Int128{term.factor} * range.high;
        sum.low = std::max(-far, sum.low + std::min(a, b));
        sum.high = std::min(far, sum.high + std::max(a, b));
    }
    return sum;
}

}  // namespace weft::kernel
