// tensor/images.cpp: patches of images, pixels and channels moved: index maps, and for fold one sum.
#include "core/checked.h"
#include "tensor/nodes.h"
#include "tensor/windows.h"

#include <weft/images.h>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

struct Patches {
    Dims padding;
    std::vector<nodes::Window> windows;
    Shape padded, places, sizes;  // of two spatial axes each
};

Patches patches_of(const Checker& check, std::int64_t height, std::int64_t width, const Sizes& window,
                   const PatchOptions& options) {
    const Dims sizes = each_axis(check, "the window", window, 2, 1);
    const Dims strides = each_axis(check, "stride", options.stride, 2, 1);
    const Dims dilation = each_axis(check, "dilation", options.dilation, 2, 1);
    Patches p{.padding = each_axis(check, "padding", options.padding, 2, 0)};
    p.sizes = sizes;
    const std::int64_t image[] = {height, width};
    for (int s = 0; s < 2; ++s) {
        p.windows.push_back({.axis = 2 + s, .size = sizes[s], .stride = strides[s], .dilation = dilation[s]});
        p.padded.push_back(checked_add(image[s], 2 * p.padding[s]));
        p.places.push_back(p.windows[s].outputs(p.padded[s]));
        check.that(p.places[s] > 0, "the window of ", sizes[s], " does not fit the padded size ", p.padded[s]);
    }
    return p;
}

}  // namespace

Tensor unfold_patches(const Tensor& x, const Sizes& window, const PatchOptions& options) {
    const Checker check("unfold", {{"x", x}, {"window", window}});
    const NodeRef input = with_batch(check, x, 2, "c");
    const Patches p = patches_of(check, input->shape[2], input->shape[3], window, options);
    const NodeRef seen = nodes::windows(zero_padded(input, p.padding, p.padding), p.windows);  // [n, c, oh, ow, kh, kw]
    const std::int64_t n = input->shape[0], c = input->shape[1];
    const NodeRef columns =
        ir::reshape(ir::permute(seen, {0, 1, 4, 5, 2, 3}), {n, c * p.sizes[0] * p.sizes[1], p.places[0] * p.places[1]});
    return make_tensor(x.rank() == 4 ? columns : nodes::drop_axes(columns, {0}));
}

Tensor fold(const Tensor& x, const Sizes& output, const Sizes& window, const PatchOptions& options) {
    const Checker check("fold", {{"x", x}, {"output", output}, {"window", window}});
    check.that(x.rank() == 2 || x.rank() == 3, "x must be [n, c * window, places] or [c * window, places]");
    const Dims image = each_axis(check, "the output's size", output, 2, 1);
    const Patches p = patches_of(check, image[0], image[1], window, options);
    const NodeRef columns = x.rank() == 3 ? node_of(x) : nodes::add_axis(node_of(x), 0);
    const std::int64_t taps = p.sizes[0] * p.sizes[1], places = p.places[0] * p.places[1];
    check.that(columns->shape[1] % taps == 0, "axis -2 of size ", columns->shape[1],
               " must be a multiple of the window's ", taps, " elements");
    check.that(columns->shape[2] == places, "axis -1 of size ", columns->shape[2], " must have the ", places,
               " places of the window");
    const std::int64_t n = columns->shape[0], c = columns->shape[1] / taps;
    const DType type = columns->dtype, wide = is_bool(type) ? DType::I64 : accumulator_of(type);
    NodeRef spread =
        ir::permute(ir::reshape(ir::cast(columns, wide), {n, c, p.sizes[0], p.sizes[1], p.places[0], p.places[1]}),
                    {0, 1, 4, 5, 2, 3});
    for (int s = 2; s-- > 0;) {
        const nodes::Window& w = p.windows[s];
        const ir::SkewArg arg{.axis = w.axis, .window = 4 + s, .stride = w.stride, .dilation = w.dilation};
        spread = ir::unskew(spread, arg, p.padded[s]);
    }
    const NodeRef sum = nodes::reduced(Op::Add, spread, {4, 5}, false);
    const NodeRef result =
        ir::cast(ir::shrink(sum, {0, 0, p.padding[0], p.padding[1]}, {n, c, image[0], image[1]}), type);
    return make_tensor(x.rank() == 3 ? result : nodes::drop_axes(result, {0}));
}

// ---- pixels and channels ---------------------------------------------------------------------------------------------

namespace {

// The last three axes as six or so, in another order, and as three again; the axes before them stay.
NodeRef rearranged(const NodeRef& x, const Shape& inner, const Dims& order, const Shape& result) {
    const std::size_t front = x->shape.size() - 3;
    Shape split(x->shape.begin(), x->shape.begin() + front), whole = split;
    Dims axes;
    for (std::size_t d = 0; d < front; ++d) axes.push_back(static_cast<std::int64_t>(d));
    split.append(inner.begin(), inner.end());
    whole.append(result.begin(), result.end());
    for (const std::int64_t axis : order) axes.push_back(axis + static_cast<std::int64_t>(front));
    return ir::reshape(ir::permute(ir::reshape(x, split), axes), whole);
}

}  // namespace

Tensor pixel_shuffle(const Tensor& x, std::int64_t factor) {
    const Checker check("pixel_shuffle", {{"x", x}, {"factor", factor}});
    check.that(x.rank() >= 3, "x must be [.., c, h, w]");
    check.value(factor > 0, "the factor must be positive");
    const std::int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1), square = checked_mul(factor, factor);
    check.that(c % square == 0, "the ", c, " channels must be a multiple of the factor squared, ", square);
    return make_tensor(rearranged(node_of(x), {c / square, factor, factor, h, w}, {0, 3, 1, 4, 2},
                                  {c / square, h * factor, w * factor}));
}

Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor) {
    const Checker check("pixel_unshuffle", {{"x", x}, {"factor", factor}});
    check.that(x.rank() >= 3, "x must be [.., c, h, w]");
    check.value(factor > 0, "the factor must be positive");
    const std::int64_t c = x.size(-3), h = x.size(-2), w = x.size(-1);
    check.that(h % factor == 0 && w % factor == 0, "height and width must be multiples of ", factor);
    return make_tensor(rearranged(node_of(x), {c, h / factor, factor, w / factor, factor}, {0, 2, 4, 1, 3},
                                  {checked_mul(c, checked_mul(factor, factor)), h / factor, w / factor}));
}

Tensor channel_shuffle(const Tensor& x, std::int64_t groups) {
    const Checker check("channel_shuffle", {{"x", x}, {"groups", groups}});
    check.that(x.rank() >= 3, "x must be [n, c, spatial…]");
    check.value(groups > 0, "the number of groups must be positive");
    const Shape shape = x.shape();
    check.that(shape[1] % groups == 0, "the ", shape[1], " channels must be a multiple of the ", groups, " groups");
    const std::int64_t rest = weft::numel(Shape(shape.begin() + 2, shape.end()));
    const NodeRef split = ir::reshape(node_of(x), {shape[0], groups, shape[1] / groups, rest});
    return make_tensor(ir::reshape(ir::permute(split, {0, 2, 1, 3}), shape));
}

}  // namespace weft
