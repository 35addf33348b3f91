// kernel/verify.cpp: the structure of a kernel: whatever it refers to exists. kernel/verify_memory.cpp proves what it does to memory.
#include "kernel/verify.h"
#include "kernel/box_copy.h"
#include "kernel/contraction_nest.h"
#include "kernel/linear_form.h"
#include "kernel/matrix_product.h"
#include "kernel/nest.h"

#include "core/str.h"
#include "ir/node_table.h"

#include <weft/error.h>

#include <algorithm>
#include <functional>
#include <tuple>

namespace weft::kernel {
namespace {

using ir::Node;
using ir::Op;

class Verifier {
public:
    Verifier(const Kernel& kernel, std::string_view after)
        : kernel_(kernel),
          after_(after),
          state_(static_cast<std::size_t>(kernel.next_var), State::Unseen),
          nest_of_(kernel.buffers.size(), 0) {}

    void body(const Body& body, int depth) {
        for (const Stmt& stmt : body) {
            ++statement_;
            if (const Loop* loop = stmt.loop()) check_loop(*loop, body, depth);
            else if (stmt.store()) check_store(*stmt.store());
            else check_prefetch(*stmt.prefetch());
        }
    }

private:
    static bool is_block(const Stmt& stmt) { return stmt.loop() && stmt.loop()->kind == LoopKind::Block; }

    enum class State : std::uint8_t { Unseen, Inside, InsideLanes, Done };  // of a loop

    void check_loop(const Loop& loop, const Body& siblings, int depth) {
        require(loop.var->op == Op::LoopVar && loop.id() >= 0 && loop.id() < kernel_.next_var,
                "a loop without a proper variable");
        State& state = state_[static_cast<std::size_t>(loop.id())];
        require(state == State::Unseen, "two loops with one variable: i", loop.id());
        if (loop.kind == LoopKind::Parallel)
            require(depth == 0 && siblings.size() == 1, "a parallel loop that is not outermost");
        if (loop.kind == LoopKind::Block)
            require(depth == blocks_ && depth < 3 && (depth == 0 || siblings.size() == 1),
                    "a block loop that is not outermost");
        else if (depth == 0)
            require(std::ranges::none_of(siblings, is_block), "a statement outside of blocks, beside a block loop");
        if (loop.kind == LoopKind::Thread) {
            require(blocks_ > 0, "a thread loop outside of a block");
            require(threads_ == 0 || siblings.size() == 1, "a thread loop beside something else in a thread loop");
            require(!in_thread_body_, "a thread loop inside a loop of one thread");
            require(std::max<std::int64_t>(threads_, 1) * loop.extent() <= kMaxThreads, "more than ", kMaxThreads,
                    " threads");
        } else if (blocks_ > 0 && threads_ == 0 && loop.kind != LoopKind::Block) {
            require(loop.kind == LoopKind::Serial || loop.kind == LoopKind::Copy, "a ", name_of(loop.kind),
                    " loop in a block, around threads");
        }
        if (loop.count) {
            require(loop.kind == LoopKind::Serial && loop.count->dtype == DType::I64,
                    "a count on a loop that is not serial");
            check_expression(*loop.count);
            Uses uses;
            collect_uses(loop.count, uses);
            for (const NodeRef& load : uses.loads)  // proofs of slices look at stores
                require(kernel_.buffers[static_cast<std::size_t>(load->as<ir::LoadArg>().buffer)].slices == 0,
                        "a loop that runs as often as a slice says");
        }
        const bool lanes = loop.kind == LoopKind::Vector;
        require(loop.independent || !is_over_output(loop.role),
                "a loop over a contraction's output whose iterations depend on each other");
        if (lanes) require(loop.extent() <= kMaxLanes, "a vector loop with too many lanes");
        state = lanes ? State::InsideLanes : State::Inside;
        inside(loop, depth);
        state = State::Done;
    }

