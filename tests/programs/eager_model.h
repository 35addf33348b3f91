// tests/programs/eager_model.h: a second implementation of what Weft promises about tensors, as plain as possible: memory is a list of
// numbers, a view is a list of positions in it, and every number that needs a gradient has an entry on a tape of scalars. Everything
// happens at once and in the order of the program. It holds whole numbers of small size only, so that every sum is exact in f32.
#pragma once

#include <weft/dtype.h>
#include <weft/shape.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace weft::testing::eager_model {

inline constexpr int kNoOp = std::numeric_limits<int>::max();
inline constexpr double kLargest = 1000;  // products stay below 10^6, and sums of 16 of them below 2^24

// ---- scalars and their tape ------------------------------------------------------------------------------------------

// A number, and its place on the tape; -1: a constant.
struct Number {
    double value = 0;
    int entry = -1;
};

using Numbers = std::vector<Number>;

class Tape {
public:
    bool recording = true;
    bool overflow = false;  // a number was too large to stay exact: what was computed is not to be used

    std::size_t size() const { return entries_.size(); }
    void cut(std::size_t size) { entries_.resize(size); }

    Number leaf(double value, int cell, int element) { return {value, push({Kind::Leaf, {}, {}, cell, element})}; }
    Number add(Number a, Number b) { return result(Kind::Add, a, b, a.value + b.value); }
    Number mul(Number a, Number b) { return result(Kind::Mul, a, b, a.value * b.value); }
    Number neg(Number a) { return mul(a, {-1}); }

    // d(sum of outputs * seeds)/d(every element of every leaf), by leaf cell and element. Recorded, if recording.
    std::map<int, std::map<int, Number>> differentiate(const Numbers& outputs, const Numbers& seeds) {
        std::map<int, Number> adjoint;
        const auto give = [&](Number to, Number amount) {
            if (to.entry < 0) return;
            const auto found = adjoint.find(to.entry);
            if (found == adjoint.end()) adjoint[to.entry] = amount;
            else found->second = add(found->second, amount);
        };
        for (std::size_t i = 0; i < outputs.size(); ++i) give(outputs[i], seeds[i]);
        std::map<int, std::map<int, Number>> result;
        while (!adjoint.empty()) {  // entries only point backwards
            const auto last = std::prev(adjoint.end());
            const auto [at, g] = *last;
            adjoint.erase(last);
            const Entry entry = entries_[static_cast<std::size_t>(at)];
            if (entry.kind == Kind::Add) {
                give(entry.a, g);
                give(entry.b, g);
            } else if (entry.kind == Kind::Mul) {
                if (entry.a.entry >= 0) give(entry.a, mul(g, entry.b));
                if (entry.b.entry >= 0) give(entry.b, mul(g, entry.a));
            } else {
                Number& sum = result[entry.cell].try_emplace(entry.element, Number{}).first->second;
                sum = add(sum, g);  // a leaf that was switched off and on again has two entries
            }
        }
        return result;
    }

private:
    enum class Kind { Leaf, Add, Mul };
    struct Entry {
        Kind kind;
        Number a, b;
        int cell = 0, element = 0;
    };
    int push(Entry entry) {
        entries_.push_back(entry);
        return static_cast<int>(entries_.size()) - 1;
    }
    Number result(Kind kind, Number a, Number b, double value) {
        if (std::abs(value) > kLargest) overflow = true;
        const bool wanted = recording && (a.entry >= 0 || b.entry >= 0);
        return {value, wanted ? push({kind, a, b, 0, 0}) : -1};
    }

    std::vector<Entry> entries_;
};

// ---- memory and cells ------------------------------------------------------------------------------------------------

struct Memory {
    DType dtype = f32;
    Numbers elements;
    bool leaf = false;   // its cell requires a gradient
    bool grown = false;  // a leaf may be among its ancestors: it may need a gradient even if no element of it does
    int oldest = kNoOp;  // of the ops that a gradient from here may pass
};

