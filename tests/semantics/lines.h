// tests/semantics/lines.h: how a line of docs/semantics.md is tested. LINE("S12: …") lists values and what they must be; they are
// computed on `ref` in a test case of that name, and those of all lines together on `c`, in a few runs, since its compiler is slow
// to start. LINE_ALONE("S12: …") is an ordinary test case, for what cannot be listed: state, errors, random numbers.
#pragma once

#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace weft::testing {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// What a line claims about one tensor.
struct Claim {
    std::string line;
    Tensor value;
    std::variant<Doubles, Ints> expected;
};

class Line {
public:
    Line(std::string name, std::vector<Claim>& claims) : name_(std::move(name)), claims_(claims) {}
    void is(const Tensor& value, Doubles expected) { claims_.push_back({name_, value, std::move(expected)}); }
    void ints(const Tensor& value, Ints expected) { claims_.push_back({name_, value, std::move(expected)}); }

private:
    std::string name_;
    std::vector<Claim>& claims_;
};

struct LineEntry {
    std::string name;
    void (*body)(Line&) = nullptr;  // null: it stands alone
};
std::vector<LineEntry>& registered_lines();

struct RegisterLine {
    explicit RegisterLine(std::string name, void (*body)(Line&) = nullptr) {
        registered_lines().push_back({std::move(name), body});
    }
};

// Computes all claims in one run on this backend and checks each. NaN equals NaN; -0 does not equal 0.
void check_claims(const std::vector<Claim>& claims, std::string_view backend);
void check_line(const char* name, void (*body)(Line&), std::string_view backend);

#define SEMANTICS_JOIN(a, b) a##b
#define SEMANTICS_LINE(id, name)                                                                            \
    static void SEMANTICS_JOIN(line_, id)(::weft::testing::Line & line);                                    \
    static const ::weft::testing::RegisterLine SEMANTICS_JOIN(entry_, id)(name, SEMANTICS_JOIN(line_, id)); \
    TEST_CASE(name) { ::weft::testing::check_line(name, SEMANTICS_JOIN(line_, id), "ref"); }                \
    static void SEMANTICS_JOIN(line_, id)(::weft::testing::Line & line)
#define SEMANTICS_ALONE(id, name)                                                \
    static const ::weft::testing::RegisterLine SEMANTICS_JOIN(entry_, id)(name); \
    TEST_CASE(name)
#define SEMANTICS_AT(macro, id, name) macro(id, name)
#define LINE(name) SEMANTICS_AT(SEMANTICS_LINE, __LINE__, name)
#define LINE_ALONE(name) SEMANTICS_AT(SEMANTICS_ALONE, __LINE__, name)

// Numbers in memory: nothing that is computed from them can be folded when the graph is built.
inline Tensor floats(const Nested& numbers) { return tensor(numbers, f32); }

// d(sum of y)/dx.
template <class F>
Tensor slope(const Nested& at, F function, DType dtype = f32) {
    Tensor x = tensor(at, dtype);
    x.set_requires_grad();
    const Tensor y = function(x), targets[] = {x};
    return gradient(sum(y), targets)[0];
}

// The same with respect to one of two operands.
template <class F>
Tensor slope_of_two(const Nested& a, const Nested& b, int which, F function) {
    Tensor both[] = {floats(a), floats(b)};
    both[which].set_requires_grad();
    const Tensor y = function(both[0], both[1]);
    return gradient(sum(y), {&both[which], 1})[0];
}

// The message of the error that a call throws; another type of error, or none, shows up in the comparison.
template <class E>
std::string error_of(const std::function<void()>& call) {
    try {
        call();
    } catch (const E& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another type of error: ") + error.what();
    }
    return "nothing thrown";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace weft::testing
