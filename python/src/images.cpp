// python/src/images.cpp: patches, resizing, sampling and shuffling of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

void bind_patches(nb::module_& f) {
    function(
        f, "unfold", "input, kernel_size, dilation=1, padding=0, stride=1",
        "What a convolution's windows see, as columns: [n, c, h, w] to [n, c * window, places].",
        [](const Tensor& x, const Sizes& window, const Sizes& dilation, const Sizes& padding, const Sizes& stride) {
            return unfold_patches(x, window, {.dilation = dilation, .padding = padding, .stride = stride});
        });
    function(f, "fold", "input, output_size, kernel_size, dilation=1, padding=0, stride=1",
             "Columns added up to an image: the transpose of unfold().",
             [](const Tensor& x, const Sizes& output, const Sizes& window, const Sizes& dilation, const Sizes& padding,
                const Sizes& stride) {
                 return fold(x, output, window, {.dilation = dilation, .padding = padding, .stride = stride});
             });
}

// The mode by its name, which says how many spatial axes there are as well.
Interpolation mode_in(std::string_view mode, int rank) {
    struct Row {
        std::string_view name;
        Interpolation mode;
        int rank;  // 0: any
    };
    constexpr Row kModes[] = {{"nearest", Interpolation::Nearest, 0}, {"nearest-exact", Interpolation::NearestExact, 0},
                              {"area", Interpolation::Area, 0},       {"linear", Interpolation::Linear, 3},
                              {"bilinear", Interpolation::Linear, 4}, {"bicubic", Interpolation::Cubic, 4},
                              {"trilinear", Interpolation::Linear, 5}};
    for (const Row& row : kModes) {
        if (row.name != mode) continue;
        if (row.rank != 0 && row.rank != rank)
            throw ShapeError("interpolate(): mode '" + std::string(mode) + "' needs an input of " +
                             std::to_string(row.rank) + " axes, not " + std::to_string(rank));
        return row.mode;
    }
    throw ValueError(
        "interpolate(): argument 'mode' must be 'nearest', 'nearest-exact', 'linear', 'bilinear', 'bicubic', "
        "'trilinear' or 'area', not '" +
        std::string(mode) + "'");
}

std::vector<double> factors_in(nb::handle object, const Site& site) {
    if (object.is_none()) return {};
    if (PyFloat_Check(object.ptr()) || PyLong_Check(object.ptr())) return {to_double(object.ptr(), site)};
    if (!PyTuple_Check(object.ptr()) && !PyList_Check(object.ptr()))
        wrong_type(site, "a float or a tuple of floats", object.ptr());
    std::vector<double> factors;
    for (Py_ssize_t i = 0; i < PySequence_Size(object.ptr()); ++i)
        factors.push_back(to_double(nb::steal(PySequence_GetItem(object.ptr(), i)).ptr(), site));
    return factors;
}

void bind_resizing(nb::module_& f) {
    function(f, "interpolate",
             "input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, "
             "antialias=False",
             "The spatial axes of [n, c, …] in another size, given or as a factor.",
             [](const Tensor& x, const std::optional<Dims>& size, nb::handle factor, std::string_view mode,
                std::optional<bool> align, std::optional<bool> recompute, bool antialias) {
                 const Interpolation how = mode_in(mode, x.rank());
                 if (align && how != Interpolation::Linear && how != Interpolation::Cubic)
                     throw ValueError(
                         "interpolate(): argument 'align_corners' is for the linear modes and 'bicubic', not for '" +
                         std::string(mode) + "'");
                 return interpolate(x, {.sizes = size.value_or(Dims()),
                                        .factors = factors_in(factor, {"interpolate", "scale_factor"}),
                                        .mode = how,
                                        .align_corners = align.value_or(false),
                                        .recompute_factor = recompute.value_or(false),
                                        .antialias = antialias});
             });
}

void bind_sampling(nb::module_& f) {
    function(
        f, "grid_sample", "input, grid, mode='bilinear', padding_mode='zeros', align_corners=None",
        "The values of [n, c, h, w] at the places of a grid [n, h', w', 2], which go from -1 to 1; also of volumes.",
        [](const Tensor& x, const Tensor& grid, std::string_view mode, std::string_view padding,
           std::optional<bool> align) {
            if (mode != "bilinear" && mode != "nearest" && mode != "bicubic")
                throw ValueError("grid_sample(): argument 'mode' must be 'bilinear', 'nearest' or 'bicubic', not '" +
                                 std::string(mode) + "'");
            if (padding != "zeros" && padding != "border" && padding != "reflection")
                throw ValueError(
                    "grid_sample(): argument 'padding_mode' must be 'zeros', 'border' or 'reflection', not '" +
                    std::string(padding) + "'");
            return grid_sample(x, grid,
                               {.mode = mode == "bilinear"  ? SampleMode::Linear
                                        : mode == "nearest" ? SampleMode::Nearest
                                                            : SampleMode::Cubic,
                                .padding = padding == "zeros"    ? SamplePadding::Zeros
                                           : padding == "border" ? SamplePadding::Border
                                                                 : SamplePadding::Reflection,
                                .align_corners = align.value_or(false)});
        });
    function(f, "affine_grid", "theta, size, align_corners=None",
             "The grid of affine maps theta [n, 2, 3] for images of this size (n, c, h, w); [n, 3, 4] for volumes.",
             [](const Tensor& theta, const Dims& size, std::optional<bool> align) {
                 return affine_grid(theta, size, align.value_or(false));
             });
}

template <Tensor (*move)(const Tensor&, std::int64_t)>
void bind_move(nb::module_& m, nb::module_& f, const char* name, const char* parameters, const char* doc) {
    const auto moved = [](const Tensor& x, std::int64_t number) { return move(x, number); };
    function(f, name, parameters, doc, moved);
    m.attr(name) = f.attr(name);
}

}  // namespace

void bind_images(nb::module_& m, nb::module_& f) {
    bind_patches(f);
    bind_resizing(f);
    bind_sampling(f);
    bind_move<pixel_shuffle>(m, f, "pixel_shuffle", "input, upscale_factor",
                             "[…, c * f², h, w] to […, c, h * f, w * f].");
    bind_move<pixel_unshuffle>(m, f, "pixel_unshuffle", "input, downscale_factor",
                               "[…, c, h * f, w * f] to […, c * f², h, w].");
    bind_move<channel_shuffle>(m, f, "channel_shuffle", "input, groups", "The channels of all groups in turn.");
}

}  // namespace weft::python
