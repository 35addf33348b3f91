// weft/shared_memory.h: who else may write a tensor's memory: another library, as with a NumPy array's, or views of the same tensor.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <memory>

namespace WEFT_API weft {

// A tensor over such memory. An op sees it as it is at the call, so an op copies what it needs of it (memory that nobody writes is
// not copied: from_memory); reading the tensor itself sees it as it is then. Writing the tensor in place writes the memory before the
// call returns. `strides` are in elements; `owner` is held for as long as the memory may be used.
//
//     Tensor x = from_shared_memory(array.data(), {2, 3}, {3, 1}, f32, owner);
//     const Tensor doubled = x * 2;   // of what is there now
//     x += 1;                         // array[0] is one more
Tensor from_shared_memory(void* elements, const Shape& shape, const Dims& strides, DType dtype,
                          std::shared_ptr<void> owner, Device device = cpu);

// The tensor that x is a view of, or x itself. Two tensors share memory, so that writing one may change the other, exactly if the cells
// of their bases are the same.
Tensor base_of(const Tensor& x);

// x derived from its base once more. Where the base is computed and the view is a walk through its memory, this is that memory; x itself
// may have been computed into memory of its own.
Tensor derived_from_base(const Tensor& x);

}  // namespace weft
