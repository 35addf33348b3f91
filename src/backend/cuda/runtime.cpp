// backend/cuda/runtime.cpp: one stream per device, in which everything happens in the order of the calls: memory is allocated, copied,
// computed with and freed without waiting for the device. The host waits where it reads, and after runs whose kernels check indices.
#include "backend/cuda/runtime.h"

#include "backend/cuda/driver.h"
#include "backend/cuda/memory_pool.h"
#include "backend/cuda/pinned.h"
#include "backend/cuda/program.h"
#include "backend/cuda/run.h"
#include "core/process.h"
#include "core/str.h"

#include <weft/error.h>

#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace weft::backend::cuda {
namespace {

using ir::Storage;

// Attributes of a device.
constexpr int kWarpSize = 10, kMultiprocessors = 16, kL2Cache = 38, kThreads = 39, kMajor = 75, kMinor = 76,
              kShared = 81;
constexpr int kOldestCapability = 80;  // compute capability

constexpr std::uintptr_t kDefaultStream = 1,
                         kLastOfDefault = 2;  // of the process, and of a thread; both wait for each other

class Cuda;

constexpr std::size_t kRecordBytes = 16;

struct CudaStorage final : Storage {
    CudaStorage(Cuda& cuda, std::uint8_t number, Address at, std::size_t size) : owner(cuda) {
        device = number;
        address = at;
        bytes = size;
    }
    ~CudaStorage() override;
    Cuda& owner;
};

// Copies bytes, if the record has a code.
Module restoring_module() {
    Module module;
    module.entries.push_back({.name = "restore", .blocks = {32, 1, 1}, .threads = 256});
    module.text = R"(.version 8.1
.target sm_80
.address_size 64

.visible .entry restore(.param .u64 record, .param .u64 to, .param .u64 from, .param .u64 bytes)
{
    .reg .pred %stops;
    .reg .b32 %block, %threads, %blocks, %thread;
    .reg .b64 %at, %to, %from, %bytes, %i, %step, %code;
    .reg .b16 %byte;
    ld.param.u64 %at, [record];
    cvta.to.global.u64 %at, %at;
    ld.global.b64 %code, [%at];
    setp.eq.u64 %stops, %code, 0;
    @%stops ret;
    ld.param.u64 %to, [to];
    ld.param.u64 %from, [from];
    ld.param.u64 %bytes, [bytes];
    cvta.to.global.u64 %to, %to;
    cvta.to.global.u64 %from, %from;
    mov.u32 %thread, %tid.x;
    mov.u32 %threads, %ntid.x;
    mov.u32 %block, %ctaid.x;
    mov.u32 %blocks, %nctaid.x;
    mad.lo.u32 %thread, %block, %threads, %thread;
    mul.lo.u32 %threads, %threads, %blocks;
    cvt.u64.u32 %i, %thread;
    cvt.u64.u32 %step, %threads;
next:
    setp.ge.u64 %stops, %i, %bytes;
    @%stops ret;
    add.u64 %at, %from, %i;
    ld.global.u8 %byte, [%at];
    add.u64 %at, %to, %i;
    st.global.u8 [%at], %byte;
    add.u64 %i, %i, %step;
    bra next;
}
)";
    return module;
}

std::int64_t host_now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

// An event of the stream. The driver tells how long it came after another one, in f32 milliseconds: the other one must not be long ago.
class Recorded {
public:
    explicit Recorded(Stream stream) {
        require(driver().create_event(&event_, 0), "making an event");
        require(driver().record_event(event_, stream), "recording an event");
    }
    ~Recorded() { driver().destroy_event(event_); }
    Recorded(const Recorded&) = delete;
    Recorded& operator=(const Recorded&) = delete;
    void wait() const { require(driver().synchronize_event(event_), "running kernels"); }
    bool reached() const {
        const Result result = driver().query_event(event_);
        if (result != Result::NotReady) require(result, "running kernels");
        return result == Result::Success;
    }
    float milliseconds_after(const Recorded& before) const {
        float milliseconds = 0;
        require(driver().elapsed(&milliseconds, before.event_, event_), "timing kernels");
        return milliseconds;
    }

private:
    Event event_ = nullptr;
};

