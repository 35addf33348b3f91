// weft/tensor.h: Tensor, a cheap handle on a lazy value. Ops check shapes and dtypes at the call and only record the
// arithmetic; realize(), item(), to_vector(), printing and bool run it. The free functions are in weft/ops.h.
#pragma once

#include <weft/api.h>
#include <weft/device.h>
#include <weft/dtype.h>
#include <weft/error.h>
#include <weft/shape.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iosfwd>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace WEFT_API weft {

class Operand;  // a tensor or a number, as a parameter (below)
struct Cell;    // what handles share: the node, the gradient, the base of a view (src/tensor/cell.h)

// A slice as in Python: x[{Slice{1, 5}, Slice{}, Slice{{}, {}, -1}}]. Missing ends mean "from / to the end".
struct Slice {
    std::optional<std::int64_t> start, stop;
    std::int64_t step = 1;
};

// One entry of an index: an integer (drops the axis), a Slice, `kNewAxis`, or `kEllipsis`.
struct NewAxis {};
struct Ellipsis {};
inline constexpr NewAxis kNewAxis;
inline constexpr Ellipsis kEllipsis;
class Index {
public:
    enum class Kind : std::uint8_t { Integer, Slice, NewAxis, Ellipsis };
    Index(std::int64_t i) : kind(Kind::Integer), integer(i) {}
    Index(int i) : kind(Kind::Integer), integer(i) {}
    Index(Slice s) : kind(Kind::Slice), slice(s) {}
    Index(NewAxis) : kind(Kind::NewAxis) {}
    Index(Ellipsis) : kind(Kind::Ellipsis) {}
    Kind kind;
    std::int64_t integer = 0;
    Slice slice;
};

// The axes of a reduction: one, or a list, or none, which means all of them: sum(x, -1), sum(x, {0, 1}), sum(x).
class Axes : public Dims {
public:
    Axes() = default;
    Axes(int axis) : Dims{axis} {}
    Axes(std::initializer_list<std::int64_t> axes) : Dims(axes) {}
    Axes(const Dims& axes) : Dims(axes) {}
};

// Computed memory as it lies, for other libraries to look at without a copy. `owner` keeps it alive and unchanged: a tensor that is
// written later takes other memory.
struct MemoryView {
    std::shared_ptr<const void> owner;
    const void* data = nullptr;  // the first element
    DType dtype = f32;
    Shape shape;
    Dims strides;   // in elements
    Device device;  // whose memory it is: of others than the CPU, `data` is an address that only the device can use
};
// Copies a part of such memory, whatever the device.
std::vector<std::byte> read_memory(const MemoryView& memory, const std::byte* begin, const std::byte* end);

class Tensor {
public:
    Tensor() = default;    // undefined: only assignment and defined() are allowed
    Tensor(Scalar value);  // a 0-d tensor of the scalar's own type (f32, i64, bool)
    template <class T>
    requires(std::is_arithmetic_v<T>) Tensor(T value) : Tensor(Scalar(value)) {}
    bool defined() const { return cell_ != nullptr; }

    // ---- facts; none of these runs anything
    Shape shape() const;  // by value: a run or a write gives the handle another node
    DType dtype() const;
    Device device() const;
    int rank() const { return static_cast<int>(shape().size()); }
    std::int64_t size(int axis) const;  // negative axes count from the end
    std::int64_t numel() const;

    // ---- running
    const Tensor& realize() const;  // computes the value now, together with all writes that are pending
    template <class T>
    T item() const;  // the value of a one-element tensor, converted to T
    double item() const { return item<double>(); }
    template <class T>
    std::vector<T> to_vector() const;  // a copy of the elements, row-major, converted to T
    explicit operator bool() const;    // of a one-element tensor
    const void* data_ptr() const;      // realized, dense memory; valid while this handle is unchanged
    MemoryView memory() const;         // realized memory with its strides, and what keeps it alive

    // ---- gradients, as in PyTorch
    bool requires_grad() const;
    Tensor& set_requires_grad(bool wanted = true);  // makes this a leaf whose gradient is collected
    bool is_leaf() const;
    Tensor grad() const;                          // undefined before the first backward()
    void set_grad(const Tensor& gradient) const;  // undefined: no gradient
    void zero_grad() const { set_grad(Tensor()); }
    void retain_grad() const;  // collect the gradient of a non-leaf too
    void backward(const Tensor& gradient = {}, bool retain_graph = false, bool create_graph = false) const;
    Tensor detach() const;  // shares the value (writes are seen), gives no gradient
    Tensor data() const { return detach(); }
    void set_data(const Tensor& value);  // takes over value, shape, type and device; a gradient is asked for as before

