// cells/cuda.cpp: what programs ask about GPUs, and the order of their work. Whatever is recorded counts as launched for them: it is computed first.
#include "backend/cuda/driver.h"
#include "backend/cuda/runtime.h"
#include "backend/device.h"
#include "cells/state.h"
#include "core/str.h"
#include "ir/build.h"

#include <weft/creation.h>
#include <weft/cuda.h>
#include <weft/error.h>

#include <cstring>

namespace weft::cuda {
namespace {

device::DeviceRuntime& runtime(Device device) { return device::runtime_of(device.number()); }

// Computes what handles on this device stand for. Not inside of a run or of a function that jit traces: there nobody waits.
bool compute_pending(Device device) {
    if (cells::running() || active_tracer) return false;
    std::vector<Tensor> asked;
    {
        const std::lock_guard lock(ir::graph_lock());
        for (Cell* cell = cells::state().first_pending(); cell; cell = cell->next) {
            if (!cell->node || cell->node->device != device.number() || cell->made_in != 0) continue;
            if (cells::stored_value(cell->node)) continue;
            if (std::shared_ptr<Cell> alive = cell->weak_from_this().lock()) asked.emplace_back(std::move(alive));
        }
    }
    cells::run(asked);  // with what was written
    return true;
}

}  // namespace

int device_count() { return backend::cuda::device_count(); }
std::string problem() { return backend::cuda::problem(); }

bool is_open(Device device) { return device::opened_runtime(device.number()) != nullptr; }
GpuProperties properties(int index) { return backend::cuda::properties(index); }

// ---- memory ----------------------------------------------------------------------------------------------------------

DeviceMemory memory_use(Device device) { return runtime(device).memory_use(); }
void reset_most_used(Device device) { runtime(device).reset_most_used(); }
void release_memory(Device device) { runtime(device).release_memory(); }

Tensor pinned(const Tensor& x, Device device) {
    if (x.device() != cpu)
        throw ValueError(
            str("pin_memory(): the tensor is on ", x.device().name(), ", and only the CPU's memory can be pinned"));
    if (is_pinned(x) || x.numel() == 0) return x;
    const void* const values = x.data_ptr();
    const std::size_t bytes = static_cast<std::size_t>(x.numel()) * size_of(x.dtype());
    const std::shared_ptr<void> memory = runtime(device).allocate_pinned(bytes);
    if (!memory) return x;
    std::memcpy(memory.get(), values, bytes);
    return from_memory(memory.get(), x.shape(), row_major_strides(x.shape()), x.dtype(), memory);
}

bool is_pinned(const Tensor& x) {
    if (x.device() != cpu || x.numel() == 0 || !other_devices()) return false;
    const void* const values = x.memory().data;
    for (int number = kCpu + 1; number <= UINT8_MAX; ++number) {
        device::DeviceRuntime* const opened = device::opened_runtime(static_cast<std::uint8_t>(number));
        if (opened && opened->is_pinned(values)) return true;
    }
    return false;
}

Tensor copy(const Tensor& x) {
    const void* const first = x.data_ptr();
    const MemoryView memory = x.memory();
    const auto& storage = *static_cast<const ir::Storage*>(memory.owner.get());
    const std::int64_t bytes = x.numel() * static_cast<std::int64_t>(size_of(x.dtype()));
    const ir::StorageRef copied = runtime(x.device()).allocate(bytes);
    const auto offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(first) - storage.address);
    runtime(x.device()).copy(storage, offset, *copied, 0, static_cast<std::size_t>(bytes));
    return make_tensor(ir::buffer(copied, x.dtype(), x.shape(), 0, row_major_strides(x.shape())));
}

// ---- order -----------------------------------------------------------------------------------------------------------

void synchronize(Device device) {
    if (!compute_pending(device)) return;
    const std::lock_guard queue(cells::run_lock());
    runtime(device).synchronise();
}

bool is_idle(Device device) { return !compute_pending(device) || runtime(device).is_idle(); }
std::uintptr_t stream(Device device) { return runtime(device).stream(); }

Event::Event(Device device) {
    compute_pending(device);
    *this = behind_launched(device);
}
Event Event::behind_launched(Device device) {
    Event event;
    event.device_ = device;
    event.event_ = std::shared_ptr<const device::Event>(runtime(device).record());
    return event;
}
bool Event::reached() const { return static_cast<const device::Event*>(event_.get())->reached(); }
void Event::wait() const { static_cast<const device::Event*>(event_.get())->wait(); }
double Event::milliseconds_after(const Event& before) const {
    if (device_ != before.device_)
        throw ValueError(str("the events are of two devices, ", before.device_.name(), " and ", device_.name()));
    return static_cast<const device::Event*>(event_.get())
        ->milliseconds_after(*static_cast<const device::Event*>(before.event_.get()));
}

// ---- other libraries -------------------------------------------------------------------------------------------------

void run_after(Device device, std::uintptr_t stream) { runtime(device).run_after(stream); }
void run_before(Device device, std::uintptr_t stream) { runtime(device).run_before(stream); }
void take_back(Device device, std::uintptr_t stream) noexcept { runtime(device).take_back(stream); }

Sharing::Sharing(Device device) : device_(device) { runtime(device).note_shared(1); }
Sharing::~Sharing() { runtime(device_).note_shared(-1); }

}  // namespace weft::cuda
