// tests/programs/program.h: random programs. A Draft is a statement before it is known what its variables hold: it stays meaningful
// when statements before it are left out. resolve() turns it into a Statement, which the model and Weft both carry out.
#pragma once

#include "core/str.h"
#include "tests/programs/eager_model.h"
#include "tests/support/random.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace weft::testing {

inline constexpr int kVariables = 6;
inline constexpr std::int64_t kMostElements = 16;

enum class Act {
    Make,
    Neg,
    Relu,
    Square,
    Clone,
    Cast,
    Sum,
    Cumsum,
    Add,
    Sub,
    Mul,
    AddNumber,
    MulNumber,
    Where,
    Matmul,
    Cat,
    CatAgain,  // the first one behind the second, too
    Pad,
    Take,
    Look,
    Copy,
    Drop,
    Assign,
    Fill,
    AddTo,
    SubFrom,
    MulInto,
    AddNumberTo,
    MulNumberInto,
    RequireGrad,
    RequireNoGrad,
    Backward,
    Grad,
    ZeroGrad,
    SetGrad,
    Gradient,
    Realize,
    RealizePending,
    RealizeBoth,
    Read,
    Pin
};

enum class Look { Whole, At, Slice, Transpose, Reshape, Flip, Unsqueeze, Expand, Detach };

// A view, with everything that it needs to be made.
struct View {
    Look look = Look::Whole;
    int axis = 0;
    std::int64_t start = 0, stop = 0, step = 1;
    Shape shape;                 // of the result
    std::vector<int> positions;  // of its elements among those of the base
};

struct Draft {
    Act act = Act::Make;
    int to = 0, a = 0, b = 0;
    Look look = Look::Whole;
    bool no_grad = false;
    std::array<std::int64_t, 4> dice{};
};

struct Statement {
    Draft draft;
    View view;  // of a
    DType dtype = f32;
    Shape shape;
    std::int64_t number = 0;
    int axis = 0;
    bool flag = false;     // keepdim; retain_graph
    bool refused = false;  // Weft is to throw GradError, and nothing happens
    bool again = false;    // a second backward() follows, which Weft is to refuse
    std::vector<double> numbers;
    std::vector<std::int64_t> positions;
};

inline std::int64_t roll(std::int64_t dice, std::int64_t below) { return below <= 0 ? 0 : dice % below; }

inline std::vector<int> unravel(std::int64_t at, const Shape& shape) {
    std::vector<int> result(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; at /= shape[d]) result[d] = static_cast<int>(at % shape[d]);
    return result;
}
inline int ravel(const std::vector<int>& index, const Shape& shape) {
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) at = at * shape[d] + index[d];
    return static_cast<int>(at);
}

// The position in `shape` that an element of the larger shape `whole` is read from.
inline int broadcast_position(std::int64_t at, const Shape& whole, const Shape& shape) {
    const std::vector<int> index = unravel(at, whole);
    std::vector<int> own(shape.size());
    for (std::size_t d = 0; d < shape.size(); ++d) own[d] = shape[d] == 1 ? 0 : index[d + whole.size() - shape.size()];
    return ravel(own, shape);
}
inline std::optional<Shape> broadcast_shape(const Shape& a, const Shape& b) {
    Shape result = Shape::filled(std::max(a.size(), b.size()), 1);
    for (const Shape* shape : {&a, &b})
        for (std::size_t i = 1; i <= shape->size(); ++i) {
            std::int64_t& size = result[result.size() - i];
            const std::int64_t own = (*shape)[shape->size() - i];
            if (own != 1 && size != 1 && own != size) return {};
            if (own != 1) size = own;
        }
    return result;
}

// ---- views -----------------------------------------------------------------------------------------------------------

