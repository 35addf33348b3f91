// cells/print.cpp: a tensor as text, as PyTorch prints it: aligned columns, four digits, and only the edges of large ones.
#include "core/str.h"
#include "ir/node.h"

#include <weft/autograd.h>
#include <weft/debug.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>

namespace weft {
namespace {

PrintOptions options;  // under the graph lock

// How all floats of a tensor are written: decided once from the values that are shown.
enum class FloatStyle { Whole, Fixed, Scientific };

struct Printer {
    const PrintOptions how;
    const Shape& shape;
    DType dtype;
    bool summarise;
    std::vector<double> floats;  // one of the three holds the elements
    std::vector<std::int64_t> integers;
    std::vector<std::uint64_t> naturals;
    FloatStyle style = FloatStyle::Fixed;
    std::size_t width = 0;

    bool shown(std::int64_t i, std::int64_t size) const {
        return !summarise || i < how.edge_items || i >= size - how.edge_items;
    }
    std::string element(std::size_t at) const;
    void measure();
    void write(std::ostream& out, std::size_t axis, std::size_t at, std::size_t indent) const;
    void write_row(std::ostream& out, std::size_t at, std::size_t indent) const;
    template <class F>
    void for_each_shown(std::size_t axis, std::size_t at, F&& f) const;
};

std::string float_text(double value, FloatStyle style, int precision) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    char text[400];
    const auto format = style == FloatStyle::Scientific ? std::chars_format::scientific : std::chars_format::fixed;
    const auto end =
        std::to_chars(text, text + sizeof text, value, format, style == FloatStyle::Whole ? 0 : precision).ptr;
    return std::string(text, end) + (style == FloatStyle::Whole ? "." : "");
}

std::string Printer::element(std::size_t at) const {
    if (is_float(dtype)) return float_text(floats[at], style, how.precision);
    if (is_bool(dtype)) return integers[at] ? "True" : "False";
    return dtype == u64 ? str(naturals[at]) : str(integers[at]);
}

template <class F>
void Printer::for_each_shown(std::size_t axis, std::size_t at, F&& f) const {
    if (axis == shape.size()) return f(at);
    std::size_t below = 1;
    for (std::size_t d = axis + 1; d < shape.size(); ++d) below *= static_cast<std::size_t>(shape[d]);
    for (std::int64_t i = 0; i < shape[axis]; ++i)
        if (shown(i, shape[axis])) for_each_shown(axis + 1, at + static_cast<std::size_t>(i) * below, f);
}

void Printer::measure() {
    double largest = 0, smallest = INFINITY;
    bool whole = true;
    if (is_float(dtype)) {
        for_each_shown(0, 0, [&](std::size_t at) {
            const double magnitude = std::abs(floats[at]);
            if (!std::isfinite(magnitude)) return;
            whole = whole && magnitude == std::floor(magnitude);
            largest = std::max(largest, magnitude);
            if (magnitude > 0) smallest = std::min(smallest, magnitude);
        });
        const bool wide = largest > 0 && largest / smallest > 1000;
        if (whole) style = wide || largest > 1e8 ? FloatStyle::Scientific : FloatStyle::Whole;
        else style = wide || largest > 1e8 || smallest < 1e-4 ? FloatStyle::Scientific : FloatStyle::Fixed;
        if (how.scientific)
            style = *how.scientific ? FloatStyle::Scientific : whole ? FloatStyle::Whole : FloatStyle::Fixed;
    }
    // Zeros and what is not finite are written as wide as they are.
    for_each_shown(0, 0, [&](std::size_t at) {
        if (!is_float(dtype) || (std::isfinite(floats[at]) && floats[at] != 0))
            width = std::max(width, element(at).size());
    });
}

// One row, broken into lines where it is too long.
void Printer::write_row(std::ostream& out, std::size_t at, std::size_t indent) const {
    const std::int64_t size = shape.back();
    const auto line_width = static_cast<std::size_t>(how.line_width);
    const std::size_t outside = std::min(line_width, indent - 1);  // as PyTorch counts: without this row's bracket
    const std::size_t per_line = std::max<std::size_t>(1, (line_width - outside) / (width + 2));
    std::size_t written = 0;
    for (std::int64_t i = 0; i < size; ++i) {
        const bool gap = !shown(i, size);
        if (gap && i > how.edge_items) continue;
        const std::string text = gap ? " ..." : element(at + static_cast<std::size_t>(i));
        if (written > 0) out << (written % per_line == 0 ? ",\n" + std::string(indent, ' ') : ", ");
        if (!gap) out << std::string(width - std::min(width, text.size()), ' ');
        out << text;
        ++written;
    }
}

void Printer::write(std::ostream& out, std::size_t axis, std::size_t at, std::size_t indent) const {
    if (axis == shape.size()) {
        out << element(at);
        return;
    }
    out << '[';
    if (axis + 1 == shape.size()) {
        write_row(out, at, indent + 1);
    } else {
        std::size_t below = 1;
        for (std::size_t d = axis + 1; d < shape.size(); ++d) below *= static_cast<std::size_t>(shape[d]);
        const std::string separator = "," + std::string(shape.size() - axis - 1, '\n') + std::string(indent + 1, ' ');
        for (std::int64_t i = 0; i < shape[axis]; ++i) {
            const bool gap = !shown(i, shape[axis]);
            if (gap && i > how.edge_items) continue;
            if (i > 0) out << separator;
            if (gap) out << "...";
            else write(out, axis + 1, at + static_cast<std::size_t>(i) * below, indent + 1);
        }
    }
    out << ']';
}

}  // namespace

PrintOptions print_options() {
    const std::lock_guard lock(ir::graph_lock());
    return options;
}

void set_print_options(const PrintOptions& wanted) {
    if (wanted.precision < 0 || wanted.precision > 300 || wanted.threshold < 0 || wanted.edge_items < 0 ||
        wanted.line_width < 0)
        throw ValueError("set_print_options(): a number is negative, or the precision is above 300");
    const std::lock_guard lock(ir::graph_lock());
    options = wanted;
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
    if (!tensor.defined()) return out << "tensor(undefined)";
    const Shape shape = tensor.shape();
    const DType dtype = tensor.dtype();
    out << "tensor(";
    if (numel(shape) == 0) {
        out << "[]";
        if (shape.size() > 1) {
            out << ", size=(" << shape[0];
            for (std::size_t d = 1; d < shape.size(); ++d) out << ", " << shape[d];
            out << ')';
        }
    } else {
        const PrintOptions how = print_options();
        Printer printer{.how = how, .shape = shape, .dtype = dtype, .summarise = numel(shape) > how.threshold};
        if (is_float(dtype)) printer.floats = tensor.to_vector<double>();
        else if (dtype == u64) printer.naturals = tensor.to_vector<std::uint64_t>();
        else printer.integers = tensor.to_vector<std::int64_t>();
        printer.measure();
        printer.write(out, 0, 0, std::string_view("tensor(").size());
    }
    if (dtype != default_dtype() && (numel(shape) == 0 || (dtype != i64 && dtype != bool_))) out << ", dtype=" << dtype;
    if (tensor.device() != cpu) out << ", device='" << tensor.device().name() << '\'';
    if (const std::string name = grad_fn_name(tensor); !name.empty()) out << ", grad_fn=<" << name << '>';
    else if (tensor.requires_grad()) out << ", requires_grad=True";
    return out << ')';
}

}  // namespace weft
