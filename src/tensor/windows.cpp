// tensor/windows.cpp: what convolution and pooling share.
#include "tensor/windows.h"

#include "tensor/nodes.h"

namespace weft {

Dims each_axis(const Checker& check, std::string_view name, const Sizes& sizes, int spatial, std::int64_t least) {
    check.value(sizes.size() == 1 || sizes.size() == static_cast<std::size_t>(spatial), name,
                " must be one number or one for each of the ", spatial, " spatial axes, not ",
                static_cast<const Dims&>(sizes));
    Dims result;
    for (int s = 0; s < spatial; ++s) {
        result.push_back(sizes.at(s));
        check.value(result[s] >= least, name, " must be at least ", least, ", not ", result[s]);
    }
    return result;
}

std::string layout(std::string_view front, int spatial) {
    constexpr std::string_view kAxes[] = {"", ", l]", ", h, w]", ", d, h, w]"};
    return str("[n, ", front, kAxes[spatial], " or [", front, kAxes[spatial]);
}

ir::NodeRef with_batch(const Checker& check, const Tensor& x, int spatial, std::string_view front) {
    check.that(x.rank() == 2 + spatial || x.rank() == 1 + spatial, "x must be ", layout(front, spatial));
    return x.rank() == 2 + spatial ? node_of(x) : nodes::add_axis(node_of(x), 0);
}

ir::NodeRef without_batch(const ir::NodeRef& y, const Tensor& x, int spatial) {
    return x.rank() == 2 + spatial ? y : nodes::drop_axes(y, {0});
}

ir::NodeRef zero_padded(const ir::NodeRef& x, const Dims& before, const Dims& after) {
    Dims first = Dims::filled(x->shape.size(), 0), last = first;
    std::copy(before.begin(), before.end(), first.end() - before.size());
    std::copy(after.begin(), after.end(), last.end() - after.size());
    return ir::pad(x, first, last);
}

}  // namespace weft
