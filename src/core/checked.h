// core/checked.h: 64-bit arithmetic for sizes that come from a user; overflow raises instead of wrapping.
#pragma once

#include <weft/error.h>
#include <weft/shape.h>

#include <cstdint>
#include <string>

namespace weft {

[[noreturn]] void throw_too_large(const std::string& what);  // ValueError, which opens with the call

// The call that a user made, for messages from beneath it. The outermost one on this thread counts.
class Call {
public:
    virtual std::string call() const = 0;  // "zeros(shape: [3])"

protected:
    Call() : first_(!current_) {
        if (first_) current_ = this;
    }
    ~Call() {
        if (first_) current_ = nullptr;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

private:
    friend void throw_too_large(const std::string& what);
    static constinit thread_local const Call* current_;
    const bool first_;
};

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t result;
    if (__builtin_add_overflow(a, b, &result)) throw_too_large("a size does not fit 64 bits");
    return result;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
    std::int64_t result;
    if (__builtin_mul_overflow(a, b, &result)) throw_too_large("a size does not fit 64 bits");
    return result;
}

// Whether a value of this shape, of the widest element type, has a number of bytes that fits 63 bits. All values do, stored or not.
bool bytes_fit(const Shape& shape);

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

}  // namespace weft
