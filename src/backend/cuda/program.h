// backend/cuda/program.h: a kernel as the driver takes it. It is loaded when a device first launches it.
#pragma once

#include "backend/backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/ptx.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace weft::backend::cuda {

class CudaProgram final : public Program {
public:
    CudaProgram(std::string name, Module module) : name_(std::move(name)), module_(std::move(module)) {}
    ~CudaProgram() override;
    std::string source() const override { return module_.text; }
    std::string machine() const override { return {}; }
    const Module& module() const { return module_; }

    // Its entries on the device whose context is current. Throws BackendError with the driver's log.
    const std::vector<Function>& functions(Context context) const;

private:
    const std::string name_;
    const Module module_;
    const pid_t process_ = ::getpid();
    mutable std::mutex mutex_;
    struct Loaded {
        ModuleHandle handle = nullptr;
        std::vector<Function> functions;
    };
    mutable std::map<Context, Loaded> loaded_;  // by device
};

}  // namespace weft::backend::cuda
