// python/src/cuda.cpp: what the package weft.cuda is made of: questions about GPUs, their memory, events, pinned memory.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/cuda.h>

namespace weft::python {

namespace {

constinit thread_local std::int64_t current = 0;  // the GPU that "cuda" means

nb::object properties_of(std::int64_t index) {
    const GpuProperties found = cuda::properties(static_cast<int>(index));
    return nb::make_tuple(found.name, found.major, found.minor, found.memory, found.multiprocessors, found.warp_size,
                          found.threads_per_multiprocessor, found.l2_cache, found.shared_memory_per_multiprocessor);
}

}  // namespace

std::string current_cuda() { return "cuda:" + std::to_string(current); }

void bind_cuda(nb::module_& m) {
    nb::class_<cuda::Event>(m, "_CudaEvent", "A place in the order of a GPU's work.")
        .def("reached", &cuda::Event::reached)
        .def("wait", &cuda::Event::wait, nb::call_guard<nb::gil_scoped_release>())
        .def("milliseconds_after", &cuda::Event::milliseconds_after);
    function(m, "_cuda_device_count", "", "How many GPUs the driver finds.",
             [] { return std::int64_t(cuda::device_count()); });
    function(m, "_cuda_problem", "", "Why no GPU can be used; empty: one can.",
             [] { return nb::object(nb::str(cuda::problem().c_str())); });
    function(m, "_cuda_properties", "index", "Name, compute capability, memory …, as a tuple.",
             [](std::int64_t index) { return properties_of(index); });
    function(m, "_cuda_current", "", "The GPU that \"cuda\" means on this thread.", [] { return current; });
    function(m, "_cuda_set_current", "index", "Sets the GPU that \"cuda\" means on this thread.",
             [](std::int64_t index) { current = index; });
    function(m, "_cuda_is_open", "index", "Whether the GPU was used.",
             [](std::int64_t index) { return cuda::is_open(Device("cuda:" + std::to_string(index))); });
    function(m, "_cuda_memory", "device", "Bytes: allocated, the most, reserved, the most, free, in all.",
             [](OnDevice on) {
                 const DeviceMemory use = cuda::memory_use(*on.wanted);
                 return nb::object(nb::make_tuple(use.allocated, use.most_allocated, use.reserved, use.most_reserved,
                                                  use.free, use.total));
             });
    function(m, "_cuda_reset_most_used", "device", "What was used the most counts from here.",
             [](OnDevice on) { cuda::reset_most_used(*on.wanted); });
    function(m, "_cuda_release_memory", "device", "Memory that is kept goes back to the driver.",
             [](OnDevice on) { without_gil([&] { cuda::release_memory(*on.wanted); }); });
    function(m, "_cuda_synchronize", "device", "Computes what is recorded, and waits for the GPU.",
             [](OnDevice on) { without_gil([&] { cuda::synchronize(*on.wanted); }); });
    function(m, "_cuda_is_idle", "device", "Whether the GPU has done all that was recorded.",
             [](OnDevice on) { return without_gil([&] { return cuda::is_idle(*on.wanted); }); });
    function(m, "_cuda_stream", "device", "The address of the GPU's stream.",
             [](OnDevice on) { return static_cast<std::int64_t>(cuda::stream(*on.wanted)); });
    function(m, "_cuda_record", "device", "An event behind all that was recorded.",
             [](OnDevice on) { return nb::cast(without_gil([&] { return cuda::Event(*on.wanted); })); });
    function(m, "_cuda_pinned", "tensor, device", "The values in page-locked memory.",
             [](const Tensor& tensor, OnDevice on) {
                 const DeviceScope host(cpu);
                 return without_gil([&] { return cuda::pinned(tensor, *on.wanted); });
             });
    function(m, "_cuda_is_pinned", "tensor", "Whether the values are in page-locked memory.",
             [](const Tensor& tensor) { return without_gil([&] { return cuda::is_pinned(tensor); }); });
}

}  // namespace weft::python
