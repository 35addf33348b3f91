// weft/shared_memory.h: who else may write a tensor's memory: another library, as with a NumPy array's, or views of the same tensor.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <memory>
#include <optional>

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

// The memory of x, computed, for another library that may write it. For as long as somebody holds the result, x and the tensors that it
// shares memory with are over shared memory, as above. What was recorded before keeps the values that it saw. None: the elements have no
// place of their own there (an expanded tensor), or they are not the CPU's.
//
//     { const auto memory = lend_memory(x); static_cast<float*>(const_cast<void*>(memory->data))[0] = 1; }   // x[0] is 1
std::optional<MemoryView> lend_memory(const Tensor& x);

// The tensor that x is a view of, or x itself. Two tensors share memory, so that writing one may change the other, exactly if the cells
// of their bases are the same.
Tensor base_of(const Tensor& x);

// x derived from its base once more. Where the base is computed and the view is a walk through its memory, this is that memory; x itself
// may have been computed into memory of its own.
Tensor derived_from_base(const Tensor& x);

}  // namespace weft
