// kernel/enumeration.h: the last attempt of a bounds proof (kernel/bounds_proof.h): all values of the variables inside quotients, remainders
// and minima are tried, one after the other. What is left is linear, and ranges decide it.
#pragma once

#include "kernel/linear_form.h"

#include <span>
#include <vector>

namespace weft::kernel {

class Enumeration {
public:
    Enumeration(const Ranges& ranges, std::span<const LinearForm> facts) : ranges_(ranges), given_(facts) {}

    // Is goal >= 0 wherever all facts are >= 0? False, too, if there are too many values to try.
    bool proves(const LinearForm& goal);

private:
    struct Form {
        std::vector<std::pair<int, std::int64_t>> terms;  // slot, factor
        std::int64_t constant = 0;
    };
    // A variable, or a quotient, remainder, minimum or maximum of forms.
    struct Slot {
        const ir::Node* atom;
        ir::Bounds range;         // of a variable
        Form sources[2];          // else
        std::int64_t by = 0;      // of a quotient or remainder; 0: a variable, a minimum or a maximum
        bool is_variable = true;  //
        bool inside = false;      // a variable that another slot depends on
        bool in_fact = false;     // a variable that a fact speaks of
        bool fixed = false;       // its value is the one that is tried
        std::int64_t value = 0;
        ir::Bounds now;  // of one that is not
    };

    bool add(const LinearForm& form, Form& to);
    int slot_of(const ir::Node& atom);
    void choose_facts();
    void mark_variables(const Form& form, bool Slot::*as);
    bool fix(bool Slot::*which);
    bool holds_for_all();
    bool holds_now();
    bool narrow(const Form& fact);  // false: it never holds
    Int128 least(const Form& form) const;
    Int128 value_of(const Form& form) const;  // all its slots are fixed

    const Ranges& ranges_;
    const std::span<const LinearForm> given_;
    std::vector<Slot> slots_;  // a slot after those that it depends on
    std::vector<Form> facts_;
    Form goal_;
};

}  // namespace weft::kernel