// One whose time the host knows.
struct Anchor {
    explicit Anchor(Stream stream) : event(stream) {}
    Recorded event;
    std::int64_t host = 0;
};

class Cuda final : public device::DeviceRuntime {
public:
    Cuda(int index, TargetRef (*host)())
        : number_(Device("cuda:" + std::to_string(index)).number()), process_(process_number()), host_(host) {
        const GpuProperties found = properties(index);
        capability_ = 10 * found.major + found.minor;
        multiprocessors_ = found.multiprocessors;
        require(driver().device_get(&device_, index), "opening the device");
        require(driver().retain_context(&context_, device_), "making a context");
        enter();
        require(driver().create_stream(&stream_, 1), "making a stream");
        require(driver().create_event(&turn_, 2), "making an event");  // that keeps no time
        memory_.open(device_, context_, stream_, Device::of_number(number_).name());
        checks_.open(memory_.allocate(kRecordBytes), stream_);
        restoring_ = std::make_unique<CudaProgram>("restore", "", restoring_module(), Module{}, capability_);
    }

    std::uint8_t number() const override { return number_; }
    TargetRef target() override {
        const TargetRef now = host_();
        const std::lock_guard lock(mutex_);
        if (now != made_for_) {
            Target target = *now;
            target.processor = Processor::Gpu;
            target.compute_capability = capability_;
            target.tensor_cores = capability_ == 90 ? TensorCores::Warpgroup : TensorCores::Warp;
            target.multiprocessors = multiprocessors_;
            target.backend = "cuda";
            target_ = interned(target);
            made_for_ = now;
        }
        return target_;
    }

    ir::StorageRef allocate(std::int64_t bytes) override {
        check_process();
        const auto size = static_cast<std::size_t>(bytes);
        return std::make_shared<CudaStorage>(*this, number_, size ? memory_.allocate(size) : 0, size);
    }
    ir::StorageRef allocate_scratch(std::size_t, const Target&) override { return nullptr; }  // a run does

    void write(const Storage& to, std::int64_t offset, const void* host, std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        after_others();
        require(driver().copy_to_device(at(to, offset), host, bytes, stream_), "copying ", bytes,
                " bytes to the device");
        if (pinned_.holds(host)) pinned_.copied(host, stream_);
        else if (is_page_locked(host)) wait();  // somebody else's, who may write there when this returns
        before_others();
    }
    void read(const Storage& from, std::int64_t offset, void* host, std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        after_others();
        require(driver().copy_to_host(host, at(from, offset), bytes, stream_), "copying ", bytes,
                " bytes from the device");
        synchronise();
    }
    void copy(const Storage& from, std::int64_t from_offset, const Storage& to, std::int64_t to_offset,
              std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        after_others();
        require(driver().copy(at(to, to_offset), at(from, from_offset), bytes, stream_), "copying ", bytes,
                " bytes on the device");
        before_others();
    }

    void prepare(const Program& program) override {
        enter();
        static_cast<const CudaProgram&>(program).loaded(context_, {});
    }
    std::unique_ptr<device::DeviceRun> begin_run(std::unique_ptr<device::PlanState>& state) override {
        enter();
        after_others();
        if (!state) state = std::make_unique<PlanGraph>();
        return std::make_unique<CudaRun>(*this, static_cast<PlanGraph&>(*state));
    }
    void launch(const device::KernelLaunch& kernel) override {
        std::unique_ptr<device::PlanState> none;
        const auto run = begin_run(none);
        run->launch(kernel);
        run->finish(true);
    }

