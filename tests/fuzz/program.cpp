// tests/fuzz/program.cpp: runs a program's statements, and writes them down.
#include "tests/fuzz/program.h"

#include "core/str.h"
#include "tests/fuzz/ops.h"
#include "tests/support/random.h"

#include <weft/weft.h>

#include <cctype>
#include <cmath>
#include <optional>
#include <typeinfo>

namespace weft::testing::fuzz {
namespace {

std::string shape_text(const Shape& shape) {
    std::string text = "{";
    for (const std::int64_t n : shape) text += str(text.size() > 1 ? ", " : "", n);
    return text + "}";
}

std::string name(int variable) { return str("v", variable); }

// The row's expression with the operands' names in place of x, y, z, c, d, k.
std::string filled_in(std::string_view row, const Statement& s, const Operands& o) {
    std::string text;
    for (std::size_t i = 0; i < row.size(); ++i) {
        const auto word = [&](std::size_t at) {
            return at < row.size() && (std::isalnum(static_cast<unsigned char>(row[at])) || row[at] == '_');
        };
        if (word(i) && (i == 0 || !word(i - 1)) && !word(i + 1)) {
            switch (row[i]) {
                case 'x': text += name(s.in[0]); continue;
                case 'y': text += name(s.in[1]); continue;
                case 'z': text += name(s.in[2]); continue;
                case 'c': text += str(o.c); continue;
                case 'd': text += str(o.d); continue;
                case 'k': text += str(o.k); continue;
                default: break;
            }
        }
        text += row[i];
    }
    return text;
}

// Ops that compute much more than their results have elements: products, and values that are written to the places of an index.
bool is_too_large(const OpRow& row, const Operands& o, std::int64_t most_elements) {
    const auto calls = [&](std::string_view name) { return row.text.find(name) != std::string_view::npos; };
    if (o.x.rank() == 0) return false;
    if (calls("matmul") || calls("linear")) {
        const std::int64_t longest = std::max(o.x.size(-1), o.x.size(0));
        const std::int64_t other = row.operands > 1 ? o.y.numel() : o.x.numel();
        return o.x.numel() * std::max<std::int64_t>(1, other / std::max<std::int64_t>(1, longest)) > 15 * most_elements;
    }
    if ((calls("index_add") || calls("index_put")) && o.y.rank() > 0)
        return o.x.numel() / std::max<std::int64_t>(1, o.x.size(0)) * o.y.size(0) > 15 * most_elements;
    return false;
}

class Run {
public:
    Run(const Program& program, const RunOptions& options)
        : program_(program), options_(options), variables_(static_cast<std::size_t>(program.variables)) {}

    std::vector<Reading> all() {
        for (std::size_t i = 0; i < program_.statements.size(); ++i) one(i, program_.statements[i]);
        if (options_.largest) *options_.largest = largest();
        return std::move(readings_);
    }

    // False: the statement raised an error, or would make too much.
    bool one(std::size_t i, const Statement& s) {
        if (static_cast<int>(variables_.size()) <= s.to) variables_.resize(static_cast<std::size_t>(s.to) + 1);
        try {
            const std::optional<NoGrad> silent = s.no_grad ? std::optional<NoGrad>(std::in_place) : std::nullopt;
            return carry_out(i, s);
        } catch (const std::exception& error) {
            readings_.push_back({.statement = i, .error = str(typeid(error).name(), ": ", error.what())});
            return false;
        }
    }

    Tensor& at(int i) { return variables_[static_cast<std::size_t>(i)]; }

private:
    double largest() const {
        double result = 0;
        for (const Tensor& variable : variables_) {
            if (!variable.defined()) continue;
            try {
                for (const double value : variable.to_vector<double>())
                    if (std::isfinite(value)) result = std::max(result, std::fabs(value));
            } catch (const std::exception&) {  // an index out of range, which a reading has reported
            }
        }
        return result;
    }

