// backend/cuda/driver.h: the functions of NVIDIA's driver that Weft calls. The library is opened when the first of them is needed: machines
// without it run everything else, and no header of it is needed to build.
#pragma once

#include "core/str.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft::backend::cuda {

using Address = std::uint64_t;       // of a device
using Context = struct ContextTag*;  // handles of the driver
using Stream = struct StreamTag*;
using ModuleHandle = struct ModuleTag*;
using Function = struct FunctionTag*;
using Pool = struct PoolTag*;
using Event = struct EventTag*;
using Graph = struct GraphTag*;
using GraphNode = struct GraphNodeTag*;
using GraphExec = struct GraphExecTag*;
using Link = struct LinkTag*;

enum class Result : int { Success = 0, OutOfMemory = 2, Deinitialized = 4, NoDevice = 100, NotReady = 600 };

// A kernel with its parameters, as a graph takes it.
struct KernelNode {
    Function function = nullptr;
    unsigned blocks[3] = {1, 1, 1}, threads[3] = {1, 1, 1}, shared_bytes = 0;
    void** parameters = nullptr;
    void** extra = nullptr;
};

// Names and types as in the driver's documentation.
struct Driver {
    Result (*init)(unsigned flags);
    Result (*driver_version)(int* version);
    Result (*error_name)(Result, const char** text);
    Result (*error_string)(Result, const char** text);
    Result (*device_count)(int* count);
    Result (*device_get)(int* device, int index);
    Result (*device_name)(char* name, int length, int device);
    Result (*device_attribute)(int* value, int attribute, int device);
    Result (*device_memory)(std::size_t* bytes, int device);
    Result (*retain_context)(Context* context, int device);
    Result (*set_context)(Context context);
    Result (*synchronize_context)();
    Result (*create_stream)(Stream* stream, unsigned flags);
    Result (*synchronize_stream)(Stream stream);
    Result (*query_stream)(Stream stream);
    Result (*wait_for_event)(Stream stream, Event event, unsigned flags);
    Result (*create_event)(Event* event, unsigned flags);
    Result (*record_event)(Event event, Stream stream);
    Result (*synchronize_event)(Event event);
    Result (*query_event)(Event event);
    Result (*elapsed)(float* milliseconds, Event from, Event to);
    Result (*destroy_event)(Event event);
    Result (*default_pool)(Pool* pool, int device);
    Result (*set_pool_attribute)(Pool pool, int attribute, void* value);
    Result (*trim_pool)(Pool pool, std::size_t keep);
    Result (*memory_info)(std::size_t* free, std::size_t* total);
    Result (*allocate)(Address* address, std::size_t bytes, Stream stream);
    Result (*free)(Address address, Stream stream);
    Result (*copy_to_device)(Address to, const void* from, std::size_t bytes, Stream stream);
    Result (*copy_to_host)(void* to, Address from, std::size_t bytes, Stream stream);
    Result (*copy)(Address to, Address from, std::size_t bytes, Stream stream);
    Result (*fill_bytes)(Address to, unsigned char value, std::size_t count, Stream stream);
    Result (*load_module)(ModuleHandle* module, const void* text, unsigned options, int* names, void** values);
    Result (*unload_module)(ModuleHandle module);
    Result (*set_function_attribute)(Function function, int attribute, int value);
    Result (*function_attribute)(int* value, int attribute, Function function);
    Result (*get_function)(Function* function, ModuleHandle module, const char* name);
    Result (*launch)(Function function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                     unsigned threads_y, unsigned threads_z, unsigned shared_bytes, Stream stream, void** parameters,
                     void** extra);
    Result (*create_graph)(Graph* graph, unsigned flags);
    Result (*destroy_graph)(Graph graph);
    Result (*add_kernel)(GraphNode* node, Graph graph, const GraphNode* after, std::size_t count,
                         const KernelNode* kernel);
    Result (*instantiate)(GraphExec* exec, Graph graph, unsigned long long flags);
    Result (*destroy_exec)(GraphExec exec);
    Result (*set_kernel)(GraphExec exec, GraphNode node, const KernelNode* kernel);
    Result (*launch_graph)(GraphExec exec, Stream stream);
    Result (*create_link)(unsigned options, int* names, void** values, Link* link);
    Result (*add_to_link)(Link link, int type, void* data, std::size_t bytes, const char* name, unsigned options,
                          int* names, void** values);
    Result (*complete_link)(Link link, void** cubin, std::size_t* bytes);
    Result (*destroy_link)(Link link);
    Result (*encode_tiled)(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* extents,
                           const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                           int interleave, int swizzle, int cache_lines, int fill);
    Result (*pointer_attribute)(void* value, int attribute, Address address);
    Result (*allocate_host)(void** address, std::size_t bytes, unsigned flags);
    Result (*free_host)(void* address);
};

// Why this process can use no device: "NVIDIA's driver is not installed …"; empty: it can.
std::string driver_problem();
const Driver& driver();  // opened and initialised; only where there is no problem
int device_count();      // 0 where there is one

// Throws MemoryError or BackendError, naming what was tried, unless it went well.
[[noreturn]] void fail(Result result, std::string_view tried);
template <class... Parts>
void require(Result result, const Parts&... tried) {
    if (result != Result::Success) [[unlikely]]
        fail(result, str(tried...));
}

}  // namespace weft::backend::cuda
