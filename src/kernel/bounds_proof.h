// kernel/bounds_proof.h: proves that an index lies in a range, from the ranges of variables and from what is known to hold where it is
// evaluated: a load's gate, the counts of the loops around.
#pragma once

#include "kernel/linear_form.h"

namespace weft::kernel {

bool is_ratio(const ir::Node& node);  // x // c or x % c with a number c > 0
inline std::int64_t ratio_of(const ir::Node& node) {
    return static_cast<std::int64_t>(node.source(1).as<ir::ConstArg>().value);
}

class BoundsProof {
public:
    BoundsProof(const Kernel& kernel, const Ranges& ranges) : kernel_(kernel), ranges_(ranges) {}

    // What holds here; the caller takes it back in reverse order.
    struct Mark {
        std::size_t facts, splits;
    };
    Mark mark() const { return {facts_.size(), splits_.size()}; }
    Mark assume(const ir::Node& condition, bool holds = true);
    void assume_positive(LinearForm form);  // form >= 0
    void take_back(const Mark& mark);

    // The least and the most that an index can be.
    Ranges::Sum reach(const LinearForm& form) const { return tight(form); }

    // Is 0 <= index < size, whatever the variables are?
    bool within(const ir::Node& index, std::int64_t size);

private:
    // One attempt, with what is known so far: for a goal, the atoms that matter and what the facts make of their ranges.
    bool proves(const LinearForm& goal, int depth);  // goal >= 0
    bool by_sums(const LinearForm& goal, int facts = 1) const;
    bool by_two_facts(const LinearForm& goal);
    template <class Function>
    bool with_atoms_of(const LinearForm& goal, Function proof);
    bool by_fact(const LinearForm& goal, const LinearForm& fact, int depth);
    bool by_cases(const LinearForm& goal, int depth);
    bool in_case(const LinearForm& goal, const ir::Node* atom, const ir::Node& value, const Mark& mark, int depth);
    bool by_elimination(const LinearForm& goal);  // elimination.cpp: the second attempt
    bool eliminates(const LinearForm& goal, int depth);
    void solve_equations(LinearForm& goal);
    void resolve_extremes();
    void write_as_digits(LinearForm& goal);
    std::vector<const ir::Node*> quotients() const;
    void replace_everywhere(LinearForm& goal, const LinearForm& equation, const LinearForm::Term& determined);
    void cut_facts();
    bool has_fact(const LinearForm& form) const;  // or one that says more
    LinearForm without_remainders(const LinearForm& form, int depth);
    const ir::Node* quotient(const ir::Node& ratio);
    void assume_less(const ir::Node& a, const ir::Node& b, std::int64_t by);  // a + by <= b

    bool impossible(std::size_t first) const;  // a fact from this one on never holds: nothing happens here
    void note_atoms(const LinearForm& form);
    void define_atoms();
    void define_quotient(const ir::Node& quotient);
    void define_extreme(const ir::Node& extreme);
    void narrow_ranges();
    bool narrow(const LinearForm& fact);
    bool narrow(std::size_t known, std::int64_t low, std::int64_t high);
    ir::Bounds range(const ir::Node& atom) const;
    Ranges::Sum sum(const LinearForm& form) const;                   // from the ranges of its atoms
    Ranges::Sum tight(const LinearForm& form, int facts = 1) const;  // and from so many facts, one on top of the other

    struct Known {
        const ir::Node* atom;
        ir::Bounds range;
    };
    const Kernel& kernel_;
    const Ranges& ranges_;
    std::vector<LinearForm> facts_;        // each is >= 0
    std::vector<const ir::Node*> splits_;  // conditions of which one side holds: Or(a, b)
    std::vector<Known> known_;             // the atoms of one goal
    std::vector<NodeRef> made_;            // quotients that only a proof speaks of
    int fuel_ = 0;
};

}  // namespace weft::kernel
