// backend/cuda/ptx.h: a kernel as PTX text, the assembly language that NVIDIA's driver compiles. Every thread computes scalars; which
// iteration is whose is in the loops (kernel/pass_grid.cpp).
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::backend::cuda {

// An array in a buffer, of which a copy unit brings boxes. Sizes and strides are in elements, strides of all axes but the first.
struct TensorMap {
    int parameter = -1;
    DType dtype = DType::BF16;
    std::int64_t offset = 0;
    std::vector<std::int64_t> extents, strides, box;
    bool operator==(const TensorMap&) const = default;
};
inline constexpr std::size_t kMapWords = 16;  // as a parameter

// One launch: a statement of the kernel's body. They run one after the other.
struct Entry {
    std::string name;
    std::array<std::int64_t, 3> blocks{1, 1, 1};  // along x, y and z
    std::int64_t threads = 1;
    std::int64_t shared_bytes = 0;    // of a block, with the tables that it looks up
    std::int64_t dynamic_shared = 0;  // … that the launch asks for: all, or none
    std::vector<TensorMap> maps{};    // parameters behind those of all entries
    std::int64_t all_blocks() const { return blocks[0] * blocks[1] * blocks[2]; }
};

// The parameters of every entry, eight bytes each: the addresses of the kernel's parameters, its scalars, the address of a CheckRecord
// and what to add to its code, the address of memory for locals, and that of a CheckRecord or 0: if it has a code, the entry does nothing.
struct Module {
    std::string text;
    std::vector<Entry> entries;
    int assembler_level = 1;               // how long the assembler may think
    std::int64_t shared_bytes = 0;         // of a block: its locals in shared memory
    std::int64_t scratch_bytes = 0;        // … in the memory for locals
    std::vector<std::int64_t> alignments;  // of the parameters' addresses, in bytes
};

struct WriteOptions {
    bool vectors = true;  // loads and stores of neighbours at a time, where parameters are aligned
    int capability = 80;  // that it is for: more shared memory, tensor cores
};
Module write_module(const kernel::Kernel& kernel, const WriteOptions& options = {});

}  // namespace weft::backend::cuda
