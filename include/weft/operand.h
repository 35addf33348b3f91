// weft/operand.h: two small types that op functions take: an Operand is a tensor or a number, Axes is one axis or several.
#pragma once

#include <weft/dtype.h>
#include <weft/shape.h>
#include <weft/tensor.h>

#include <initializer_list>
#include <type_traits>

namespace weft {

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
        requires(std::is_arithmetic_v<T>)
    Operand(T scalar) : scalar_(scalar) {}

    bool is_scalar() const { return tensor_ == nullptr; }
    const Tensor& tensor() const { return *tensor_; }
    const Scalar& scalar() const { return scalar_; }

private:
    const Tensor* tensor_ = nullptr;
    Scalar scalar_ = false;
};

}  // namespace weft
