// device/target.cpp: the one place that turns the configuration into a target.
#include "device/target.h"

#include "backend/backend.h"
#include "core/config.h"
#include "core/leaf_mutex.h"
#include "core/str.h"
#include "device/threads.h"

#include <weft/error.h>

#include <algorithm>
#include <deque>
#include <mutex>

namespace weft::device {
namespace {

struct Made {
    std::string backend, cpu;
    std::set<std::string, std::less<>> off;
    bool keep_subnormals, donate;
    int threads;
    TargetRef target;

    bool is_for(const Config& c, int now) const {
        return threads == now && keep_subnormals == c.keep_denormals && donate == c.donate && backend == c.backend &&
               cpu == c.cpu && off == c.off;
    }
};

Target make(const Config& c, int threads) {
    Target target = cpu_target(allowed_level(c.cpu));
    try {
        target.backend = backend::find(c.backend, target.level).name();
    } catch (const ValueError& error) {
        throw ValueError(str("WEFT_BACKEND=", c.backend, ": ", error.what()));
    }
    target.threads = threads;
    target.numerics.keep_subnormals = c.keep_denormals;
    target.donate = c.donate && !c.switched_off("donate");
    target.split_sums = !c.switched_off("split_sums");
    for (std::size_t i = 0; i < std::size(kPassNames); ++i) target.off[i] = c.switched_off(kPassNames[i]);
    return target;
}

}  // namespace

TargetRef current_target() {
    static LeafMutex& mutex = *new LeafMutex;
    static std::deque<Made>& made = *new std::deque<Made>;  // one per configuration that was ever set
    constinit thread_local const Made* latest = nullptr;    // every run asks: this thread's last answer needs no lock
    const Config& c = config();
    const int threads = thread_count();
    if (latest && latest->is_for(c, threads)) return latest->target;
    {
        const std::lock_guard lock(mutex);
        const auto known = std::ranges::find_if(made, [&](const Made& each) { return each.is_for(c, threads); });
        if (known != made.end()) return (latest = &*known)->target;
    }
    const TargetRef target = interned(make(c, threads));  // two threads may both make it: it is one target
    const std::lock_guard lock(mutex);
    latest = &made.emplace_back(Made{c.backend, c.cpu, c.off, c.keep_denormals, c.donate, threads, target});
    return target;
}

}  // namespace weft::device
