// tests/programs/model_run.h: carries a random program out on the eager model, and decides on the way what each statement is about.
#pragma once

#include "tests/programs/program.h"

#include <functional>

namespace weft::testing {

class ModelRun {
public:
    std::array<eager_model::CellRef, kVariables> variables;

    // Carries the statement out. Nothing: there is nothing to do it with, or a number would become too large.
    std::optional<Statement> step(Draft draft) {
        Statement s{.draft = draft};
        const std::size_t before = model_.tape.size();
        model_.tape.overflow = false;
        model_.tape.recording = !draft.no_grad;
        const bool done = carry_out(s);
        model_.tape.recording = true;
        if (!done || model_.tape.overflow) {
            model_.tape.cut(before);
            return {};
        }
        return s;
    }

private:
    using Cell = eager_model::Cell;
    using CellRef = eager_model::CellRef;
    using Value = eager_model::Value;
    using Number = eager_model::Number;
    using Numbers = eager_model::Numbers;

    static Value value_of(const Cell& cell) {
        return {cell.dtype(), cell.shape, cell.read(), cell.may_need_grad(), cell.oldest()};
    }
    CellRef& to(const Statement& s) { return variables[static_cast<std::size_t>(s.draft.to)]; }
    CellRef& a(const Statement& s) { return variables[static_cast<std::size_t>(s.draft.a)]; }
    CellRef& b(const Statement& s) { return variables[static_cast<std::size_t>(s.draft.b)]; }

    // The next variable that is fit for it.
    bool find(int& variable, const std::function<bool(const Cell&)>& fits) const {
        for (int i = 0; i < kVariables; ++i) {
            const int at = (variable + i) % kVariables;
            const CellRef& cell = variables[static_cast<std::size_t>(at)];
            if (!cell || !fits(*cell)) continue;
            variable = at;
            return true;
        }
        return false;
    }

    CellRef looked_at(const Statement& s) {
        if (s.view.look == Look::Whole) return a(s);
        return model_.view(a(s), s.view.shape, s.view.positions, s.view.look == Look::Detach,
                           s.view.look != Look::Expand);
    }

    // ---- arithmetic --------------------------------------------------------------------------------------------------

    using Binary = Number (ModelRun::*)(Number, Number);
    Number plus(Number x, Number y) { return model_.tape.add(x, y); }
    Number minus(Number x, Number y) { return model_.tape.add(x, model_.tape.neg(y)); }
    Number times(Number x, Number y) { return model_.tape.mul(x, y); }

    // A tensor without axes raises the kind, but not the width.
    static DType type_of(const Value& x, const Value& y) {
        if (x.shape.empty() == y.shape.empty() || is_float(x.dtype) != is_float(y.dtype))
            return promote(x.dtype, y.dtype);
        return x.shape.empty() ? y.dtype : x.dtype;
    }

    Value combined(const Value& x, const Value& y, const std::function<Number(Number, Number)>& f) {
        Value result{
            type_of(x, y), *broadcast_shape(x.shape, y.shape), {}, x.grown || y.grown, std::min(x.oldest, y.oldest)};
        for (std::int64_t i = 0; i < numel(result.shape); ++i)
            result.elements.push_back(
                f(x.elements[static_cast<std::size_t>(broadcast_position(i, result.shape, x.shape))],
                  y.elements[static_cast<std::size_t>(broadcast_position(i, result.shape, y.shape))]));
        return result;
    }
    Value combined(const Value& x, const Value& y, Binary f) {
        return combined(x, y, [&](Number p, Number q) { return (this->*f)(p, q); });
    }
    Value mapped(Value x, const std::function<Number(Number)>& f) {
        for (Number& number : x.elements) number = f(number);
        return x;
    }
    static Value number(const Value& like, std::int64_t value) {
        return {like.dtype, {}, {{static_cast<double>(value)}}};
    }

    // Elements of x, picked; -1: zero.
    static Value picked(const Value& x, const Shape& shape, const std::vector<int>& positions) {
        Value result{x.dtype, shape, {}, x.grown, x.oldest};
        for (const int at : positions)
            result.elements.push_back(at < 0 ? Number{} : x.elements[static_cast<std::size_t>(at)]);
        return result;
    }

    Value summed(const Value& x, int axis, bool keepdim) {
        Value result{is_float(x.dtype) ? x.dtype : i64, {}, {}, x.grown, x.oldest};
        Shape ones = x.shape;
        for (std::size_t d = 0; d < ones.size(); ++d)
            if (axis < 0 || static_cast<int>(d) == axis) ones[d] = 1;
        result.elements.resize(static_cast<std::size_t>(numel(ones)));
        for (std::int64_t i = 0; i < numel(x.shape); ++i) {
            Number& sum = result.elements[static_cast<std::size_t>(broadcast_position(i, x.shape, ones))];
            sum = plus(sum, x.elements[static_cast<std::size_t>(i)]);
        }
        for (std::size_t d = 0; d < ones.size(); ++d)
            if (keepdim || (axis >= 0 && static_cast<int>(d) != axis)) result.shape.push_back(ones[d]);
        return result;
    }

