// tests/fuzz/ops.h: the ops and writes that random programs are made of. A row's expression is both what runs and what is
// printed. Values stay within a few units: what could grow is scaled or squashed.
#pragma once

#include <weft/weft.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace weft::testing::fuzz {

// The operands x, y, z; a number c; an axis d of x; a position k along it.
struct Operands {
    Tensor x, y, z;
    double c = 0;
    int d = 0;
    std::int64_t k = 0;
};

struct OpRow {
    int weight;
    int operands;
    std::string_view text;  // with the names x, y, z, c, d, k
    Tensor (*apply)(const Operands&);
};

struct WriteRow {
    int weight;
    int operands;  // the target x, and a value y
    std::string_view text;
    void (*apply)(const Operands&);
};

std::span<const OpRow> ops();
std::span<const WriteRow> writes();

}  // namespace weft::testing::fuzz
