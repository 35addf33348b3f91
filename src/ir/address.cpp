// ir/address.cpp: solves for one variable after the other, the one with the largest factor first.
#include "ir/address.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>
#include <utility>

namespace weft::ir {
namespace {

__extension__ typedef __int128 Int128;

constexpr Int128 kFarthest = Int128{1} << 110;  // so that sums of what is not farther fit
constexpr Int128 kMostValues = 4;               // of one variable that are tried one by one
constexpr int kMostLeaves = 64;

Int128 floor_div(Int128 a, Int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
Int128 ceil_div(Int128 a, Int128 b) { return -floor_div(-a, b); }

struct Range {
    Int128 low = 0, high = 0;
};

Range times(const Difference::Term& term) {
    const Int128 a = Int128{term.factor} * term.low, b = Int128{term.factor} * term.high;
    return {std::min(a, b), std::max(a, b)};
}

// All ways to make a sum zero. A leaf of the search is a set of variables that are known; the others may be anything.
class Solver {
public:
    explicit Solver(std::span<const Difference::Term> terms) : terms_(terms) {
        remainder_.resize(terms.size() + 1);
        for (std::size_t i = terms_.size(); i-- > 0;) {
            const Range own = times(terms_[i]);
            remainder_[i] = {remainder_[i + 1].low + own.low, remainder_[i + 1].high + own.high};
        }
    }

    void solve(std::size_t at, Int128 sum) {
        if (at == terms_.size()) {
            if (sum == 0) leaf();
            return;
        }
        const Difference::Term& term = terms_[at];
        Int128 low = -sum - remainder_[at + 1].high, high = -sum - remainder_[at + 1].low;  // of factor * variable
        if (term.factor < 0) low = -std::exchange(high, -low);
        const Int128 by = std::abs(term.factor);
        const Int128 first = std::max<Int128>(ceil_div(low, by), term.low),
                     last = std::min<Int128>(floor_div(high, by), term.high);
        if (first > last) return;
        if (last - first >= kMostValues || leaves_ >= kMostLeaves) return leaf();
        for (Int128 value = first; value <= last; ++value) {
            if (value == 0 && term.tag >= 0) zeros_.push_back(term.tag);
            solve(at + 1, sum + term.factor * value);
            if (value == 0 && term.tag >= 0) zeros_.pop_back();
        }
    }

    bool never() const { return leaves_ == 0; }
    std::span<const int> zeros() const { return always_; }

private:
    void leaf() {
        if (leaves_++ == 0) always_ = zeros_;
        InlineVector<int, 12> both;
        for (const int tag : always_)
            if (std::find(zeros_.begin(), zeros_.end(), tag) != zeros_.end()) both.push_back(tag);
        always_ = both;
    }

    std::span<const Difference::Term> terms_;
    InlineVector<Range, 13> remainder_;  // what the terms from here on add up to
    InlineVector<int, 12> zeros_, always_;
    int leaves_ = 0;
};

// The terms from `at` on add up to one number, if all others are multiples of something that has one such sum in their range.
struct Tail {
    bool alone = false, never = false;
    Int128 sum = 0;
};
Tail tail_of(std::span<const Difference::Term> terms, std::size_t at, std::int64_t divisor, Int128 constant) {
    Range range;
    for (const Difference::Term& term : terms.subspan(at)) {
        const Range own = times(term);
        range = {range.low + own.low, range.high + own.high};
    }
    const Int128 sum = range.low + (-constant - range.low - floor_div(-constant - range.low, divisor) * divisor);
    return {sum + divisor > range.high, sum > range.high, sum};
}

}  // namespace

void Difference::add(std::int64_t factor, std::int64_t low, std::int64_t high, int tag) {
    if (factor != 0 || tag >= 0) terms.push_back({factor, low, high, tag});
}

bool Zero::contains(int tag) const { return std::find(zeros.begin(), zeros.end(), tag) != zeros.end(); }

Zero when_zero(Difference difference) {
    Zero result;
    Difference moving;
    moving.constant = difference.constant;
    InlineVector<int, 12> fixed;  // zero, because they have no other value
    std::int64_t divisor = 0;
    for (const Difference::Term& term : difference.terms) {
        if (term.high < term.low) {
            result.never = true;
            return result;
        }
        if (term.low == term.high) {
            if (term.low == 0 && term.tag >= 0) fixed.push_back(term.tag);
            std::int64_t product;
            if (!__builtin_mul_overflow(term.factor, term.low, &product) &&
                !__builtin_add_overflow(moving.constant, product, &moving.constant))
                continue;
            return result;
        }
        if (term.factor == 0) continue;  // may be anything
        if (const Range range = times(term); range.low < -kFarthest || range.high > kFarthest) return result;
        divisor = std::gcd(divisor, term.factor);
        moving.terms.push_back(term);
    }
    if (divisor != 0 && moving.constant % divisor != 0) {
        result.never = true;
        return result;
    }
    std::stable_sort(moving.terms.begin(), moving.terms.end(),
                     [](const auto& a, const auto& b) { return std::abs(a.factor) > std::abs(b.factor); });
    auto divisors = InlineVector<std::int64_t, 13>::filled(moving.terms.size() + 1);  // of the factors before
    for (std::size_t i = 0; i < moving.terms.size(); ++i)
        divisors[i + 1] = std::gcd(divisors[i], moving.terms[i].factor);
    std::span<const Difference::Term> left = moving.terms;
    Int128 constant = moving.constant;
    const auto conclude = [&](std::span<const Difference::Term> terms, Int128 sum) {
        Solver solver(terms);
        solver.solve(0, sum);
        result.never |= solver.never();
        for (const int tag : solver.zeros()) result.zeros.push_back(tag);
    };
    for (std::size_t at = left.size(); at-- > 1 && !result.never;) {
        const Tail tail = tail_of(left, at, divisors[at], constant);
        if (!tail.alone) continue;
        result.never |= tail.never;
        conclude(left.subspan(at), -tail.sum);
        constant += tail.sum;
        left = left.first(at);
    }
    conclude(left, constant);
    for (const int tag : fixed) result.zeros.push_back(tag);
    return result;
}

}  // namespace weft::ir