    void write_down(const Statement& s, const std::string& line) {
        if (options_.text) options_.text->push_back(s.no_grad ? str("{ NoGrad off; ", line, " }") : line);
    }

    bool operands(const Statement& s, int count, Operands& o) {
        for (int i = 0; i < count; ++i)
            if (!at(s.in[static_cast<std::size_t>(i)]).defined()) return false;
        o.x = at(s.in[0]);
        if (count > 1) o.y = at(s.in[1]);
        if (count > 2) o.z = at(s.in[2]);
        o.c = s.c;
        o.d = o.x.rank() > 0 ? static_cast<int>(s.d % o.x.rank()) : 0;
        o.k = o.x.rank() > 0 && o.x.size(o.d) > 0 ? s.k % o.x.size(o.d) : 0;
        return true;
    }

    bool carry_out(std::size_t i, const Statement& s) {
        switch (s.act) {
            case Act::Make: return make(s);
            case Act::Op: return op(s);
            case Act::Write: return write(s);
            case Act::Jit: return captured(s);
            default: break;
        }
        if (!at(s.in[0]).defined()) return true;
        Tensor& x = at(s.in[0]);
        switch (s.act) {
            case Act::Read:
                write_down(s, str("show(", name(s.in[0]), ");"));
                read(i, x);
                return true;
            case Act::ReadGrad:
                write_down(s, str("show(", name(s.in[0]), ".grad());"));
                if (x.grad().defined()) read(i, x.grad());
                return true;
            case Act::Realize: return realize_some(s, x);
            case Act::Backward: return backward(s, x);
            case Act::Gradient: return gradient_of(s, x);
            case Act::Drop:
                write_down(s, str(name(s.in[0]), " = Tensor();"));
                x = Tensor();
                return true;
            default: return false;
        }
    }

    bool make(const Statement& s) {
        const DType dtype = options_.wide && s.dtype == f32 ? f64 : s.dtype;
        at(s.to) = options_.drafting ? zeros(s.shape, dtype)
                                     : filled(dtype, s.shape, static_cast<std::uint64_t>(s.k), options_.noise);
        if (s.flag) at(s.to).set_requires_grad();
        write_down(s, str("Tensor ", name(s.to), " = filled(", s.dtype, ", ", shape_text(s.shape), ", ", s.k, ");",
                          s.flag ? str(" ", name(s.to), ".set_requires_grad();") : ""));
        return true;
    }

    bool op(const Statement& s) {
        const OpRow& row = ops()[static_cast<std::size_t>(s.row)];
        Operands o;
        if (!operands(s, row.operands, o)) return true;
        if (is_too_large(row, o, program_.most_elements)) return false;
        const Tensor result = row.apply(o);
        if (result.numel() > program_.most_elements) return false;
        at(s.to) = result;
        write_down(s, str("Tensor ", name(s.to), " = ", filled_in(row.text, s, o), ";"));
        return true;
    }

    bool write(const Statement& s) {
        const WriteRow& row = writes()[static_cast<std::size_t>(s.row)];
        Operands o;
        if (!operands(s, row.operands, o)) return true;
        row.apply(o);
        write_down(s, str(filled_in(row.text, s, o), ";"));
        return true;
    }