    void synchronise() override {
        enter();
        if (checks_.any()) checks_.look();
        else wait();
    }

    std::unique_ptr<device::Event> record() override {
        enter();
        return std::make_unique<CudaEvent>(*this);
    }
    bool is_idle() override {
        enter();
        const Result result = driver().query_stream(stream_);
        if (result != Result::NotReady) require(result, "running kernels");
        return result == Result::Success;
    }
    DeviceMemory memory_use() override {
        enter();
        return memory_.use();
    }
    void reset_most_used() override { memory_.reset_most(); }
    void release_memory() override {
        enter();
        memory_.release_all();
        pinned_.release_all();
    }

    std::shared_ptr<void> allocate_pinned(std::size_t bytes) override {
        enter();
        return {pinned_.allocate(bytes), [this](void* start) {
                    if (process_number() == process_) pinned_.free(start);
                }};
    }
    bool is_pinned(const void* address) override { return pinned_.holds(address); }

    std::uintptr_t stream() override { return reinterpret_cast<std::uintptr_t>(stream_); }
    void run_after(std::uintptr_t other) override {
        enter();
        require(take_turns(reinterpret_cast<Stream>(other), stream_), "waiting for another stream");
    }
    void run_before(std::uintptr_t other) override {
        enter();
        require(take_turns(stream_, reinterpret_cast<Stream>(other)), "letting another stream wait");
    }
    // Streams of their own may be gone by now: then all the work of the device is waited for.
    void take_back(std::uintptr_t other) noexcept override {
        if (other == stream() || process_number() != process_) return;
        if (driver().set_context(context_) != Result::Success) return;  // the program ends
        if (other <= kLastOfDefault) take_turns(reinterpret_cast<Stream>(kDefaultStream), stream_);
        else driver().synchronize_context();
    }
    void note_shared(int change) noexcept override { shared_ += change; }

    std::unique_ptr<device::Moment> mark() override {
        enter();
        constexpr std::int64_t kOldest = 2'000'000'000;  // f32 then tells 0.1 µs
        if (!anchor_ || host_now() - anchor_->host > kOldest) {
            synchronise();
            anchor_ = std::make_shared<Anchor>(stream_);
            synchronise();
            anchor_->host = host_now();
        }
        return std::make_unique<CudaMoment>(*this);
    }

    void free(Address address, std::size_t bytes) {
        if (address && process_number() == process_)
            memory_.free(address, bytes);  // a child has none of the parent's memory
    }

private:
    struct CudaMoment final : device::Moment {
        explicit CudaMoment(const Cuda& cuda) : owner(cuda), anchor(cuda.anchor_), event(cuda.stream_) {}
        std::int64_t time() override {
            owner.enter();
            event.wait();
            return anchor->host + static_cast<std::int64_t>(1e6 * event.milliseconds_after(anchor->event));
        }
        const Cuda& owner;
        const std::shared_ptr<const Anchor> anchor;
        const Recorded event;
    };

    struct CudaEvent final : device::Event {
        explicit CudaEvent(const Cuda& cuda) : owner(cuda), event(cuda.stream_) {}
        bool reached() const override {
            owner.enter();
            return event.reached();
        }
        void wait() const override {
            owner.enter();
            event.wait();
        }
        double milliseconds_after(const device::Event& before) const override {
            owner.enter();
            return event.milliseconds_after(static_cast<const CudaEvent&>(before).event);
        }
        const Cuda& owner;
        const Recorded event;
    };

    class CudaRun final : public device::DeviceRun {
    public:
        CudaRun(Cuda& cuda, PlanGraph& graph) : cuda_(cuda), graph_(graph), launches_(graph.take_room()) {
            if (cuda.checks_.any()) begin_checks();  // they may be those of a run that this one is a part of
        }
        ~CudaRun() override {
            free_scratch();
            if (!finished_ && checks_) cuda_.checks_.abandon(*checks_);
            launches_.clear();
            graph_.give_room(std::move(launches_));
        }