    void inside(const Loop& loop, int depth) {
        const auto before = std::tuple(blocks_, threads_, in_thread_body_, copies_);
        copies_ = copies_ || loop.kind == LoopKind::Copy;
        if (loop.kind == LoopKind::Block) ++blocks_;
        else if (loop.kind == LoopKind::Thread) {
            nest_ += threads_ == 0;
            threads_ = std::max<std::int64_t>(threads_, 1) * loop.extent();
        } else {
            in_thread_body_ = in_thread_body_ || threads_ > 0;
        }
        body(loop.body, depth + 1);
        std::tie(blocks_, threads_, in_thread_body_, copies_) = before;
    }

    void check_store(const Store& store) {
        require(exists(store.buffer), "a store to no buffer");
        const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(store.buffer)];
        require(buffer.role != Buffer::Role::Input, "a store to the input ", buffer.name);
        require(store.value->dtype == buffer.dtype, "a store of ", store.value->dtype, " to ", buffer.name, " of ",
                buffer.dtype);
        require(store.index->dtype == DType::I64, "an index that is not i64");
        require(blocks_ == 0 || threads_ > 0 || copies_, "a store in a block, outside of its threads");
        check_lanes(store.buffer);
        check_threads(store.buffer);
        check_expression(*store.index);
        check_expression(*store.value);
    }

    void check_prefetch(const Prefetch& prefetch) {
        require(prefetch.load->op == Op::Load, "a prefetch of what is no load");
        check_expression(*prefetch.load);
    }

    void check_expression(const Node& root) {
        InlineVector<const Node*, 32> stack;
        stack.push_back(&root);
        while (!stack.empty()) {
            const Node* node = stack[stack.size() - 1];
            stack.pop_back();
            if (node->op == Op::Const && node->shape.empty()) continue;
            int& seen = seen_[node];
            if (seen == statement_) continue;
            seen = statement_;
            for (const NodeRef& source : node->sources) stack.push_back(source.get());
            check_node(*node);
        }
    }

    void check_node(const Node& node) {
        require(node.shape.empty(), "an expression with a shape");
        if (node.op == Op::LoopVar)
            require(is_inside(node.as<ir::LoopArg>().id), "unbound i", node.as<ir::LoopArg>().id);
        if (node.op == Op::Load) {
            const int b = node.as<ir::LoadArg>().buffer;
            require(exists(b), "a load from no buffer");
            const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
            require(node.dtype == buffer.dtype, "a load of another dtype than that of ", buffer.name);
            check_lanes(b);
            check_threads(b);
        }
        require(!ir::is_math(node.op) && !ir::is_movement(node.op), "an op that no backend knows");
        if (is_half(node.dtype))
            require(node.op == Op::Load || node.op == Op::Cast || node.op == Op::Where || node.op == Op::Const ||
                        node.op == Op::Bitcast || node.op == Op::ScalarParam,
                    "arithmetic in half precision");
    }

    void check_lanes(int buffer) const {
        const int loop = kernel_.buffers[static_cast<std::size_t>(buffer)].lane_loop;
        if (loop >= 0)
            require(loop < kernel_.next_var && state_[static_cast<std::size_t>(loop)] == State::InsideLanes, "b",
                    buffer, " (", kernel_.buffers[static_cast<std::size_t>(buffer)].name,
                    "), private to the lanes of i", loop, ", is used outside of that loop");
    }

    // A local of one thread is gone when its Thread loop ends, unless it says that it is not.
    void check_threads(int b) {
        const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
        if (buffer.memory == Buffer::MemoryType::Shared || buffer.per_thread)
            require((threads_ > 0 || copies_) && buffer.role == Buffer::Role::Local, "b", b, " (", buffer.name,
                    "), of a block or its threads, is used outside of them");
        else if (buffer.role == Buffer::Role::Local && threads_ > 0) {
            int& nest = nest_of_[static_cast<std::size_t>(b)];
            require(nest == 0 || nest == nest_, "b", b, " (", buffer.name,
                    "), a local of one thread, is used in two thread loops");
            nest = nest_;
        }
    }