    // A function of two tensors that is traced and called.
    bool captured(const Statement& s) {
        const OpRow &first = ops()[static_cast<std::size_t>(s.row)],
                    &second = ops()[static_cast<std::size_t>(s.d % static_cast<std::int64_t>(ops().size()))];
        Operands o;
        if (!operands(s, 2, o)) return true;
        o.x = o.x.detach();  // inputs are values: jit refuses those that require a gradient
        o.y = o.y.detach();
        const auto apply = [most = program_.most_elements](const OpRow& row, const Operands& own) {
            if (is_too_large(row, own, most)) throw ValueError("too large");  // the draft draws another statement
            return row.apply(own);
        };
        const auto function = [&first, &second, &apply, o](const Tensor& x, const Tensor& y) {
            Operands own = o;
            own.x = x;
            own.y = own.z = y;
            const Tensor t = apply(first, own);
            own.y = t;
            return std::pair(t, apply(second, own));
        };
        std::pair<Tensor, Tensor> result;
        if (options_.plain) {
            const NoGrad values_only;
            result = function(o.x, o.y);
            if (result.second.cell() != o.x.cell() && result.second.cell() != o.y.cell())
                result.second = result.second.clone();  // what a traced function returns is new, unless it is an input
        } else {
            const auto jitted = jit([&function](Tensor x, Tensor y) { return function(x, y); });
            if (s.flag) result = jitted(o.x, o.y);
            result = jitted(o.x, o.y);
        }
        if (result.first.numel() > program_.most_elements || result.second.numel() > program_.most_elements)
            return false;
        at(s.to) = result.second;
        write_down(s, str("Tensor ", name(s.to), " = jit([&](Tensor x, Tensor y) { Tensor z = y; y = z = ",
                          filled_in_jit(first.text, o), "; return ", filled_in_jit(second.text, o), "; })(",
                          name(s.in[0]), ".detach(), ", name(s.in[1]), ".detach());"));
        return true;
    }

    static std::string filled_in_jit(std::string_view row, const Operands& o) {
        std::string text;
        for (std::size_t i = 0; i < row.size(); ++i) {
            const bool alone = (i == 0 || !std::isalnum(static_cast<unsigned char>(row[i - 1]))) &&
                               (i + 1 == row.size() || !std::isalnum(static_cast<unsigned char>(row[i + 1])));
            if (alone && row[i] == 'c') text += str(o.c);
            else if (alone && row[i] == 'd') text += str(o.d);
            else if (alone && row[i] == 'k') text += str(o.k);
            else text += row[i];
        }
        return text;
    }

    bool realize_some(const Statement& s, const Tensor& x) {
        if (s.flag && at(s.in[1]).defined()) {
            const Tensor both[] = {x, at(s.in[1])};
            write_down(s, str("realize(std::vector<Tensor>{", name(s.in[0]), ", ", name(s.in[1]), "});"));
            realize(both);
        } else {
            write_down(s, str(name(s.in[0]), ".realize();"));
            x.realize();
        }
        return true;
    }

    // No statement makes these values, but for sums: gradient() takes equal expressions for one value (docs/semantics.md).
    static std::string loss_text(const Statement& s, const std::string& x) {
        return s.k % 3 == 0   ? str("sum(", x, ") * 0.3")
               : s.k % 3 == 1 ? str("mean(", x, " * 0.9371 * ", x, ")")
                              : str("sum(", x, " * filled(", x, ".dtype(), ", x, ".shape(), 1)) * 0.1");
    }
    static Tensor loss_of(const Statement& s, const Tensor& x) {
        if (s.k % 3 == 0) return sum(x) * 0.3;
        return s.k % 3 == 1 ? mean(x * 0.9371 * x) : sum(x * filled(x.dtype(), x.shape(), 1)) * 0.1;
    }

    bool backward(const Statement& s, const Tensor& x) {
        const Tensor& y = at(s.in[1]);
        const bool two = s.flag && y.defined() && is_float(y.dtype());
        if (!x.requires_grad()) return false;
        write_down(s, str("(", loss_text(s, name(s.in[0])), two ? " + " + loss_text(s, name(s.in[1])) : "",
                          ").backward({}, true);"));
        (two ? loss_of(s, x) + loss_of(s, y) : loss_of(s, x)).backward({}, true);
        return true;
    }

    bool gradient_of(const Statement& s, const Tensor& x) {
        const Tensor target = at(s.in[1]);
        if (!target.defined() || !x.requires_grad() || !target.requires_grad()) return false;
        write_down(s, str("Tensor ", name(s.to), " = gradient(", loss_text(s, name(s.in[0])), ", std::vector<Tensor>{",
                          name(s.in[1]), "})[0];"));
        const Tensor targets[] = {target};
        at(s.to) = gradient(loss_of(s, x), targets)[0];
        return true;
    }