    Value running_sums(Value x, int axis) {
        if (!is_float(x.dtype)) x.dtype = i64;
        for (std::int64_t i = 0; i < numel(x.shape); ++i) {
            std::vector<int> index = unravel(i, x.shape);
            if (index[static_cast<std::size_t>(axis)] == 0) continue;
            --index[static_cast<std::size_t>(axis)];
            Number& number = x.elements[static_cast<std::size_t>(i)];
            number = plus(x.elements[static_cast<std::size_t>(ravel(index, x.shape))], number);
        }
        return x;
    }

    Value product(const Value& x, const Value& y) {
        const std::int64_t rows = x.shape[0], inner = x.shape[1], columns = y.shape[1];
        Value result{promote(x.dtype, y.dtype), {rows, columns}, {}, x.grown || y.grown, std::min(x.oldest, y.oldest)};
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                Number sum;
                for (std::int64_t k = 0; k < inner; ++k)
                    sum = plus(sum, times(x.elements[static_cast<std::size_t>(i * inner + k)],
                                          y.elements[static_cast<std::size_t>(k * columns + j)]));
                result.elements.push_back(sum);
            }
        return result;
    }

    // ---- statements --------------------------------------------------------------------------------------------------

    bool carry_out(Statement& s) {
        const auto& dice = s.draft.dice;
        switch (s.draft.act) {
            case Act::Make: return make(s);
            case Act::Drop: return to(s) != nullptr && (to(s) = nullptr, true);
            case Act::RealizePending: return true;
            case Act::Grad:
                return find(s.draft.a, [](const Cell& c) { return c.grad != nullptr; }) && (to(s) = a(s)->grad, true);
            case Act::ZeroGrad:
                return find(s.draft.a, [](const Cell& c) { return c.grad != nullptr; }) && (a(s)->grad = nullptr, true);
            case Act::SetGrad: return set_grad(s);
            case Act::RequireGrad:
                return find(s.draft.a, [](const Cell& c) { return is_float(c.dtype()) && !c.may_need_grad(); }) &&
                       (model_.require_grad(a(s)), true);
            case Act::RequireNoGrad:
                return find(s.draft.a, [](const Cell& c) { return c.memory->leaf && !c.view; }) &&
                       (model_.require_no_grad(*a(s)), true);
            default: break;
        }
        const bool differentiates = s.draft.act == Act::Backward || s.draft.act == Act::Gradient;
        const auto promising = [&](const Cell& c) { return c.needs_grad() && !c.memory->leaf && !model_.let_go(c); };
        if (!(differentiates && dice[0] % 8 != 0 && find(s.draft.a, promising)) &&
            !find(s.draft.a, [](const Cell&) { return true; }))
            return false;
        const std::optional<View> view = resolve_view(s.draft, a(s)->shape);
        if (!view) return false;
        if (view->look == Look::Reshape && !is_affine(a(s)->positions, view->shape)) return false;  // no view (S86)
        s.view = *view;
        s.number = roll(dice[3], 7) - 3;
        const CellRef cell = looked_at(s);
        if (!cell->shape.empty())
            s.axis = static_cast<int>(roll(dice[2], static_cast<std::int64_t>(cell->shape.size())));
        switch (s.draft.act) {
            case Act::Copy: to(s) = a(s); return true;
            case Act::Look: to(s) = cell; return true;
            case Act::Assign:
            case Act::Fill:
            case Act::AddTo:
            case Act::SubFrom:
            case Act::MulInto:
            case Act::AddNumberTo:
            case Act::MulNumberInto: return write(s, *cell);
            case Act::Backward: return backward(s, *cell);
            case Act::Gradient: return gradient(s, *cell);
            case Act::RealizeBoth: return find(s.draft.b, [](const Cell&) { return true; });
            case Act::Realize:
            case Act::Read:
            case Act::Pin: return true;
            default: break;
        }
        std::optional<Value> value = computed(s, *cell);
        if (s.draft.act == Act::Cast && s.dtype == cell->dtype()) {  // nothing to convert: the tensor itself
            to(s) = cell;
            return true;
        }
        if (!value || numel(value->shape) > kMostElements || value->shape.size() > 3) return false;
        if (!model_.tape.overflow) to(s) = model_.store(*value);
        return true;
    }