    bool exists(int buffer) const { return buffer >= 0 && buffer < static_cast<int>(kernel_.buffers.size()); }
    bool is_inside(int loop) const {
        return loop >= 0 && loop < kernel_.next_var &&
               (state_[static_cast<std::size_t>(loop)] == State::Inside ||
                state_[static_cast<std::size_t>(loop)] == State::InsideLanes);
    }

    template <class... Parts>
    void require(bool holds, const Parts&... what) const {
        if (!holds)
            throw InternalError(
                str("kernel ", kernel_.name, ", after ", after_, ": ", str(what...), "\n", print(kernel_)));
    }

    const Kernel& kernel_;
    std::string_view after_;
    std::vector<State> state_;
    ir::NodeTable<int> seen_;  // by which statement
    int statement_ = 0;
    int blocks_ = 0;               // Block loops around
    std::int64_t threads_ = 0;     // of the Thread loops around; 0: none
    bool in_thread_body_ = false;  // a loop of one thread is around
    bool copies_ = false;          // a Copy loop is
    int nest_ = 0;                 // counts the nests of Thread loops
    std::vector<int> nest_of_;     // by buffer: in which one a plain local was used; 0: in none
};

bool is_remainder(const Node& atom, const NodeRef& var, std::int64_t moved, std::int64_t by) {
    if (atom.op != Op::Mod || atom.source(1).op != Op::Const ||
        static_cast<std::int64_t>(atom.source(1).as<ir::ConstArg>().value) != by)
        return false;
    const LinearForm number = linear_form(atom.source(0));
    return number.terms.size() == 1 && number.terms[0].atom == var.get() && number.terms[0].factor == 1 &&
           number.constant % by == moved;
}

bool has_same_stores(const Body& a, const Body& b) {
    return std::ranges::equal(a, b, [](const Stmt& x, const Stmt& y) {
        return x.store() && y.store() && x.store()->buffer == y.store()->buffer &&
               x.store()->index == y.store()->index && x.store()->value == y.store()->value;
    });
}

// Slices that are stored late (Buffer::late). Loops before the one that loads them fill the first slices, one each. In iteration v of that one
// there is one Thread loop that stores to slice (v + late) % slices and loads slice v % slices: so what it loads was stored `late` such loops
// before. Threads that do not store to it wait for all copies.
class LateSlices {
public:
    LateSlices(const Kernel& kernel, std::string_view after, int buffer)
        : kernel_(kernel),
          after_(after),
          buffer_(buffer),
          late_(kernel.buffers[static_cast<std::size_t>(buffer)].late),
          slices_(kernel.buffers[static_cast<std::size_t>(buffer)].slices) {
        const std::int64_t size = kernel.buffers[static_cast<std::size_t>(buffer)].size;
        require(slices_ > late_ && size % slices_ == 0, "does not have slices of equal size");
        slice_ = size / slices_;
    }

    void check(const Body& blocks) {
        for (const Stmt& stmt : blocks) {
            const Loop* const loop = stmt.loop();
            if (!loop) continue;
            if (loop->kind == LoopKind::Block) filled_ = 0, check(loop->body);
            else if (loop->kind == LoopKind::Thread) threads(*loop, nullptr);
            else around(*loop);
        }
    }

private:
    void around(const Loop& loop) {
        for (const Stmt& stmt : loop.body)
            if (stmt.loop() && stmt.loop()->kind == LoopKind::Thread) threads(*stmt.loop(), &loop);
            else require(!stmt.loop() || !touches(stmt.loop()->body), "is used in loops of loops");
    }

    void threads(const Loop& loop, const Loop* around) {
        bool stores = false, loads = false;
        for_each_store(loop.body, [&](const Store& store, std::span<const Loop* const>) {
            stores = stores || store.buffer == buffer_;
            each_load(store, [&](const Node&) { loads = true; });
        });
        if (!stores) return;
        for_each_store(loop.body, [&](const Store& store, std::span<const Loop* const>) {
            if (store.buffer == buffer_)
                require(around ? is_in(*store.index, around, late_) : is_filled(store.index),
                        "is stored to in another slice");
            if (around)
                each_load(store, [&](const Node& load) {
                    require(is_in(load.source(), around, 0), "is loaded from another slice");
                });
        });
        require(around || !loads, "is loaded while it is filled");
        if (!around) ++filled_;
        else require(filled_ >= late_, "is used before its first slices are filled");
    }

