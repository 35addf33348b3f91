// backend/cuda/program.h: a kernel as the driver takes it. It is loaded when a device first launches it.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/ptx.h"
#include "core/process.h"

#include <atomic>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::backend::cuda {

class CudaProgram final : public Program {
public:
    // `unaligned` serves parameters at other addresses than `module` needs; it may be empty where that asks for nothing.
    CudaProgram(std::string name, std::string loops, Module module, Module unaligned, int capability)
        : name_(std::move(name)),
          loops_(std::move(loops)),
          module_(std::move(module)),
          unaligned_(std::move(unaligned)),
          capability_(capability) {}
    ~CudaProgram() override;
    std::vector<LaunchSize> launches() const override;
    std::string source() const override { return loops_ + module_.text; }
    std::string machine() const override { return {}; }

    struct Loaded {
        Context context = nullptr;
        const Module* module = nullptr;
        ModuleHandle handle = nullptr;
        std::vector<Function> functions;  // of the module's entries
    };
    // What to launch with these parameters, on the device whose context is current. Throws BackendError with the driver's log.
    const Loaded& loaded(Context context, std::span<void* const> parameters) const;

private:
    const std::string name_, loops_;  // loops: as comments, where somebody reads them
    const Module module_, unaligned_;
    const int capability_;  // compute capability of its device
    const std::uint32_t process_ = process_number();
    mutable std::mutex mutex_;
    mutable std::map<std::pair<Context, const Module*>, Loaded> loaded_;
    mutable std::atomic<const Loaded*> latest_{nullptr};  // of these: what is launched again and again needs no lock
};

}  // namespace weft::backend::cuda
