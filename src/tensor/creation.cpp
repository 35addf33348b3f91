// tensor/creation.cpp: tensors from data, from foreign memory, and constants and ranges, which take no memory at all.
#include "core/checked.h"
#include "core/word.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"
#include "tensor/options.h"

#include <weft/ops.h>
#include <weft/shared_memory.h>

#include <cmath>
#include <cstring>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

std::int64_t bytes_of(DType dtype, const Shape& shape) {
    return checked_mul(numel(shape), static_cast<std::int64_t>(size_of(dtype)));
}

std::uint8_t here() { return default_device().number(); }

Tensor of_storage(ir::StorageRef storage, DType dtype, const Shape& shape) {
    return make_tensor(ir::buffer(std::move(storage), dtype, shape, 0, row_major_strides(shape)));
}

// ---- nested braces ---------------------------------------------------------------------------------------------------

Shape shape_of_nested(const Nested& values) {
    if (!values.is_list) return {};
    Shape shape = values.list.empty() ? Shape() : shape_of_nested(values.list.front());
    shape.insert(shape.begin(), static_cast<std::int64_t>(values.list.size()));
    return shape;
}

DType type_of_nested(const Nested& values) {
    if (!values.is_list) return values.scalar.dtype();
    if (values.list.empty()) return default_dtype();
    DType dtype = DType::Bool;
    for (const Nested& entry : values.list) dtype = promote(dtype, type_of_nested(entry));
    return dtype;
}

void check_number(const Scalar& number, DType dtype) {
    if (!fits(number, dtype)) throw ValueError(str("tensor(): ", to_string(number), " does not fit ", dtype));
}

void store_nested(const Nested& values, DType dtype, std::span<const std::int64_t> shape, std::byte*& out) {
    if (!values.is_list) {
        if (!shape.empty()) throw ShapeError("tensor(): a number stands where a list is expected");
        check_number(values.scalar, dtype);
        store_word(dtype, out, scalar_word(dtype, values.scalar));
        out += size_of(dtype);
        return;
    }
    if (shape.empty()) throw ShapeError("tensor(): a list stands where a number is expected");
    if (static_cast<std::int64_t>(values.list.size()) != shape[0])
        throw ShapeError(
            str("tensor(): a list of ", values.list.size(), " stands where one of ", shape[0], " is expected"));
    for (const Nested& entry : values.list) store_nested(entry, dtype, shape.subspan(1), out);
}

struct ForeignStorage final : ir::Storage {
    ForeignStorage(void* memory, std::size_t size, std::shared_ptr<void> owner, Device where)
        : owner(std::move(owner)) {
        device = where.number();
        address = reinterpret_cast<std::uintptr_t>(memory);
        bytes = size;
        foreign = true;
    }
    std::shared_ptr<void> owner;
};

}  // namespace

Tensor tensor(const Nested& values, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType type = options.dtype ? *options.dtype : type_of_nested(values);
    const Shape shape = shape_of_nested(values);
    if (!values.is_list) {
        check_number(values.scalar, type);
        return make_tensor(ir::constant(type, values.scalar, {}, here()));
    }
    std::vector<std::byte> elements(static_cast<std::size_t>(bytes_of(type, shape)));
    std::byte* out = elements.data();
    store_nested(values, type, shape, out);
    return of_storage(new_storage(elements), type, shape);
}

void check_count(std::size_t count, DType dtype, const Shape& shape) {
    const Checker check("from_data", {{"dtype", dtype}, {"shape", shape}});
    check.sizes(shape);
    check.that(static_cast<std::int64_t>(count) == numel(shape), count, " elements do not fill a shape of ",
               numel(shape));
}

Tensor from_bytes(const void* elements, DType dtype, const Shape& shape, std::optional<Device> device) {
    const DeviceScope there = place_of({dtype, device});
    const Checker check("from_bytes", {{"dtype", dtype}, {"shape", shape}});
    check.sizes(shape);
    check.value(elements != nullptr || numel(shape) == 0, "there are no elements");
    const auto bytes = static_cast<std::size_t>(bytes_of(dtype, shape));
    return of_storage(new_storage({static_cast<const std::byte*>(elements), bytes}), dtype, shape);
}