    bool make(Statement& s) {
        const auto& dice = s.draft.dice;
        static const std::vector<Shape> kShapes = {{},     {1},    {3},    {4},       {2, 2}, {2, 3},
                                                   {3, 2}, {3, 4}, {1, 3}, {2, 2, 3}, {2, 3}, {3}};
        s.shape = kShapes[static_cast<std::size_t>(roll(dice[0], static_cast<std::int64_t>(kShapes.size())))];
        s.dtype = std::array{f32, f32, f32, f64, f32, i32, i64}[static_cast<std::size_t>(roll(dice[1], 7))];
        s.number = roll(dice[3], 5) - 2;
        Value value{s.dtype, s.shape,
                    Numbers(static_cast<std::size_t>(numel(s.shape)), {static_cast<double>(s.number)})};
        if (dice[2] % 3 != 0) {
            Rng rng(static_cast<std::uint64_t>(dice[3]));
            for (Number& element : value.elements) {
                element = {static_cast<double>(rng.within(-4, 4))};
                s.numbers.push_back(element.value);
            }
        }
        to(s) = model_.store(value);
        return true;
    }

    std::optional<Value> computed(Statement& s, const Cell& cell) {
        const Value x = value_of(cell);
        const auto fits = [&](const Cell& other) {
            const std::optional<Shape> shape = broadcast_shape(x.shape, other.shape);
            return shape && numel(*shape) <= kMostElements;
        };
        switch (s.draft.act) {
            case Act::Neg: return mapped(x, [&](Number n) { return model_.tape.neg(n); });
            case Act::Square: return mapped(x, [&](Number n) { return times(n, n); });
            case Act::Relu:
                if (!is_float(x.dtype)) return {};
                return mapped(x, [&](Number n) { return n.value > 0 ? n : times(n, {0}); });
            case Act::Clone: return x;
            case Act::Cast: {
                s.dtype = std::array{f32, f64, f32, i32, i64}[static_cast<std::size_t>(roll(s.draft.dice[2], 5))];
                Value result = x;
                result.dtype = s.dtype;
                return result;
            }
            case Act::Sum:
                s.flag = s.draft.dice[3] % 3 == 0;
                if (x.shape.empty() || s.draft.dice[1] % 2 == 0) s.axis = -1;
                return summed(x, s.axis, s.flag);
            case Act::Cumsum:
                if (x.shape.empty()) return {};
                return running_sums(x, s.axis);
            case Act::Add:
            case Act::Sub:
            case Act::Mul: {
                if (!find(s.draft.b, fits)) return {};
                const Binary f = s.draft.act == Act::Add   ? &ModelRun::plus
                                 : s.draft.act == Act::Sub ? &ModelRun::minus
                                                           : &ModelRun::times;
                return combined(x, value_of(*b(s)), f);
            }
            case Act::AddNumber: return combined(x, number(x, s.number), &ModelRun::plus);
            case Act::MulNumber: return combined(x, number(x, s.number), &ModelRun::times);
            case Act::Where:
                if (!find(s.draft.b, fits)) return {};
                return combined(x, value_of(*b(s)),
                                [&](Number p, Number q) { return p.value > static_cast<double>(s.number) ? p : q; });
            case Act::Matmul: {
                const auto chained = [&](const Cell& other) {
                    return is_float(other.dtype()) && other.shape.size() == 2 && other.shape[0] == x.shape[1];
                };
                if (!is_float(x.dtype) || x.shape.size() != 2 || !find(s.draft.b, chained)) return {};
                return product(x, value_of(*b(s)));
            }
            case Act::Cat:
            case Act::CatAgain: return joined(s, x);
            case Act::Pad: return padded(x);
            case Act::Take: return taken(s, x);
            default: return {};
        }
    }

    std::optional<Value> joined(Statement& s, const Value& x) {
        const auto axis = static_cast<std::size_t>(s.axis);
        const auto fits = [&](const Cell& other) {
            if (other.shape.size() != x.shape.size() || other.dtype() != x.dtype) return false;
            for (std::size_t d = 0; d < x.shape.size(); ++d)
                if (d != axis && other.shape[d] != x.shape[d]) return false;
            return true;
        };
        if (x.shape.empty() || !find(s.draft.b, fits)) return {};
        const Value both = side_by_side(x, value_of(*b(s)), axis);
        return s.draft.act == Act::CatAgain ? side_by_side(both, x, axis) : both;
    }

    static Value side_by_side(const Value& x, const Value& y, std::size_t axis) {
        Value result{x.dtype, x.shape, {}, x.grown || y.grown, std::min(x.oldest, y.oldest)};
        result.shape[axis] += y.shape[axis];
        for (std::int64_t i = 0; i < numel(result.shape); ++i) {
            std::vector<int> index = unravel(i, result.shape);
            const bool second = index[axis] >= x.shape[axis];
            if (second) index[axis] -= static_cast<int>(x.shape[axis]);
            const Value& from = second ? y : x;
            result.elements.push_back(from.elements[static_cast<std::size_t>(ravel(index, from.shape))]);
        }
        return result;
    }