// What a detached tensor has been written with since, and what its views share.
struct History {
    std::vector<int> entries;  // by element of the memory
    bool grown = false;
    int oldest = kNoOp;
};

// What handles share. A view has the memory of its base.
struct Cell {
    std::shared_ptr<Memory> memory;
    std::shared_ptr<History> history;  // of a detached one; null: it was made under no_grad, and has none
    std::vector<int> positions;
    Shape shape;
    bool view = false, detached = false, writable = true;
    int leaf_id = -1;
    std::shared_ptr<Cell> grad;
    std::shared_ptr<Cell> base;  // of a view: lives on, and collects its gradient

    bool needs_grad() const {  // certainly
        for (const Number& number : read())
            if (number.entry >= 0) return true;
        return false;
    }
    bool may_need_grad() const { return detached ? history && history->grown : memory->grown; }
    int oldest() const { return !detached ? memory->oldest : history ? history->oldest : kNoOp; }
    DType dtype() const { return memory->dtype; }
    std::size_t count() const { return positions.size(); }

    Numbers read() const {
        Numbers result;
        for (const int at : positions) {
            result.push_back(memory->elements[static_cast<std::size_t>(at)]);
            if (detached) result.back().entry = history ? history->entries[static_cast<std::size_t>(at)] : -1;
        }
        return result;
    }
    std::vector<double> values() const {
        std::vector<double> result;
        for (const Number& number : read()) result.push_back(number.value);
        return result;
    }
};

using CellRef = std::shared_ptr<Cell>;

// A value that an op has computed, before it has memory.
struct Value {
    DType dtype = f32;
    Shape shape;
    Numbers elements;
    bool grown = false;
    int oldest = kNoOp;
};

class Model {
public:
    Tape tape;

    CellRef store(const Value& value) {
        auto cell = std::make_shared<Cell>();
        cell->memory = std::make_shared<Memory>();
        cell->shape = value.shape;
        cell->positions.resize(value.elements.size());
        std::iota(cell->positions.begin(), cell->positions.end(), 0);
        cell->memory->dtype = value.dtype;
        cell->memory->elements = kept(value.elements, value.dtype);
        if (!tape.recording)
            for (Number& number : cell->memory->elements) number.entry = -1;
        cell->memory->grown = tape.recording && value.grown && is_float(value.dtype);
        if (cell->memory->grown) cell->memory->oldest = std::min(value.oldest, ops_++);
        return cell;
    }

    // positions: of the view's elements among the base's.
    CellRef view(const CellRef& base, const Shape& shape, const std::vector<int>& positions, bool detached,
                 bool writable) {
        auto cell = std::make_shared<Cell>();
        cell->memory = base->memory;
        cell->shape = shape;
        for (const int at : positions) cell->positions.push_back(base->positions[static_cast<std::size_t>(at)]);
        cell->view = true;
        cell->base = base;
        cell->detached = base->detached || detached || !tape.recording;
        if (detached) {
            cell->history = std::make_shared<History>();
            cell->history->entries.assign(cell->memory->elements.size(), -1);
        } else if (tape.recording) {
            cell->history = base->history;
        }
        cell->writable = base->writable && writable;
        return cell;
    }

    bool refuses_write(const Cell& cell) const { return cell.memory->leaf && tape.recording && !cell.detached; }

    void write(Cell& cell, const Value& value) {
        const bool silent = !tape.recording || cell.detached;  // then the history stays as it is
        Memory& memory = *cell.memory;
        const Numbers elements = kept(value.elements, memory.dtype);
        for (std::size_t i = 0; i < cell.positions.size(); ++i) {
            Number& element = memory.elements[static_cast<std::size_t>(cell.positions[i])];
            element = {elements[i].value, silent ? element.entry : elements[i].entry};
        }
        if (!is_float(memory.dtype)) return;
        if (tape.recording && cell.history) {
            History& history = *cell.history;
            for (std::size_t i = 0; i < cell.positions.size(); ++i)
                history.entries[static_cast<std::size_t>(cell.positions[i])] = elements[i].entry;
            history.grown = history.grown || value.grown;
            if (history.grown) history.oldest = std::min({history.oldest, value.oldest, ops_++});
        }
        if (silent) return;
        memory.grown = memory.grown || value.grown;
        if (memory.grown) memory.oldest = std::min({memory.oldest, value.oldest, ops_++});
    }

