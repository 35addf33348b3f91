// backend/cuda/cuda.cpp: the backend: PTX for a GPU; or, on the device that simulates one, the same loops by `ref`, with the PTX beside
// them, so that a machine without a GPU tries both.
#include "backend/backend.h"
#include "backend/cache.h"
#include "backend/cuda/program.h"
#include "backend/cuda/runtime.h"
#include "backend/cuda/simulated.h"
#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>

namespace weft::backend {
namespace cuda {
namespace {

// Options of cuLinkCreate, and a kind of its input.
constexpr int kErrorLog = 5, kErrorLogBytes = 6, kOptimisationLevel = 7, kPtx = 1;

// Machine code for the device whose context is current.
std::string assembled(const std::string& name, const std::string& text, int level) {
    std::array<char, 8192> log{};
    int names[] = {kErrorLog, kErrorLogBytes, kOptimisationLevel};
    void* values[] = {log.data(), reinterpret_cast<void*>(std::uintptr_t(log.size())),
                      reinterpret_cast<void*>(std::intptr_t(level))};
    Link link = nullptr;
    require(driver().create_link(3, names, values, &link), "starting the driver's assembler");
    void* cubin = nullptr;
    std::size_t bytes = 0;
    Result result = driver().add_to_link(link, kPtx, const_cast<char*>(text.c_str()), text.size() + 1, name.c_str(), 0,
                                         nullptr, nullptr);
    if (result == Result::Success) result = driver().complete_link(link, &cubin, &bytes);
    std::string code;
    if (result == Result::Success) code.assign(static_cast<const char*>(cubin), bytes);  // it is the link's
    driver().destroy_link(link);
    require(result, "assembling the kernel ", name, log[0] ? "\n" : "", log.data());
    return code;
}

// Machine code is kept on disk: the driver takes 10 to 150 ms for a kernel, and loads what it has made in 0.1.
ModuleHandle load(const std::string& name, const Module& written, int capability) {
    const std::string& text = written.text;
    int version = 0;
    require(driver().driver_version(&version), "asking for the driver's version");
    Cache& cache = Cache::instance();
    const std::filesystem::path file = cache.path_of(
        Hash().add(text).add(str(version)).add(str(capability)).add(str("O", written.assembler_level)).hex(), ".cubin");
    ModuleHandle module = nullptr;
    if (const std::string kept = cache.read(file);
        !kept.empty() && driver().load_module(&module, kept.data(), 0, nullptr, nullptr) == Result::Success)
        return module;
    const std::string code = assembled(name, text, written.assembler_level);
    require(driver().load_module(&module, code.data(), 0, nullptr, nullptr), "loading the kernel ", name);
    cache.write(file, code);
    return module;
}

// The same for parameters at any address, if there is a difference.
Module unaligned(const kernel::Kernel& kernel, const Module& module, int capability) {
    for (std::size_t p = 0; p < module.alignments.size(); ++p)
        if (module.alignments[p] > static_cast<std::int64_t>(size_of(kernel.buffers[p].dtype)))
            return write_module(kernel, {.vectors = false, .capability = capability});
    return {};
}

bool is_aligned(const Module& module, std::span<void* const> parameters) {
    for (std::size_t p = 0; p < parameters.size(); ++p)
        if (reinterpret_cast<std::uintptr_t>(parameters[p]) % static_cast<std::uintptr_t>(module.alignments[p]))
            return false;
    return true;
}
const Module& fitting(const Module& module, const Module& unaligned, std::span<void* const> parameters) {
    return unaligned.entries.empty() || is_aligned(module, parameters) ? module : unaligned;
}

std::vector<LaunchSize> launches_of(const Module& module) {
    std::vector<LaunchSize> launches;
    for (const Entry& entry : module.entries)
        launches.push_back({entry.all_blocks(), entry.threads, entry.shared_bytes});
    return launches;
}

// The loops that the text was written from, as comments in front of it.
std::string loops_of(const kernel::Kernel& kernel, Detail detail) {
    if (detail == Detail::None) return {};
    std::string text = kernel::print(kernel), comments;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = std::min(text.find('\n', at), text.size());
        comments += str("// ", std::string_view(text).substr(at, end - at), "\n");
    }
    return comments;
}

std::atomic<PtxRunner> ptx_runner = nullptr;

// Interpreted on the host: its loops, or its PTX.
class SimulatedProgram final : public HostProgram {
public:
    SimulatedProgram(const kernel::Kernel& kernel, std::string text, std::shared_ptr<const Program> loops,
                     Module module, Module unaligned)
        : parameters_(kernel.buffers.begin(), kernel.buffers.begin() + kernel.parameters),
          scalars_(kernel.scalars.size()),
          text_(std::move(text)),
          loops_(std::move(loops)),
          module_(std::move(module)),
          unaligned_(std::move(unaligned)) {}
    std::vector<LaunchSize> launches() const override { return launches_of(module_); }
    void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end, std::byte* scratch,
             CheckRecord* check) const override {
        const PtxRunner runner = ptx_runner;
        if (!runner) static_cast<const HostProgram&>(*loops_).run(buffers, scalars, begin, end, scratch, check);
        else if (begin == 0)  // the whole grid
            runner({fitting(module_, unaligned_, {buffers, parameters_.size()}),
                    parameters_,
                    buffers,
                    {scalars, scalars_},
                    *check});
    }
    std::string source() const override { return text_ + module_.text; }
    std::string machine() const override { return {}; }

private:
    const std::vector<kernel::Buffer> parameters_;
    const std::size_t scalars_;
    const std::string text_;
    const std::shared_ptr<const Program> loops_;
    const Module module_, unaligned_;
};

// Loops of a GPU that is not there, for tests: "simulated:1" has the tensor cores of 9.0, "simulated:2" those of 8.0.
Target simulated(int index, const Target& host) {
    Target target = host;
    target.processor = Processor::Gpu;
    target.backend = "cuda";
    target.tensor_cores = index == 0 ? TensorCores::None : index == 1 ? TensorCores::Warpgroup : TensorCores::Warp;
    return target;
}

constexpr DeviceType kDevices[] = {
    {.name = "cuda", .multiplies_tf32 = true, .open = open},
    {.name = "simulated", .multiplies_tf32 = true, .simulated = simulated},
};

class CudaBackend final : public Backend {
public:
    std::string_view name() const override { return "cuda"; }
    Processor processor() const override { return Processor::Gpu; }
    bool usable(CpuLevel) const override { return true; }
    std::span<const DeviceType> devices() const override { return kDevices; }
    std::string describe(const Target& target) const override {
        return target.compute_capability ? str("cuda: PTX for compute capability ", target.compute_capability / 10, ".",
                                               target.compute_capability % 10)
                                         : "cuda: PTX, simulated";
    }
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                        const Target& target, Detail detail) override {
        std::vector<std::shared_ptr<const Program>> programs;
        for (const kernel::Kernel* kernel : kernels) {
            const int capability =
                target.tensor_cores == TensorCores::Warpgroup ? 90 : std::max(80, target.compute_capability);
            Module module = write_module(*kernel, {.capability = capability}),
                   other = unaligned(*kernel, module, capability);
            if (target.compute_capability)
                programs.push_back(std::make_shared<CudaProgram>(kernel->name, loops_of(*kernel, detail),
                                                                 std::move(module), std::move(other),
                                                                 target.compute_capability));
            else
                programs.push_back(std::make_shared<SimulatedProgram>(
                    *kernel, loops_of(*kernel, detail), ref_backend().compile(std::span(&kernel, 1), target, detail)[0],
                    std::move(module), std::move(other)));
        }
        return programs;
    }
};

}  // namespace

