// ir/index_map.cpp: one case per movement op; the index arithmetic is simplified at once, so that chains of views collapse.
#include "ir/index_map.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <weft/error.h>

namespace weft::ir {
namespace {

// Builds i64 and bool expressions in one interner.
class Arithmetic {
public:
    explicit Arithmetic(Interner& interner) : interner_(interner) {}

    NodeRef number(std::int64_t value) const { return index_constant(interner_, value); }
    NodeRef binary(Op op, const NodeRef& a, const NodeRef& b) const {
        const bool compare = info(op).kind == OpKind::Compare;
        return interner_.make(op, compare ? DType::Bool : a->dtype, {}, {a, b});
    }
    NodeRef add(const NodeRef& a, const NodeRef& b) const { return binary(Op::Add, a, b); }
    NodeRef add(const NodeRef& a, std::int64_t b) const { return b == 0 ? a : add(a, number(b)); }
    NodeRef mul(const NodeRef& a, std::int64_t b) const { return b == 1 ? a : binary(Op::Mul, a, number(b)); }
    NodeRef both(const NodeRef& a, const NodeRef& b) const {
        if (!a) return b;
        if (!b) return a;
        return simplify(binary(Op::And, a, b));
    }
    NodeRef simplify(const NodeRef& e) const { return simplify_index(interner_, e); }

    // 0 <= e < size, or null when that always holds
    NodeRef within(const NodeRef& e, std::int64_t size) const {
        const NodeRef low = simplify(binary(Op::CmpLe, number(0), e));
        const NodeRef high = simplify(binary(Op::CmpLt, e, number(size)));
        return both(unless_true(low), unless_true(high));
    }
    static NodeRef unless_true(const NodeRef& gate) {
        return gate->op == Op::Const && gate->as<ConstArg>().value ? nullptr : gate;
    }

private:
    Interner& interner_;
};

Mapped unskewed(const Arithmetic& math, const Node& view, const IndexList& index) {
    const auto& skew = view.as<SkewArg>();
    Mapped mapped{index, nullptr};
    const NodeRef shifted = math.add(index[skew.axis], math.mul(index[skew.window], -skew.dilation));
    const NodeRef position = math.simplify(math.binary(Op::IDiv, shifted, math.number(skew.stride)));
    mapped.gate = math.within(position, view.source().shape[skew.axis]);
    if (skew.stride > 1) {
        const NodeRef remainder = math.binary(Op::Mod, shifted, math.number(skew.stride));
        const NodeRef lands = math.simplify(math.binary(Op::CmpEq, remainder, math.number(0)));
        mapped.gate = math.both(mapped.gate, Arithmetic::unless_true(lands));
    }
    mapped.index[skew.axis] = position;
    return mapped;
}

}  // namespace

NodeRef index_constant(Interner& interner, std::int64_t value) {
    return interner.make(Op::Const, DType::I64, {}, {}, ConstArg{static_cast<Word>(value)});
}

NodeRef strided_position(Interner& interner, const IndexList& index, const Dims& strides) {
    const Arithmetic math(interner);
    NodeRef sum = math.number(0);
    for (std::size_t d = 0; d < index.size(); ++d)
        if (strides[d] != 0) sum = math.add(sum, math.mul(index[d], strides[d]));
    return math.simplify(sum);
}

NodeRef flatten_index(Interner& interner, const Shape& shape, const IndexList& index) {
    return strided_position(interner, index, row_major_strides(shape));
}

IndexList unflatten_index(Interner& interner, const Shape& shape, const NodeRef& position) {
    const Arithmetic math(interner);
    const Dims strides = row_major_strides(shape);
    IndexList index;
    bool leading = true;  // the first axis of a size above 1 needs no modulo
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] <= 1) {
            index.push_back(math.number(0));
            continue;
        }
        NodeRef e = strides[d] == 1 ? position : math.binary(Op::IDiv, position, math.number(strides[d]));
        if (!leading) e = math.binary(Op::Mod, e, math.number(shape[d]));
        leading = false;
        index.push_back(math.simplify(e));
    }
    return index;
}