    void require_grad(const CellRef& cell) {
        if (cell->view) {  // a leaf has a value of its own
            const bool recording = std::exchange(tape.recording, false);
            const CellRef own = store({cell->dtype(), cell->shape, cell->read()});
            tape.recording = recording;
            cell->memory = own->memory;
            cell->positions = own->positions;
            cell->view = cell->detached = false;
            cell->history = nullptr;
            cell->base = nullptr;
            cell->writable = true;
        }
        if (cell->leaf_id < 0) cell->leaf_id = leaves_++;
        registered_[cell->leaf_id] = cell;
        Memory& memory = *cell->memory;
        for (std::size_t i = 0; i < memory.elements.size(); ++i)
            memory.elements[i] = tape.leaf(memory.elements[i].value, cell->leaf_id, static_cast<int>(i));
        memory.leaf = memory.grown = true;
        memory.oldest = kNoOp;
    }

    void require_no_grad(Cell& leaf) {
        leaf.memory->leaf = leaf.memory->grown = false;
        leaf.memory->oldest = kNoOp;
        for (Number& number : leaf.memory->elements) number.entry = -1;
    }

    // After a backward() that lets go, nothing that was built before is differentiated again. (What exactly can still be, depends on
    // which expressions were equal.)
    bool let_go(const Cell& cell) const { return cell.oldest() < kept_from_; }

    // False: a gradient would be too large, and nothing has happened.
    bool backward(const Cell& root, const Numbers& seeds, bool retain) {
        const bool recording = std::exchange(tape.recording, false);
        const auto gradients = tape.differentiate(root.read(), seeds);
        std::vector<std::pair<CellRef, Numbers>> sums;
        for (const auto& [id, elements] : gradients) {
            const CellRef leaf = registered_[id].lock();
            if (!leaf || !leaf->memory->leaf) continue;
            Numbers sum = leaf->grad ? leaf->grad->read() : Numbers(leaf->count());
            for (const auto& [i, amount] : elements)
                sum[static_cast<std::size_t>(i)] = tape.add(sum[static_cast<std::size_t>(i)], amount);
            sums.emplace_back(leaf, sum);
        }
        if (!tape.overflow) {
            for (const auto& [leaf, sum] : sums) {
                const Value value{leaf->dtype(), leaf->shape, sum};
                if (leaf->grad && !leaf->grad->memory->leaf) write(*leaf->grad, value);
                else leaf->grad = store(value);
            }
            if (!retain) kept_from_ = ops_;
        }
        tape.recording = recording;
        return !tape.overflow;
    }

    Value gradient(const Cell& output, const Cell& leaf, const Numbers& seeds) {
        Value value{leaf.dtype(), leaf.shape, Numbers(leaf.count()), true, output.oldest()};
        const auto gradients = tape.differentiate(output.read(), seeds);
        if (const auto found = gradients.find(leaf.leaf_id); found != gradients.end())
            for (const auto& [i, amount] : found->second) value.elements[static_cast<std::size_t>(i)] = amount;
        return value;
    }

private:
    static Numbers kept(Numbers elements, DType dtype) {
        if (!is_float(dtype))
            for (Number& number : elements) number.entry = -1;
        return elements;
    }

    std::map<int, std::weak_ptr<Cell>> registered_;
    int leaves_ = 0, ops_ = 0;
    int kept_from_ = 0;
};

}  // namespace weft::testing::eager_model
