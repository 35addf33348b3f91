// Helpers for the backend tests: kernels built by hand, memory for their parameters, and runs on a backend.
#pragma once

#include "backend/backend.h"
#include "core/config.h"
#include "core/str.h"
#include "support/backends.h"

#include <doctest/doctest.h>
#include <weft/error.h>

#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

using backend::CheckRecord;
using ir::NodeRef;
using ir::Op;
using kernel::Body;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

// Elements of one dtype as they lie in memory, with guard bytes behind them.
class Memory {
public:
    static constexpr std::size_t kGuard = 256;

    Memory(DType dtype, std::int64_t count) : dtype_(dtype), count_(count), bytes_(bytes() + kGuard, std::byte{0xcd}) {}
    template <class T>
    static Memory of(const std::vector<T>& values) {
        Memory memory(dtype_of<T>(), static_cast<std::int64_t>(values.size()));
        for (std::size_t i = 0; i < values.size(); ++i) memory.set(static_cast<std::int64_t>(i), to_word(T(values[i])));
        return memory;
    }

    DType dtype() const { return dtype_; }
    std::int64_t count() const { return count_; }
    void* data() { return bytes_.data(); }
    std::size_t bytes() const { return static_cast<std::size_t>(count_) * size_of(dtype_); }
    void set(std::int64_t i, Word word) { store_word(dtype_, bytes_.data() + i * size_of(dtype_), word); }
    Word get(std::int64_t i) const { return load_word(dtype_, bytes_.data() + i * size_of(dtype_)); }
    template <class T>
    std::vector<T> values() const {
        std::vector<T> result;
        for (std::int64_t i = 0; i < count_; ++i) result.push_back(from_word<T>(get(i)));
        return result;
    }
    bool guard_is_whole() const {
        for (std::size_t i = bytes(); i < bytes_.size(); ++i)
            if (bytes_[i] != std::byte{0xcd}) return false;
        return true;
    }
    friend bool operator==(const Memory& a, const Memory& b) { return a.bytes_ == b.bytes_; }

private:
    DType dtype_;
    std::int64_t count_;
    std::vector<std::byte> bytes_;
};

// A kernel with helpers that make hand-written nests short.
struct Nest {
    Kernel k;

    explicit Nest(std::string name) {
        k.interner = std::make_shared<ir::Interner>();
        k.name = std::move(name);
    }
    int parameter(std::string name, DType dtype, std::int64_t size, Buffer::Role role) {
        k.buffers.push_back({.name = std::move(name), .dtype = dtype, .size = size, .role = role});
        return k.parameters++;
    }
    int input(std::string name, DType dtype, std::int64_t size) {
        return parameter(std::move(name), dtype, size, Buffer::Role::Input);
    }
    int output(std::string name, DType dtype, std::int64_t size) {
        return parameter(std::move(name), dtype, size, Buffer::Role::Output);
    }
    int local(std::string name, DType dtype, std::int64_t size, Buffer::MemoryType memory, int lane_loop = -1) {
        const int buffer = k.new_local(std::move(name), dtype, size);
        k.buffers[buffer].memory = memory;
        k.buffers[buffer].lane_loop = lane_loop;
        if (memory == Buffer::MemoryType::Scratch) {
            k.buffers[buffer].scratch_offset = static_cast<std::int64_t>(k.scratch_bytes);
            k.scratch_bytes += (static_cast<std::size_t>(size) * size_of(dtype) + 63) / 64 * 64;
        }
        return buffer;
    }
    NodeRef scalar(DType dtype) {
        k.scalars.push_back(dtype);
        return k.make(Op::ScalarParam, dtype, {}, ir::SlotArg{static_cast<int>(k.scalars.size()) - 1, {}});
    }
    NodeRef check(const NodeRef& value, std::int64_t low, std::int64_t high, std::string what) {
        k.checks.push_back({low, high, std::move(what)});
        return k.make(Op::Check, value->dtype, {value}, k.checks.back());
    }
    NodeRef at(std::int64_t value) const { return k.index(value); }
    // a*i + b*j + …, by pairs of a variable and its factor
    NodeRef affine(std::initializer_list<std::pair<NodeRef, std::int64_t>> terms, std::int64_t constant = 0) const {
        NodeRef sum = k.index(constant);
        for (const auto& [var, factor] : terms) sum = k.add(sum, factor == 1 ? var : k.mul(var, k.index(factor)));
        return sum;
    }
    static Stmt loop(const NodeRef& var, LoopKind kind, Body body) { return Loop{var, kind, std::move(body)}; }
};

struct Result {
    std::vector<Memory> memories;
    CheckRecord check;
};

// Runs a kernel on copies of the parameters, all parallel iterations at once or in ranges of `chunk`.
inline Result run_program(const backend::Program& program, const Kernel& k, std::vector<Memory> memories,
                          const std::vector<Word>& scalars = {}, std::int64_t chunk = 0) {
    Result result{std::move(memories), {}};
    std::vector<void*> pointers;
    for (Memory& memory : result.memories) pointers.push_back(memory.data());
    struct Free {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t(64)); }
    };
    const std::unique_ptr<std::byte, Free> scratch(
        static_cast<std::byte*>(::operator new(k.scratch_bytes + 64, std::align_val_t(64))));
    std::memset(scratch.get(), 0x7f, k.scratch_bytes + 64);
    const std::int64_t extent = kernel::parallel_extent(k), step = chunk ? chunk : std::max<std::int64_t>(extent, 1);
    for (std::int64_t begin = 0; begin < extent; begin += step)
        static_cast<const backend::HostProgram&>(program).run(
            pointers.data(), scalars.data(), begin, std::min(extent, begin + step), scratch.get(), &result.check);
    for (const Memory& memory : result.memories) CHECK(memory.guard_is_whole());
    return result;
}

inline std::shared_ptr<const backend::Program> compile_one(backend::Backend& backend, const Kernel& k) {
    kernel::verify(k, "test");
    const Kernel* const one[] = {&k};
    return backend.compile(one, testing::target_for(backend.name(), config().cpu)).at(0);
}

// Every way to compile a kernel; each must give the bits of ref.
struct Target {
    std::string backend, cpu;
};
inline std::vector<Target> targets() {
    std::vector<Target> all{{"c", "native"}};
    if (testing::have_x86()) all.insert(all.end(), {{"x86", "native"}, {"x86", "avx2"}});
    return all;
}

inline std::vector<std::shared_ptr<const backend::Program>> compile_for(const Target& target,
                                                                        std::span<const Kernel* const> kernels) {
    const weft::Target made = testing::target_for(target.backend, target.cpu);
    return backend::named(made).compile(kernels, made);
}

inline Result run_on(std::string_view backend, const Kernel& k, const std::vector<Memory>& memories,
                     const std::vector<Word>& scalars = {}, std::int64_t chunk = 0) {
    return run_program(*compile_one(backend::find(backend, testing::level_here()), k), k, memories, scalars, chunk);
}

}  // namespace weft::test
