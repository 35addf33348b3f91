// weft/nn/images.h: layers without parameters that pad, resize, cut and rearrange images.
#pragma once

#include <weft/api.h>
#include <weft/error.h>
#include <weft/images.h>
#include <weft/movement.h>
#include <weft/nn/module.h>

#include <string>

namespace WEFT_API weft {
namespace nn {

// ---- padding ---------------------------------------------------------------------------------------------------------

// Widths for so many spatial axes: one number for all sides, or pairs (before, after), the last axis first.
template <int spatial>
class Widths : public Dims {
public:
    Widths(int all) : Dims(Dims::filled(2 * spatial, all)) {}
    Widths(std::initializer_list<std::int64_t> sides) : Dims(sides) {
        if (sides.size() != 2 * spatial)
            throw ValueError("padding: there must be " + std::to_string(2 * spatial) + " widths, or one for all sides");
    }
};

// ConstantPad2d({1, 1, 2, 2}, 0.5).
template <int spatial>
class ConstantPad : public Module {
public:
    ConstantPad(const Widths<spatial>& widths, Scalar value) : widths(widths), value(value) {}
    Tensor forward(const Tensor& x) override { return pad(x, widths, value); }
    const Dims widths;
    const Scalar value;
};
using ConstantPad1d = ConstantPad<1>;
using ConstantPad2d = ConstantPad<2>;
using ConstantPad3d = ConstantPad<3>;

template <int spatial>
class ZeroPad : public Module {
public:
    explicit ZeroPad(const Widths<spatial>& widths) : widths(widths) {}
    Tensor forward(const Tensor& x) override { return pad(x, widths); }
    const Dims widths;
};
using ZeroPad1d = ZeroPad<1>;
using ZeroPad2d = ZeroPad<2>;
using ZeroPad3d = ZeroPad<3>;

// ReflectionPad2d(1): with elements of x, as pad() describes.
template <int spatial, PadMode mode>
class ModePad : public Module {
public:
    explicit ModePad(const Widths<spatial>& widths) : widths(widths) {}
    Tensor forward(const Tensor& x) override { return pad(x, widths, mode); }
    const Dims widths;
};
using ReflectionPad1d = ModePad<1, PadMode::Reflect>;
using ReflectionPad2d = ModePad<2, PadMode::Reflect>;
using ReflectionPad3d = ModePad<3, PadMode::Reflect>;
using ReplicationPad1d = ModePad<1, PadMode::Replicate>;
using ReplicationPad2d = ModePad<2, PadMode::Replicate>;
using ReplicationPad3d = ModePad<3, PadMode::Replicate>;
using CircularPad1d = ModePad<1, PadMode::Circular>;
using CircularPad2d = ModePad<2, PadMode::Circular>;
using CircularPad3d = ModePad<3, PadMode::Circular>;

// ---- resizing, patches, pixels ---------------------------------------------------------------------------------------

// Upsample({.factors = {2}, .mode = Interpolation::Linear}).
class Upsample : public Module {
public:
    explicit Upsample(InterpolateOptions options) : options(std::move(options)) {}
    Tensor forward(const Tensor& x) override { return interpolate(x, options); }
    const InterpolateOptions options;
};

class Unfold : public Module {
public:
    explicit Unfold(const Sizes& window, const PatchOptions& options = {}) : window(window), options(options) {}
    Tensor forward(const Tensor& x) override { return unfold_patches(x, window, options); }
    const Sizes window;
    const PatchOptions options;
};

class Fold : public Module {
public:
    Fold(const Sizes& output, const Sizes& window, const PatchOptions& options = {})
        : output(output), window(window), options(options) {}
    Tensor forward(const Tensor& x) override { return fold(x, output, window, options); }
    const Sizes output, window;
    const PatchOptions options;
};

// A module that calls a function with one whole number: PixelShuffle(2).
template <Tensor (*move)(const Tensor&, std::int64_t)>
class Shuffle : public Module {
public:
    explicit Shuffle(std::int64_t number) : number(number) {}
    Tensor forward(const Tensor& x) override { return move(x, number); }
    const std::int64_t number;
};
using PixelShuffle = Shuffle<pixel_shuffle>;
using PixelUnshuffle = Shuffle<pixel_unshuffle>;
using ChannelShuffle = Shuffle<channel_shuffle>;

}  // namespace nn
}  // namespace weft