    bool is_filled(const NodeRef& index) const {
        const ir::Bounds at = ir::bounds(index);
        return at.low >= filled_ * slice_ && at.high < (filled_ + 1) * slice_;
    }

    // Whether the index lies in slice (v + moved) % slices.
    bool is_in(const Node& index, const Loop* around, std::int64_t moved) const {
        const LinearForm form = linear_form(index);
        std::int64_t low = form.constant, high = form.constant;
        bool found = false;
        for (const LinearForm::Term& term : form.terms) {
            if (term.factor == slice_ && is_slot(*term.atom, *around, moved)) {
                found = true;
                continue;
            }
            const ir::Bounds range = ir::bounds(NodeRef(term.atom));
            low += std::min(term.factor * range.low, term.factor * range.high);
            high += std::max(term.factor * range.low, term.factor * range.high);
        }
        return form.exact && found && low >= 0 && high < slice_;
    }
    bool is_slot(const Node& atom, const Loop& around, std::int64_t moved) const {
        if (&atom == around.var.get()) return moved == 0 && around.extent() <= slices_;
        return is_remainder(atom, around.var, moved, slices_);
    }

    bool touches(const Body& body) const {
        bool found = false;
        for_each_store(body, [&](const Store& store, std::span<const Loop* const>) {
            found = found || store.buffer == buffer_;
            each_load(store, [&](const Node&) { found = true; });
        });
        return found;
    }
    void each_load(const Store& store, const std::function<void(const Node&)>& f) const {
        Uses uses;
        collect_uses(store.value, uses);
        collect_uses(store.index, uses);
        for (const NodeRef& load : uses.loads)
            if (load->as<ir::LoadArg>().buffer == buffer_) f(*load);
    }

    void require(bool holds, std::string_view what) const {
        if (!holds)
            throw InternalError(str("kernel ", kernel_.name, ", after ", after_, ": b", buffer_, " (",
                                    kernel_.buffers[static_cast<std::size_t>(buffer_)].name,
                                    "), whose copies land late, ", what, "\n", print(kernel_)));
    }

    const Kernel& kernel_;
    const std::string_view after_;
    const int buffer_;
    const std::int64_t late_, slices_;
    std::int64_t slice_ = 0, filled_ = 0;
};

// Tensor loops: all threads of the block reach them, whole groups of four warps, and their bodies are what a tensor core computes.
class TensorLoops {
public:
    TensorLoops(const Kernel& kernel, std::string_view after) : kernel_(kernel), after_(after) {}

    void check(const Body& body, std::vector<const Loop*> around = {}) {
        for (const Stmt& stmt : body) {
            const Loop* const loop = stmt.loop();
            if (!loop) continue;
            require((loop->kind == LoopKind::Tensor) == (loop->product != nullptr), "one without its product");
            if (loop->product) check(*loop, around);
            around.push_back(loop);
            check(loop->body, around);
            around.pop_back();
        }
    }

private:
    void check(const Loop& loop, std::span<const Loop* const> around) const {
        constexpr std::int64_t kGroup = 32, kColumns = 4;  // threads of four warps
        const MatrixProduct& product = *loop.product;
        require(around.size() >= 2, "one that stands alone");
        const Loop &y = *around[around.size() - 2], &x = *around.back();
        require(y.kind == LoopKind::Thread && x.kind == LoopKind::Thread && y.var == product.y && x.var == product.x &&
                    x.extent() == kColumns && y.extent() % kGroup == 0 && product.left.width == 2 * y.extent(),
                "one that not all threads reach");
        const auto is_slice = [&](const MatrixProduct::Operand& operand) {
            const DType t = kernel_.buffers[static_cast<std::size_t>(operand.local)].dtype;
            return operand.piece * static_cast<std::int64_t>(size_of(t)) == 16 && operand.width % kSliceSteps == 0 &&
                   loop.extent() == row_size(operand) && (is_half(t) || operand.contiguous_in_k);
        };
        require(is_slice(product.left) && is_slice(product.right), "one of slices of another size");
        require(!ir::depends_on(product.left.first, y.id()) && !ir::depends_on(product.left.first, x.id()) &&
                    !ir::depends_on(product.right.first, y.id()) && !ir::depends_on(product.right.first, x.id()),
                "one whose threads have different slices");
        require(!loop.count && has_same_stores(loop.body, steps_of(kernel_, product, loop.var)),
                "one with another body");
    }

