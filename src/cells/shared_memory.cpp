// cells/shared_memory.cpp: memory that another library may write at any time. What is recorded must not see later writes, so ops use
// a copy: one for all ops between two runs, as long as the memory has not changed. A device's memory cannot be compared; each op has its copy.
#include "backend/device.h"
#include "cells/state.h"
#include "schedule/capture.h"

#include "ir/build.h"

#include <weft/shared_memory.h>

#include <cstring>

namespace weft::cells {
namespace {

using schedule::StorageView;

bool on_host(const StorageView& view) { return view.storage->device == kCpu; }
device::DeviceRuntime& runtime_of(const StorageView& view) { return device::runtime_of(view.storage->device); }

std::int64_t first_byte(const StorageView& view) {
    return view.offset * static_cast<std::int64_t>(size_of(view.dtype));
}

// Calls f(part, at, bytes) for pieces that are contiguous in the view and in a dense array, where `at` is the piece's place in that.
// Stops when f says false.
template <class F>
bool for_each_piece(const StorageView& view, std::byte* bytes, F&& f) {
    const auto width = static_cast<std::int64_t>(size_of(view.dtype));
    std::size_t axes = view.shape.size();
    std::int64_t run = 1;  // elements of a piece
    while (axes > 0 && (view.shape[axes - 1] == 1 || view.strides[axes - 1] == run)) run *= view.shape[--axes];
    const std::int64_t pieces = run == 0 ? 0 : numel(view.shape) / run;
    Dims index = Dims::filled(axes, 0);
    std::byte* part = bytes + first_byte(view);
    for (std::int64_t i = 0; i < pieces; ++i) {
        if (!f(part, i * run * width, static_cast<std::size_t>(run * width))) return false;
        for (std::size_t d = axes; d-- > 0;) {
            part += view.strides[d] * width;
            if (++index[d] < view.shape[d]) break;
            part -= view.strides[d] * width * view.shape[d];
            index[d] = 0;
        }
    }
    return true;
}

bool equals(const StorageView& view, const std::byte* dense) {
    return for_each_piece(view, ir::host_bytes(*view.storage),
                          [&](const std::byte* part, std::int64_t at, std::size_t bytes) {
                              return std::memcmp(part, dense + at, bytes) == 0;
                          });
}

void load(const StorageView& view, std::byte* memory, std::byte* dense) {
    for_each_piece(view, memory, [&](const std::byte* part, std::int64_t at, std::size_t bytes) {
        std::memcpy(dense + at, part, bytes);
        return true;
    });
}

// Of the same shape and type; `source` and `target` are the storages' bytes.
void store(const StorageView& from, std::byte* source, const StorageView& to, std::byte* target) {
    std::vector<std::byte> dense;
    const std::byte* elements = source + first_byte(from);
    if (!(from.strides == row_major_strides(from.shape))) {
        dense.resize(static_cast<std::size_t>(numel(from.shape)) * size_of(from.dtype));
        load(from, source, dense.data());
        elements = dense.data();
    }
    for_each_piece(to, target, [&](std::byte* part, std::int64_t at, std::size_t bytes) {
        std::memcpy(part, elements + at, bytes);
        return true;
    });
}

void store(const StorageView& from, const StorageView& to) {
    if (on_host(from)) return store(from, ir::host_bytes(*from.storage), to, ir::host_bytes(*to.storage));
    device::DeviceRuntime& runtime = runtime_of(from);
    if (from.strides == row_major_strides(from.shape) && to.strides == from.strides) {
        const auto bytes = static_cast<std::size_t>(numel(from.shape)) * size_of(from.dtype);
        return runtime.copy(*from.storage, first_byte(from), *to.storage, first_byte(to), bytes);
    }
    std::vector<std::byte> source(from.storage->bytes), target(to.storage->bytes);  // by way of the host
    runtime.read(*from.storage, 0, source.data(), source.size());
    runtime.read(*to.storage, 0, target.data(), target.size());
    store(from, source.data(), to, target.data());
    runtime.write(*to.storage, 0, target.data(), target.size());
}

// All memory from its first element in memory to its last, as one axis.
StorageView span_of(const StorageView& view) {
    std::int64_t first = view.offset, last = view.offset;
    for (std::size_t d = 0; d < view.shape.size(); ++d) {
        if (view.shape[d] == 0) return {{{0}, view.offset, {1}}, view.storage, view.dtype};
        (view.strides[d] < 0 ? first : last) += view.strides[d] * (view.shape[d] - 1);
    }
    return {{{last - first + 1}, first, {1}}, view.storage, view.dtype};
}

ir::NodeRef copy_of(Cell& cell, const StorageView& view) {
    if (!on_host(view)) {  // as it lies there: in one piece
        const ir::Storage& memory = *view.storage;
        StorageView copy = view;
        copy.storage = runtime_of(view).allocate(static_cast<std::int64_t>(memory.bytes));
        runtime_of(view).copy(memory, 0, *copy.storage, 0, memory.bytes);
        return schedule::buffer_of(copy);
    }
    // What lies close together is copied as it lies there, with its strides: a transposed matrix is one piece then, not one per element.
    const StorageView span = span_of(view);
    const bool close = span.shape[0] <= 2 * numel(view.shape);
    const StorageView& part = close ? span : view;
    const std::int64_t bytes = numel(part.shape) * static_cast<std::int64_t>(size_of(part.dtype));
    if (!cell.snapshot || !equals(part, ir::host_bytes(*cell.snapshot))) {
        cell.snapshot = device::runtime_of(kCpu).allocate(bytes);
        load(part, ir::host_bytes(*part.storage), ir::host_bytes(*cell.snapshot));
        state().with_snapshot.push_back(cell.weak_from_this());
    }
    if (!close) return ir::buffer(cell.snapshot, view.dtype, view.shape, 0, row_major_strides(view.shape));
    return ir::buffer(cell.snapshot, view.dtype, view.shape, view.offset - span.offset, view.strides);
}

// Whether the cell alone holds the memory of its value: no node, view, plan or array beside it does.
bool holds_alone(const Cell& cell, const ir::Node& buffer) {
    const bool leaf = cell.requires_grad && cell.node->use_count() == 1;
    return (leaf || cell.node.get() == &buffer) && buffer.use_count() == 1 &&
           buffer.as<ir::BufferArg>().storage.use_count() == 1;
}

// Its views are derived anew when they are next used.
void forget_views(const Cell& base) {
    for (Cell* cell = state().first_view(); cell; cell = cell->next)
        if (cell->view->base.get() == &base) cell->node = nullptr;
}

// From now on the cell's memory may be written by others. What reads it beside the cell keeps the values that it saw: then the cell
// gets a copy. False if the value is not in memory of the CPU's, or in memory that is not ours to write.
bool lend(Cell& cell, const ir::Node* buffer) {
    if (!buffer || buffer->device != kCpu || buffer->as<ir::BufferArg>().storage->foreign) return false;
    forget_views(cell);
    const bool alone = holds_alone(cell, *buffer);
    const StorageView view = schedule::view_of(*buffer);
    if (alone && ir::is_dense(view)) {
        cell.shared = ir::NodeRef(buffer);
    } else {
        const std::int64_t bytes = numel(view.shape) * static_cast<std::int64_t>(size_of(view.dtype));
        const ir::StorageRef copy = device::runtime_of(kCpu).allocate(bytes);
        load(view, ir::host_bytes(*view.storage), ir::host_bytes(*copy));
        cell.shared = ir::buffer(copy, view.dtype, view.shape, 0, row_major_strides(view.shape));
    }
    if (cell.requires_grad) cell.node = ir::leaf(cell.id, cell.shared);
    else cell.node = cell.node->needs_grad ? keeping_history(cell.shared, history_of(cell.node)) : cell.shared;
    ++cell.binding;
    return true;
}

}  // namespace

// Memory that a cell has lent: when the last borrower lets go of it, it is the cell's alone again.
struct Loan {
    std::weak_ptr<Cell> cell;
    ir::StorageRef memory;

