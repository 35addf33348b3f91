// device/target.cpp: the one place that turns the configuration into a target.
#include "device/target.h"

#include "backend/backend.h"
#include "core/config.h"
#include "core/leaf_mutex.h"
#include "core/str.h"
#include "device/threads.h"

#include <weft/error.h>

#include <mutex>
#include <vector>

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
    static std::vector<Made>& made =
        *new std::vector<Made>;  // one per configuration that was ever set; the latest last
    const Config& c = config();
    const int threads = thread_count();
    {
        const std::lock_guard lock(mutex);
        for (std::size_t i = made.size(); i-- > 0;)
            if (made[i].is_for(c, threads)) {
                std::swap(made[i], made.back());
                return made.back().target;
            }
    }
    TargetRef target = interned(make(c, threads));  // two threads may both make it: it is one target
    const std::lock_guard lock(mutex);
    made.push_back({c.backend, c.cpu, c.off, c.keep_denormals, c.donate, threads, target});
    return target;
}

}  // namespace weft::device
