// ir/address.h: when two addresses may be equal. Addresses are sums of integer variables times constants; their difference is one, too.
// The proof is that of mixed radix numbers: a variable whose factor is larger than all that the smaller terms can add up to has only
// one value for which the difference is zero.
#pragma once

#include <weft/shape.h>

#include <cstdint>

namespace weft::ir {

// The sum of factor * variable over all terms, plus the constant. A tag is the caller's name of a variable.
struct Difference {
    struct Term {
        std::int64_t factor;
        std::int64_t low, high;  // of the variable, inclusive; high < low: it has no value
        int tag;                 // >= 0: asked for by the caller; -1: nobody's
    };
    InlineVector<Term, 12> terms;
    std::int64_t constant = 0;

    void add(std::int64_t factor, std::int64_t low, std::int64_t high, int tag = -1);
};

// What follows from a difference being zero.
struct Zero {
    bool never = false;           // it is never zero: the addresses differ
    InlineVector<int, 12> zeros;  // the tags of variables that are zero whenever it is
    bool contains(int tag) const;
};
Zero when_zero(Difference difference);

}  // namespace weft::ir