void set_ptx_runner(PtxRunner runner) { ptx_runner = runner; }

const CudaProgram::Loaded& CudaProgram::loaded(Context context, std::span<void* const> parameters) const {
    const Module& module = fitting(module_, unaligned_, parameters);
    const Loaded* const latest = latest_.load(std::memory_order_acquire);
    if (latest && latest->context == context && latest->module == &module) return *latest;
    const std::lock_guard lock(mutex_);
    Loaded& loaded = loaded_[{context, &module}];
    if (loaded.module) {
        latest_.store(&loaded, std::memory_order_release);
        return loaded;
    }
    if (!loaded.handle) loaded.handle = load(name_, module, capability_);
    loaded.functions.resize(module.entries.size());
    for (std::size_t e = 0; e < module.entries.size(); ++e)
        require(driver().get_function(&loaded.functions[e], loaded.handle, module.entries[e].name.c_str()),
                "finding the kernel ", name_);
    constexpr int kMostDynamicShared = 8;
    for (std::size_t e = 0; e < module.entries.size(); ++e)
        if (const std::int64_t bytes = module.entries[e].dynamic_shared)
            require(driver().set_function_attribute(loaded.functions[e], kMostDynamicShared, static_cast<int>(bytes)),
                    "asking for ", bytes, " bytes of shared memory for the kernel ", name_);
    loaded.context = context;
    loaded.module = &module;
    latest_.store(&loaded, std::memory_order_release);
    return loaded;
}

std::vector<LaunchSize> CudaProgram::launches() const {
    std::vector<LaunchSize> launches = launches_of(module_);
    constexpr int kRegisters = 4;
    if (const Loaded* const latest = latest_.load(std::memory_order_acquire); latest && latest->module == &module_)
        for (std::size_t e = 0; e < launches.size(); ++e)
            if (int count = 0; driver().function_attribute(&count, kRegisters, latest->functions[e]) == Result::Success)
                launches[e].registers = count;
    return launches;
}

// The driver waits for kernels that still run. At the end of the process it may be gone: then there is nothing to unload.
CudaProgram::~CudaProgram() {
    if (process_number() != process_) return;  // a child has none of its parent's modules
    for (const auto& [key, loaded] : loaded_)
        if (loaded.handle && driver().set_context(key.first) == Result::Success) driver().unload_module(loaded.handle);
}

}  // namespace cuda

Backend& cuda_backend() {
    static cuda::CudaBackend backend;
    return backend;
}

}  // namespace weft::backend
