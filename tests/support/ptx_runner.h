// tests/support/ptx_runner.h: the simulated device runs its PTX on the machine of ptx_machine.h, in place of its loops.
#pragma once

#include "support/ptx_machine.h"

#include <cstdint>
#include <optional>

namespace weft::testing {

// In which order its threads run from now on; none: its loops run. Returns what it was before.
std::optional<ptx::Order> set_ptx_order(std::optional<ptx::Order> order);
std::int64_t ptx_steps();  // instructions of all threads, up to now

class PtxScope {
public:
    explicit PtxScope(ptx::Order order) : before_(set_ptx_order(order)) {}
    ~PtxScope() { set_ptx_order(before_); }
    PtxScope(const PtxScope&) = delete;
    PtxScope& operator=(const PtxScope&) = delete;

private:
    const std::optional<ptx::Order> before_;
};

}  // namespace weft::testing