// Whether places in memory, as elements of this shape, are a start and a multiple of each index.
inline bool is_affine(const std::vector<int>& places, const Shape& shape) {
    const auto place = [&](const std::vector<int>& index) {
        return places[static_cast<std::size_t>(ravel(index, shape))];
    };
    for (std::size_t at = 0; at < places.size(); ++at) {
        const std::vector<int> index = unravel(static_cast<std::int64_t>(at), shape);
        int expected = places[0];
        for (std::size_t d = 0; d < shape.size(); ++d) {
            std::vector<int> next(shape.size(), 0);
            next[d] = shape[d] > 1 ? 1 : 0;
            expected += index[d] * (place(next) - places[0]);
        }
        if (expected != places[at]) return false;
    }
    return true;
}

inline std::optional<View> resolve_view(const Draft& draft, const Shape& shape) {
    View view{.look = draft.look, .shape = shape};
    const std::int64_t rank = static_cast<std::int64_t>(shape.size()), count = numel(shape);
    const auto& dice = draft.dice;
    std::vector<std::vector<int>> from;  // the base's index of each element, where that is easier
    if (rank > 0) view.axis = static_cast<int>(roll(dice[0], rank));
    const auto axis = static_cast<std::size_t>(view.axis);
    const auto each = [&](auto&& base_index) {
        for (std::int64_t i = 0; i < numel(view.shape); ++i)
            view.positions.push_back(ravel(base_index(unravel(i, view.shape)), shape));
    };
    switch (draft.look) {
        case Look::Whole:
        case Look::Detach: each([](std::vector<int> index) { return index; }); break;
        case Look::At:
            if (rank == 0) return {};
            view.start = roll(dice[1], shape[axis]);
            view.shape.erase(view.shape.begin() + axis);
            each([&](std::vector<int> index) {
                index.insert(index.begin() + view.axis, static_cast<int>(view.start));
                return index;
            });
            break;
        case Look::Slice: {
            if (rank == 0) return {};
            view.step = dice[3] % 4 == 0 ? -1 : dice[3] % 4 == 1 ? 2 : dice[3] % 12 == 2 ? -2 : 1;
            view.start = roll(dice[1], shape[axis]);
            const std::int64_t room =
                view.step > 0 ? (shape[axis] - 1 - view.start) / view.step : view.start / -view.step;
            const std::int64_t length = 1 + roll(dice[2], room + 1);
            view.stop = view.start + (length - 1) * view.step + (view.step > 0 ? 1 : -1);
            view.shape[axis] = length;
            each([&](std::vector<int> index) {
                index[axis] = static_cast<int>(view.start + index[axis] * view.step);
                return index;
            });
            break;
        }
        case Look::Transpose:
            if (rank < 2) return {};
            std::swap(view.shape[rank - 1], view.shape[rank - 2]);
            each([&](std::vector<int> index) {
                std::swap(index[rank - 1], index[rank - 2]);
                return index;
            });
            break;
        case Look::Flip:
            if (rank == 0) return {};
            each([&](std::vector<int> index) {
                index[axis] = static_cast<int>(shape[axis]) - 1 - index[axis];
                return index;
            });
            break;
        case Look::Reshape: {
            std::vector<std::int64_t> divisors;
            for (std::int64_t d = 1; d <= count; ++d)
                if (count % d == 0) divisors.push_back(d);
            const std::int64_t rows =
                divisors[static_cast<std::size_t>(roll(dice[1], static_cast<std::int64_t>(divisors.size())))];
            view.shape = dice[2] % 3 == 0 ? Shape{count} : Shape{rows, count / rows};
            for (int i = 0; i < count; ++i) view.positions.push_back(i);
            break;
        }
        case Look::Unsqueeze:
            if (rank > 2) return {};
            view.axis = static_cast<int>(roll(dice[0], rank + 1));
            view.shape.insert(view.shape.begin() + view.axis, 1);
            for (int i = 0; i < count; ++i) view.positions.push_back(i);
            break;
        case Look::Expand: {
            const std::int64_t times = 2 + roll(dice[1], 2);
            if (count * times > kMostElements || rank > 2) return {};
            view.shape.insert(view.shape.begin(), times);
            each([](std::vector<int> index) {
                index.erase(index.begin());
                return index;
            });
            break;
        }
    }
    return view;
}

