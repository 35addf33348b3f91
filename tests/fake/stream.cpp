// tests/fake/stream.cpp: streams, events, and kernels on the PTX machine.
#include "fake/state.h"

#include <cstdio>
#include <cstring>

namespace weft::fake {
namespace {

void fail(int error, const char* why) {
    std::fprintf(stderr, "fake driver: a kernel has failed (error %d): %s\n", error, why);
    state().sticky = error;
}

}  // namespace

Kernel kernel_of(const KernelParams& params) {
    Kernel kernel{.function = state().functions[params.function]};
    const Function& function = *kernel.function;
    std::int64_t threads = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) {
        kernel.blocks[axis] = params.blocks[axis];
        threads *= params.threads[axis];
        if (params.blocks[axis] == 0 || params.blocks[axis] > (axis ? 65535u : 0x7fffffffu))
            throw CallError{kInvalidValue, "a grid has no " + std::to_string(params.blocks[axis]) + " blocks"};
    }
    if (params.threads[1] != 1 || params.threads[2] != 1 || threads < 1 || threads > 1024)
        throw CallError{kInvalidValue, "a block has 1 to 1024 threads, and with the fake they are along x"};
    kernel.threads = threads;
    kernel.shared_bytes = params.shared_bytes;
    if (kernel.shared_bytes > function.most_dynamic_shared)
        throw CallError{kInvalidValue, function.name + ": " + std::to_string(kernel.shared_bytes) +
                                           " bytes of shared memory have not been asked for"};
    if (!params.parameters || params.extra) throw CallError{kInvalidValue, "parameters are given by their addresses"};
    for (std::size_t p = 0; p < function.parameters.size(); ++p) {
        const auto* const begin = static_cast<const std::byte*>(params.parameters[p]);
        kernel.parameters.emplace_back(begin, begin + function.parameters[p]);
    }
    return kernel;
}

void enqueue(Stream* stream, const Kernel& given) {
    const std::shared_ptr<Module> module = given.function->module.lock();
    if (!module) throw CallError{kInvalidHandle, given.function->name + ": its module is not loaded any more"};
    std::vector<AllocationRef> memory;
    for (const std::vector<std::byte>& parameter : given.parameters) {
        Address address = 0;
        if (parameter.size() != sizeof address) continue;
        std::memcpy(&address, parameter.data(), sizeof address);
        try {
            if (address >= Address{1} << 50) memory.push_back(allocation_of(address, 1));
        } catch (const CallError&) {}  // a number, or an address that nobody uses: if the kernel does, it fails
    }
    enqueue(stream, [given, module, memory] {
        ++state().counts["kernel"];
        if (const int error = injected("kernel")) return fail(error, "as was asked for");
        ptx::Launch launch{.entry = given.function->name,
                           .blocks = given.blocks,
                           .threads = given.threads,
                           .shared_bytes = given.shared_bytes,
                           .order = ptx::Order::Shuffled};
        for (const auto& parameter : given.parameters) launch.parameters.push_back(parameter.data());
        for (const AllocationRef& each : memory)
            launch.memory.push_back({each->address, each->bytes, true, each->data.get()});
        try {
            ptx::run(*module->program, launch);
        } catch (const std::exception& wrong) {
            fail(kIllegalAddress, wrong.what());
        }
    });
}

void reach(const Recording& recording) {
    drain(recording.stream, [&] { return recording.reached; });
}

}  // namespace weft::fake

using namespace weft::fake;

WEFT_FAKE_EXPORT int cuStreamCreate(Stream** stream, unsigned flags) {
    return call("cuStreamCreate", Needs::Context, [&] {
        if (flags > 1) throw CallError{kInvalidValue, "there is no such flag"};
        *stream = state().streams.make();
    });
}

WEFT_FAKE_EXPORT int cuStreamSynchronize(Stream* stream) {
    return call("cuStreamSynchronize", Needs::Context, [&] { drain(stream_of(stream)); });
}

// Who asks is told how it was; then the device gets on.
WEFT_FAKE_EXPORT int cuStreamQuery(Stream* stream) {
    return call("cuStreamQuery", Needs::Context, [&] {
        if (stream_of(stream).queue.empty()) return;
        drain(stream_of(stream));
        throw CallError{kNotReady, ""};
    });
}

WEFT_FAKE_EXPORT int cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
    return call("cuStreamWaitEvent", Needs::Context, [&] {
        if (const std::shared_ptr<Recording> last = state().events[event]->last)
            enqueue(stream, [last] { reach(*last); });
    });
}

WEFT_FAKE_EXPORT int cuCtxSynchronize() {
    return call("cuCtxSynchronize", Needs::Context, [&] {
        drain(state().default_stream);
        for (const auto& [handle, stream] : state().streams) drain(*stream);
    });
}

WEFT_FAKE_EXPORT int cuLaunchKernel(Function* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                                    unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared_bytes,
                                    Stream* stream, void** parameters, void** extra) {
    return call("cuLaunchKernel", Needs::Context, [&] {
        enqueue(stream, kernel_of({function,
                                   {blocks_x, blocks_y, blocks_z},
                                   {threads_x, threads_y, threads_z},
                                   shared_bytes,
                                   parameters,
                                   extra}));
    });
}

WEFT_FAKE_EXPORT int cuEventCreate(Event** event, unsigned) {
    return call("cuEventCreate", Needs::Context, [&] { *event = state().events.make(); });
}

WEFT_FAKE_EXPORT int cuEventRecord(Event* event, Stream* stream) {
    return call("cuEventRecord", Needs::Context, [&] {
        const auto recorded = state().events[event]->last = std::make_shared<Recording>(stream_of(stream));
        enqueue(stream, [recorded] {
            recorded->reached = true;
            recorded->time = std::chrono::steady_clock::now();
        });
    });
}

WEFT_FAKE_EXPORT int cuEventSynchronize(Event* event) {
    return call("cuEventSynchronize", Needs::Context, [&] {
        if (const std::shared_ptr<Recording> last = state().events[event]->last) reach(*last);
    });
}

WEFT_FAKE_EXPORT int cuEventQuery(Event* event) {
    return call("cuEventQuery", Needs::Context, [&] {
        const std::shared_ptr<Recording> last = state().events[event]->last;
        if (!last || last->reached) return;
        reach(*last);
        throw CallError{kNotReady, ""};
    });
}

WEFT_FAKE_EXPORT int cuEventElapsedTime(float* milliseconds, Event* from, Event* to) {
    return call("cuEventElapsedTime", Needs::Context, [&] {
        const std::shared_ptr<Recording> first = state().events[from]->last, last = state().events[to]->last;
        if (!first || !last) throw CallError{kInvalidHandle, "an event was not recorded"};
        if (!first->reached || !last->reached) throw CallError{kNotReady, "an event was not waited for"};
        *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
    });
}

WEFT_FAKE_EXPORT int cuEventDestroy_v2(Event* event) {
    return call("cuEventDestroy_v2", Needs::Init, [&] { state().events.remove(event); });
}
