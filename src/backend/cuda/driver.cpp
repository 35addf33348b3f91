// backend/cuda/driver.cpp: libcuda.so.1, by name.
#include "backend/cuda/driver.h"

#include "core/process.h"
#include "core/str.h"

#include <weft/error.h>

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace weft::backend::cuda {
namespace {

constexpr int kOldest = 12010;  // the version of the driver that takes PTX 8.1

struct Opened {
    Driver functions{};
    std::string problem;  // why it cannot be used; empty: it can
    std::uint32_t process = process_number();
};

Opened open() {
    Opened opened;
    void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        opened.problem = "NVIDIA's driver is not installed (libcuda.so.1 was not found)";
        return opened;
    }
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
        if (!function && opened.problem.empty())
            opened.problem = str("NVIDIA's driver is too old: it has no ", name, "; version 12.1 or newer is needed");
    };
    Driver& f = opened.functions;
    find(f.init, "cuInit");
    find(f.driver_version, "cuDriverGetVersion");
    find(f.error_name, "cuGetErrorName");
    find(f.error_string, "cuGetErrorString");
    find(f.device_count, "cuDeviceGetCount");
    find(f.device_get, "cuDeviceGet");
    find(f.device_name, "cuDeviceGetName");
    find(f.device_attribute, "cuDeviceGetAttribute");
    find(f.device_memory, "cuDeviceTotalMem_v2");
    find(f.retain_context, "cuDevicePrimaryCtxRetain");
    find(f.set_context, "cuCtxSetCurrent");
    find(f.synchronize_context, "cuCtxSynchronize");
    find(f.create_stream, "cuStreamCreate");
    find(f.synchronize_stream, "cuStreamSynchronize");
    find(f.query_stream, "cuStreamQuery");
    find(f.wait_for_event, "cuStreamWaitEvent");
    find(f.create_event, "cuEventCreate");
    find(f.record_event, "cuEventRecord");
    find(f.synchronize_event, "cuEventSynchronize");
    find(f.query_event, "cuEventQuery");
    find(f.elapsed, "cuEventElapsedTime");
    find(f.destroy_event, "cuEventDestroy_v2");
    find(f.default_pool, "cuDeviceGetDefaultMemPool");
    find(f.set_pool_attribute, "cuMemPoolSetAttribute");
    find(f.trim_pool, "cuMemPoolTrimTo");
    find(f.memory_info, "cuMemGetInfo_v2");
    find(f.allocate, "cuMemAllocAsync");
    find(f.free, "cuMemFreeAsync");
    find(f.copy_to_device, "cuMemcpyHtoDAsync_v2");
    find(f.copy_to_host, "cuMemcpyDtoHAsync_v2");
    find(f.copy, "cuMemcpyDtoDAsync_v2");
    find(f.fill_bytes, "cuMemsetD8Async");
    find(f.load_module, "cuModuleLoadDataEx");
    find(f.unload_module, "cuModuleUnload");
    find(f.set_function_attribute, "cuFuncSetAttribute");
    find(f.function_attribute, "cuFuncGetAttribute");
    find(f.get_function, "cuModuleGetFunction");
    find(f.launch, "cuLaunchKernel");
    find(f.create_graph, "cuGraphCreate");
    find(f.destroy_graph, "cuGraphDestroy");
    find(f.add_kernel, "cuGraphAddKernelNode");
    find(f.instantiate, "cuGraphInstantiateWithFlags");
    find(f.destroy_exec, "cuGraphExecDestroy");
    find(f.set_kernel, "cuGraphExecKernelNodeSetParams");
    find(f.launch_graph, "cuGraphLaunch");
    find(f.create_link, "cuLinkCreate_v2");
    find(f.add_to_link, "cuLinkAddData_v2");
    find(f.complete_link, "cuLinkComplete");
    find(f.destroy_link, "cuLinkDestroy");
    find(f.encode_tiled, "cuTensorMapEncodeTiled");
    find(f.pointer_attribute, "cuPointerGetAttribute");
    find(f.allocate_host, "cuMemHostAlloc");
    find(f.free_host, "cuMemFreeHost");
    if (!opened.problem.empty()) return opened;
    if (const Result result = f.init(0); result == Result::NoDevice)
        opened.problem = "NVIDIA's driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it)";
    else if (result != Result::Success)
        opened.problem = str("NVIDIA's driver does not start (cuInit gives ", static_cast<int>(result), ")");
    int version = 0;
    if (opened.problem.empty() && f.driver_version(&version) == Result::Success && version < kOldest)
        opened.problem = str("NVIDIA's driver is too old: it is for CUDA ", version / 1000, ".", version % 1000 / 10,
                             "; version 12.1 or newer is needed");
    return opened;
}

const Opened& opened() {
    static const Opened& once = *new Opened(open());
    return once;
}

}  // namespace

std::string driver_problem() {
    if (!opened().problem.empty() || process_number() == opened().process) return opened().problem;
    return "a process that was started by fork() cannot use the GPU of its parent; start it with multiprocessing's "
           "\"spawn\"";
}
const Driver& driver() { return opened().functions; }

int device_count() {
    if (!driver_problem().empty()) return 0;
    int count = 0;
    return opened().functions.device_count(&count) == Result::Success ? count : 0;
}

void fail(Result result, std::string_view tried) {
    const char *name = nullptr, *text = nullptr;
    driver().error_name(result, &name);
    driver().error_string(result, &text);
    const std::string message = str("cuda: ", tried, ": ", text ? text : "unknown error", " (", name ? name : "?", ")");
    if (result == Result::OutOfMemory) throw MemoryError(message);
    throw BackendError(message);
}

}  // namespace weft::backend::cuda