// ---- as text ---------------------------------------------------------------------------------------------------------

inline std::string to_string(const View& view, const std::string& base) {
    switch (view.look) {
        case Look::Whole: return base;
        case Look::At: return str(base, ".select(", view.axis, ", ", view.start, ")");
        case Look::Slice:
            return str(base, ".slice(", view.axis, ", ", view.start, ":", view.stop < 0 ? "" : str(view.stop), ":",
                       view.step, ")");
        case Look::Transpose: return str(base, ".t()");
        case Look::Reshape: return str(base, ".reshape(", view.shape, ")");
        case Look::Flip: return str(base, ".flip(", view.axis, ")");
        case Look::Unsqueeze: return str(base, ".unsqueeze(", view.axis, ")");
        case Look::Expand: return str(base, ".expand(", view.shape, ")");
        case Look::Detach: return str(base, ".detach()");
    }
    return base;
}

template <class T>
std::string list_of(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values) text += str(text.empty() ? "" : ", ", value);
    return text;
}

inline std::string to_string(const Statement& s) {
    const std::string to = str("v", s.draft.to), b = str("v", s.draft.b), self = str("v", s.draft.a),
                      a = to_string(s.view, self);
    const auto text = [&]() -> std::string {
        switch (s.draft.act) {
            case Act::Make:
                if (!s.numbers.empty())
                    return str(to, " = tensor([", list_of(s.numbers), "], ", s.dtype, ").reshape(", s.shape, ")");
                return str(to, " = full(", s.shape, ", ", s.number, ", ", s.dtype, ")");
            case Act::Neg: return str(to, " = -", a);
            case Act::Relu: return str(to, " = relu(", a, ")");
            case Act::Square: return str(to, " = square(", a, ")");
            case Act::Clone: return str(to, " = ", a, ".clone()");
            case Act::Cast: return str(to, " = ", a, ".to(", s.dtype, ")");
            case Act::Sum:
                return str(to, " = ", a, ".sum(", s.axis < 0 ? "" : str(s.axis), s.flag ? ", keepdim" : "", ")");
            case Act::Cumsum: return str(to, " = cumsum(", a, ", ", s.axis, ")");
            case Act::Add: return str(to, " = ", a, " + ", b);
            case Act::Sub: return str(to, " = ", a, " - ", b);
            case Act::Mul: return str(to, " = ", a, " * ", b);
            case Act::AddNumber: return str(to, " = ", a, " + ", s.number);
            case Act::MulNumber: return str(to, " = ", a, " * ", s.number);
            case Act::Where: return str(to, " = where(", a, " > ", s.number, ", ", a, ", ", b, ")");
            case Act::Matmul: return str(to, " = matmul(", a, ", ", b, ")");
            case Act::Cat: return str(to, " = cat([", a, ", ", b, "], ", s.axis, ")");
            case Act::CatAgain: return str(to, " = cat([", a, ", ", b, ", ", a, "], ", s.axis, ")");
            case Act::Pad: return str(to, " = pad(", a, ", [1, 1])");
            case Act::Take: return str(to, " = take(", a, ", [", list_of(s.positions), "], ", s.axis, ")");
            case Act::Look: return str(to, " = ", a);
            case Act::Copy: return str(to, " = ", self, "  # the same handle");
            case Act::Drop: return str("del ", to);
            case Act::Assign: return str(a, "[...] = ", b);
            case Act::Fill: return str(a, ".fill_(", s.number, ")");
            case Act::AddTo: return str(a, " += ", b);
            case Act::SubFrom: return str(a, " -= ", b);
            case Act::MulInto: return str(a, " *= ", b);
            case Act::AddNumberTo: return str(a, " += ", s.number);
            case Act::MulNumberInto: return str(a, " *= ", s.number);
            case Act::RequireGrad: return str(self, ".requires_grad_()");
            case Act::RequireNoGrad: return str(self, ".requires_grad_(False)");
            case Act::Backward:
                return str(a, ".backward(", s.number, s.flag ? ", retain_graph" : "", ")",
                           s.again ? ", twice: GradError" : "");
            case Act::Grad: return str(to, " = ", self, ".grad");
            case Act::ZeroGrad: return str(self, ".grad = None");
            case Act::SetGrad: return str(self, ".grad = ", b);
            case Act::Gradient: return str(to, " = gradient(", a, ", ", b, ", full(", s.number, "))");
            case Act::Realize: return str(a, ".realize()");
            case Act::RealizePending: return "realize()";
            case Act::RealizeBoth: return str("realize(", a, ", ", b, ")");
            case Act::Read: return str("read ", a);
            case Act::Pin: return str("pin ", self, ".memory()");
        }
        return "?";
    }();
    return str(s.draft.no_grad ? "with no_grad: " : "", text, s.refused ? "  # GradError" : "");
}

