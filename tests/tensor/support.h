// tests/tensor/support.h: what the tests of the op functions share.
#pragma once

#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace weft::testing {

using Doubles = std::vector<double>;
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline const double kNan = std::nan("");

inline Doubles values(const Tensor& x) { return x.to_vector<double>(); }

// The same numbers up to a relative tolerance; NaN equals NaN.
inline bool close(const Tensor& x, const Doubles& expected, double tolerance = 2e-6) {
    const Doubles got = values(x);
    if (got.size() != expected.size()) return false;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isnan(expected[i]) && std::isnan(got[i])) continue;
        if (got[i] == expected[i]) continue;
        if (!(std::fabs(got[i] - expected[i]) <= tolerance * std::max(1.0, std::fabs(expected[i])))) {
            MESSAGE("element ", i, " is ", got[i], ", not ", expected[i]);
            return false;
        }
    }
    return true;
}

// The message of the error that a call throws; "nothing thrown" or the wrong type show up in the comparison.
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

// The same for an error that a run raises, without the offending value that some evaluators append ("; got 10").
template <class E>
std::string run_error_of(const std::function<void()>& call) {
    const std::string message = error_of<E>(call);
    return message.substr(0, message.find("; got "));
}

// 0, 1, 2 … in this shape: every element is different.
inline Tensor counting(const Shape& shape, DType dtype = f32) { return arange(numel(shape), dtype).reshape(shape); }

// A fixed, irregular sequence of numbers in [-1, 1), for comparisons with plain loops.
inline std::vector<float> noise(std::size_t count, unsigned seed = 1) {
    std::vector<float> result(count);
    for (float& value : result) {
        seed = seed * 1664525u + 1013904223u;
        value = static_cast<float>(seed >> 8) * 0x1p-23f - 1;
    }
    return result;
}

}  // namespace weft::testing
