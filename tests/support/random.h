// tests/support/random.h: a small generator of random numbers for tests: the same on every platform, and cheap to fork,
// so that one choice more or less in one place does not change all the others.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

namespace weft::testing {

class Rng {
public:
    explicit Rng(std::uint64_t seed)
        : state_(mixed(seed + 0x1234567)) {}  // mixed: the next seed is no shifted copy of this one
    std::uint64_t next() { return mixed(state_ += 0x9e3779b97f4a7c15); }  // splitmix64
    std::int64_t below(std::int64_t n) {
        return n <= 0 ? 0 : static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(n));
    }
    std::int64_t within(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }  // both included
    bool chance(double p) { return unit() < p; }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    Rng fork() { return Rng(next()); }
    template <class T>
    const T& pick(const std::vector<T>& from) {
        return from[static_cast<std::size_t>(below(static_cast<std::int64_t>(from.size())))];
    }
    template <class T>
    T pick(std::initializer_list<T> from) {
        return from.begin()[below(static_cast<std::int64_t>(from.size()))];
    }

private:
    static std::uint64_t mixed(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}  // namespace weft::testing
