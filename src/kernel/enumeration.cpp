// kernel/enumeration.cpp: see enumeration.h.
#include "kernel/enumeration.h"

#include "kernel/bounds_proof.h"

#include <algorithm>

namespace weft::kernel {

using ir::Node;
using ir::Op;

namespace {

constexpr std::int64_t kMostTried = 1 << 15;
constexpr int kMostSlots = 64, kRounds = 3;

}  // namespace

bool Enumeration::add(const LinearForm& form, Form& to) {
    if (!ranges_.of(form).fits()) return false;
    to.constant = form.constant;
    for (const LinearForm::Term& term : form.terms) {
        const int slot = slot_of(*term.atom);
        if (slot < 0) return false;
        to.terms.emplace_back(slot, term.factor);
    }
    return true;
}

int Enumeration::slot_of(const Node& atom) {
    for (std::size_t i = 0; i < slots_.size(); ++i)
        if (slots_[i].atom == &atom) return static_cast<int>(i);
    Slot slot{.atom = &atom, .range = ranges_.of(atom)};
    const auto depends_on = [&](int sources) {
        for (int i = 0; i < sources; ++i)
            if (!add(linear_form(atom.source(i)), slot.sources[i])) return false;
        return true;
    };
    if (is_ratio(atom) && depends_on(1)) slot.is_variable = false, slot.by = ratio_of(atom);
    else if (is_extreme(atom) && depends_on(2)) slot.is_variable = false;
    if (slots_.size() >= kMostSlots) return -1;
    if (!slot.is_variable)
        for (const Form& source : slot.sources) mark_variables(source, &Slot::inside);
    slots_.push_back(std::move(slot));
    return static_cast<int>(slots_.size()) - 1;
}

void Enumeration::mark_variables(const Form& form, bool Slot::*as) {
    for (const auto& [slot, factor] : form.terms) {
        if (slots_[slot].is_variable) slots_[slot].*as = true;
        else
            for (const Form& source : slots_[slot].sources) mark_variables(source, as);
    }
}

// Those that speak of the goal's variables, or of variables of such facts.
void Enumeration::choose_facts() {
    std::vector<bool> taken(given_.size(), false);
    const auto is_known = [&](const Node& atom, const auto& again) -> bool {
        if (std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) { return slot.atom == &atom; }))
            return true;
        if (!is_ratio(atom) && !is_extreme(atom)) return false;
        for (int i = 0; i < (is_ratio(atom) ? 1 : 2); ++i)
            for (const LinearForm::Term& term : linear_form(atom.source(i)).terms)
                if (again(*term.atom, again)) return true;
        return false;
    };
    for (bool any = true; any;) {
        any = false;
        for (std::size_t i = 0; i < given_.size(); ++i) {
            const auto known = [&](const LinearForm::Term& term) { return is_known(*term.atom, is_known); };
            if (taken[i] || std::none_of(given_[i].terms.begin(), given_[i].terms.end(), known)) continue;
            taken[i] = any = true;
            if (Form fact; add(given_[i], fact)) facts_.push_back(std::move(fact));
        }
    }
    for (const Form& fact : facts_) mark_variables(fact, &Slot::in_fact);
}

bool Enumeration::proves(const LinearForm& goal) {
    if (!add(goal, goal_)) return false;
    choose_facts();
    return (fix(&Slot::inside) && holds_for_all()) || (fix(&Slot::in_fact) && holds_for_all());
}

// Decides which variables are tried; false: they have too many values.
bool Enumeration::fix(bool Slot::*which) {
    std::int64_t tried = 1;
    for (Slot& slot : slots_) {
        slot.fixed = !slot.is_variable || slot.inside || slot.*which;
        if (!slot.fixed || !slot.is_variable) continue;
        if (slot.range.low > slot.range.high) return true;  // nothing happens here
        const Int128 count = Int128{slot.range.high} - slot.range.low + 1;
        if (count > kMostTried || (tried *= static_cast<std::int64_t>(count)) > kMostTried) return false;
        slot.value = slot.range.low;
    }
    return true;
}

bool Enumeration::holds_for_all() {
    for (;;) {
        for (Slot& slot : slots_) {
            if (slot.is_variable) {
                slot.now = slot.range;
                continue;
            }
            const Int128 first = value_of(slot.sources[0]);
            Int128 result = first;
            if (slot.atom->op == Op::IDiv) result = wide_floor_div(first, slot.by);
            else if (slot.atom->op == Op::Mod) result = first - wide_floor_div(first, slot.by) * slot.by;
            else if (slot.atom->op == Op::Min) result = std::min(first, value_of(slot.sources[1]));
            else result = std::max(first, value_of(slot.sources[1]));
            slot.value = static_cast<std::int64_t>(result);
        }
        if (!holds_now()) return false;
        auto next = slots_.begin();  // counts up
        for (; next != slots_.end(); ++next) {
            if (!next->fixed || !next->is_variable) continue;
            if (next->value < next->range.high) break;
            next->value = next->range.low;
        }
        if (next == slots_.end()) return true;
        ++next->value;
    }
}

bool Enumeration::holds_now() {
    for (int round = 0; round < kRounds; ++round)
        for (const Form& fact : facts_)
            if (!narrow(fact)) return true;
    if (least(goal_) >= 0) return true;
    return std::any_of(facts_.begin(), facts_.end(), [&](const Form& fact) {  // the goal is a fact, and more
        Form remainder = goal_;
        remainder.constant = 0;
        for (const auto& [slot, factor] : fact.terms) remainder.terms.emplace_back(slot, -factor);
        std::sort(remainder.terms.begin(), remainder.terms.end());
        Form sum;
        for (const auto& [slot, factor] : remainder.terms) {
            if (!sum.terms.empty() && sum.terms.back().first == slot) sum.terms.back().second += factor;
            else sum.terms.emplace_back(slot, factor);
        }
        return least(sum) + goal_.constant - fact.constant >= 0;
    });
}

bool Enumeration::narrow(const Form& fact) {
    Int128 most = fact.constant;
    for (const auto& [slot, factor] : fact.terms) {
        const Slot& s = slots_[slot];
        most += Int128{factor} * (s.fixed ? s.value : factor > 0 ? s.now.high : s.now.low);
    }
    if (most < 0) return false;
    for (const auto& [slot, factor] : fact.terms) {
        Slot& s = slots_[slot];
        if (s.fixed) continue;
        const Int128 own = Int128{factor} * (factor > 0 ? s.now.high : s.now.low), remainder = most - own;
        // factor * variable >= -remainder
        if (factor > 0)
            s.now.low = static_cast<std::int64_t>(std::max<Int128>(s.now.low, -wide_floor_div(remainder, factor)));
        else s.now.high = static_cast<std::int64_t>(std::min<Int128>(s.now.high, wide_floor_div(remainder, -factor)));
    }
    return true;
}

Int128 Enumeration::least(const Form& form) const {
    Int128 sum = form.constant;
    for (const auto& [slot, factor] : form.terms) {
        const Slot& s = slots_[slot];
        sum += Int128{factor} * (s.fixed ? s.value : factor > 0 ? s.now.low : s.now.high);
    }
    return sum;
}

Int128 Enumeration::value_of(const Form& form) const {
    Int128 sum = form.constant;
    for (const auto& [slot, factor] : form.terms) sum += Int128{factor} * slots_[slot].value;
    return sum;
}

}  // namespace weft::kernel
