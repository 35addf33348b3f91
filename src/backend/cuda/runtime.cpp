// backend/cuda/runtime.cpp: one stream per device, in which everything happens in the order of the calls: memory is allocated, copied,
// computed with and freed without waiting for the device. The host waits where it reads, and after runs whose kernels check indices.
#include "backend/cuda/runtime.h"

#include "backend/cuda/driver.h"
#include "backend/cuda/program.h"
#include "core/str.h"

#include <weft/error.h>

#include <unistd.h>

#include <array>
#include <chrono>
#include <mutex>
#include <vector>

namespace weft::backend::cuda {
namespace {

using ir::Storage;

// Attributes of a device and of a pool.
constexpr int kMajor = 75, kMinor = 76, kReleaseThreshold = 4;

class Cuda;

struct CudaStorage final : Storage {
    CudaStorage(Cuda& cuda, std::uint8_t number, Address at, std::size_t size) : owner(cuda) {
        device = number;
        address = at;
        bytes = size;
    }
    ~CudaStorage() override;
    Cuda& owner;
};

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
    std::int64_t nanoseconds_after(const Recorded& before) const {
        float milliseconds = 0;
        require(driver().synchronize_event(event_), "running kernels");
        require(driver().elapsed(&milliseconds, before.event_, event_), "timing kernels");
        return static_cast<std::int64_t>(1e6 * milliseconds);
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
        : number_(Device("cuda:" + std::to_string(index)).number()), process_(::getpid()), host_(host) {
        require(driver().device_get(&device_, index), "opening the device");
        require(driver().retain_context(&context_, device_), "making a context");
        enter();
        int major = 0, minor = 0;
        require(driver().device_attribute(&major, kMajor, device_), "asking for the compute capability");
        require(driver().device_attribute(&minor, kMinor, device_), "asking for the compute capability");
        capability_ = 10 * major + minor;
        if (capability_ < 80)
            throw ValueError(str("the device cuda:", index, " has compute capability ", major, ".", minor,
                                 "; Weft needs 8.0 or newer"));
        require(driver().create_stream(&stream_, 1), "making a stream");
        require(driver().default_pool(&pool_, device_), "opening the memory pool");
        std::uint64_t all = UINT64_MAX;  // memory is kept for the next run
        require(driver().set_pool_attribute(pool_, kReleaseThreshold, &all), "setting up the memory pool");
        record_ = raw_allocate(sizeof(Record));
        require(driver().fill_bytes(record_, 0, sizeof(Record), stream_), "setting up checks");
    }

    std::uint8_t number() const override { return number_; }
    TargetRef target() override {
        const TargetRef now = host_();
        const std::lock_guard lock(mutex_);
        if (now != made_for_) {
            Target target = *now;
            target.processor = Processor::Gpu;
            target.compute_capability = capability_;
            target.backend = "cuda";
            target_ = interned(target);
            made_for_ = now;
        }
        return target_;
    }

    ir::StorageRef allocate(std::int64_t bytes) override {
        enter();
        const auto size = static_cast<std::size_t>(bytes);
        return std::make_shared<CudaStorage>(*this, number_, size ? raw_allocate(size) : 0, size);
    }
    ir::StorageRef allocate_scratch(std::size_t, const Target&) override { return nullptr; }  // launch() does

    void write(const Storage& to, std::int64_t offset, const void* host, std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        require(driver().copy_to_device(at(to, offset), host, bytes, stream_),
                str("copying ", bytes, " bytes to the device"));
    }
    void read(const Storage& from, std::int64_t offset, void* host, std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        require(driver().copy_to_host(host, at(from, offset), bytes, stream_),
                str("copying ", bytes, " bytes from the device"));
        synchronise();
    }
    void copy(const Storage& from, std::int64_t from_offset, const Storage& to, std::int64_t to_offset,
              std::size_t bytes) override {
        if (bytes == 0) return;
        enter();
        require(driver().copy(at(to, to_offset), at(from, from_offset), bytes, stream_),
                str("copying ", bytes, " bytes on the device"));
    }

    void prepare(const Program& program) override {
        enter();
        static_cast<const CudaProgram&>(program).functions(context_);
    }
    void launch(const device::KernelLaunch& kernel) override {
        enter();
        const auto& program = static_cast<const CudaProgram&>(kernel.program);
        if (!kernel.interruptible) finish_run();  // what is written now cannot be taken back
        const std::vector<Function>& functions = program.functions(context_);
        std::vector<std::uint64_t> values;
        for (void* const buffer : kernel.buffers) values.push_back(reinterpret_cast<std::uint64_t>(buffer));
        for (const Word scalar : kernel.scalars) values.push_back(scalar);
        values.push_back(record_);
        values.push_back(static_cast<std::uint64_t>(checked_.size()) << 32);
        if (!kernel.checks.empty()) checked_.emplace_back(kernel.checks.begin(), kernel.checks.end());
        const Module& module = program.module();
        for (std::size_t e = 0; e < functions.size(); ++e) {
            const Entry& entry = module.entries[e];
            const Address scratch =
                module.scratch_bytes ? raw_allocate(static_cast<std::size_t>(module.scratch_bytes * entry.all_blocks()))
                                     : 0;
            values.push_back(scratch);
            run(functions[e], entry, values);
            values.pop_back();
            if (scratch) driver().free(scratch, stream_);
        }
    }

    void finish_run() override {
        if (checked_.empty()) return;
        Record record;
        require(driver().copy_to_host(&record, record_, sizeof record, stream_), "reading checks");
        synchronise();
        const auto checked = std::exchange(checked_, {});
        if (record.code == 0) return;
        require(driver().fill_bytes(record_, 0, sizeof record, stream_), "clearing checks");
        const ir::CheckArg& check = checked.at(record.code >> 32).at((record.code & 0xffffffff) - 1);
        throw IndexError(str(check.what, "; got ", record.value));
    }

    void abandon_run() noexcept override {
        if (checked_.empty()) return;
        checked_.clear();
        driver().fill_bytes(record_, 0, sizeof(Record), stream_);  // in order: before the kernels of the next run
    }

    void synchronise() override {
        enter();
        require(driver().synchronize_stream(stream_), "running kernels");
    }

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

    void free(Address address) {
        if (!address || ::getpid() != process_) return;  // a child has none of the parent's memory
        if (driver().set_context(context_) == Result::Success)
            driver().free(address, stream_);  // else the process ends
    }

private:
    struct CudaMoment final : device::Moment {
        explicit CudaMoment(const Cuda& cuda) : owner(cuda), anchor(cuda.anchor_), event(cuda.stream_) {}
        std::int64_t time() override {
            owner.enter();
            return anchor->host + event.nanoseconds_after(anchor->event);
        }
        const Cuda& owner;
        const std::shared_ptr<const Anchor> anchor;
        const Recorded event;
    };

    struct Record {  // of the first check that failed, written by kernels
        std::uint64_t code = 0;
        std::int64_t value = 0;
    };

    static Address at(const Storage& storage, std::int64_t offset) {
        return storage.address + static_cast<std::uint64_t>(offset);
    }

    // Contexts belong to threads, and to the process that made them.
    void enter() const {
        if (::getpid() != process_)
            throw BackendError(
                "cuda: a process that was started by fork() cannot use the GPU of its parent; start it with "
                "multiprocessing's \"spawn\"");
        require(driver().set_context(context_), "entering the context");
    }

    Address raw_allocate(std::size_t bytes) {
        Address address = 0;
        Result result = driver().allocate(&address, bytes, stream_);
        if (result == Result::OutOfMemory) {  // what was freed may still be in use
            require(driver().synchronize_stream(stream_), "running kernels");
            driver().trim_pool(pool_, 0);
            result = driver().allocate(&address, bytes, stream_);
        }
        if (result == Result::OutOfMemory) {
            std::size_t free = 0, total = 0;
            driver().memory_info(&free, &total);
            throw MemoryError(str("cannot allocate ", bytes, " bytes on ", Device::of_number(number_).name(), ": ",
                                  free, " of its ", total, " bytes are free"));
        }
        require(result, str("allocating ", bytes, " bytes"));
        return address;
    }

    void run(Function function, const Entry& entry, std::vector<std::uint64_t>& values) const {
        std::vector<void*> pointers;
        for (std::uint64_t& value : values) pointers.push_back(&value);
        if (entry.all_blocks() == 0) return;
        require(driver().launch(function, static_cast<unsigned>(entry.blocks[0]),
                                static_cast<unsigned>(entry.blocks[1]), static_cast<unsigned>(entry.blocks[2]),
                                static_cast<unsigned>(entry.threads), 1, 1, 0, stream_, pointers.data(), nullptr),
                "launching a kernel");
    }

    const std::uint8_t number_;
    const pid_t process_;
    TargetRef (*const host_)();
    int device_ = 0, capability_ = 0;
    Context context_ = nullptr;
    Stream stream_ = nullptr;
    Pool pool_ = nullptr;
    Address record_ = 0;
    std::shared_ptr<Anchor> anchor_;                  // of marks
    std::vector<std::vector<ir::CheckArg>> checked_;  // of the kernels that were launched since the record was read
    std::mutex mutex_;
    TargetRef made_for_, target_;
};

CudaStorage::~CudaStorage() { owner.free(address); }

}  // namespace

std::unique_ptr<device::DeviceRuntime> open(int index, TargetRef (*host)()) {
    const int count = device_count();
    if (index >= count)
        throw ValueError(
            str("there is no device cuda:", index, ": ",
                count ? str("the driver finds ", count, count == 1 ? " GPU" : " GPUs") : driver_problem()));
    return std::make_unique<Cuda>(index, host);
}

}  // namespace weft::backend::cuda
