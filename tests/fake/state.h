// tests/fake/state.h: what the fake driver knows. Types and numbers are those of the driver's documentation, and not taken from Weft, which is to be
// tested.
#pragma once

#include "support/ptx_machine.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#define WEFT_FAKE_EXPORT extern "C" __attribute__((visibility("default")))

namespace weft::fake {

namespace ptx = testing::ptx;

using Address = std::uint64_t;

enum Error : int {
    kSuccess = 0,
    kInvalidValue = 1,
    kOutOfMemory = 2,
    kNotInitialized = 3,
    kDeinitialized = 4,
    kNoDevice = 100,
    kInvalidDevice = 101,
    kInvalidImage = 200,
    kInvalidContext = 201,
    kInvalidPtx = 218,
    kUnsupportedPtx = 222,
    kInvalidHandle = 400,
    kNotFound = 500,
    kNotReady = 600,
    kIllegalAddress = 700,
    kLaunchFailed = 719,
    kUnknown = 999,
};

// Thrown inside of a call, which returns the error.
struct CallError {
    Error error;
    std::string why;  // empty: nothing that a program does wrong
};

struct Context {};
struct Pool {};

struct Allocation {
    Address address = 0;
    std::size_t bytes = 0;
    std::unique_ptr<std::byte[]> data;
};
using AllocationRef = std::shared_ptr<Allocation>;

struct Stream {
    std::deque<std::function<void()>> queue;
};

struct Recording {
    Stream& stream;
    bool reached = false;
    std::chrono::steady_clock::time_point time = {};
};
struct Event {
    std::shared_ptr<Recording> last;  // null: it was never recorded
};

struct Module;
struct Function {
    std::weak_ptr<Module> module;
    std::string name;
    std::vector<std::size_t> parameters;  // bytes of each
    std::int64_t static_shared = 0, most_dynamic_shared = 48 * 1024;
};
struct Module {
    std::shared_ptr<const ptx::Program> program;
    std::map<std::string, std::shared_ptr<Function>, std::less<>> functions;
};

struct KernelParams {  // CUDA_KERNEL_NODE_PARAMS_v1
    Function* function;
    unsigned blocks[3], threads[3], shared_bytes;
    void** parameters;
    void** extra;
};

// A launch with what its parameters are.
struct Kernel {
    std::shared_ptr<Function> function;
    std::array<std::int64_t, 3> blocks{};
    std::int64_t threads = 0, shared_bytes = 0;
    std::vector<std::vector<std::byte>> parameters;
};

struct Graph;
struct GraphNode {
    Graph* graph = nullptr;
    Kernel kernel;
};
struct Graph {
    std::vector<std::shared_ptr<GraphNode>> nodes;
};
struct GraphExec {
    std::vector<std::pair<GraphNode*, Kernel>> kernels;  // in an order that the edges allow
};

struct Link {
    std::string text, cubin;
    char* log = nullptr;
    std::size_t log_bytes = 0;
};

// Things that the program knows by their address.
template <class T>
class Handles {
public:
    T* add(std::shared_ptr<T> thing) { return all_.emplace(thing.get(), thing).first->first; }
    template <class... Args>
    T* make(Args&&... args) {
        return add(std::make_shared<T>(std::forward<Args>(args)...));
    }
    const std::shared_ptr<T>& operator[](T* handle) const {
        const auto found = all_.find(handle);
        if (found == all_.end()) throw CallError{kInvalidHandle, "this handle was never made, or is destroyed"};
        return found->second;
    }
    void remove(T* handle) {
        (*this)[handle];
        all_.erase(handle);
    }

    auto begin() const { return all_.begin(); }
    auto end() const { return all_.end(); }

private:
    std::unordered_map<T*, std::shared_ptr<T>> all_;
};

struct Failure {
    int after = 0, error = 0, times = 1;
};

struct State {
    std::mutex mutex;
    std::atomic<pid_t> process = 0;     // that called cuInit
    std::atomic<bool> is_gone = false;  // the process ends
    int devices = 1, version = 0;
    std::uint64_t memory = 8ull << 30, used = 0;
    int sticky = 0;  // an error of a kernel: the context is lost
    std::map<std::string, std::int64_t, std::less<>> counts;
    std::int64_t calls = 0;  // of all functions
    std::map<std::string, Failure, std::less<>> failures;

    Context context;
    Pool pool;
    std::map<Address, AllocationRef> allocations;
    Address next = Address{1} << 50;  // no address of the host
    std::map<const std::byte*, std::size_t> pinned;
    Handles<Stream> streams;
    Stream default_stream;
    Handles<Event> events;
    Handles<Module> modules;
    Handles<Function> functions;
    Handles<Graph> graphs;
    Handles<GraphNode> nodes;
    Handles<GraphExec> execs;
    Handles<Link> links;
};

State& state();
Context*& current_context();  // of the thread

// An error that was asked for; 0: none.
int injected(std::string_view what);

// Takes all that happens in a function of the driver: counts, looks whether the call is allowed, and turns exceptions into errors.
enum class Needs : std::uint8_t { Nothing, Init, Context };
int call(const char* name, Needs needs, const std::function<void()>& body);

// The allocation in which these bytes are.
AllocationRef allocation_of(Address address, std::size_t bytes);

Stream& stream_of(Stream* handle);  // 0, 1 and 2 are the default stream
void enqueue(Stream* stream, std::function<void()> work);
// Runs what is in the queue until `done`; without it, all.
void drain(
    Stream& stream, const std::function<bool()>& done = [] { return false; });

void reach(const Recording& recording);  // runs its stream until there

Kernel kernel_of(const KernelParams& params);       // checks the launch, and copies its parameters
void enqueue(Stream* stream, const Kernel& given);  // which may touch what is allocated now

}  // namespace weft::fake