    void read(std::size_t i, const Tensor& x) {
        readings_.push_back({.statement = i, .dtype = x.dtype(), .shape = x.shape()});
        const std::size_t mine = readings_.size() - 1;
        std::vector<double> values;
        try {
            values = x.to_vector<double>();
        } catch (...) {
            readings_.pop_back();
            throw;
        }
        readings_[mine].values = std::move(values);
    }

    const Program& program_;
    const RunOptions& options_;
    std::vector<Tensor> variables_;
    std::vector<Reading> readings_;
};

}  // namespace

Tensor filled(DType dtype, const Shape& shape, std::uint64_t seed, double noise) {
    Rng rng(seed), other(seed + 1);
    std::vector<double> values(static_cast<std::size_t>(numel(shape)));
    for (double& value : values) {
        if (is_float(dtype)) {
            const double tame = rng.unit() + rng.unit() + rng.unit() + rng.unit() - 2;  // about normal, within ±2
            value = static_cast<float>(tame * 1.5) * (noise == 0 ? 1.0 : 1 + noise * (other.unit() - 0.5));
        } else value = static_cast<double>(is_bool(dtype) ? rng.below(2) : rng.below(7));
        if (is_signed_int(dtype)) value -= 3;
    }
    if (dtype == f64) return from_data(values, shape);
    const std::vector<float> floats(values.begin(), values.end());
    return from_data(floats, shape).to(dtype).realize();
}

std::vector<Reading> run(const Program& program, const RunOptions& options) { return Run(program, options).all(); }

// ---- drafts ----------------------------------------------------------------------------------------------------------

namespace {

class Draft {
public:
    explicit Draft(std::uint64_t seed) : rng_(seed), trial_(program_, options_) {
        static const std::vector<std::int64_t> kSizes = {1, 2, 3, 5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 128};
        for (int i = 0; i < 3; ++i) sizes_.push_back(rng_.pick(kSizes));
        if (rng_.chance(0.06)) sizes_.push_back(0);
        if (rng_.chance(0.05)) sizes_.push_back(rng_.pick({200, 257, 513, 1000, 4099}));
        if (rng_.chance(0.03)) {  // beyond a tile, a cache, a thread's chunk
            program_.most_elements = 300000;
            sizes_ = {rng_.pick(kSizes), rng_.pick({257, 513, 1000}), rng_.pick({1025, 4099, 70001})};
        }
        gradients_ = rng_.chance(0.6);
        mixed_ = rng_.chance(0.25);
        half_ = rng_.chance(0.1) ? rng_.pick({f16, bf16, f64}) : f32;
    }

    Program program() {
        const std::int64_t leaves = rng_.within(1, 4), length = rng_.within(2, program_.most_elements > 20000 ? 5 : 14);
        for (std::int64_t i = 0; i < leaves; ++i) make();
        for (std::int64_t i = 0; i < length; ++i) any();
        last_reads();
        Program result = std::move(program_);
        return result;
    }

private:
    std::int64_t count() const { return program_.variables; }
    int variable() {  // mostly a recent one
        const double u = rng_.unit();
        return static_cast<int>(count() - 1 - static_cast<std::int64_t>(u * u * static_cast<double>(count())));
    }

    // Keeps a statement that works with the tensors that there are now. Nothing is computed for that.
    bool keep(const Statement& s) {
        const bool builds =
            s.act != Act::Read && s.act != Act::ReadGrad && s.act != Act::Realize && s.act != Act::Backward;
        if (builds && !trial_.one(0, s)) return false;
        program_.statements.push_back(s);
        if (s.to >= 0) program_.variables = s.to + 1;
        return true;
    }

