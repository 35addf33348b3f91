// ir/symbolic.cpp: the walk of the index simplifier, one node after the other, and the questions lowering asks: bounds,
// strides, dependence. Forms are in symbolic_forms.cpp, the algebra is in symbolic_rules.cpp.
#include "ir/symbolic_forms.h"

#include <algorithm>
#include <utility>

namespace weft::ir {
namespace {

bool is_index(const Node& node) { return node.dtype == DType::I64 && node.shape.empty(); }
bool is_gate(const Node& node) { return is_bool(node.dtype) && node.shape.empty(); }

// Calls f on every node below `root`, sources first, each once. `done` tells whether a node has been visited.
template <class Done, class F>
void post_order(const Node* root, const Done& done, const F& f) {
    InlineVector<const Node*, 32> stack;
    stack.push_back(root);
    while (!stack.empty()) {
        const Node* node = stack.back();
        if (done(node)) {
            stack.pop_back();
            continue;
        }
        const std::size_t before = stack.size();
        for (std::size_t i = node->sources.size(); i-- > 0;)
            if (!done(node->sources[i].get())) stack.push_back(node->sources[i].get());
        if (stack.size() > before) continue;
        stack.pop_back();
        f(*node);
    }
}

}  // namespace

// ---- simplification -------------------------------------------------------------------------------------------------

const Node* Simplifier::run(const NodeRef& expression) {
    post_order(
        expression.get(), [&](const Node* node) { return entry(node).done; },
        [&](const Node& node) {
            Entry& result = entry(&node);
            process(node, result);
            result.done = true;
        });
    kept_.push_back(expression);
    return node_of(entry(expression.get()));
}

FormView Simplifier::form_of(const Node* expression) { return entry(expression).form; }

void Simplifier::process(const Node& node, Entry& result) {
    if (is_index(node)) process_index(node, result);
    else if (is_gate(node)) process_bool(node, result);
    else process_opaque(node, result);
}

void Simplifier::process_index(const Node& node, Entry& result) {
    const auto give = [&](const Form& form) { result.form = store(form); };
    const auto give_entry = [&](Entry& other) {  // shares the other's form, and its node if there is one
        result.form = other.form;
        result.node = other.node;
    };
    Form sum;
    switch (node.op) {
        case Op::Const:
        case Op::ScalarParam: canonical(&node); return;
        case Op::LoopVar:
            if (node.as<LoopArg>().extent <= 1) give(sum);
            else canonical(&node);
            return;
        case Op::Add:
        case Op::Sub:
            add(sum, source(node, 0).form);
            add(sum, source(node, 1).form, node.op == Op::Add ? 1 : -1);
            recombine(sum, false);
            return give(sum);
        case Op::Neg: return give(scaled(source(node, 0).form, -1));
        case Op::Mul: {
            Form product = multiply(source(node, 0).form, source(node, 1).form);
            return give(product);
        }
        case Op::IDiv:
        case Op::Mod: return give(divide_or_modulo(node.op, source(node, 0), source(node, 1)));
        case Op::Min:
        case Op::Max: return give(extreme(node.op, source(node, 0), source(node, 1)));
        case Op::Where: {
            Entry &condition = source(node, 0), &a = source(node, 1), &b = source(node, 2);
            if (is_constant(condition)) return give_entry(is_true(condition) ? a : b);
            if (same(a.form, b.form)) return give_entry(a);
            const Node* test = condition.node;
            const bool swap =
                test->op == Op::Xor && test->source(1).op == Op::Const;  // where(!c, a, b) = where(c, b, a)
            if (swap) test = test->sources[0].get();
            return give(single(atom(Op::Where, DType::I64, {NodeRef(test), ref(swap ? b : a), ref(swap ? a : b)})));
        }
        case Op::Check: {
            const Wide range = wide_range(source(node, 0).form);
            const CheckArg& check = node.as<CheckArg>();
            if (range.fits() && range.low >= check.low && range.high < check.high) return give_entry(source(node, 0));
            return process_opaque(node, result);
        }
        case Op::Cast: return process_cast(node, result);
        default: return process_opaque(node, result);
    }
}

void Simplifier::process_bool(const Node& node, Entry& result) {
    const auto give = [&](Entry& other) { result.node = other.node; };
    const bool on_indices = !node.sources.empty() && is_index(node.source());
    const bool on_gates = !node.sources.empty() && is_gate(node.source());
    switch (node.op) {
        case Op::Const: canonical(&node); return;
        case Op::CmpLt:
        case Op::CmpLe:
            if (on_indices) return give(compare(node.op, source(node, 0), source(node, 1)));
            if (on_gates)  // a < b is !a & b, a <= b is !a | b
                return give(logic(node.op == Op::CmpLt ? Op::And : Op::Or, negation(entry(source(node, 0).node)),
                                  entry(source(node, 1).node)));
            break;
        case Op::CmpEq:
            if (on_indices) return give(compare(node.op, source(node, 0), source(node, 1)));
            if (on_gates) return give(negation(exclusive_or(entry(source(node, 0).node), entry(source(node, 1).node))));
            break;
        case Op::And:
        case Op::Min: return give(logic(Op::And, entry(source(node, 0).node), entry(source(node, 1).node)));
        case Op::Or:
        case Op::Max: return give(logic(Op::Or, entry(source(node, 0).node), entry(source(node, 1).node)));
        case Op::Xor: return give(exclusive_or(entry(source(node, 0).node), entry(source(node, 1).node)));
        case Op::Where: {
            Entry &c = entry(source(node, 0).node), &a = entry(source(node, 1).node), &b = entry(source(node, 2).node);
            if (is_constant(c)) return give(is_true(c) ? a : b);
            if (&a == &b) return give(a);
            if (is_constant(a)) return give(is_true(a) ? logic(Op::Or, c, b) : logic(Op::And, negation(c), b));
            if (is_constant(b)) return give(is_true(b) ? logic(Op::Or, negation(c), a) : logic(Op::And, c, a));
            const bool swap = c.node->op == Op::Xor && c.node->source(1).op == Op::Const;
            Entry& test = swap ? entry(c.node->sources[0].get()) : c;
            return give(atom(Op::Where, DType::Bool, {ref(test), ref(swap ? b : a), ref(swap ? a : b)}));
        }
        case Op::Cast: return process_cast(node, result);
        default: break;
    }
    process_opaque(node, result);
}

// Casts between bool and i64; others are opaque.
void Simplifier::process_cast(const Node& node, Entry& result) {
    const Node& from = node.source();
    Entry& x = source(node, 0);
    if (from.dtype == node.dtype) {
        result.form = x.form;
        result.node = x.node;
        return;
    }
    if (is_index(node) && is_gate(from)) {
        result.form = is_constant(x) ? store(Form{{}, is_true(x)}) : atom(Op::Cast, DType::I64, {ref(x)}).form;
        return;
    }
    if (is_gate(node) && is_index(from)) {
        const Wide range = wide_range(x.form);
        if (range.low > 0 || range.high < 0 || x.form.is_constant()) {
            if (x.form.is_constant() || range.fits()) {
                result.node = boolean(!(x.form.is_constant() && x.form.constant == 0)).node;
                return;
            }
        }
        const Node* argument = node_of(x);
        const bool was_gate = argument->op == Op::Cast && is_gate(argument->source());  // bool(i64(b)) = b
        result.node = was_gate ? argument->sources[0].get() : atom(Op::Cast, DType::Bool, {NodeRef(argument)}).node;
        return;
    }
    process_opaque(node, result);
}

// A node that index arithmetic does not look into: a load, a float. Its sources were simplified for themselves.
void Simplifier::process_opaque(const Node& node, Entry& result) {
    Sources sources;
    bool all_constant = !node.sources.empty(), changed = false;
    for (std::size_t i = 0; i < node.sources.size(); ++i) {
        sources.push_back(ref(source(node, static_cast<int>(i))));
        changed |= sources[i] != node.sources[i];
        all_constant &= sources[i]->op == Op::Const && !is_float(sources[i]->dtype);
    }
    if (node.op == Op::Load && sources.size() == 2 && sources[1]->op == Op::Const) {  // a gate that is decided
        if (sources[1]->as<ConstArg>().value == 0) {
            const Entry& nothing = constant(node.dtype, 0);
            result.form = nothing.form;
            result.node = nothing.node;
            return;
        }
        sources.pop_back();
        changed = true;
    }
    const Node* made = &node;
    if (all_constant && (is_index(node) || is_gate(node)) && is_elementwise(node.op) && can_eval(node.op)) {
        Word words[3] = {};
        for (std::size_t i = 0; i < sources.size(); ++i) words[i] = sources[i]->as<ConstArg>().value;
        made = constant(node.dtype, info(node.op).eval(sources[0]->dtype, words)).node;
    } else if (changed) {
        made = keep(interner_.make(node.op, node.dtype, node.shape, std::move(sources), node.arg));
    }
    const Entry& known = canonical(made);
    result.form = known.form;
    result.node = known.node;
}

// Sums of loop variables times constants, which most indices are: collected and written down as the simplifier would, without
// its tables.
namespace {

struct PlainSum {
    InlineVector<std::pair<const Node*, std::int64_t>, 8> terms;
    std::int64_t constant = 0;
    std::span<const std::pair<int, NodeRef>> with;  // variables to replace
    bool replaced = false;                          // one of them occurred
};

bool collect(const Node& node, std::int64_t factor, int depth, PlainSum& sum) {
    const auto times = [&](const Node& number, std::int64_t& product) {
        return number.op == Op::Const &&
               !__builtin_mul_overflow(factor, static_cast<std::int64_t>(number.as<ConstArg>().value), &product);
    };
    std::int64_t product = 0;
    if (depth > 32) return false;
    switch (node.op) {
        case Op::Const: return times(node, product) && !__builtin_add_overflow(sum.constant, product, &sum.constant);
        case Op::Add:
            return collect(node.source(0), factor, depth + 1, sum) && collect(node.source(1), factor, depth + 1, sum);
        case Op::Sub:
            return factor != INT64_MIN && collect(node.source(0), factor, depth + 1, sum) &&
                   collect(node.source(1), -factor, depth + 1, sum);
        case Op::Mul:
            if (times(node.source(1), product)) return collect(node.source(0), product, depth + 1, sum);
            return times(node.source(0), product) && collect(node.source(1), product, depth + 1, sum);
        case Op::LoopVar:
            for (const auto& [id, value] : sum.with) {
                if (id != node.as<LoopArg>().id) continue;
                sum.replaced = true;
                const auto with = std::exchange(sum.with, {});
                const bool plain = collect(*value, factor, depth + 1, sum);
                sum.with = with;
                return plain;
            }
            if (node.as<LoopArg>().extent <= 1) return true;
            for (auto& [var, by] : sum.terms)
                if (var == &node) return !__builtin_add_overflow(by, factor, &by);
            sum.terms.push_back({&node, factor});
            return true;
        default: return false;
    }
}

NodeRef write_down(Interner& interner, PlainSum& sum) {
    const auto number = [&](std::int64_t x) {
        return interner.make(Op::Const, DType::I64, {}, {}, ConstArg{to_word(x)});
    };
    const auto make = [&](Op op, const NodeRef& a, const NodeRef& b) {
        return interner.make(op, DType::I64, {}, Sources{a, b});
    };
    std::sort(sum.terms.begin(), sum.terms.end(), [](const auto& a, const auto& b) {
        return a.first->template as<LoopArg>().id < b.first->template as<LoopArg>().id;
    });
    NodeRef result;
    for (const bool positive : {true, false}) {
        if (!positive && !result && sum.constant > 0) {
            result = number(sum.constant);
            sum.constant = 0;
        }
        for (const auto& [var, by] : sum.terms) {
            if (by == 0 || (by > 0) != positive) continue;
            const std::int64_t size = result && !positive ? -by : by;
            const NodeRef term = size == 1 ? NodeRef(var) : make(Op::Mul, NodeRef(var), number(size));
            if (!result && by == -1) result = interner.make(Op::Neg, DType::I64, {}, Sources{NodeRef(var)});
            else result = !result ? term : make(positive ? Op::Add : Op::Sub, result, term);
        }
    }
    if (!result) return number(sum.constant);
    return sum.constant ? make(Op::Add, result, number(sum.constant)) : result;
}

bool collect_all(const Node& expression, PlainSum& sum) {
    return is_index(expression) && collect(expression, 1, 0, sum) &&
           std::none_of(sum.terms.begin(), sum.terms.end(), [](const auto& t) { return t.second == INT64_MIN; });
}

}  // namespace

NodeRef simplify_index(Interner& interner, const NodeRef& expression) { return IndexSimplifier(interner)(expression); }

IndexSimplifier::IndexSimplifier(Interner& interner) : interner_(interner) {}
IndexSimplifier::~IndexSimplifier() = default;

NodeRef IndexSimplifier::plain_sum(const NodeRef& expression, std::span<const std::pair<int, NodeRef>> with) {
    PlainSum sum{.with = with};
    if (!collect_all(*expression, sum)) return nullptr;
    return sum.replaced ? write_down(interner_, sum) : expression;
}

NodeRef IndexSimplifier::operator()(const NodeRef& expression) {
    if (expression->op == Op::Const) return expression;
    if (PlainSum sum; collect_all(*expression, sum)) return write_down(interner_, sum);
    if (!simplifier_) simplifier_ = std::make_unique<Simplifier>(interner_);
    return NodeRef(simplifier_->run(expression));
}

// ---- questions ------------------------------------------------------------------------------------------------------

Bounds bounds(const NodeRef& expression) {
    struct Known {
        Wide range;
        bool done = false;
    };
    if (expression->sources.empty()) return value_range(range_of(*expression, {}));
    NodeTable<Known, 32> known;
    post_order(
        expression.get(), [&](const Node* node) { return known[node].done; },
        [&](const Node& node) {
            InlineVector<Wide, 3> sources;
            for (const NodeRef& source : node.sources) sources.push_back(known[source.get()].range);
            known[&node] = {range_of(node, sources), true};
        });
    return value_range(known[expression.get()].range);
}

bool depends_on(const NodeRef& expression, int var_id) {
    if (expression->sources.empty()) return expression->op == Op::LoopVar && expression->as<LoopArg>().id == var_id;
    NodeTable<bool> seen;
    InlineVector<const Node*, 32> stack;
    stack.push_back(expression.get());
    while (!stack.empty()) {
        const Node* node = stack.back();
        stack.pop_back();
        if (node->op == Op::LoopVar && node->as<LoopArg>().id == var_id) return true;
        for (const NodeRef& source : node->sources) {
            bool& was = seen[source.get()];
            if (!was) stack.push_back(source.get());
            was = true;
        }
    }
    return false;
}

namespace {

// Adds up var's factors over sums and constant multiples; most indices are simplified already and need no more.
std::optional<std::int64_t> linear_stride(const Node* expression, int var_id) {
    std::uint64_t stride = 0;
    struct Part {
        const Node* node;
        std::uint64_t factor;
    };
    InlineVector<Part, 32> stack;
    stack.push_back({expression, 1});
    for (int fuel = 256; !stack.empty(); --fuel) {
        if (fuel == 0) return std::nullopt;  // shared sums may unfold without end
        const auto [node, factor] = stack.back();
        stack.pop_back();
        const auto side = [&](int i, std::uint64_t times) {
            stack.push_back({node->sources[i].get(), factor * times});
        };
        if (node->op == Op::LoopVar) {
            if (node->as<LoopArg>().id == var_id) stride += factor;
        } else if (node->op == Op::Add || node->op == Op::Sub) {
            side(1, node->op == Op::Add ? 1 : -1);
            side(0, 1);
        } else if (node->op == Op::Neg) {
            side(0, -1);
        } else if (node->op == Op::Mul && node->source(1).op == Op::Const) {
            side(0, node->source(1).as<ConstArg>().value);
        } else if (depends_on(NodeRef(node), var_id)) {
            return std::nullopt;
        }
    }
    return static_cast<std::int64_t>(stride);
}

}  // namespace

std::optional<std::int64_t> stride_of(Interner& interner, const NodeRef& expression, int var_id) {
    if (is_index(*expression))
        if (const auto stride = linear_stride(expression.get(), var_id)) return stride;
    Simplifier simplifier(interner);
    const NodeRef simple(simplifier.run(expression));
    if (!is_index(*simple)) return depends_on(simple, var_id) ? std::nullopt : std::optional<std::int64_t>(0);
    std::int64_t stride = 0;
    for (const Term& term : simplifier.form_of(simple.get()).terms) {
        const NodeRef atom(term.atom->node);
        if (atom->op == Op::LoopVar && atom->as<LoopArg>().id == var_id) stride = term.factor;
        else if (depends_on(atom, var_id)) return std::nullopt;
    }
    return stride;
}

}  // namespace weft::ir