        void launch(const device::KernelLaunch& kernel) override {
            const auto& program = static_cast<const CudaProgram&>(kernel.program);
            const CudaProgram::Loaded& loaded = program.loaded(cuda_.context_, kernel.buffers);
            const Module& module = *loaded.module;
            const bool guarded = !kernel.interruptible && cuda_.checks_.any();  // what it writes cannot be taken back
            if (guarded || !kernel.checks.empty()) begin_checks();
            const std::uint64_t tag = cuda_.checks_.add(kernel.checks);
            for (std::size_t e = 0; e < module.entries.size(); ++e) {
                const Entry& entry = module.entries[e];
                if (entry.all_blocks() == 0) continue;
                Launches::Call call{loaded.functions[e], &entry, launches_.values.size(), 0};
                std::vector<std::uint64_t>& values = launches_.values;
                for (void* const buffer : kernel.buffers) values.push_back(reinterpret_cast<std::uint64_t>(buffer));
                for (const Word scalar : kernel.scalars) values.push_back(scalar);
                values.push_back(cuda_.checks_.record());
                values.push_back(tag);
                values.push_back(scratch_for(module.scratch_bytes * entry.all_blocks()));
                values.push_back(guarded ? cuda_.checks_.record() : 0);
                launches_.add_maps(entry, kernel.buffers);
                call.count = values.size() - call.first;
                launches_.calls.push_back(call);
            }
        }

        void restore(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) override {
            if (bytes == 0 || !graph_.restores(cuda_.checks_.any())) return;
            begin_checks();
            const CudaProgram::Loaded& loaded = cuda_.restoring_->loaded(cuda_.context_, {});
            launches_.calls.push_back({loaded.functions[0], &loaded.module->entries[0], launches_.values.size(), 4});
            for (const std::uint64_t value : {cuda_.checks_.record(), to, from, bytes})
                launches_.values.push_back(value);
        }

        void flush() override {
            whole_ = false;
            if (checks_) cuda_.checks_.sent();  // a part of them, if one fails
            launch_each(launches_, cuda_.stream_);
            launches_.clear();
        }

        void finish(bool wait) override {
            if (whole_) {
                if (checks_) cuda_.checks_.sent();
                graph_.launch(launches_, cuda_.context_, cuda_.stream_);
            } else flush();
            cuda_.before_others();
            free_scratch();
            if (wait ? cuda_.checks_.any() : cuda_.checks_.many()) cuda_.checks_.look();
            if (checks_) cuda_.checks_.end(*checks_);
            finished_ = true;
        }

    private:
        // A run that checks nothing and skips nothing finds nothing: it need not say that it is there.
        void begin_checks() {
            if (!checks_) checks_ = cuda_.checks_.begin();
        }
        Address scratch_for(std::int64_t bytes) {
            if (bytes == 0) return 0;
            scratch_.emplace_back(cuda_.memory_.allocate(static_cast<std::size_t>(bytes)),
                                  static_cast<std::size_t>(bytes));
            return scratch_.back().first;
        }
        void free_scratch() {
            for (const auto& [address, bytes] : std::exchange(scratch_, {})) cuda_.memory_.free(address, bytes);
        }

        Cuda& cuda_;
        PlanGraph& graph_;
        std::optional<Checks::Tag> checks_;                     // none: it takes no part in them
        Launches launches_;                                     // that are not on their way yet
        std::vector<std::pair<Address, std::size_t>> scratch_;  // of blocks; later runs may have it at once
        bool whole_ = true;                                     // nothing was flushed
        bool finished_ = false;
    };

    static Address at(const Storage& storage, std::int64_t offset) {
        return storage.address + static_cast<std::uint64_t>(offset);
    }