    void require(bool holds, std::string_view what) const {
        if (!holds)
            throw InternalError(str("kernel ", kernel_.name, ", after ", after_, ": of the tensor loops, ", what, "\n",
                                    print(kernel_)));
    }

    const Kernel& kernel_;
    const std::string_view after_;
};

// Copy loops: each is what a copy unit does, and stands in a pipeline, whose copies may run ahead of its products: iteration s copies into slice
// s % slices of locals that nothing else uses, and multiplies that slice. What is copied is an input. A statement of blocks has at most one pipeline, which
// runs once; its locals have as many slices each, since one barrier tells of all slices with a number.
class Pipelines {
public:
    Pipelines(const Kernel& kernel, std::string_view after) : kernel_(kernel), after_(after) {}

    void check() {
        for (const Stmt& stmt : kernel_.body) {
            found_ = nullptr;
            find(std::span(&stmt, 1), nullptr);
            if (found_) check_pipeline(*found_);
        }
    }

private:
    void find(std::span<const Stmt> body, const Loop* around) {
        for (const Stmt& stmt : body) {
            const Loop* const loop = stmt.loop();
            if (!loop) continue;
            require((loop->kind == LoopKind::Copy) == (loop->box != nullptr), "one without its box");
            require(loop->kind != LoopKind::Copy || (around && is_pipeline(*around)),
                    "one that stands outside of a pipeline");
            if (is_pipeline(*loop)) {
                require(!found_, "two pipelines in a statement");
                require(around && around->kind == LoopKind::Block, "a pipeline inside of another loop");
                found_ = loop;
                require(!loop->count && !loop->polls, "a pipeline that may end before its last slice");
            }
            find(loop->body, loop);
        }
    }

    void check_pipeline(const Loop& pipeline) const {
        for (const Stmt& stmt : copies_of(pipeline)) {
            check(*stmt.loop(), pipeline);
            require(buffer(stmt.loop()->box->to).slices == slices_of(kernel_, pipeline), "slices of different numbers");
        }
        const Loop* nest = &threads_of(pipeline);
        while (nest->body.size() == 1 && nest->body[0].loop() && nest->body[0].loop()->kind == LoopKind::Thread)
            nest = nest->body[0].loop();
        for (const Stmt& stmt : nest->body) {
            require(stmt.loop() && stmt.loop()->product, "a pipeline that does more than multiply");
            for (const MatrixProduct::Operand* operand : {&stmt.loop()->product->left, &stmt.loop()->product->right})
                require(is_copied(pipeline, operand->local) &&
                            place_in_slice(operand->first, operand->local, pipeline) == 0,
                        "a product of another slice");
        }
        const auto uses = [&](const Body& body, int local) {
            std::size_t count = 0;
            for_each_store(body, [&](const Store& store, std::span<const Loop* const>) {
                Uses uses;
                collect_uses(store.value, uses);
                collect_uses(store.index, uses);
                count += store.buffer == local;
                for (const NodeRef& load : uses.loads) count += load->as<ir::LoadArg>().buffer == local;
            });
            return count;
        };
        for (const Stmt& stmt : copies_of(pipeline)) {
            const int local = stmt.loop()->box->to;
            require(uses(kernel_.body, local) == uses(pipeline.body, local), "a slice that is used elsewhere");
        }
    }

