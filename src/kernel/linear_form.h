// kernel/linear_form.h: index expressions as sums, and the ranges of their variables at one place of a kernel: what proofs about
// addresses compute with.
#pragma once

#include "ir/symbolic.h"
#include "kernel/kernel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace weft::kernel {

__extension__ typedef __int128 Int128;
constexpr Int128 wide_floor_div(Int128 a, Int128 b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// The larger or the smaller of two indices.
inline bool is_extreme(const ir::Node& node) {
    return (node.op == ir::Op::Min || node.op == ir::Op::Max) && node.dtype == DType::I64;
}

// constant + sum of factor * atom; an atom is a loop variable or what no sum is (x // 4, a load, a scalar).
struct LinearForm {
    struct Term {
        const ir::Node* atom;
        std::int64_t factor;
    };
    InlineVector<Term, 8> terms;
    std::int64_t constant = 0;
    bool exact = true;  // false: a factor does not fit 64 bits, and nothing is known

    std::int64_t factor_of(const ir::Node* atom) const;
    // this += other * factor
    void add(const LinearForm& other, std::int64_t factor);
    void add(const ir::Node* atom, std::int64_t factor);
};
LinearForm linear_form(const ir::Node& expression);

// The ranges of loop variables, narrowed by the counts of loops around.
class Ranges {
public:
    explicit Ranges(int variables) : of_(static_cast<std::size_t>(variables), {0, -1}) {}

    ir::Bounds& operator[](int var) { return of_[static_cast<std::size_t>(var)]; }
    const ir::Bounds& operator[](int var) const { return of_[static_cast<std::size_t>(var)]; }
    ir::Bounds of(const ir::Node& atom) const;

    struct Sum {
        Int128 low, high;
        bool fits() const { return low >= INT64_MIN && high <= INT64_MAX; }
    };
    Sum of(const LinearForm& form) const { return of(form, nullptr, {}); }

private:
    ir::Bounds of_choice(const ir::Node& choice) const;
    Sum of(const LinearForm& form, const ir::Node* known, const ir::Bounds& as) const;

    std::vector<ir::Bounds> of_;
};

}  // namespace weft::kernel
