// ir/index_map.h: what a movement op does to an index. Given the index of an element of the view, where in the source it
// comes from, and under which condition (a gate) it comes from there at all. Lowering follows views with nothing else.
#pragma once

#include "ir/node.h"

#include <vector>

namespace weft::ir {

using IndexList = InlineVector<NodeRef, 6>;  // one i64 expression per axis

struct Mapped {
    IndexList index;  // into the source
    NodeRef gate;     // null: always valid. Where it is false the element is zero (Pad, Unskew), or the base's (Insert)
};

// `view` is any movement op but Insert; expressions live in `interner`.
Mapped source_index(Interner& interner, const Node& view, const IndexList& index);

// Insert: the index into the value and the gate "inside the box"; elsewhere the base is read at the same index.
Mapped inserted_index(Interner& interner, const Node& insert, const IndexList& index);

// Row-major position <-> index, simplified.
NodeRef flatten_index(Interner& interner, const Shape& shape, const IndexList& index);
IndexList unflatten_index(Interner& interner, const Shape& shape, const NodeRef& position);

// sum of index[d] * strides[d], simplified
NodeRef strided_position(Interner& interner, const IndexList& index, const Dims& strides);

NodeRef index_constant(Interner& interner, std::int64_t value);

}  // namespace weft::ir
