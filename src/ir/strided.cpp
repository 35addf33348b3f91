// ir/strided.cpp: what each movement op does to strides.
#include "ir/strided.h"

namespace weft::ir {

bool is_dense(const StridedView& view) {
    std::int64_t expected = 1;
    for (std::size_t d = view.shape.size(); d-- > 0;) {
        if (view.shape[d] == 1) continue;
        if (view.strides[d] != expected) return numel(view.shape) == 0;
        expected *= view.shape[d];
    }
    return true;
}

std::int64_t lowest_offset(const StridedView& view) {
    std::int64_t offset = view.offset;
    if (numel(view.shape) == 0) return offset;
    for (std::size_t d = 0; d < view.shape.size(); ++d)
        if (view.strides[d] < 0) offset += view.strides[d] * (view.shape[d] - 1);
    return offset;
}

// Strides of the same memory under another shape, if there are any: axes are regrouped where both shapes' running products meet,
// and inside a group the old axes must lie densely in each other.
bool reshape_strides(const Shape& from, const Dims& strides, const Shape& to, Dims& result) {
    result = row_major_strides(to);
    if (numel(to) == 0) return true;
    struct Axis {
        std::int64_t size, stride;
    };
    InlineVector<Axis, 6> merged;  // old axes that lie densely in each other, as one
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (from[d] == 1) continue;
        if (!merged.empty() && merged.back().stride == strides[d] * from[d])
            merged.back() = {merged.back().size * from[d], strides[d]};
        else merged.push_back({from[d], strides[d]});
    }
    std::size_t d = 0;
    for (const Axis& axis : merged) {
        std::int64_t left = axis.size;
        while (left > 1) {
            if (d == to.size() || to[d] == 0 || left % to[d] != 0) return false;
            left /= to[d];
            result[d] = axis.stride * left;
            ++d;
        }
    }
    return true;
}

bool apply_view(const Node& node, StridedView& view) {
    switch (node.op) {
        case Op::Reshape: {
            Dims strides;
            if (!reshape_strides(view.shape, view.strides, node.shape, strides)) return false;
            view.strides = strides;
            break;
        }
        case Op::Permute: {
            const Dims before = view.strides;
            for (std::size_t d = 0; d < before.size(); ++d) view.strides[d] = before[node.as<ir::AxesArg>().axes[d]];
            break;
        }
        case Op::Expand:
            for (std::size_t d = 0; d < view.strides.size(); ++d)
                if (view.shape[d] == 1 && node.shape[d] != 1) view.strides[d] = 0;
            break;
        case Op::Shrink:
            if (numel(node.shape) > 0)
                for (std::size_t d = 0; d < view.strides.size(); ++d)
                    view.offset += node.as<ir::BoxArg>().starts[d] * view.strides[d];
            break;
        case Op::Flip:
            for (const std::int64_t axis : node.as<ir::AxesArg>().axes) {
                if (view.shape[axis] > 0) view.offset += view.strides[axis] * (view.shape[axis] - 1);
                view.strides[axis] = -view.strides[axis];
            }
            break;
        case Op::Skew: {
            const auto& skew = node.as<ir::SkewArg>();
            view.strides[skew.window] += view.strides[skew.axis] * skew.dilation;
            view.strides[skew.axis] *= skew.stride;
            break;
        }
        default: return false;
    }
    view.shape = node.shape;
    return true;
}

}  // namespace weft::ir
