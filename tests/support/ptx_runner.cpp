// tests/support/ptx_runner.cpp: launches of the simulated device, with the parameters that backend/cuda/ptx.h lists.
#include "support/ptx_runner.h"

#include "backend/cuda/simulated.h"
#include "backend/cuda/tensor_map.h"
#include "support/ptx_tensor_map.h"

#include <atomic>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace weft::testing {
namespace {

std::atomic<std::optional<ptx::Order>> order;
std::atomic<std::int64_t> steps;

// A kernel is launched more than once, and its text is decoded once.
std::shared_ptr<const ptx::Program> decoded(const std::string& text) {
    constexpr std::size_t kMost = 1000;
    static std::mutex mutex;
    static std::unordered_map<std::string, std::shared_ptr<const ptx::Program>> programs;
    const std::lock_guard lock(mutex);
    if (programs.size() > kMost) programs.clear();
    auto& program = programs[text];
    if (!program) program = ptx::load(text);
    return program;
}

void run_module(const backend::cuda::SimulatedLaunch& given) {
    const backend::cuda::Module& module = given.module;
    std::vector<std::uint64_t> values;
    std::vector<ptx::Range> memory;
    for (std::size_t p = 0; p < given.parameters.size(); ++p) {
        const kernel::Buffer& buffer = given.parameters[p];
        values.push_back(reinterpret_cast<std::uint64_t>(given.addresses[p]));
        memory.push_back({values.back(), static_cast<std::uint64_t>(buffer.size) * size_of(buffer.dtype),
                          buffer.role != kernel::Buffer::Role::Input});
    }
    values.insert(values.end(), given.scalars.begin(), given.scalars.end());
    values.push_back(reinterpret_cast<std::uint64_t>(&given.check));
    memory.push_back({values.back(), sizeof given.check.code + sizeof given.check.value});
    values.push_back(0);  // what is added to the code of a check
    values.push_back(0);  // scratch
    values.push_back(0);  // no record that stops it
    for (const backend::cuda::Entry& entry : module.entries) {
        if (entry.all_blocks() == 0) continue;
        std::vector<std::byte> scratch(static_cast<std::size_t>(module.scratch_bytes * entry.all_blocks()),
                                       std::byte{0xff});
        values[values.size() - 2] = reinterpret_cast<std::uint64_t>(scratch.data());
        ptx::Launch launch{.entry = entry.name,
                           .blocks = entry.blocks,
                           .threads = entry.threads,
                           .memory = memory,
                           .scratch = ptx::range_of(scratch),
                           .shared_bytes = entry.dynamic_shared,
                           .order = order.load().value_or(ptx::Order::Forward),
                           .stop = given.check.stop};
        for (const std::uint64_t& value : values) launch.parameters.push_back(&value);
        struct alignas(64) Map {
            std::byte bytes[128];
        };
        std::vector<Map> maps(entry.maps.size());
        for (std::size_t m = 0; m < maps.size(); ++m) {
            const std::uint64_t buffer = values[static_cast<std::size_t>(entry.maps[m].parameter)];
            if (backend::cuda::encode_map(&maps[m], entry.maps[m], buffer, ptx::encode_tiled) != 0)
                throw std::runtime_error("the driver would refuse a tensor map");
            launch.parameters.push_back(&maps[m]);
        }
        steps += run(*decoded(module.text), launch);
    }
}

}  // namespace

std::optional<ptx::Order> set_ptx_order(std::optional<ptx::Order> wanted) {
    backend::cuda::set_ptx_runner(wanted ? run_module : nullptr);
    return order.exchange(wanted);
}
std::int64_t ptx_steps() { return steps; }

}  // namespace weft::testing