namespace {

Tensor over_memory(const Checker& check, void* elements, const Shape& shape, const Dims& strides, DType dtype,
                   std::shared_ptr<void> owner, Device device) {
    check_available(device);
    check.sizes(shape);
    check.value(strides.size() == shape.size(), "there must be one stride for each axis");
    if (numel(shape) == 0) return zeros(shape, {dtype, device});
    check.value(elements != nullptr, "there are no elements");
    check.value(reinterpret_cast<std::uintptr_t>(elements) % size_of(dtype) == 0, "the memory is not aligned to the ",
                size_of(dtype), " bytes of an element; copy it");
    // The storage starts at the lowest address that any index reaches: a negative stride reaches before element 0.
    std::int64_t before = 0, after = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        const std::int64_t reach = checked_mul(shape[d] - 1, strides[d]);
        (reach < 0 ? before : after) = checked_add(reach < 0 ? before : after, reach);
    }
    const auto width = static_cast<std::int64_t>(size_of(dtype));
    const auto bytes = static_cast<std::size_t>(checked_mul(checked_add(after - before, 1), width));
    auto storage = std::make_shared<ForeignStorage>(static_cast<std::byte*>(elements) + before * width, bytes,
                                                    std::move(owner), device);
    return make_tensor(ir::buffer(std::move(storage), dtype, shape, -before, strides));
}

}  // namespace

Tensor from_memory(void* elements, const Shape& shape, const Dims& strides, DType dtype, std::shared_ptr<void> owner,
                   Device device) {
    const Checker check("from_memory", {{"shape", shape}, {"strides", strides}, {"dtype", dtype}});
    return over_memory(check, elements, shape, strides, dtype, std::move(owner), device);
}

Tensor from_shared_memory(void* elements, const Shape& shape, const Dims& strides, DType dtype,
                          std::shared_ptr<void> owner, Device device) {
    const Checker check("from_shared_memory", {{"shape", shape}, {"strides", strides}, {"dtype", dtype}});
    Tensor result = over_memory(check, elements, shape, strides, dtype, std::move(owner), device);
    if (result.numel() > 0) result.cell()->shared = result.cell()->node;
    return result;
}

// ---- constants -------------------------------------------------------------------------------------------------------

Tensor full(const Shape& shape, Scalar value, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const Checker check("full", {{"shape", shape}, {"value", Operand(value)}});
    check.sizes(shape);
    const DType type = options.dtype_or(value.dtype());
    if (!fits(value, type)) check.value(false, to_string(value), " does not fit ", type);
    return make_tensor(ir::constant(type, value, shape, here()));
}

Tensor zeros(const Shape& shape, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    Checker("zeros", {{"shape", shape}}).sizes(shape);
    return make_tensor(ir::constant(options.dtype_or(default_dtype()), Scalar(0), shape, here()));
}

Tensor ones(const Shape& shape, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    Checker("ones", {{"shape", shape}}).sizes(shape);
    return make_tensor(ir::constant(options.dtype_or(default_dtype()), Scalar(1), shape, here()));
}

namespace {

TensorOptions like(const Tensor& x, const TensorOptions& options) {
    return {options.dtype_or(x.dtype()), options.device ? *options.device : x.device()};
}

}  // namespace

Tensor zeros_like(const Tensor& x, const TensorOptions& options) { return zeros(x.shape(), like(x, options)); }
Tensor ones_like(const Tensor& x, const TensorOptions& options) { return ones(x.shape(), like(x, options)); }
Tensor full_like(const Tensor& x, Scalar value, const TensorOptions& options) {
    return full(x.shape(), value, like(x, options));
}

// ---- ranges ----------------------------------------------------------------------------------------------------------

