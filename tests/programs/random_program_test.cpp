// Random programs: ops, views, writes through them, gradients, reads and dropped handles in any order, compared with a plain eager
// model. Whole numbers only, so every result is exact and the order of a sum does not matter.
//   WEFT_SEED=n              starts at another seed
//   WEFT_RANDOM_PROGRAMS=n   runs that many programs
#include "core/config.h"
#include "core/word.h"
#include "tests/programs/model_run.h"

#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <bit>
#include <cstdlib>
#include <stdexcept>

namespace weft::testing {
namespace {

constexpr std::uint64_t kBaseSeed = 4711;
constexpr std::uint64_t kPrograms = 4000;

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

[[noreturn]] void complain(const std::string& text) { throw std::runtime_error(text); }

// Memory that the program looks at from outside: it must not change.
struct Pinned {
    MemoryView memory;
    std::vector<double> expected;

    double element(std::int64_t i) const {
        const std::vector<int> index = unravel(i, memory.shape);
        std::int64_t at = 0;
        for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * memory.strides[d];
        const std::byte* const first =
            static_cast<const std::byte*>(memory.data) + at * static_cast<std::int64_t>(size_of(memory.dtype));
        const std::vector<std::byte> bytes = read_memory(memory, first, first + size_of(memory.dtype));
        return word_to_double(memory.dtype, load_word(memory.dtype, bytes.data()));
    }
};

// ---- a program on Weft -----------------------------------------------------------------------------------------------

class WeftRun {
public:
    std::array<Tensor, kVariables> variables;
    std::vector<std::uint64_t> seen;  // the bits of everything that was read

    void step(const Statement& s, const ModelRun& model) {
        const std::optional<NoGrad> silent = s.draft.no_grad ? std::optional<NoGrad>(std::in_place) : std::nullopt;
        if (s.refused) {
            try {
                carry_out(s, model);
            } catch (const GradError&) {
                return;
            }
            complain("GradError was expected");
        }
        carry_out(s, model);
    }

    void compare(const Tensor& tensor, const eager_model::CellRef& cell, const std::string& what) {
        if (tensor.defined() != (cell != nullptr))
            complain(str(what, tensor.defined() ? " is" : " is not", " defined"));
        if (!cell) return;
        if (tensor.shape() != cell->shape || tensor.dtype() != cell->dtype())
            complain(str(what, " is ", tensor.dtype(), tensor.shape(), ", not ", cell->dtype(), cell->shape));
        if (cell->needs_grad() && !tensor.requires_grad()) complain(str(what, " requires no gradient"));
        if (!cell->may_need_grad() && tensor.requires_grad()) complain(str(what, " requires a gradient"));
        const std::vector<double> found = tensor.to_vector<double>(), expected = cell->values();
        for (const double value : found) seen.push_back(std::bit_cast<std::uint64_t>(value));
        if (found != expected) complain(str(what, " is [", list_of(found), "], not [", list_of(expected), "]"));
    }

    // The model's tape is one of scalars: it does not see that a tensor was used if no element of it was.
    void compare_grad(const Tensor& grad, const eager_model::CellRef& cell, const std::string& what) {
        if (!cell && grad.defined()) {
            for (const double value : grad.to_vector<double>())
                if (value != 0) complain(str(what, " is defined"));
            return;
        }
        compare(grad, cell, what);
    }

    void compare_all(const ModelRun& model) {
        for (int i = 0; i < kVariables; ++i) compare(at(i), model.variables[static_cast<std::size_t>(i)], str("v", i));
        for (int i = 0; i < kVariables; ++i)
            if (at(i).defined())
                compare_grad(at(i).grad(), model.variables[static_cast<std::size_t>(i)]->grad, str("v", i, ".grad"));
        for (const Pinned& pinned : pinned_)
            for (std::size_t i = 0; i < pinned.expected.size(); ++i)
                if (pinned.element(static_cast<std::int64_t>(i)) != pinned.expected[i])
                    complain("pinned memory has changed");
    }

private:
    Tensor& at(int i) { return variables[static_cast<std::size_t>(i)]; }