    ~Loan() {
        const std::lock_guard lock(ir::graph_lock());
        const std::shared_ptr<Cell> lender = cell.lock();
        if (lender && lender->loan.expired() && is_lent(*lender)) lender->shared = nullptr;
    }
    bool is_lent(const Cell& lender) const {
        return lender.shared && lender.shared->as<ir::BufferArg>().storage == memory;
    }
};

void drop_snapshots() {
    for (const std::weak_ptr<Cell>& weak : state().with_snapshot)
        if (const std::shared_ptr<Cell> cell = weak.lock()) cell->snapshot = nullptr;
    state().with_snapshot.clear();
}

ir::NodeRef kept_in_place(const Cell& cell, const ir::NodeRef& buffer) {
    if (!cell.shared || buffer == cell.shared) return buffer;
    store(schedule::view_of(*buffer), schedule::view_of(*cell.shared));
    return cell.shared;
}

bool can_write_memory(Cell& cell) {
    const std::optional<StorageView> view = schedule::memory_of(current_node(cell));
    if (!view) return false;
    for (std::size_t d = 0; d < view->shape.size(); ++d)
        if (view->strides[d] == 0 && view->shape[d] > 1) return false;
    return true;
}

void write_memory(const Tensor& target, const ir::NodeRef& value) {
    const Tensor asked[] = {make_tensor(value->needs_grad ? ir::detach(value) : value)};
    const ir::NodeRef buffer = run(asked).front();
    const std::lock_guard lock(ir::graph_lock());
    Cell& cell = *target.cell();
    store(schedule::view_of(*buffer), *schedule::memory_of(current_node(cell)));
    Cell& base = cell.view ? *cell.view->base : cell;
    mark_written(base);
    ++base.binding;
}

}  // namespace weft::cells