    void make() {
        Statement s{.act = Act::Make, .to = static_cast<int>(count())};
        const std::int64_t rank = rng_.pick({1, 2, 2, 2, 2, 3});
        std::int64_t elements = 1;
        for (std::int64_t d = 0; d < rank; ++d) {
            const std::int64_t n = rng_.pick(sizes_);
            if (elements * n > program_.most_elements) break;
            s.shape.push_back(n);
            elements *= n;
        }
        s.dtype = mixed_ ? rng_.pick({f32, f32, f64, f16, bf16, i32, i64, u8, bool_}) : half_;
        s.k = rng_.below(1000);
        s.flag = gradients_ && is_float(s.dtype) && rng_.chance(0.7);
        keep(s);
    }

    template <class Row>
    int row_of(std::span<const Row> rows) {
        std::int64_t total = 0;
        for (const Row& row : rows) total += row.weight;
        std::int64_t at = rng_.below(total);
        for (std::size_t i = 0;; ++i)
            if ((at -= rows[i].weight) < 0) return static_cast<int>(i);
    }

    Statement with_dice(Act act) {
        Statement s{.act = act, .in = {variable(), variable(), variable()}};
        s.c = static_cast<double>(rng_.pick({1, 2, 3, 5, 9, 11, 13, 20, -7, -15})) / 10;
        s.d = rng_.below(1000);
        s.k = rng_.below(1000);
        s.flag = rng_.chance(0.5);
        s.no_grad = gradients_ && rng_.chance(0.15);
        return s;
    }

    void any() {
        const double what = rng_.unit();
        if (what < 0.62) {
            for (int tries = 0; tries < 12; ++tries)
                if (op()) return;
            return;
        }
        Statement s = with_dice(what < 0.80   ? Act::Write
                                : what < 0.84 ? Act::Read
                                : what < 0.89 ? Act::Realize
                                : what < 0.92 ? Act::Drop
                                : what < 0.94 ? Act::Jit
                                : what < 0.98 ? Act::Backward
                                              : Act::Gradient);
        for (int tries = 0; s.act == Act::Write && tries < 8; ++tries) {
            s = with_dice(Act::Write);
            s.row = row_of(writes());
            if (keep(s)) return;
        }
        if (s.act == Act::Write) return;
        if (s.act == Act::Jit) s.row = row_of(ops());
        if (s.act == Act::Backward || s.act == Act::Gradient || s.act == Act::Read || s.act == Act::Realize)
            s.no_grad = false;
        if (s.act == Act::Jit || s.act == Act::Gradient) s.to = static_cast<int>(count());
        keep(s);
    }

    bool op() {
        Statement s = with_dice(Act::Op);
        s.row = row_of(ops());
        s.to = static_cast<int>(count());
        return keep(s);
    }

    void last_reads() {
        if (gradients_) keep(with_dice(Act::Backward));
        std::vector<int> order;
        for (int i = 0; i < count(); ++i) order.push_back(i);
        for (std::size_t i = order.size(); i-- > 1;)
            std::swap(order[i], order[static_cast<std::size_t>(rng_.below(static_cast<std::int64_t>(i) + 1))]);
        for (const int i : order) {
            Statement s{.act = Act::Read, .in = {i, 0, 0}};
            if (rng_.chance(0.7)) keep(s);
            s.act = Act::ReadGrad;
            if (gradients_ && rng_.chance(0.8)) keep(s);
        }
    }

    Rng rng_;
    std::vector<std::int64_t> sizes_;
    bool gradients_ = false, mixed_ = false;
    DType half_ = f32;
    Program program_;
    RunOptions options_{.plain = true, .drafting = true};
    Run trial_;
};

}  // namespace

// Operands are drawn blindly; a statement that raises or makes too much is drawn again, with the tensors that there are then.
Program random_program(std::uint64_t seed) { return Draft(seed).program(); }

}  // namespace weft::testing::fuzz
