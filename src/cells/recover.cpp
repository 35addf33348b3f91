// cells/recover.cpp: a search. Cells whose writes belong together are a unit; units are tried together, then in halves. A unit that
// fails by itself is taken back write by write: values are immutable, so the value before a write is still there.
#include "cells/recover.h"

#include <algorithm>
#include <map>
#include <utility>

namespace weft {
namespace {

thread_local std::shared_ptr<WriteGroup::Fate> group_now;

}  // namespace

// ---- groups ----------------------------------------------------------------------------------------------------------

WriteGroup::WriteGroup() : before_(group_now) {
    if (!group_now) group_now = std::make_shared<Fate>();
}
WriteGroup::~WriteGroup() { group_now = before_; }

bool WriteGroup::is_kept() const { return group_now->kept && !group_now->undone; }

void WriteGroup::undo() {
    const std::lock_guard lock(ir::graph_lock());
    cells::Cells cells;
    for (const auto& [slot, entry] : cells::state().outbox())
        if (!entry.writes.empty() && entry.writes.back().group == group_now)
            if (std::shared_ptr<Cell> cell = entry.cell->weak_from_this().lock()) cells.push_back(std::move(cell));
    for (const std::shared_ptr<Cell>& cell : cells) {
        while (cells::Outgoing* const entry = cells::state().entry_of(*cell)) {
            if (entry->writes.empty() || entry->writes.back().group != group_now) break;
            cells::undo_write(*cell);
        }
    }
    group_now->undone = true;
}

const std::shared_ptr<WriteGroup::Fate>& current_write_group() { return group_now; }

}  // namespace weft

namespace weft::cells {
namespace {

using Write = Outgoing::Write;

// The writes of one group, or a single one.
struct Step {
    struct Change {
        std::shared_ptr<Cell> cell;
        Write write;
        ir::NodeRef after;
        std::weak_ptr<Cell> gradient_of;
        Tensor gradient_before;
    };
    std::vector<Change> changes;  // the last one first
};

class Unit {
public:
    explicit Unit(Cells cells) : cells_(std::move(cells)) {
        std::vector<Step::Change> all;
        for (const std::shared_ptr<Cell>& cell : cells_) {
            const Outgoing& entry = *state().entry_of(*cell);
            for (std::size_t w = 0; w < entry.writes.size(); ++w)
                all.push_back({cell, entry.writes[w],
                               w + 1 < entry.writes.size() ? entry.writes[w + 1].before : cell->node, entry.gradient_of,
                               entry.gradient_before});
        }
        std::ranges::sort(all, std::greater(), [](const Step::Change& change) { return change.write.number; });
        for (Step::Change& change : all) {
            const bool same_group =
                !steps_.empty() && change.write.group && steps_.back().changes.back().write.group == change.write.group;
            if (!same_group) steps_.emplace_back();
            steps_.back().changes.push_back(std::move(change));
        }
    }

    const Cells& cells() const { return cells_; }
    std::size_t steps() const { return steps_.size(); }

    // Takes back the last `count` steps, and no more.
    void take_back(std::size_t count) {
        for (; undone_ < count; ++undone_)
            for (const Step::Change& change : steps_[undone_].changes) undo_write(*change.cell);
        for (; undone_ > count; --undone_) {
            const std::vector<Step::Change>& changes = steps_[undone_ - 1].changes;
            for (auto change = changes.rbegin(); change != changes.rend(); ++change) redo(*change);
        }
    }

    // The cells that still have a write to compute.
    Cells pending() const {
        Cells result;
        for (const std::shared_ptr<Cell>& cell : cells_)
            if (const Outgoing* entry = state().entry_of(*cell); entry && !entry->writes.empty())
                result.push_back(cell);
        return result;
    }

    void settle() {
        for (std::size_t s = 0; s < undone_; ++s)
            if (const auto& group = steps_[s].changes.front().write.group) group->undone = true;
    }

private:
    static void redo(const Step::Change& change) {
        Outgoing& entry = state().send(*change.cell);
        entry.writes.push_back(change.write);
        if (change.write.before) return put_value(*change.cell, change.after);
        entry.gradient_of = change.gradient_of;
        entry.gradient_before = change.gradient_before;
        if (const std::shared_ptr<Cell> leaf = change.gradient_of.lock()) leaf->grad = Tensor(change.cell);
    }

    Cells cells_;
    std::vector<Step> steps_;  // the last one first
    std::size_t undone_ = 0;
};

// Cells that share a group are in one unit.
std::vector<Unit> units_of(const Cells& written) {
    std::vector<std::size_t> unit(written.size());
    std::map<const WriteGroup::Fate*, std::size_t> first;
    const auto root = [&](std::size_t i) {
        while (unit[i] != i) i = unit[i];
        return i;
    };
    for (std::size_t i = 0; i < written.size(); ++i) {
        unit[i] = i;
        for (const Write& write : state().entry_of(*written[i])->writes)
            if (write.group) unit[root(i)] = root(first.try_emplace(write.group.get(), i).first->second);
    }
    std::map<std::size_t, Cells> parts;
    for (std::size_t i = 0; i < written.size(); ++i) parts[root(i)].push_back(written[i]);
    std::vector<Unit> units;
    for (auto& [at, cells] : parts) units.emplace_back(std::move(cells));
    return units;
}

using Computes = std::function<bool(std::span<const std::shared_ptr<Cell>>)>;

// Taking back none fails. Finds few steps that suffice: mostly it is the last one, so 1, 2, 4 … are tried, then what lies between.
void take_back_least(Unit& unit, const Computes& computes) {
    const auto works = [&](std::size_t count) {
        unit.take_back(count);
        return computes(unit.pending());
    };
    std::size_t fails = 0, enough = std::min<std::size_t>(1, unit.steps());
    while (enough < unit.steps() && !works(enough)) {
        fails = enough;
        enough = std::min(2 * enough, unit.steps());
    }
    while (fails + 1 < enough) {
        const std::size_t middle = fails + (enough - fails) / 2;
        (works(middle) ? enough : fails) = middle;
    }
    works(enough);  // with memory for all that it needs: it is there already, or nothing is to be computed
    unit.settle();
    for (const std::shared_ptr<Cell>& cell : unit.cells()) state().take_back(*cell);
}

void keep_what_can_be(std::span<Unit> units, const Computes& computes) {
    Cells cells;
    for (const Unit& unit : units) cells.insert(cells.end(), unit.cells().begin(), unit.cells().end());
    if (cells.empty() || computes(cells)) return;
    if (units.size() == 1) return take_back_least(units[0], computes);
    keep_what_can_be(units.first(units.size() / 2), computes);
    keep_what_can_be(units.subspan(units.size() / 2), computes);
}

}  // namespace

void undo_write(Cell& cell) {
    Outgoing& entry = *state().entry_of(cell);
    const Write last = std::move(entry.writes.back());
    entry.writes.pop_back();
    const std::weak_ptr<Cell> gradient_of = entry.gradient_of;
    const Tensor gradient_before = entry.gradient_before;
    if (entry.writes.empty()) state().take_back(cell);
    if (last.before) return put_value(cell, last.before);
    if (const std::shared_ptr<Cell> leaf = gradient_of.lock(); leaf && leaf->grad.cell().get() == &cell)
        leaf->grad = gradient_before;
}

void recover(const Cells& written, const Computes& computes) {
    std::vector<Unit> units = units_of(written);
    keep_what_can_be(units, computes);
}

}  // namespace weft::cells