    static std::optional<Value> padded(const Value& x) {
        if (x.shape.empty()) return {};
        Shape shape = x.shape;
        shape.back() += 2;
        std::vector<int> positions;
        for (std::int64_t i = 0; i < numel(shape); ++i) {
            std::vector<int> index = unravel(i, shape);
            const bool inside = --index.back() >= 0 && index.back() < x.shape.back();
            positions.push_back(inside ? ravel(index, x.shape) : -1);
        }
        return picked(x, shape, positions);
    }

    static std::optional<Value> taken(Statement& s, const Value& x) {
        if (x.shape.empty()) return {};
        const auto axis = static_cast<std::size_t>(s.axis);
        Rng rng(static_cast<std::uint64_t>(s.draft.dice[1]));
        for (std::int64_t i = 0; i < 1 + s.draft.dice[3] % 3; ++i)
            s.positions.push_back(rng.within(-x.shape[axis], x.shape[axis] - 1));
        Shape shape = x.shape;
        shape[axis] = static_cast<std::int64_t>(s.positions.size());
        std::vector<int> positions;
        for (std::int64_t i = 0; i < numel(shape); ++i) {
            std::vector<int> index = unravel(i, shape);
            const std::int64_t at = s.positions[static_cast<std::size_t>(index[axis])];
            index[axis] = static_cast<int>(at < 0 ? at + x.shape[axis] : at);
            positions.push_back(ravel(index, x.shape));
        }
        return picked(x, shape, positions);
    }

    bool write(Statement& s, Cell& cell) {
        if (!cell.writable) return false;
        const Value x = value_of(cell);
        const Act act = s.draft.act;
        const auto fits = [&](const Cell& other) {
            if (act != Act::Assign && is_float(other.dtype()) && !is_float(x.dtype)) return false;
            const std::optional<Shape> shape = broadcast_shape(x.shape, other.shape);
            return shape && *shape == x.shape && other.shape.size() <= x.shape.size();
        };
        const bool by_number = act == Act::Fill || act == Act::AddNumberTo || act == Act::MulNumberInto;
        if (!by_number && !find(s.draft.b, fits)) return false;
        const Value y = by_number ? number(x, s.number) : value_of(*b(s));
        const Value value = act == Act::Assign || act == Act::Fill ? combined(x, y, [](Number, Number q) { return q; })
                            : act == Act::AddTo || act == Act::AddNumberTo ? combined(x, y, &ModelRun::plus)
                            : act == Act::SubFrom                          ? combined(x, y, &ModelRun::minus)
                                                                           : combined(x, y, &ModelRun::times);
        s.refused = model_.refuses_write(cell);
        if (!s.refused && !model_.tape.overflow) model_.write(cell, value);
        return true;
    }

    bool set_grad(Statement& s) {
        if (!find(s.draft.a, [](const Cell& c) { return c.memory->leaf && !c.view; })) return false;
        const Cell& leaf = *a(s);
        const auto fits = [&](const Cell& c) {
            return c.shape == leaf.shape && c.dtype() == leaf.dtype() && c.writable && !c.memory->grown;
        };
        return find(s.draft.b, fits) && (a(s)->grad = b(s), true);
    }

    bool backward(Statement& s, const Cell& cell) {
        s.number = roll(s.draft.dice[3], 3) + 1;
        s.flag = s.draft.dice[2] % 2 == 0;
        s.refused = !is_float(cell.dtype()) || !cell.may_need_grad();
        if (s.refused) return true;
        if (!cell.needs_grad() || model_.let_go(cell)) return false;
        s.again = !s.flag && !cell.memory->leaf && s.draft.dice[1] % 4 == 0;
        return model_.backward(cell, Numbers(cell.count(), {static_cast<double>(s.number)}), s.flag);
    }

    bool gradient(Statement& s, const Cell& cell) {
        if (!is_float(cell.dtype()) || (cell.may_need_grad() && model_.let_go(cell))) return false;
        if (!find(s.draft.b, [](const Cell& c) { return c.memory->leaf && !c.view; })) return false;
        s.number = roll(s.draft.dice[3], 3) + 1;
        const Value value = model_.gradient(cell, *b(s), Numbers(cell.count(), {static_cast<double>(s.number)}));
        if (!model_.tape.overflow) to(s) = model_.store(value);
        return true;
    }

    eager_model::Model model_;
};

}  // namespace weft::testing
