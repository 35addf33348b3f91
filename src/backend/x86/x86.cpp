// backend/x86/x86.cpp: the x86 backend: AVX2 or AVX-512 machine code for each kernel, made in well under a millisecond.
#include "backend/backend.h"
#include "backend/narrow.h"
#include "backend/x86/assemble.h"
#include "backend/x86/emitter.h"
#include "backend/x86/fold_loads.h"
#include "backend/x86/interleave.h"
#include "backend/x86/meaning.h"
#include "backend/x86/split_registers.h"
#include "backend/x86/verify_allocation.h"
#include "core/interrupt.h"
#include "core/str.h"

#include <weft/error.h>

#include <cstdio>

namespace weft::backend {
namespace {

using namespace x86;

class X86Program final : public HostProgram {
public:
    X86Program(std::shared_ptr<const Machine> machine, std::deque<LaneCall> calls, std::string source)
        : machine_(std::move(machine)), calls_(std::move(calls)), source_(std::move(source)) {}

    void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end, std::byte* scratch,
             CheckRecord* check) const override {
        using Function = void (*)(void* const*, const Word*, std::int64_t, std::int64_t, std::byte*, CheckRecord*);
        reinterpret_cast<Function>(const_cast<void*>(machine_->entry))(buffers, scalars, begin, end, scratch, check);
    }
    std::string source() const override { return source_; }
    std::string machine() const override { return machine_->text; }

private:
    const std::shared_ptr<const Machine> machine_;
    const std::deque<LaneCall> calls_;
    const std::string source_;
};

// Half the lanes, and half again, where a vector of 8-byte elements is wider than a register.
Emitted emit(const kernel::Kernel& kernel, bool wide) {
    for (int lanes = native_lanes(kernel, wide ? 64 : 32);; lanes /= 2) {
        try {
            const kernel::Kernel fitting = narrow(kernel, lanes);
            return Emitter(fitting, expand(fitting, {.transposes = true}), wide).run();
        } catch (const TooWide&) {
            if (lanes <= 4)
                throw InternalError(str("x86: kernel ", kernel.name, " has vectors wider than any register"));
        }
    }
}

std::shared_ptr<const Program> compile_one(const kernel::Kernel& kernel, const Target& target, Detail detail) {
    const bool wide = target.level == CpuLevel::Avx512;
    Emitted emitted = emit(kernel, wide);
    const Meaning meaning = meaning_of(emitted.code);
    split_registers(emitted.code);
    fold_loads(emitted.code);
    interleave(emitted.code, target.registers);
    verify_meaning(emitted.code, meaning, kernel.name);
    const Allocation allocation = allocate(emitted.code, target.registers);
    verify_allocation(emitted.code, allocation, kernel.name);
    auto machine = assemble(emitted.code, allocation, wide, reinterpret_cast<const void*>(&weft_x86_lanes),
                            detail >= Detail::Machine);
    return std::make_shared<X86Program>(std::move(machine), std::move(emitted.calls),
                                        detail >= Detail::Source ? kernel::print(kernel) : std::string());
}

class X86Backend final : public Backend {
public:
    std::string_view name() const override { return "x86"; }
    bool usable(CpuLevel level) const override { return level >= CpuLevel::Avx2; }
    std::string describe(const Target& target) const override {
        if (!allowed()) return "x86: not usable here, the interpreter runs instead";
        return target.level == CpuLevel::Avx512 ? "x86: AVX-512 machine code, 64-byte registers"
                                                : "x86: AVX2 machine code, 32-byte registers";
    }
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                        const Target& target, Detail detail) override {
        if (!allowed()) return ref_backend().compile(kernels, target, detail);
        std::vector<std::shared_ptr<const Program>> programs;
        for (const kernel::Kernel* kernel : kernels) {
            poll_interrupt();
            programs.push_back(compile_one(*kernel, target, detail));
        }
        return programs;
    }

private:
    static bool allowed() {
        static const bool result = [] {
            if (can_execute()) return true;
            std::fputs("weft: the system refuses executable memory; running on the interpreter, which is slow\n",
                       stderr);
            return false;
        }();
        return result;
    }
};

}  // namespace

Backend& x86_backend() {
    static X86Backend backend;
    return backend;
}

}  // namespace weft::backend