    // ---- views: share memory with this tensor; writing through one writes this tensor
    Tensor operator[](std::int64_t i) const;
    Tensor operator[](std::initializer_list<Index> index) const { return index_by({index.begin(), index.size()}); }
    Tensor index_by(std::span<const Index> index) const;
    Tensor reshape(const Shape& shape) const;  // one size may be -1
    Tensor view(const Shape& shape) const;  // the same, and always a view: what is written to one is seen in the other
    Tensor permute(const Dims& axes) const;
    Tensor transpose(int a, int b) const;
    Tensor t() const { return transpose(-2, -1); }
    Tensor expand(const Shape& shape) const;  // -1 keeps a size
    Tensor squeeze() const;
    Tensor squeeze(int axis) const;
    Tensor unsqueeze(int axis) const;
    Tensor flatten(int first = 0, int last = -1) const;
    Tensor flip(const Axes& axes) const;
    Tensor slice(int axis, Slice range) const;
    Tensor narrow(int axis, std::int64_t start, std::int64_t length) const;

    // ---- writes: the cell gets a new value; other handles of it and views see it
    Tensor& assign(const Operand& value);  // this[:] = value, broadcast and cast to this tensor's type
    Tensor& copy_(const Operand& value) { return assign(value); }
    Tensor& fill_(Scalar value);
    Tensor& zero_() { return fill_(0); }
    Tensor& add_(const Operand& other);
    Tensor& sub_(const Operand& other);
    Tensor& mul_(const Operand& other);
    Tensor& div_(const Operand& other);
    Tensor& operator+=(const Operand& other) { return add_(other); }
    Tensor& operator-=(const Operand& other) { return sub_(other); }
    Tensor& operator*=(const Operand& other) { return mul_(other); }
    Tensor& operator/=(const Operand& other) { return div_(other); }

    // ---- the most common ops as methods; weft/ops.h has all of them as functions
    Tensor to(DType dtype) const;
    Tensor to(Device device) const;  // itself if it is there; else a copy, whose gradient comes back
    Tensor contiguous() const;
    Tensor clone() const;
    Tensor sum(const Axes& axes = {}, bool keepdim = false) const;  // no axes: all of them
    Tensor mean(const Axes& axes = {}, bool keepdim = false) const;
    Tensor max(const Axes& axes = {}, bool keepdim = false) const;
    Tensor min(const Axes& axes = {}, bool keepdim = false) const;
    Tensor argmax(std::optional<int> axis = {}, bool keepdim = false) const;
    Tensor exp() const;
    Tensor log() const;
    Tensor sqrt() const;
    Tensor tanh() const;
    Tensor sigmoid() const;
    Tensor relu() const;
    Tensor abs() const;
    Tensor pow(const Operand& exponent) const;
    Tensor matmul(const Tensor& other) const;
    Tensor softmax(int axis = -1) const;

    // ---- for the rest of Weft
    explicit Tensor(std::shared_ptr<Cell> cell) : cell_(std::move(cell)) {}
    const std::shared_ptr<Cell>& cell() const { return cell_; }

private:
    std::shared_ptr<Cell> cell_;
};

// A parameter that is a tensor or a number written in the program. A number is weak: it takes the type of the tensors it
// meets, and raises only the kind: `x * 2.5` is f16 for an f16 tensor and f32 for an i8 tensor. For parameters only: it
// points to the tensor.
//
//     maximum(x, 0);  where(mask, x, -1.5);  2 - x;
class Operand {
public:
    Operand(const Tensor& tensor) : tensor_(&tensor) {}
    Operand(Scalar scalar) : scalar_(scalar) {}
    template <class T>
    requires(std::is_arithmetic_v<T>) Operand(T scalar) : scalar_(scalar) {}

    bool is_scalar() const { return tensor_ == nullptr; }
    const Tensor& tensor() const { return *tensor_; }
    const Scalar& scalar() const { return scalar_; }

private:
    const Tensor* tensor_ = nullptr;
    Scalar scalar_ = false;
};

std::ostream& operator<<(std::ostream& out, const Tensor& tensor);  // runs it; large tensors are summarised

// d(output)/d(targets), times `seed` (1 if undefined, for an output of one element): ordinary lazy tensors, so higher derivatives
// work. Never lets go of the graph and touches no .grad. An unused target gets zeros.
std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> targets, const Tensor& seed = {});

// While one lives, ops on this thread record no gradient.
class NoGrad {
public:
    NoGrad();
    ~NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;

private:
    bool before_;
};
class EnableGrad {
public:
    EnableGrad();
    ~EnableGrad();
    EnableGrad(const EnableGrad&) = delete;
    EnableGrad& operator=(const EnableGrad&) = delete;

private:
    bool before_;
};
bool grad_enabled();

// ---- to(), clone() and contiguous() as functions ----------------------------------------------------------------------

Tensor cast(const Tensor& x, DType dtype);  // floats to integers truncate and saturate, NaN gives 0
Tensor clone(const Tensor& x);              // a value of its own: writing to it leaves x alone
Tensor contiguous(const Tensor& x);         // the same value, stored densely when it runs

// ---- running ---------------------------------------------------------------------------------------------------------

void realize(std::span<const Tensor> tensors);  // computes several in one run; none: only the writes that are pending

// A 0-d tensor for a number that changes from step to step (a learning rate, a position): a program that is run again with another
// value is not compiled again. A traced function asks `redraw` for the value of each later call.
//
//     weight -= scalar_variable(0.01) * gradient;
Tensor scalar_variable(double value, DType dtype = f32, std::function<double()> redraw = {});

}  // namespace weft