    static Tensor looked_at(const View& view, const Tensor& x) {
        switch (view.look) {
            case Look::Whole: return x;
            case Look::At: {
                if (view.axis == 0) return x[view.start];
                std::vector<Index> index(static_cast<std::size_t>(view.axis), Slice{});
                index.emplace_back(view.start);
                return x.index_by(index);
            }
            case Look::Slice:
                return x.slice(view.axis,
                               {view.start, view.stop < 0 ? std::nullopt : std::optional(view.stop), view.step});
            case Look::Transpose: return x.t();
            case Look::Reshape: return x.reshape(view.shape);
            case Look::Flip: return x.slice(view.axis, {{}, {}, -1});
            case Look::Unsqueeze: return x.unsqueeze(view.axis);
            case Look::Expand: return x.expand(view.shape);
            case Look::Detach: return x.detach();
        }
        return x;
    }

    static Tensor made(const Statement& s) {
        if (s.numbers.empty()) return full(s.shape, s.number, s.dtype);
        if (s.dtype == f64) return from_data(s.numbers, s.shape);
        const std::vector<float> floats(s.numbers.begin(), s.numbers.end());
        if (s.dtype == f32) return from_data(floats, s.shape);
        const std::vector<std::int32_t> ints(s.numbers.begin(), s.numbers.end());
        if (s.dtype == i32) return from_data(ints, s.shape);
        return from_data(std::vector<std::int64_t>(s.numbers.begin(), s.numbers.end()), s.shape);
    }

    void carry_out(const Statement& s, const ModelRun& model) {
        Tensor &to = at(s.draft.to), &self = at(s.draft.a), &b = at(s.draft.b);
        switch (s.draft.act) {
            case Act::Make: to = made(s); return;
            case Act::Drop: to = Tensor(); return;
            case Act::Copy: to = self; return;
            case Act::RequireGrad: self.set_requires_grad(); return;
            case Act::RequireNoGrad: self.set_requires_grad(false); return;
            case Act::Grad: to = self.grad(); return;
            case Act::ZeroGrad: self.zero_grad(); return;
            case Act::SetGrad: self.set_grad(b); return;
            case Act::RealizePending: realize({}); return;
            case Act::Pin:
                pinned_.push_back({self.memory(), model.variables[static_cast<std::size_t>(s.draft.a)]->values()});
                return;
            default: break;
        }
        Tensor a = looked_at(s.view, self);
        switch (s.draft.act) {
            case Act::Neg: to = -a; return;
            case Act::Relu: to = relu(a); return;
            case Act::Square: to = square(a); return;
            case Act::Clone: to = a.clone(); return;
            case Act::Cast: to = a.to(s.dtype); return;
            case Act::Sum: to = s.axis < 0 ? a.sum({}, s.flag) : a.sum(s.axis, s.flag); return;
            case Act::Cumsum: to = cumsum(a, s.axis); return;
            case Act::Add: to = a + b; return;
            case Act::Sub: to = a - b; return;
            case Act::Mul: to = a * b; return;
            case Act::AddNumber: to = a + s.number; return;
            case Act::MulNumber: to = a * s.number; return;
            case Act::Where: to = where(a > s.number, a, b); return;
            case Act::Matmul: to = matmul(a, b); return;
            case Act::Cat: to = cat({a, b}, s.axis); return;
            case Act::CatAgain: to = cat({a, b, a}, s.axis); return;
            case Act::Pad: to = pad(a, {1, 1}); return;
            case Act::Take: to = take(a, from_data(s.positions), s.axis); return;
            case Act::Look: to = a; return;
            case Act::Assign: a.assign(b); return;
            case Act::Fill: a.fill_(s.number); return;
            case Act::AddTo: a += b; return;
            case Act::SubFrom: a -= b; return;
            case Act::MulInto: a *= b; return;
            case Act::AddNumberTo: a += s.number; return;
            case Act::MulNumberInto: a *= s.number; return;
            case Act::Backward: backward(s, a); return;
            case Act::Gradient: {
                const Tensor targets[] = {b};
                to = gradient(a, targets, full(a.shape(), s.number, a.dtype()))[0];
                return;
            }
            case Act::Realize: a.realize(); return;
            case Act::RealizeBoth: {
                const Tensor both[] = {a, b};
                realize(both);
                return;
            }
            case Act::Read: read(s, a, model); return;
            default: complain("an act is missing");
        }
    }

