// kernel/kernel.h: the loop IR. A kernel is a tree of loops, stores and prefetches over hash-consed scalar expressions (ir::Node with
// an empty shape). Vectors do not appear in expressions: a loop *kind* says that its iterations run in lanes.
//
// What a backend must know:
// - Every expression is a scalar. Its ops: Const, ScalarParam, LoopVar, Load, the elementwise ops of the op table except
//   the maths ones (kernel/math.h has replaced them), Cast, Bitcast, Where, Fma (fma(a, b, c) = a*b + c, rounded once),
//   Scale (a * 2^floor(b) for b in eighths), Lookup (TableArg::entries[a % kTableSize] as f32, for a u32) and Check. Index
//   arithmetic is i64; IDiv and Mod floor. Exact results and edge cases are those of the op table's `eval`.
// - Load(index[, gate]) reads buffers[LoadArg::buffer]; with a false gate it is 0 and touches no memory.
// - Every loop has a variable of its own: no two loops of a kernel share one.
// - Serial iteration order is the meaning of every loop, but of Tensor loops (below) only up to rounding. A kind only promises that another way of running gives the same
//   bits: Parallel iterations share nothing but inputs; Vector iterations (extent <= kMaxLanes) are independent of each
//   other, except through locals indexed by the lane; Unrolled loops have a small constant extent.
// - Block and Thread loops are for processors with thousands of threads. Block loops, up to three, are outermost and nothing stands between them;
//   blocks share nothing but inputs. Several of them, one after the other, are all that a kernel has: each begins when the one before has ended. In
//   a block stand Thread loops (nested: several axes of threads, at most kMaxThreads in all), and Serial loops around them; every store is inside a Thread loop. Threads of one loop share nothing that one of them writes, so they may run in any order:
//   the boundary between two Thread loops is the barrier. What crosses it lies in memory, in a Shared local, which belongs to a block, or in a
//   local that is `per_thread`: the thread with the same number finds its own value there.
// - A Tensor loop runs over the steps of a matrix product (Loop::product says which; kernel/matrix_product.h has its body): all threads of a block
//   reach it together, and a tensor core may compute it, which adds in an order of its own and rounds sums in its own way.
// - A Copy loop runs over the elements of a box of an array (Loop::box says which; kernel/box_copy.h has its body), which go into a slice in shared memory.
//   It stands in a Serial loop around threads, which multiply the slice: a pipeline. A copy unit may copy slices ahead of the products.
// - A Parallel loop occurs at most once, as the only statement of the body. Program::run gets a range of its iterations.
// - A Serial loop with a `count` expression (known outside the loop) runs min(extent, count) iterations, none if negative.
// - A Serial loop that `polls` asks CheckRecord::stop after each iteration, and ends if it says so; nobody uses the results then.
// - Locals hold no defined value before the first store. A Register local is only ever indexed by constants (after
//   unrolling), or by constant + lane of a vector loop, where all those constants are multiples of the lane count; never
//   both; or it is a block of n * n elements: each iteration stores rows (constant * n + lane), then reads columns (constant + lane * n)
//   of what it has just stored, and nothing else. A backend may do that by transposing n registers. A local with `lane_loop` >= 0 is private to each lane of that vector loop (one value per lane, constant index).
//   A Scratch local lies at `scratch_offset` bytes in the scratch block handed to Program::run, 64-byte aligned.
#pragma once

#include "core/target.h"
#include "ir/node.h"
#include "kernel/schedule.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::ir {
class IndexSimplifier;
}

namespace weft::kernel {

inline constexpr int kMaxLanes = 16;
inline constexpr std::int64_t kMaxThreads = 1024;

enum class LoopKind : std::uint8_t { Serial, Parallel, Vector, Unrolled, Block, Thread, Tensor, Copy };
std::string_view name_of(LoopKind kind);

struct Buffer {
    enum class Role : std::uint8_t { Input, Output, Local };
    enum class MemoryType : std::uint8_t { Memory, Register, Scratch, Shared };  // Memory for parameters