namespace weft {

ir::NodeRef snapshot_of(Cell& cell) {
    const ir::NodeRef node = current_node(cell);
    if (!cell.view) {
        const ir::NodeRef copy = cells::copy_of(cell, schedule::view_of(*cell.shared));
        if (cell.requires_grad) return ir::leaf(cell.id, copy);
        return node->needs_grad ? keeping_history(copy, node) : copy;
    }
    if (!node->needs_grad)  // of a part, only that
        if (const auto view = schedule::memory_of(node)) return cells::copy_of(cell, *view);
    return cell.view->read(snapshot_of(*cell.view->base));
}

std::optional<MemoryView> lend_memory(const Tensor& x) {
    const Tensor base = base_of(x.realize());
    Cell& lender = *base.cell();
    const std::uint64_t version = [&] {
        const std::lock_guard lock(ir::graph_lock());
        return lender.version;
    }();
    ir::NodeRef value = cells::run(std::span(&base, 1)).front();
    const std::lock_guard lock(ir::graph_lock());
    if (lender.version != version) return std::nullopt;  // another thread has written it meanwhile
    std::shared_ptr<cells::Loan> loan = lender.loan.lock();
    if (!lender.shared) {
        const ir::Node* const buffer = value.get();
        if (cells::stored_value(lender.node) == value) value = nullptr;  // so that the cell may hold it alone
        if (!cells::lend(lender, buffer)) return std::nullopt;
        const ir::StorageRef& memory = lender.shared->as<ir::BufferArg>().storage;
        loan.reset(new cells::Loan{base.cell(), memory});
        lender.loan = loan;
    }
    if (!reads_shared(*x.cell()) || !cells::can_write_memory(*x.cell())) return std::nullopt;
    const std::optional<schedule::StorageView> view = schedule::memory_of(current_node(*x.cell()));
    if (view->storage != lender.shared->as<ir::BufferArg>().storage || !cells::on_host(*view)) return std::nullopt;
    std::shared_ptr<const void> owner = view->storage;
    if (loan) owner = std::move(loan);
    return MemoryView{std::move(owner), ir::host_bytes(*view->storage) + cells::first_byte(*view),
                      view->dtype,      view->shape,
                      view->strides,    x.device()};
}

}  // namespace weft
