// ir/symbolic_forms.cpp: the data of the index simplifier: ranges of ops, the order of atoms, arithmetic on forms, the
// way from a form back to a node.
#include "ir/symbolic_forms.h"

#include "core/checked.h"

#include <algorithm>
#include <bit>

namespace weft::ir {
namespace {

// Corner products; falls back to "anything" if even 128 bits overflow.
Wide product_range(const Wide& a, const Wide& b) {
    Wide result;
    bool first = true;
    for (const Int128 x : {a.low, a.high}) {
        for (const Int128 y : {b.low, b.high}) {
            Int128 p;
            if (__builtin_mul_overflow(x, y, &p)) return {};
            result.low = first ? p : std::min(result.low, p);
            result.high = first ? p : std::max(result.high, p);
            first = false;
        }
    }
    return result;
}

Wide sum_range(const Wide& a, const Wide& b) {
    Wide result;
    if (__builtin_add_overflow(a.low, b.low, &result.low) || __builtin_add_overflow(a.high, b.high, &result.high))
        return {};
    return result;
}

Int128 floor_div_wide(Int128 a, Int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

Wide quotient_range(const Bounds& x, const Bounds& d) {
    if (d.low > 0) {  // monotone in x, and for each sign of x in d: the extremes are corners
        Wide result{floor_div_wide(x.low, d.low), floor_div_wide(x.high, d.low)};
        result.low = std::min(result.low, floor_div_wide(x.low, d.high));
        result.high = std::max(result.high, floor_div_wide(x.high, d.high));
        return result;
    }
    // |floor(x / d)| <= |x| for every d but 0, where it is 0; the lowest integer / -1 wraps: the result does not fit
    const Int128 most = std::max(-static_cast<Int128>(x.low), static_cast<Int128>(x.high));
    return {-std::max<Int128>(most, 0), std::max<Int128>(most, 0)};
}

Wide remainder_range(const Bounds& x, const Bounds& d) {
    if (d.low == d.high && d.low > 0) {
        const std::int64_t block = floor_div(x.low, d.low);
        if (block == floor_div(x.high, d.low)) return {remainder(x.low, d.low), remainder(x.high, d.low)};
    }
    // 0 <= x % d < d, or d < x % d <= 0; and x itself where 0 <= x < d
    Wide result{d.low < 0 ? Int128{d.low} + 1 : 0, d.high > 0 ? Int128{d.high} - 1 : 0};
    if (d.low >= 0 && x.low >= 0) result.high = std::min<Int128>(result.high, x.high);
    return result;
}

Wide bool_range(bool always, bool never) { return {always ? 1 : 0, never ? 0 : 1}; }

Wide integer_range(DType dtype) {
    switch (dtype) {
        case DType::Bool: return {0, 1};
        case DType::U8: return {0, 0xff};
        case DType::U16: return {0, 0xffff};
        case DType::U32: return {0, 0xffffffff};
        case DType::I8: return {-0x80, 0x7f};
        case DType::I16: return {-0x8000, 0x7fff};
        case DType::I32: return {-Int128{0x80000000}, 0x7fffffff};
        default: return {};
    }
}

int compare_arguments(const Arg& a, const Arg& b) {
    const auto sign = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
    if (a.index() != b.index()) return sign(a.index(), b.index());
    if (const auto* x = std::get_if<LoopArg>(&a)) {
        const auto& y = std::get<LoopArg>(b);
        return x->id != y.id ? sign(x->id, y.id) : sign(x->extent, y.extent);
    }
    if (const auto* x = std::get_if<ConstArg>(&a))
        return sign(static_cast<std::int64_t>(x->value), static_cast<std::int64_t>(std::get<ConstArg>(b).value));
    if (const auto* x = std::get_if<SlotArg>(&a)) return sign(x->slot, std::get<SlotArg>(b).slot);
    if (const auto* x = std::get_if<LoadArg>(&a)) return sign(x->buffer, std::get<LoadArg>(b).buffer);
    if (const auto* x = std::get_if<TableArg>(&a)) {
        const std::span<const float, kTableSize> xs(x->entries, kTableSize),
            ys(std::get<TableArg>(b).entries, kTableSize);
        return sign(std::vector(xs.begin(), xs.end()), std::vector(ys.begin(), ys.end()));
    }
    if (const auto* x = std::get_if<VarArg>(&a)) return sign(x->id, std::get<VarArg>(b).id);
    if (const auto* x = std::get_if<CheckArg>(&a)) {
        const auto& y = std::get<CheckArg>(b);
        return x->low != y.low     ? sign(x->low, y.low)
               : x->high != y.high ? sign(x->high, y.high)
                                   : sign(x->what, y.what);
    }
    return 0;
}

// An order by structure alone: addresses change from run to run, printed kernels must not. Equal nodes are one pointer:
// two different ones differ in themselves or in the first pair of sources that differ: one path down decides.
int compare_structure(const Node* a, const Node* b) {
    while (a != b) {
        const auto rank = [](const Node* n) { return n->op == Op::LoopVar ? -1 : static_cast<int>(n->op); };
        if (rank(a) != rank(b)) return rank(a) < rank(b) ? -1 : 1;
        if (a->dtype != b->dtype) return a->dtype < b->dtype ? -1 : 1;
        if (a->sources.size() != b->sources.size()) return a->sources.size() < b->sources.size() ? -1 : 1;
        if (const int by_argument = compare_arguments(a->arg, b->arg)) return by_argument;
        std::size_t i = 0;
        while (i < a->sources.size() && a->sources[i] == b->sources[i]) ++i;
        if (i == a->sources.size()) return 0;
        const Node* next = a->sources[i].get();
        b = b->sources[i].get();
        a = next;
    }
    return 0;
}

}  // namespace

Wide range_of(const Node& node, std::span<const Wide> sources) {
    const auto value = [&](int i) { return value_range(sources[i]); };
    const bool on_integers =
        !node.sources.empty() && (node.source().dtype == DType::I64 || is_bool(node.source().dtype));
    if (node.dtype == DType::I64) {
        switch (node.op) {
            case Op::Const: {
                const auto x = static_cast<std::int64_t>(node.as<ConstArg>().value);
                return {x, x};
            }
            case Op::LoopVar: return {0, std::max<Int128>(Int128{node.as<LoopArg>().extent} - 1, 0)};
            case Op::Check: {
                const CheckArg& check = node.as<CheckArg>();
                return {check.low, std::max<Int128>(Int128{check.high} - 1, check.low)};
            }
            case Op::Add: return sum_range(sources[0], sources[1]);
            case Op::Sub: return sum_range(sources[0], product_range(sources[1], {-1, -1}));
            case Op::Neg: return product_range(sources[0], {-1, -1});
            case Op::Mul: {
                Wide result = product_range(sources[0], sources[1]);
                if (node.sources[0] == node.sources[1] && result.fits()) result.low = std::max<Int128>(result.low, 0);
                return result;
            }
            case Op::IDiv: return quotient_range(value(0), value(1));
            case Op::Mod: return remainder_range(value(0), value(1));
            case Op::Min: return {std::min(value(0).low, value(1).low), std::min(value(0).high, value(1).high)};
            case Op::Max: return {std::max(value(0).low, value(1).low), std::max(value(0).high, value(1).high)};
            case Op::Where:
                if (value(0).low == 1) return sources[1];
                if (value(0).high == 0) return sources[2];
                return {std::min(value(1).low, value(2).low), std::max(value(1).high, value(2).high)};
            case Op::Xor: {  // as many bits as the larger has
                const Wide a = sources[0], b = sources[1];
                if (!a.fits() || !b.fits() || a.low < 0 || b.low < 0) return {};
                return {0, Int128{std::bit_ceil(static_cast<std::uint64_t>(std::max(a.high, b.high)) + 1)} - 1};
            }
            case Op::Cast: return on_integers ? sources[0] : integer_range(node.source().dtype);
            default: return {};
        }
    }
    if (!is_bool(node.dtype)) return {};
    switch (node.op) {
        case Op::Const: return bool_range(node.as<ConstArg>().value != 0, node.as<ConstArg>().value == 0);
        case Op::CmpLt:
            return on_integers ? bool_range(value(0).high < value(1).low, value(0).low >= value(1).high) : Wide{0, 1};
        case Op::CmpLe:
            return on_integers ? bool_range(value(0).high <= value(1).low, value(0).low > value(1).high) : Wide{0, 1};
        case Op::CmpEq:
            if (!on_integers) return {0, 1};
            return bool_range(
                value(0).low == value(0).high && value(1).low == value(1).high && value(0).low == value(1).low,
                value(0).high < value(1).low || value(1).high < value(0).low);
        case Op::And:
        case Op::Min: return {std::min(value(0).low, value(1).low), std::min(value(0).high, value(1).high)};
        case Op::Or:
        case Op::Max: return {std::max(value(0).low, value(1).low), std::max(value(0).high, value(1).high)};
        case Op::Where: return {std::min(value(1).low, value(2).low), std::max(value(1).high, value(2).high)};
        case Op::Cast:
            return on_integers
                       ? bool_range(value(0).low > 0 || value(0).high < 0, value(0).low == 0 && value(0).high == 0)
                       : Wide{0, 1};
        default: return {0, 1};
    }
}

// ---- forms ----------------------------------------------------------------------------------------------------------

int Simplifier::order(const Entry& a, const Entry& b) {
    if (&a == &b) return 0;
    if (a.max_var != b.max_var) return a.max_var < b.max_var ? -1 : 1;
    return compare_structure(a.node, b.node);
}

bool Simplifier::add(Form& into, FormView other, std::int64_t factor) {
    bool exact = true;
    const auto sum = [&](std::int64_t a, std::int64_t b) {  // a + factor*b, wrapped; at most 2^126 + 2^63 before
        const Int128 wide = Int128{a} + Int128{factor} * b;
        const auto wrapped = static_cast<std::int64_t>(static_cast<std::uint64_t>(wide));
        exact &= wrapped == wide;
        return wrapped;
    };
    into.constant = sum(into.constant, other.constant);
    if (other.terms.empty() || factor == 0) return exact;
    Form result;
    result.constant = into.constant;
    result.terms.reserve(into.terms.size() + other.terms.size());
    const Term* a = into.terms.begin();
    for (const Term& b : other.terms) {
        while (a != into.terms.end() && a->atom != b.atom && order(*a->atom, *b.atom) < 0) result.terms.push_back(*a++);
        const bool both = a != into.terms.end() && a->atom == b.atom;
        const std::int64_t total = sum(both ? a++->factor : 0, b.factor);
        if (total != 0) result.terms.push_back({b.atom, total});
    }
    result.terms.append(a, static_cast<const Term*>(into.terms.end()));
    into = std::move(result);
    return exact;
}

Form Simplifier::scaled(FormView form, std::int64_t factor) {
    Form result;
    add(result, form, factor);
    return result;
}

Wide Simplifier::wide_range(FormView form) {
    Wide sum{form.constant, form.constant};
    for (const Term& term : form.terms) {
        const Int128 a = Int128{term.factor} * term.atom->range.low, b = Int128{term.factor} * term.atom->range.high;
        // at most 2^126 per term: with two of them the sum may pass 128 bits, and then it surely does not fit
        if (__builtin_add_overflow(sum.low, std::min(a, b), &sum.low) ||
            __builtin_add_overflow(sum.high, std::max(a, b), &sum.high))
            return {Int128{kLowest} * 4, Int128{kHighest} * 4};
    }
    return sum;
}

bool Simplifier::same(FormView a, FormView b) {
    return a.constant == b.constant && std::ranges::equal(a.terms, b.terms, [](const Term& x, const Term& y) {
               return x.atom == y.atom && x.factor == y.factor;
           });
}

std::int64_t Simplifier::factor_of(FormView form, const Entry* atom) {
    for (const Term& term : form.terms)
        if (term.atom == atom) return term.factor;
    return 0;
}

Form Simplifier::single(Entry& atom) {
    Form form;
    add(form, atom.form);
    return form;
}

FormView Simplifier::store(const Form& form) {
    if (form.terms.empty()) return {{}, form.constant};
    auto* terms = static_cast<Term*>(arena_.allocate(form.terms.size() * sizeof(Term), alignof(Term)));
    std::uninitialized_copy(form.terms.begin(), form.terms.end(), terms);
    return {{terms, form.terms.size()}, form.constant};
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

Entry& Simplifier::entry(const Node* node) {
    Entry*& slot = table_[node];
    if (!slot) slot = new (arena_.allocate(sizeof(Entry), alignof(Entry))) Entry;
    return *slot;
}

const Node* Simplifier::keep(NodeRef node) {
    kept_.push_back(std::move(node));
    return kept_.back().get();
}

Entry& Simplifier::canonical(const Node* node) {
    Entry& result = entry(node);
    if (result.done) return result;
    result.node = node;
    result.done = true;
    InlineVector<Wide, 3> ranges;
    for (const NodeRef& source : node->sources) {
        const Entry& known = entry(source.get());
        ranges.push_back({known.range.low, known.range.high});
        result.max_var = std::max(result.max_var, known.max_var);
    }
    if (node->op == Op::LoopVar) result.max_var = node->as<LoopArg>().id;
    result.range = value_range(range_of(*node, ranges));
    if (node->dtype == DType::I64) {
        Form form;
        if (node->op == Op::Const) form.constant = static_cast<std::int64_t>(node->as<ConstArg>().value);
        else form.terms.push_back({&result, 1});
        result.form = store(form);
    }
    return result;
}

Entry& Simplifier::atom(Op op, DType dtype, Sources sources, Arg arg) {
    return canonical(keep(interner_.make(op, dtype, {}, std::move(sources), std::move(arg))));
}

Entry& Simplifier::constant(DType dtype, Word value) { return atom(Op::Const, dtype, {}, ConstArg{value}); }

// p + 4*i - j + 3: positive terms first, each list in order, the constant last, where an address has its displacement.
// Without a positive term a constant opens the sum: 27 - i.
Entry& Simplifier::to_node(FormView form) {
    if (form.is_constant()) return constant(DType::I64, to_word(form.constant));
    if (form.terms.size() == 1 && form.constant == 0 && form.terms[0].factor == 1) return *form.terms[0].atom;

    const auto make = [&](Op op, const NodeRef& a, const NodeRef& b) {
        return interner_.make(op, DType::I64, {}, Sources{a, b});
    };
    const auto number = [&](std::int64_t x) {
        return interner_.make(Op::Const, DType::I64, {}, {}, ConstArg{to_word(x)});
    };
    const auto times = [&](const Term& term, std::int64_t factor) {
        const NodeRef atom(term.atom->node);
        return factor == 1 ? atom : make(Op::Mul, atom, number(factor));
    };
    NodeRef sum;
    for (const Term& term : form.terms)
        if (term.factor > 0) sum = sum ? make(Op::Add, sum, times(term, term.factor)) : times(term, term.factor);
    bool constant_left = form.constant != 0;
    if (!sum && form.constant > 0) {
        sum = number(form.constant);
        constant_left = false;
    }
    for (const Term& term : form.terms) {
        if (term.factor > 0) continue;
        if (term.factor == kLowest) sum = sum ? make(Op::Add, sum, times(term, kLowest)) : times(term, kLowest);
        else if (sum) sum = make(Op::Sub, sum, times(term, -term.factor));
        else if (term.factor == -1) sum = interner_.make(Op::Neg, DType::I64, {}, Sources{NodeRef(term.atom->node)});
        else sum = times(term, term.factor);
    }
    if (constant_left) sum = make(Op::Add, sum, number(form.constant));

    const Node* node = keep(std::move(sum));
    Entry& result = entry(node);
    if (result.done && result.node == node) return result;
    result.node = node;
    result.done = true;
    Form copy;
    copy.constant = form.constant;
    for (const Term& term : form.terms) {
        copy.terms.push_back(term);
        result.max_var = std::max(result.max_var, term.atom->max_var);
    }
    result.form = store(copy);
    result.range = value_range(wide_range(form));
    return result;
}

}  // namespace weft::ir