    // Contexts belong to threads, and to the process that made them.
    void check_process() const {
        if (process_number() != process_) [[unlikely]]
            throw BackendError("cuda: " + driver_problem());
    }
    void enter() const {
        check_process();
        require(driver().set_context(context_), "entering the context");
    }
    void wait() const { require(driver().synchronize_stream(stream_), "running kernels"); }

    // What comes into `second` from now on waits for what is in `first`.
    Result take_turns(Stream first, Stream second) const {
        const std::lock_guard lock(turns_);
        const Result result = driver().record_event(turn_, first);
        return result == Result::Success ? driver().wait_for_event(second, turn_, 0) : result;
    }
    void after_others() {
        if (shared_ > 0) run_after(kDefaultStream);
    }
    void before_others() {
        if (shared_ > 0) run_before(kDefaultStream);
    }

    // The driver copies pageable memory in the call, and reads later what another library has pinned.
    static bool is_page_locked(const void* host) {
        constexpr int kMemoryType = 2;  // an attribute of pointers
        constexpr unsigned kHost = 1;
        unsigned type = 0;
        return driver().pointer_attribute(&type, kMemoryType, reinterpret_cast<Address>(host)) == Result::Success &&
               type == kHost;
    }

    const std::uint8_t number_;
    const std::uint32_t process_;
    TargetRef (*const host_)();
    int device_ = 0, capability_ = 0, multiprocessors_ = 0;
    Context context_ = nullptr;
    Stream stream_ = nullptr;
    Event turn_ = nullptr;
    mutable std::mutex turns_;
    std::atomic<int> shared_ = 0;  // memory of other libraries in use here
    MemoryPool memory_;
    PinnedPool pinned_;
    Checks checks_;
    std::unique_ptr<const CudaProgram> restoring_;
    std::shared_ptr<Anchor> anchor_;  // of marks
    std::mutex mutex_;
    TargetRef made_for_ = nullptr, target_ = nullptr;
};

CudaStorage::~CudaStorage() { owner.free(address, bytes); }

}  // namespace

GpuProperties properties(int index) {
    const int count = device_count();
    if (index >= count)
        throw ValueError(str("there is no device cuda:", index, ": ",
                             count == 0   ? driver_problem()
                             : count == 1 ? "the driver finds 1 GPU, cuda:0"
                                          : str("the driver finds ", count, " GPUs, cuda:0 to cuda:", count - 1)));
    int device = 0;
    require(driver().device_get(&device, index), "opening the device");
    const auto attribute = [&](int number) {
        int value = 0;
        require(driver().device_attribute(&value, number, device), "asking for the device's properties");
        return value;
    };
    std::array<char, 256> name{};
    std::size_t memory = 0;
    require(driver().device_name(name.data(), static_cast<int>(name.size()), device), "asking for the device's name");
    require(driver().device_memory(&memory, device), "asking for the device's memory");
    return {.name = name.data(),
            .major = attribute(kMajor),
            .minor = attribute(kMinor),
            .multiprocessors = attribute(kMultiprocessors),
            .warp_size = attribute(kWarpSize),
            .threads_per_multiprocessor = attribute(kThreads),
            .memory = static_cast<std::int64_t>(memory),
            .l2_cache = attribute(kL2Cache),
            .shared_memory_per_multiprocessor = attribute(kShared)};
}

namespace {

std::string too_old(const GpuProperties& found) {
    if (10 * found.major + found.minor >= kOldestCapability) return {};
    return str(found.name, " has compute capability ", found.major, ".", found.minor, "; Weft needs 8.0 or newer");
}

}  // namespace

std::string problem() { return device_count() == 0 ? driver_problem() : too_old(properties(0)); }

std::unique_ptr<device::DeviceRuntime> open(int index, TargetRef (*host)()) {
    if (const std::string reason = too_old(properties(index)); !reason.empty())
        throw ValueError(str("there is no device cuda:", index, ": ", reason));
    return std::make_unique<Cuda>(index, host);
}

}  // namespace weft::backend::cuda