    std::string name;
    DType dtype = DType::F32;
    std::int64_t size = 0;    // elements, from the pointer on: no access is beyond
    Role role = Role::Input;  // an Output may also be loaded (donated, or accumulated in)
    MemoryType memory = MemoryType::Memory;
    int lane_loop = -1;       // Local: private to each lane of the vector loop with this variable id
    bool per_thread = false;  // Local: private to each thread of a block, from one Thread loop to the next
    // Shared: what a Thread loop stores is not loaded before so many more of those that store to it have begun, so copies may be under way
    // until then. It holds at least late + 1 slices, which follow each other round: verify() knows the pattern. So do those of a pipeline.
    std::int64_t late = 0, slices = 0;
    std::int64_t scratch_offset = 0;  // Scratch: in bytes
    bool stream = false;  // Output: large, written once and not read again here: stores may bypass the cache
};

struct Stmt;
using Body = std::vector<Stmt>;

// What a loop is to a contraction, whose loops lowering annotates (kernel/contraction_nest.h): over the output, along an axis of both
// factors, of the left one or of the right one; over the blocks of a sum that is computed in blocks; over the terms of a block.
enum class LoopRole : std::uint8_t { None, Batch, M, N, SumBlock, Sum };
std::string_view name_of(LoopRole role);

// acc += left * right, for one slice of each factor in shared memory. Threads (y, x), four along x, have the elements that a tensor core gives them.
struct MatrixProduct {
    struct Operand {
        int local = -1;
        NodeRef first;                 // the element of the local where the slice begins
        std::int64_t width = 0;        // rows of the left factor, columns of the right one
        bool contiguous_in_k = false;  // neighbours in memory are steps of the sum; else rows or columns
        std::int64_t piece = 8;        // elements of 16 bytes: 8 halves, or 4 numbers of f32
    };
    int acc = -1;
    Operand left, right;
    NodeRef y, x;
};

// to[first …] = a box of an array that lies in `from`, in rows as MatrixProduct wants them; zeros outside of the array.
struct BoxCopy {
    int from = -1, to = -1;
    std::int64_t offset = 0;                     // of the array in `from`, in elements
    std::vector<std::int64_t> extents, strides;  // of the array: first the axis along memory, whose stride is 1
    std::vector<NodeRef> corner;                 // of the box, by axis
    std::int64_t rows = 0;                       // of the box, along the second axis; along the others there is one
    NodeRef first;                               // element of `to`
};

struct Loop {
    NodeRef var;  // a LoopVar; its LoopArg has the id and the extent
    LoopKind kind = LoopKind::Serial;
    Body body;
    bool independent = false;  // no iteration reads what another one writes: may become Parallel or Vector
    NodeRef count;       // Serial only, i64, may be null: runs min(extent, count) iterations; 0 or 1 makes a condition
    bool polls = false;  // Serial only: asks after each iteration whether to go on
    LoopRole role = LoopRole::None;
    std::shared_ptr<const MatrixProduct> product;  // Tensor only
    std::shared_ptr<const BoxCopy> box;            // Copy only
    int id() const { return var->as<ir::LoopArg>().id; }
    std::int64_t extent() const { return var->as<ir::LoopArg>().extent; }
    Loop with(Body other) const;  // the same loop around another body
};

struct Store {
    int buffer = 0;
    NodeRef index;  // i64
    NodeRef value;  // of the buffer's dtype
};

struct Prefetch {
    NodeRef load;  // a Load: what it reads is wanted soon. A hint: it computes nothing
};

struct Stmt {
    std::variant<Loop, Store, Prefetch> as;
    Stmt(Loop loop) : as(std::move(loop)) {}
    Stmt(Store store) : as(std::move(store)) {}
    Stmt(Prefetch prefetch) : as(std::move(prefetch)) {}
    const Loop* loop() const { return std::get_if<Loop>(&as); }
    Loop* loop() { return std::get_if<Loop>(&as); }
    const Store* store() const { return std::get_if<Store>(&as); }
    Store* store() { return std::get_if<Store>(&as); }
    const Prefetch* prefetch() const { return std::get_if<Prefetch>(&as); }
};

struct Kernel {
    std::shared_ptr<ir::Interner> interner;  // owns the expressions; first, so that it goes last
    Numerics numerics;
    std::string name;
    std::vector<Buffer> buffers;  // parameters first (Param slots 0 … parameters-1), then locals
    int parameters = 0;
    std::vector<DType> scalars;        // run-time scalars (ScalarParam slots)
    std::vector<ir::CheckArg> checks;  // what a Check expression may record; CheckRecord::code - 1 is an index here
    Body body;
    int next_var = 0;               // ids below are taken
    std::size_t scratch_bytes = 0;  // per thread
    Decisions schedule;             // that made it what it is, in their order

    // expression helpers, in this kernel's interner; arithmetic on constants folds
    NodeRef make(ir::Op op, DType dtype, ir::Sources sources, ir::Arg arg = {}) const;
    NodeRef constant(DType dtype, const Scalar& value) const;
    NodeRef index(std::int64_t value) const { return constant(DType::I64, value); }
    NodeRef new_var(std::int64_t extent);
    NodeRef load(int buffer, NodeRef at, NodeRef gate = nullptr) const;
    NodeRef binary(ir::Op op, const NodeRef& a, const NodeRef& b) const;  // comparisons give bool
    NodeRef unary(ir::Op op, const NodeRef& a) const;
    NodeRef cast(const NodeRef& a, DType to) const;
    NodeRef where(const NodeRef& condition, const NodeRef& a, const NodeRef& b) const;
    NodeRef rarely(const NodeRef& condition, const NodeRef& a,
                   const NodeRef& b) const;  // the same: a backend may skip a
    NodeRef fma(const NodeRef& a, const NodeRef& b, const NodeRef& c) const;
    NodeRef add(const NodeRef& a, const NodeRef& b) const { return binary(ir::Op::Add, a, b); }
    NodeRef mul(const NodeRef& a, const NodeRef& b) const { return binary(ir::Op::Mul, a, b); }
    int new_local(std::string name, DType dtype, std::int64_t size);
};

// The iteration count of the Parallel loop or of the outermost Block loop, or 1.
std::int64_t parallel_extent(const Kernel& kernel);

// Replaces variables (by id) in an expression / in every expression of a body; the results are simplified.
using Substitution = std::vector<std::pair<int, NodeRef>>;
NodeRef substitute(const Kernel& kernel, const NodeRef& expression, const Substitution& with);
Body substitute(const Kernel& kernel, const Body& body, const Substitution& with);
Body substitute(const Kernel& kernel, const Body& body, const Substitution& with, ir::IndexSimplifier& simplify);

// A second copy of a body: its loops get variables of their own, since every loop of a kernel has one, and the locals that are
// private to their lanes are copied with them. So are those of a loop whose variable `with` replaces by another loop's.
Body copy(Kernel& kernel, const Body& body, const Substitution& with);

std::string print(const Kernel& kernel);  // readable loops, for WEFT_DEBUG=3 and explain()

// Throws InternalError naming `after` if the kernel breaks a rule stated above.
void verify(const Kernel& kernel, std::string_view after);

}  // namespace weft::kernel