// ---- drafts ----------------------------------------------------------------------------------------------------------

inline std::vector<Draft> random_program(std::uint64_t seed) {
    Rng rng(Rng(seed).next());  // neighbouring seeds would give the same numbers, shifted by one
    std::vector<Draft> program;
    const bool gradients = rng.chance(0.7);
    // How often each act comes up, so that most programs build, write, and read in turn.
    static const std::vector<std::pair<Act, int>> kOften = {{Act::Make, 8},
                                                            {Act::Neg, 2},
                                                            {Act::Relu, 2},
                                                            {Act::Square, 2},
                                                            {Act::Clone, 5},
                                                            {Act::Cast, 2},
                                                            {Act::Sum, 5},
                                                            {Act::Cumsum, 1},
                                                            {Act::Add, 6},
                                                            {Act::Sub, 3},
                                                            {Act::Mul, 5},
                                                            {Act::AddNumber, 4},
                                                            {Act::MulNumber, 4},
                                                            {Act::Where, 2},
                                                            {Act::Matmul, 3},
                                                            {Act::Cat, 2},
                                                            {Act::CatAgain, 2},
                                                            {Act::Pad, 1},
                                                            {Act::Take, 2},
                                                            {Act::Look, 12},
                                                            {Act::Copy, 3},
                                                            {Act::Drop, 3},
                                                            {Act::Assign, 8},
                                                            {Act::Fill, 6},
                                                            {Act::AddTo, 6},
                                                            {Act::SubFrom, 2},
                                                            {Act::MulInto, 2},
                                                            {Act::AddNumberTo, 5},
                                                            {Act::MulNumberInto, 2},
                                                            {Act::Realize, 3},
                                                            {Act::RealizePending, 2},
                                                            {Act::RealizeBoth, 1},
                                                            {Act::Read, 3},
                                                            {Act::Pin, 2}};
    static const std::vector<std::pair<Act, int>> kWithGradients = {
        {Act::RequireGrad, 12}, {Act::RequireNoGrad, 1}, {Act::Backward, 14}, {Act::Grad, 5},
        {Act::ZeroGrad, 3},     {Act::SetGrad, 1},       {Act::Gradient, 6}};
    std::vector<Act> acts;
    for (const auto& [act, often] : kOften) acts.insert(acts.end(), static_cast<std::size_t>(often), act);
    if (gradients)
        for (const auto& [act, often] : kWithGradients) acts.insert(acts.end(), static_cast<std::size_t>(often), act);
    const std::int64_t length = rng.within(8, 40);
    for (std::int64_t i = 0; i < length; ++i) {
        Rng own = rng.fork();
        Draft draft{.act = i < 3 ? Act::Make : own.pick(acts)};
        draft.to = static_cast<int>(own.below(kVariables));
        draft.a = static_cast<int>(own.below(kVariables));
        draft.b = static_cast<int>(own.below(kVariables));
        if (draft.act == Act::Look || own.chance(0.3)) draft.look = static_cast<Look>(own.within(1, 8));
        draft.no_grad = gradients && own.chance(0.2);
        for (std::int64_t& dice : draft.dice) dice = own.below(1 << 20);
        program.push_back(draft);
    }
    return program;
}

}  // namespace weft::testing