    void check(const Loop& loop, const Loop& pipeline) const {
        const BoxCopy& box = *loop.box;
        require(box.from >= 0 && box.from < kernel_.parameters && box.to >= kernel_.parameters &&
                    box.to < static_cast<int>(kernel_.buffers.size()),
                "one of no buffers");
        const Buffer &from = buffer(box.from), &to = buffer(box.to);
        require(from.role == Buffer::Role::Input && from.dtype == to.dtype && to.memory == Buffer::MemoryType::Shared &&
                    to.late == 0 && to.slices > 0 && to.size % to.slices == 0,
                "one that does not go from an input to slices in shared memory");
        const std::size_t axes = box.corner.size();
        const auto size = static_cast<std::int64_t>(size_of(from.dtype));
        require(axes >= 2 && axes <= 5 && box.extents.size() == axes && box.strides.size() == axes &&
                    box.strides[0] == 1 && box.offset >= 0 && box.offset * size % 16 == 0 &&
                    std::all_of(box.strides.begin() + 1, box.strides.end(),
                                [&](std::int64_t stride) { return stride > 0 && stride * size % 16 == 0; }),
                "one of an array that a copy unit does not take");
        for (const NodeRef& at : box.corner) {
            Uses uses;
            collect_uses(at, uses);
            require(uses.loads.empty() && ir::bounds(at).low >= 0, "one whose place depends on memory");
        }
        const std::int64_t elements = box.rows * box_row(to.dtype), place = place_in_slice(box.first, box.to, pipeline);
        require(box.rows > 0 && box.rows <= 256 && box.rows % kPieces == 0 && place >= 0 &&
                    place % (kPieces * box_row(to.dtype)) == 0 && place + elements <= to.size / to.slices,
                "one that goes to another slice");
        require(
            !loop.count && loop.extent() == elements && has_same_stores(loop.body, elements_of(kernel_, box, loop.var)),
            "one with another body");
    }

    // Where in slice (v % slices) of a local an element lies; -1: not in it.
    std::int64_t place_in_slice(const NodeRef& first, int local, const Loop& pipeline) const {
        const std::int64_t slices = buffer(local).slices;
        const LinearForm form = linear_form(*first);
        if (!form.exact || slices <= 0) return -1;
        if (form.terms.empty()) return pipeline.extent() == 1 || slices == 1 ? form.constant : -1;
        const Node& atom = *form.terms[0].atom;
        const bool is_slot =
            is_remainder(atom, pipeline.var, 0, slices) || (&atom == pipeline.var.get() && pipeline.extent() <= slices);
        return form.terms.size() == 1 && is_slot && form.terms[0].factor == buffer(local).size / slices ? form.constant
                                                                                                        : -1;
    }
    bool is_copied(const Loop& pipeline, int local) const {
        return std::ranges::any_of(copies_of(pipeline),
                                   [&](const Stmt& stmt) { return stmt.loop()->box->to == local; });
    }
    const Buffer& buffer(int b) const { return kernel_.buffers[static_cast<std::size_t>(b)]; }

    void require(bool holds, std::string_view what) const {
        if (!holds)
            throw InternalError(
                str("kernel ", kernel_.name, ", after ", after_, ": of the copy loops, ", what, "\n", print(kernel_)));
    }

    const Kernel& kernel_;
    const std::string_view after_;
    const Loop* found_ = nullptr;  // the pipeline of the statement in hand
};

}  // namespace

void verify(const Kernel& kernel, std::string_view after) {
    Verifier(kernel, after).body(kernel.body, 0);
    TensorLoops(kernel, after).check(kernel.body);
    Pipelines(kernel, after).check();
    for (int b = kernel.parameters; b < static_cast<int>(kernel.buffers.size()); ++b)
        if (kernel.buffers[static_cast<std::size_t>(b)].late > 0) LateSlices(kernel, after, b).check(kernel.body);
}

}  // namespace weft::kernel
