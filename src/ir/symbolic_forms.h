// ir/symbolic_forms.h: what the index simplifier computes with; only ir/symbolic*.cpp include it. An i64 expression is
// a *form*: constant + sum of factor * atom; an atom is what no rule takes apart (a loop variable, x / 4, a load).
//
// Two kinds of truth must be kept apart. Weft's i64 wraps, so adding and scaling forms is always right modulo 2^64. But
// floor-division, modulus and comparison ask for the integer itself: a form *fits* if its range, computed in 128 bits
// from its atoms' ranges, lies within int64; then it is the value, not only congruent to it. No such rule runs otherwise.
#pragma once

#include "ir/node.h"
#include "ir/node_table.h"
#include "ir/symbolic.h"

#include <cstdint>
#include <limits>
#include <memory_resource>
#include <span>
#include <vector>

namespace weft::ir {

__extension__ typedef __int128 Int128;

inline constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();

// The range of an exact integer that is congruent, modulo 2^64, to the value it stands for.
struct Wide {
    Int128 low = kLowest, high = kHighest;
    bool fits() const { return low >= kLowest && high <= kHighest; }
};
inline Bounds value_range(const Wide& wide) {
    if (!wide.fits()) return {kLowest, kHighest};  // it may wrap around, so anything is possible
    return {static_cast<std::int64_t>(wide.low), static_cast<std::int64_t>(wide.high)};
}

// a - floor(a / b) * b for b != 0, without the overflow of that product
inline std::int64_t remainder(std::int64_t a, std::int64_t b) {
    if (b == -1) return 0;
    const std::int64_t r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// The range of a node's value from those of its sources.
Wide range_of(const Node& node, std::span<const Wide> sources);

struct Entry;
struct Term {
    Entry* atom;
    std::int64_t factor;
};
// A form that is only read. Terms are in the order of Simplifier::order, no atom twice, no factor 0.
struct FormView {
    std::span<const Term> terms;
    std::int64_t constant = 0;
    bool is_constant() const { return terms.empty(); }
};
struct Form {
    InlineVector<Term, 6> terms;
    std::int64_t constant = 0;
    operator FormView() const { return {terms, constant}; }
    bool is_constant() const { return terms.empty(); }
};

// What is known of a node: of an expression handed in, its canonical equal; of a canonical node, itself.
struct Entry {
    const Node* node = nullptr;       // canonical; null while nobody has asked for the form as a node
    FormView form;                    // if i64
    Bounds range{kLowest, kHighest};  // of the canonical node
    int max_var = -1;                 // the highest loop variable in it: terms are sorted by it, so that what is
                                      // known in an outer loop stands first and is hoisted as one sum
    bool done = false;
};

// Of one call of simplify_index, or of several that share what is known. Entries live in an arena, so that forms are shared and nothing is freed piecemeal.
class Simplifier {
public:
    explicit Simplifier(Interner& interner) : interner_(interner) { kept_.reserve(32); }
    const Node* run(const NodeRef& expression);
    FormView form_of(const Node* expression);  // after run, of its argument or its result

private:
    // symbolic.cpp: one node, whose sources are done
    void process(const Node& node, Entry& result);
    void process_index(const Node& node, Entry& result);
    void process_bool(const Node& node, Entry& result);
    void process_cast(const Node& node, Entry& result);
    void process_opaque(const Node& node, Entry& result);
    Entry& source(const Node& node, int i) { return *table_[node.sources[i].get()]; }

    // symbolic_forms.cpp: forms and nodes
    static int order(const Entry& a, const Entry& b);
    static bool add(Form& into, FormView other, std::int64_t factor = 1);  // false if a factor or the constant wrapped
    static Form scaled(FormView form, std::int64_t factor);
    static Wide wide_range(FormView form);
    static bool fits(FormView form) { return wide_range(form).fits(); }
    static bool same(FormView a, FormView b);
    static std::int64_t factor_of(FormView form, const Entry* atom);
    Entry& entry(const Node* node);
    Entry& atom(Op op, DType dtype, Sources sources, Arg arg = {});
    Entry& canonical(const Node* node);  // the entry of a node that is in canonical form and was not seen before
    Entry& constant(DType dtype, Word value);
    Entry& boolean(bool value) { return constant(DType::Bool, value); }
    Entry& to_node(FormView form);
    const Node* node_of(Entry& entry) { return entry.node ? entry.node : (entry.node = to_node(entry.form).node); }
    NodeRef ref(Entry& entry) { return NodeRef(node_of(entry)); }
    const Node* keep(NodeRef node);
    FormView store(const Form& form);  // in the arena
    static Form single(Entry& atom);
    static bool is_constant(const Entry& entry) { return entry.node && entry.node->op == Op::Const; }
    static bool is_true(const Entry& entry) { return is_constant(entry) && entry.node->as<ConstArg>().value != 0; }
    static bool is_false(const Entry& entry) { return is_constant(entry) && entry.node->as<ConstArg>().value == 0; }

    // symbolic_rules.cpp: the algebra
    Form divide(Form dividend, std::int64_t by);
    bool merge_ratio(Form& dividend, std::int64_t& by);
    Form modulo(Form dividend, std::int64_t by);
    Form divide_or_modulo(Op op, Entry& x, Entry& by);
    Form opaque_ratio(Op op, FormView form, std::int64_t by);
    Form multiply(FormView a, FormView b);
    Form extreme(Op op, Entry& a, Entry& b);
    bool recombine(Form& form, bool exact);  // whether anything was found
    bool recombine_term(Form& form, std::size_t at, bool exact);
    Entry& compare(Op op, Entry& a, Entry& b);
    Entry& negative(Form difference, Op op, Entry& a, Entry& b);
    Entry& zero(Form difference, Entry& a, Entry& b);
    Entry& negation(Entry& x);
    Entry& logic(Op op, Entry& a, Entry& b);
    Entry& exclusive_or(Entry& a, Entry& b);

    Interner& interner_;
    alignas(16) std::byte buffer_[4096];
    std::pmr::monotonic_buffer_resource arena_{buffer_, sizeof buffer_};
    NodeTable<Entry*> table_;
    std::vector<NodeRef>
        kept_;       // nodes handed in and made on the way: none may be freed (and its address reused) before the end
    int depth_ = 0;  // of divide, modulo and recombine calling each other
};

}  // namespace weft::ir