    static void backward(const Statement& s, const Tensor& a) {
        const bool bare = a.numel() == 1 && s.number == 1;
        a.backward(bare ? Tensor() : full(a.shape(), s.number, a.dtype()), s.flag);
        if (!s.again) return;
        try {
            a.backward(full(a.shape(), 1, a.dtype()));
        } catch (const GradError&) {
            return;
        }
        complain("a second backward() was not refused");
    }

    void read(const Statement& s, const Tensor& a, const ModelRun& model) {
        const std::vector<double> all = model.variables[static_cast<std::size_t>(s.draft.a)]->values();
        std::vector<double> expected;
        for (const int i : s.view.positions) expected.push_back(all[static_cast<std::size_t>(i)]);
        const std::vector<double> found = a.numel() == 1 ? std::vector<double>{a.item()} : a.to_vector<double>();
        for (const double value : found) seen.push_back(std::bit_cast<std::uint64_t>(value));
        if (found != expected) complain(str("read [", list_of(found), "], not [", list_of(expected), "]"));
    }

    std::vector<Pinned> pinned_;
};

// ---- failures --------------------------------------------------------------------------------------------------------

struct Outcome {
    std::string complaint;  // empty: all as expected
    std::vector<std::string> lines;
    std::vector<std::uint64_t> seen;
};

Outcome run(const std::vector<Draft>& program, bool donate) {
    Outcome outcome;
    const bool before = std::exchange(config().donate, donate);
    ModelRun model;
    try {
        WeftRun weft;
        for (const Draft& draft : program) {
            const std::optional<Statement> statement = model.step(draft);
            if (!statement) continue;
            outcome.lines.push_back(to_string(*statement));
            weft.step(*statement, model);
        }
        outcome.lines.emplace_back("compare all");
        weft.compare_all(model);
        outcome.seen = weft.seen;
    } catch (const std::exception& error) {
        outcome.complaint = str(donate ? "with" : "without", " donation: ", error.what());
    }
    config().donate = before;
    return outcome;
}

Outcome run(const std::vector<Draft>& program) {
    const Outcome with = run(program, true);
    if (!with.complaint.empty()) return with;
    Outcome without = run(program, false);
    if (without.complaint.empty() && without.seen != with.seen)
        without.complaint = "other bits with donation than without";
    return without;
}

// Drops statements, many at a time first, while the program still fails.
std::vector<Draft> minimised(std::vector<Draft> program) {
    for (std::size_t block = program.size() / 2; block > 0; block /= 2) {
        for (std::size_t at = 0; at < program.size();) {
            std::vector<Draft> less = program;
            const std::size_t end = std::min(at + block, less.size());
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(at), less.begin() + static_cast<std::ptrdiff_t>(end));
            if (run(less).complaint.empty()) at += block;
            else program = less;
        }
    }
    return program;
}

}  // namespace

TEST_CASE("random programs give what an eager model gives, with donation and without, bit for bit") {
    const BackendScope backend("ref");
    const std::uint64_t first = from_environment("WEFT_SEED", kBaseSeed);
    const std::uint64_t count = from_environment("WEFT_RANDOM_PROGRAMS", kPrograms);
    int failures = 0;
    std::size_t statements = 0;
    for (std::uint64_t seed = first; seed < first + count && failures < 5; ++seed) {
        const std::vector<Draft> program = random_program(seed);
        const Outcome outcome = run(program);
        statements += outcome.lines.size();
        if (outcome.complaint.empty()) continue;
        ++failures;
        const Outcome least = run(minimised(program));
        std::string text;
        for (const std::string& line : least.lines) text += str("    ", line, "\n");
        FAIL_CHECK("WEFT_SEED=", seed, " WEFT_RANDOM_PROGRAMS=1: ", least.complaint, "\n", text);
    }
    MESSAGE(count, " programs, ", statements, " statements");
}

}  // namespace weft::testing
