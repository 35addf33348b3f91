// cells/read.cpp: values leave the graph: item(), to_vector(), bool and memory. Each runs what is pending first.
#include "backend/device.h"
#include "cells/state.h"
#include "core/str.h"
#include "core/word.h"
#include "ir/build.h"
#include "pipeline/across_devices.h"
#include "pipeline/observer.h"

#include <weft/error.h>

#include <cstring>

namespace weft {
namespace {

using ir::NodeRef;

NodeRef computed(const Tensor& tensor) { return cells::run(std::span<const Tensor>(&tensor, 1)).front(); }

const std::byte* first_element(const ir::Node& buffer) {
    const auto& arg = buffer.as<ir::BufferArg>();
    return ir::host_bytes(*arg.storage) + arg.offset * static_cast<std::int64_t>(size_of(buffer.dtype));
}

// Of a device's memory: only that device can use it.
const void* address_of(const ir::Node& buffer) {
    const auto& arg = buffer.as<ir::BufferArg>();
    const std::int64_t offset = arg.offset * static_cast<std::int64_t>(size_of(buffer.dtype));
    return reinterpret_cast<const void*>(arg.storage->address + static_cast<std::uintptr_t>(offset));
}

bool is_dense(const ir::Node& buffer) {
    const Dims& strides = buffer.as<ir::BufferArg>().strides;
    std::int64_t expected = 1;
    for (std::size_t d = strides.size(); d-- > 0;) {
        if (buffer.shape[d] == 0) return true;
        if (buffer.shape[d] != 1 && strides[d] != expected) return false;
        expected *= buffer.shape[d];
    }
    return true;
}

// Where the host can read it: another device's elements as a dense copy.
NodeRef on_host(const Tensor& tensor) {
    NodeRef buffer = computed(tensor);
    if (buffer->device == kCpu || buffer->device == kAnyDevice) return buffer;
    if (!is_dense(*buffer)) buffer = computed(make_tensor(ir::contiguous(buffer)));
    std::unique_lock queue(cells::run_lock(), std::defer_lock);
    if (pipeline::observer()) queue.lock();  // it must not end meanwhile
    return pipeline::moved(*buffer, kCpu, queue ? pipeline::observer() : nullptr);
}

// Calls f(address) for each element in row-major order.
template <class F>
void for_each_element(const ir::Node& buffer, F&& f) {
    const Dims& strides = buffer.as<ir::BufferArg>().strides;
    const std::int64_t count = numel(buffer.shape), width = static_cast<std::int64_t>(size_of(buffer.dtype));
    const std::byte* const start = first_element(buffer);
    Dims index = Dims::filled(buffer.shape.size(), 0);
    std::int64_t offset = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        f(start + offset * width);
        for (std::size_t d = index.size(); d-- > 0;) {
            offset += strides[d];
            if (++index[d] < buffer.shape[d]) break;
            offset -= strides[d] * buffer.shape[d];
            index[d] = 0;
        }
    }
}

template <class T>
T convert(DType from, const std::byte* element) {
    return from_word<T>(cast_word(from, dtype_of<T>(), load_word(from, element)));
}

void check_one_element(const Tensor& tensor, std::string_view call) {
    if (!tensor.defined()) throw ValueError(str(call, ": the tensor is undefined"));
    if (tensor.numel() != 1)
        throw ValueError(str(call, ": a tensor of the shape ", tensor.shape(), " has ", tensor.numel(),
                             " elements; exactly one is needed"));
}

}  // namespace

template <class T>
T Tensor::item() const {
    check_one_element(*this, "item()");
    const NodeRef buffer = on_host(*this);
    return convert<T>(buffer->dtype, first_element(*buffer));
}

template <class T>
std::vector<T> Tensor::to_vector() const {
    const NodeRef buffer = on_host(*this);
    std::vector<T> result(static_cast<std::size_t>(numel()));
    if constexpr (!std::is_same_v<T, bool>) {
        if (dtype_of<T>() == buffer->dtype && is_dense(*buffer)) {
            if (!result.empty()) std::memcpy(result.data(), first_element(*buffer), result.size() * sizeof(T));
            return result;
        }
    }
    std::size_t i = 0;
    for_each_element(*buffer, [&](const std::byte* element) { result[i++] = convert<T>(buffer->dtype, element); });
    return result;
}

#define WEFT_INSTANTIATE(T)             \
    template T Tensor::item<T>() const; \
    template std::vector<T> Tensor::to_vector<T>() const;
WEFT_INSTANTIATE(bool)
WEFT_INSTANTIATE(std::uint8_t)
WEFT_INSTANTIATE(std::uint16_t)
WEFT_INSTANTIATE(std::uint32_t)
WEFT_INSTANTIATE(std::uint64_t)
WEFT_INSTANTIATE(std::int8_t)
WEFT_INSTANTIATE(std::int16_t)
WEFT_INSTANTIATE(std::int32_t)
WEFT_INSTANTIATE(std::int64_t)
WEFT_INSTANTIATE(Half)
WEFT_INSTANTIATE(BFloat16)
WEFT_INSTANTIATE(float)
WEFT_INSTANTIATE(double)
#undef WEFT_INSTANTIATE

Tensor::operator bool() const {
    check_one_element(*this, "bool()");
    return item<bool>();
}

MemoryView Tensor::memory() const {
    const NodeRef buffer = computed(*this);
    const auto& arg = buffer->as<ir::BufferArg>();
    return {arg.storage, address_of(*buffer), buffer->dtype, buffer->shape, arg.strides, device()};
}

std::vector<std::byte> read_memory(const MemoryView& memory, const std::byte* begin, const std::byte* end) {
    const auto& storage = *static_cast<const ir::Storage*>(memory.owner.get());
    std::vector<std::byte> bytes(static_cast<std::size_t>(end - begin));
    const auto offset = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(begin) - storage.address);
    device::runtime_of(storage.device).read(storage, offset, bytes.data(), bytes.size());
    return bytes;
}

const void* Tensor::data_ptr() const {
    NodeRef buffer = computed(*this);
    if (is_dense(*buffer)) return address_of(*buffer);
    const Tensor dense = make_tensor(ir::contiguous(buffer));
    buffer = computed(dense);
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef value = cells::stripped(current_node(*cell_));
    if (value->op != ir::Op::Buffer) value->realized = buffer;
    cells::bind(*cell_, buffer);
    return address_of(*buffer);
}

Tensor scalar_variable(double value, DType dtype, std::function<double()> redraw) {
    const auto word = [dtype](double v) { return cast_word(DType::F64, dtype, to_word(v)); };
    std::shared_ptr<const std::function<Word()>> again;
    if (redraw)
        again =
            std::make_shared<const std::function<Word()>>([word, draw = std::move(redraw)] { return word(draw()); });
    return make_number(ir::variable(dtype, word(value), std::move(again)));
}

}  // namespace weft
