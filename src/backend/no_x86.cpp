// backend/no_x86.cpp: stands in for src/backend/x86/ in builds without it.
#include "backend/backend.h"

namespace weft::backend {
namespace {

class NoX86 final : public Backend {
public:
    std::string_view name() const override { return "x86"; }
    bool built() const override { return false; }
    bool usable(CpuLevel) const override { return false; }
    std::string describe(const Target&) const override { return "x86: not in this build"; }
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                        const Target& target, Detail detail) override {
        return ref_backend().compile(kernels, target, detail);
    }
};

}  // namespace

Backend& x86_backend() {
    static NoX86 backend;
    return backend;
}

}  // namespace weft::backend
