// backend/c/prelude.h: the helper functions of printed C. A kernel asks for a helper by what it does and for which
// types; its definition (and those it needs) is printed in front of the kernel, once. No header is included: that keeps
// compiling short.
#pragma once

#include "backend/c/types.h"
#include "ir/node.h"

#include <set>
#include <string>
#include <vector>

namespace weft::backend::c {

struct Piece {
    std::string name, text;
};

class Prelude {
public:
    // Each function returns the name of a helper and makes sure that it is defined. `lanes` 0 means a scalar.
    std::string vector(DType t, int lanes);            // a type
    std::string splat(DType t, int lanes);             // (x): x in all lanes
    std::string iota(int lanes);                       // (): 0, 1, 2 … as i64
    std::string select(DType t, int lanes);            // (mask, a, b)
    std::string op(ir::Op op, DType t, int lanes);     // (operands), as the op table's eval
    std::string limit(ir::Op op, DType t, int lanes);  // (x, b): Max or Min with a b that is not NaN: one comparison
    std::string bits(DType from, DType to);            // (x): a scalar's bits as another type
    std::string convert(DType from, DType to, int lanes);                 // (x): a single step; see cast_path
    std::string widen_mask(std::size_t from, std::size_t to, int lanes);  // (mask): to masks of another element size
    std::string lookup(const float* table, int lanes);  // (index): the table's entries there, modulo its size
    std::string check(DType t, int lanes);              // (value, low, high, code, lanes used, record)
    // Memory. Names: load (p), load_some (p, n), strided (p, stride, n), gather (p, indices, n); with `_if` a mask comes
    // before n; store, store_some, store_strided, store_gather and stream likewise, with the vector last.
    std::string memory(const std::string& what, DType t, int lanes);
    std::string stream_fence();                 // (): after the last `stream`, which is for vectors of 32 or 64 bytes
    std::string transpose(DType t, int lanes);  // (&row0, &row1, …): afterwards they hold the columns
    std::string shift_lanes(DType t, int lanes, int by);  // (v): lane l is v's lane l + by
    // (old, v): lanes at … at+count-1 are v's 0 … count-1, the others are old's
    std::string put_lanes(DType t, int lanes, int at, int count);

    const std::vector<Piece>& pieces() const { return pieces_; }

private:
    std::string define(const std::string& name, const std::string& text);
    bool defined(const std::string& name) const { return names_.contains(name); }
    std::string conversion(DType from, DType to, int lanes, const std::string& name);
    std::string lane_loop(ir::Op op, DType t, int lanes, const std::string& name);

    std::vector<Piece> pieces_;
    std::set<std::string> names_;
};

// The single steps that make up a cast: halves go through f32, small integers through i32 on their way to floats. The
// list starts with `from` and ends with `to`; bool takes part as its integer.
std::vector<DType> cast_path(DType from, DType to, bool vectors);

}  // namespace weft::backend::c
