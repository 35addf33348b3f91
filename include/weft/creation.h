// weft/creation.h: tensors from numbers, from memory, and from nothing. None of them but the copies of your data takes
// memory: constants and ranges are computed where they are used. The options say of which type a tensor is and where it is made:
// zeros({2}, f64), zeros({2}, Device("cuda")), zeros({2}, {f64, "cuda"}). A device that is not there throws ValueError.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>
#include <weft/tensor_options.h>

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

namespace WEFT_API weft {

// ---- from data -------------------------------------------------------------------------------------------------------

// Numbers in nested braces, as tensor() takes them.
class Nested {
public:
    Nested(Scalar value) : scalar(value) {}
    template <class T>
    requires(std::is_arithmetic_v<T>) Nested(T value) : scalar(value) {}
    Nested(std::initializer_list<Nested> values) : list(values), is_list(true) {}

    Scalar scalar = false;
    std::vector<Nested> list;
    bool is_list = false;
};

// A tensor of the numbers given. Without a dtype: f32 if one of them is a float, else i64, or bool if all are bools.
//
//     tensor({{1, 2, 3}, {4, 5, 6}});   // i64[2, 3]
//     tensor({0.5, 1.5}, f16);          // f16[2]
//     tensor(3.0);                      // f32[]
Tensor tensor(const Nested& values, const TensorOptions& options = {});

// A copy of `count` elements in memory; throws if the shape holds another number of them.
//
//     from_bytes(pixels, u8, {28, 28});
Tensor from_bytes(const void* elements, DType dtype, const Shape& shape, std::optional<Device> device = {});

// A copy of the elements, row-major, converted where the options have another type. Without a shape: 1-d.
//
//     const std::vector<float> v = {1, 2, 3, 4};
//     from_data(v, {2, 2});             // f32[2, 2]
//     from_data(v, {2, 2}, f64);
//     from_data(labels.values<std::uint8_t>(), labels.shape);
void check_count(std::size_t count, DType dtype, const Shape& shape);  // throws ShapeError
template <class T>
Tensor from_data(std::span<const T> values, const Shape& shape, const TensorOptions& options = {}) {
    check_count(values.size(), dtype_of<T>(), shape);
    const Tensor made = from_bytes(values.data(), dtype_of<T>(), shape, options.device);
    return options.dtype ? made.to(*options.dtype) : made;
}
template <class T>
Tensor from_data(const std::vector<T>& values, const Shape& shape, const TensorOptions& options = {}) {
    if constexpr (std::is_same_v<T, bool>) {
        const std::vector<unsigned char> bytes(values.begin(), values.end());
        check_count(values.size(), bool_, shape);
        const Tensor made = from_bytes(bytes.data(), bool_, shape, options.device);
        return options.dtype ? made.to(*options.dtype) : made;
    } else {
        return from_data(std::span<const T>(values), shape, options);
    }
}
template <class T>
Tensor from_data(const std::vector<T>& values) {
    return from_data(values, {static_cast<std::int64_t>(values.size())});
}

// Foreign memory, without a copy. It is read when the graph runs, so what is written there before then is seen; Weft never
// writes to it. `strides` are in elements; `owner` is held for as long as the memory may be read. Of another device than the CPU, `elements`
// is an address that the device understands.
//
//     from_memory(array.data(), {2, 3}, {3, 1}, f32, owner);
Tensor from_memory(void* elements, const Shape& shape, const Dims& strides, DType dtype, std::shared_ptr<void> owner,
                   Device device = cpu);

// ---- from nothing ----------------------------------------------------------------------------------------------------

Tensor zeros(const Shape& shape, const TensorOptions& options = {});  // zeros({2, 3})
Tensor ones(const Shape& shape, const TensorOptions& options = {});   // ones({8}, f16)

// Every element is `value`; the type is the value's own if none is given.
//
//     full({2, 2}, 7);                  // i64[2, 2]
//     full({2, 2}, 7, f32);
Tensor full(const Shape& shape, Scalar value, const TensorOptions& options = {});

// Of x's type and on its device, unless the options say otherwise.
Tensor zeros_like(const Tensor& x, const TensorOptions& options = {});
Tensor ones_like(const Tensor& x, const TensorOptions& options = {});
Tensor full_like(const Tensor& x, Scalar value, const TensorOptions& options = {});

// start, start + step, … below `stop` (above it for a negative step). i64 if all three are integers, else f32.
//
//     arange(5);                        // 0 1 2 3 4
//     arange(5, 0, -2);                 // 5 3 1
Tensor arange(Scalar stop, const TensorOptions& options = {});
Tensor arange(Scalar start, Scalar stop, Scalar step = 1, const TensorOptions& options = {});

// `count` numbers at equal distances, both ends included.
//
//     linspace(0, 1, 5);                // 0 0.25 0.5 0.75 1
Tensor linspace(double start, double stop, std::int64_t count, const TensorOptions& options = {});

// base to the power of `count` numbers at equal distances.
//
//     logspace(0, 3, 4);                // 1 10 100 1000
Tensor logspace(double start, double stop, std::int64_t count, double base = 10, const TensorOptions& options = {});

// The powers of a vector's elements as columns, `columns` of them (as many as elements, if none are given): falling to x⁰, or
// rising from it. Integers give i64.
Tensor vander(const Tensor& x, std::optional<std::int64_t> columns = {}, bool increasing = false);

// Windows for spectra: `length` weights that rise from the ends to the middle. Periodic ones are those of length + 1 without the
// last, for transforms; the others are symmetric.
Tensor hann_window(std::int64_t length, bool periodic = true, const TensorOptions& options = {});
Tensor hamming_window(std::int64_t length, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                      const TensorOptions& options = {});
Tensor blackman_window(std::int64_t length, bool periodic = true, const TensorOptions& options = {});
Tensor bartlett_window(std::int64_t length, bool periodic = true, const TensorOptions& options = {});
Tensor kaiser_window(std::int64_t length, bool periodic = true, double beta = 12, const TensorOptions& options = {});

// Ones on the diagonal, zeros elsewhere. `columns` is `rows` unless given.
//
//     eye(3);
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = {}, const TensorOptions& options = {});

// The lower (upper) triangle of the last two axes; the rest is 0. `diagonal` moves the edge up.
//
//     tril(ones({3, 3}));               // a causal mask: row i sees columns 0 … i
Tensor tril(const Tensor& x, std::int64_t diagonal = 0);
Tensor triu(const Tensor& x, std::int64_t diagonal = 0);

}  // namespace weft