namespace {

std::int64_t range_length(const Checker& check, double start, double stop, double step) {
    const double length = std::ceil((stop - start) / step);
    check.value(std::isfinite(length), "the ends and the step must be finite");
    check.value(length < 0x1p62, "the range is too long");
    return length <= 0 ? 0 : static_cast<std::int64_t>(length);
}

Tensor integer_range(const Checker& check, std::int64_t start, std::int64_t stop, std::int64_t step, DType dtype) {
    std::int64_t distance;
    check.value(!__builtin_sub_overflow(stop, start, &distance), "the range is too long");
    const bool empty = distance == 0 || (distance < 0) != (step < 0);
    const std::int64_t length = empty ? 0 : ceil_div(distance, step);
    const NodeRef index = ir::iota(length, here());
    NodeRef value = step == 1 ? index : index * nodes::number(index, step);
    if (start != 0) value = value + nodes::number(index, start);
    return make_tensor(ir::cast(value, dtype));
}

}  // namespace

Tensor arange(Scalar stop, const TensorOptions& options) { return arange(0, stop, 1, options); }

Tensor arange(Scalar start, Scalar stop, Scalar step, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const Checker check("arange", {{"start", Operand(start)}, {"stop", Operand(stop)}, {"step", Operand(step)}});
    check.value(step.as_double() != 0, "the step must not be 0");
    const bool whole =
        start.kind() != Scalar::Kind::Float && stop.kind() != Scalar::Kind::Float && step.kind() != Scalar::Kind::Float;
    if (whole) return integer_range(check, start.as_int(), stop.as_int(), step.as_int(), options.dtype_or(DType::I64));
    // Computed in f64: in f32 the steps of a long range would drift.
    const std::int64_t length = range_length(check, start.as_double(), stop.as_double(), step.as_double());
    const NodeRef index = ir::cast(ir::iota(length, here()), DType::F64);
    const NodeRef value = nodes::number(index, start.as_double()) + index * nodes::number(index, step.as_double());
    return make_tensor(ir::cast(value, options.dtype_or(default_dtype())));
}

Tensor linspace(double start, double stop, std::int64_t count, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    const Checker check("linspace", {{"start", start}, {"stop", stop}, {"count", count}});
    check.value(count >= 0, "the count must not be negative");
    if (count <= 1) return full({count}, start, dtype);
    // From the nearer end, so that both ends are exact.
    const NodeRef index = ir::iota(count, here()), i = ir::cast(index, DType::F64);
    const NodeRef step = nodes::number(i, (stop - start) / static_cast<double>(count - 1));
    const NodeRef left = nodes::number(i, start) + i * step;
    const NodeRef right = nodes::number(i, stop) - (nodes::number(i, static_cast<double>(count - 1)) - i) * step;
    return make_tensor(ir::cast(ir::where(ir::less(index, nodes::number(index, count / 2)), left, right), dtype));
}

Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const Shape shape = {rows, columns.value_or(rows)};
    Checker("eye", {{"shape", shape}}).sizes(shape);
    const NodeRef hit = ir::equal_to(nodes::positions(shape[0], 0, 2), nodes::positions(shape[1], 1, 2));
    return make_tensor(ir::cast(hit, options.dtype_or(default_dtype())));
}

namespace {

Tensor triangle(std::string_view name, const Tensor& x, std::int64_t diagonal, bool lower) {
    const Checker check(name, {{"x", x}, {"diagonal", diagonal}});
    check.that(x.rank() >= 2, "x must have two axes at least");
    const NodeRef row = nodes::positions(x.size(-2), 0, 2), column = nodes::positions(x.size(-1), 1, 2);
    const NodeRef edge = row + nodes::number(row, diagonal), node = node_of(x);
    const NodeRef inside = lower ? ir::less_equal(column, edge) : ir::less_equal(edge, column);
    return make_tensor(ir::where(inside, node, nodes::number(node, 0)));
}

}  // namespace

Tensor tril(const Tensor& x, std::int64_t diagonal) { return triangle("tril", x, diagonal, true); }
Tensor triu(const Tensor& x, std::int64_t diagonal) { return triangle("triu", x, diagonal, false); }

}  // namespace weft
