// backend/cuda/cuda.cpp: the backend: PTX for a GPU; or, on the device that simulates one, the same loops by `ref`, with the PTX beside
// them, so that a machine without a GPU tries both.
#include "backend/backend.h"
#include "backend/cuda/program.h"
#include "backend/cuda/simulated.h"
#include "core/str.h"

#include <weft/error.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace weft::backend {
namespace cuda {
namespace {

// Options of cuModuleLoadDataEx.
constexpr int kErrorLog = 5, kErrorLogBytes = 6, kOptimisationLevel = 7;

ModuleHandle load(const std::string& name, const std::string& text) {
    std::array<char, 8192> log{};
    int names[] = {kErrorLog, kErrorLogBytes, kOptimisationLevel};
    // Level 1 runs as fast as the default, 4, and compiles in half the time.
    void* values[] = {log.data(), reinterpret_cast<void*>(std::uintptr_t(log.size())), reinterpret_cast<void*>(1)};
    ModuleHandle module = nullptr;
    const Result result = driver().load_module(&module, text.c_str(), 3, names, values);
    require(result, str("loading the kernel ", name, log[0] ? "\n" : "", log.data()));
    return module;
}

// The same for parameters at any address, if there is a difference.
Module unaligned(const kernel::Kernel& kernel, const Module& module) {
    for (std::size_t p = 0; p < module.alignments.size(); ++p)
        if (module.alignments[p] > static_cast<std::int64_t>(size_of(kernel.buffers[p].dtype)))
            return write_module(kernel, {.vectors = false});
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

std::atomic<PtxRunner> ptx_runner = nullptr;

// Interpreted on the host: its loops, or its PTX.
class SimulatedProgram final : public HostProgram {
public:
    SimulatedProgram(const kernel::Kernel& kernel, std::shared_ptr<const Program> loops, Module module, Module unaligned)
        : parameters_(kernel.buffers.begin(), kernel.buffers.begin() + kernel.parameters),
          scalars_(kernel.scalars.size()),
          loops_(std::move(loops)),
          module_(std::move(module)),
          unaligned_(std::move(unaligned)) {}
    void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end, std::byte* scratch,
             CheckRecord* check) const override {
        const PtxRunner runner = ptx_runner;
        if (!runner) static_cast<const HostProgram&>(*loops_).run(buffers, scalars, begin, end, scratch, check);
        else if (begin == 0)  // the whole grid
            runner({fitting(module_, unaligned_, {buffers, parameters_.size()}), parameters_, buffers,
                    {scalars, scalars_}, *check});
    }
    std::string source() const override { return module_.text; }
    std::string machine() const override { return {}; }

private:
    const std::vector<kernel::Buffer> parameters_;
    const std::size_t scalars_;
    const std::shared_ptr<const Program> loops_;
    const Module module_, unaligned_;
};

class CudaBackend final : public Backend {
public:
    std::string_view name() const override { return "cuda"; }
    Processor processor() const override { return Processor::Gpu; }
    bool usable(CpuLevel) const override { return true; }
    std::string describe(const Target& target) const override {
        return target.compute_capability ? str("cuda: PTX for compute capability ", target.compute_capability / 10, ".",
                                               target.compute_capability % 10)
                                         : "cuda: PTX, simulated";
    }
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                        const Target& target, Detail detail) override {
        std::vector<std::shared_ptr<const Program>> programs;
        for (const kernel::Kernel* kernel : kernels) {
            Module module = write_module(*kernel), other = unaligned(*kernel, module);
            if (target.compute_capability)
                programs.push_back(std::make_shared<CudaProgram>(kernel->name, std::move(module), std::move(other)));
            else
                programs.push_back(std::make_shared<SimulatedProgram>(
                    *kernel, ref_backend().compile(std::span(&kernel, 1), target, detail)[0], std::move(module),
                    std::move(other)));
        }
        return programs;
    }
};

}  // namespace

void set_ptx_runner(PtxRunner runner) { ptx_runner = runner; }

const CudaProgram::Loaded& CudaProgram::loaded(Context context, std::span<void* const> parameters) const {
    const Module& module = fitting(module_, unaligned_, parameters);
    const std::lock_guard lock(mutex_);
    Loaded& loaded = loaded_[{context, &module}];
    if (loaded.module) return loaded;
    if (!loaded.handle) loaded.handle = load(name_, module.text);
    loaded.functions.resize(module.entries.size());
    for (std::size_t e = 0; e < module.entries.size(); ++e)
        require(driver().get_function(&loaded.functions[e], loaded.handle, module.entries[e].name.c_str()),
                str("finding the kernel ", name_));
    constexpr int kMostDynamicShared = 8;
    for (std::size_t e = 0; e < module.entries.size(); ++e)
        if (const std::int64_t bytes = module.entries[e].dynamic_shared)
            require(driver().set_function_attribute(loaded.functions[e], kMostDynamicShared, static_cast<int>(bytes)),
                    str("asking for ", bytes, " bytes of shared memory for the kernel ", name_));
    loaded.module = &module;
    return loaded;
}

// The driver waits for kernels that still run. At the end of the process it may be gone: then there is nothing to unload.
CudaProgram::~CudaProgram() {
    if (::getpid() != process_) return;  // a child has none of its parent's modules
    for (const auto& [key, loaded] : loaded_)
        if (loaded.handle && driver().set_context(key.first) == Result::Success) driver().unload_module(loaded.handle);
}

}  // namespace cuda

Backend& cuda_backend() {
    static cuda::CudaBackend backend;
    return backend;
}

}  // namespace weft::backend