namespace {

// Axes that a reshape leaves alone keep their index as it is, also where a gate outside of this view says that it is out of range: a
// division could not be simplified away then. Only runs of axes that are merged or split are counted through.
IndexList reshaped_index(Interner& interner, const Shape& from, const Shape& to, const IndexList& index) {
    if (numel(from) == 0) return unflatten_index(interner, from, flatten_index(interner, to, index));
    IndexList result = IndexList::filled(from.size(), interner.make(Op::Const, DType::I64, {}, {}, ConstArg{0}));
    std::size_t f = 0, t = 0;
    while (true) {
        while (f < from.size() && from[f] == 1) ++f;
        while (t < to.size() && to[t] == 1) ++t;
        if (f == from.size() || t == to.size()) return result;
        Shape in{from[f]}, out{to[t]};
        IndexList part{index[t]};
        std::size_t last = f;
        while (numel(in) != numel(out)) {
            if (numel(in) < numel(out)) in.push_back(from[++last]);
            else out.push_back(to[++t]), part.push_back(index[t]);
        }
        if (in.size() == 1 && out.size() == 1) {
            result[f] = part[0];
        } else {
            const IndexList split = unflatten_index(interner, in, flatten_index(interner, out, part));
            std::copy(split.begin(), split.end(), result.begin() + static_cast<std::ptrdiff_t>(f));
        }
        f = last + 1;
        ++t;
    }
}

}  // namespace

Mapped inserted_index(Interner& interner, const Node& insert, const IndexList& index) {
    const Arithmetic math(interner);
    const Dims& starts = insert.as<BoxArg>().starts;
    Mapped mapped;
    for (std::size_t d = 0; d < index.size(); ++d) {
        const NodeRef shifted = math.simplify(math.add(index[d], -starts[d]));
        mapped.gate = math.both(mapped.gate, math.within(shifted, insert.source(1).shape[d]));
        mapped.index.push_back(shifted);
    }
    return mapped;
}

Mapped source_index(Interner& interner, const Node& view, const IndexList& index) {
    const Arithmetic math(interner);
    const Shape& from = view.source().shape;
    Mapped mapped{index, nullptr};
    switch (view.op) {
        case Op::Reshape: mapped.index = reshaped_index(interner, from, view.shape, index); return mapped;
        case Op::Permute:
            for (std::size_t d = 0; d < index.size(); ++d) mapped.index[view.as<AxesArg>().axes[d]] = index[d];
            return mapped;
        case Op::Expand:
            for (std::size_t d = 0; d < index.size(); ++d)
                if (from[d] == 1) mapped.index[d] = math.number(0);
            return mapped;
        case Op::Shrink:
            for (std::size_t d = 0; d < index.size(); ++d)
                mapped.index[d] = math.simplify(math.add(index[d], view.as<BoxArg>().starts[d]));
            return mapped;
        case Op::Pad:
            for (std::size_t d = 0; d < index.size(); ++d) {
                mapped.index[d] = math.simplify(math.add(index[d], -view.as<BoxArg>().starts[d]));
                mapped.gate = math.both(mapped.gate, math.within(mapped.index[d], from[d]));
            }
            return mapped;
        case Op::Flip:
            for (const std::int64_t axis : view.as<AxesArg>().axes)
                mapped.index[axis] = math.simplify(math.add(math.mul(index[axis], -1), from[axis] - 1));
            return mapped;
        case Op::Skew: {
            const auto& skew = view.as<SkewArg>();
            const NodeRef start = math.mul(index[skew.axis], skew.stride);
            mapped.index[skew.axis] = math.simplify(math.add(start, math.mul(index[skew.window], skew.dilation)));
            return mapped;
        }
        case Op::Unskew: return unskewed(math, view, index);
        default: throw InternalError("source_index of something that is not a plain view");
    }
}

}  // namespace weft::ir
