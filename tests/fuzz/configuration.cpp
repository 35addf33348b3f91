// tests/fuzz/configuration.cpp: the names of passes come from their one list.
#include "tests/fuzz/configuration.h"

#include "core/config.h"
#include "core/str.h"
#include "kernel/optimise.h"
#include "tests/support/backends.h"

#include <cstdlib>

namespace weft::testing::fuzz {

std::string to_string(const Configuration& c) {
    return str("WEFT_BACKEND=", c.backend, c.cpu == "native" ? "" : " WEFT_CPU=", c.cpu == "native" ? "" : c.cpu,
               " WEFT_THREADS=", c.threads, c.off.empty() ? "" : " WEFT_OPT=", c.off,
               c.ptx ? " WEFT_TEST_DEVICE=simulated WEFT_TEST_PTX=1" : "",
               c.device.empty() ? "" : " WEFT_FUZZ_DEVICE=", c.device);
}

Configuration random_configuration(Rng& rng) {
    Configuration chosen;
    const double backend = rng.unit();
    chosen.backend = backend < 0.002 ? "c" : backend < 0.15 || !have_x86() ? "ref" : "x86";
    chosen.cpu = rng.pick({"native", "native", "avx512", "avx2", "sse"});
    chosen.threads = static_cast<int>(rng.within(1, 3));
    const double off = rng.unit();
    if (off < 0.25) chosen.off = rng.pick(kernel::pass_names());
    else if (off < 0.30) chosen.off = "donate";
    else if (off < 0.36) chosen.off = "all";
    const char* const device = std::getenv("WEFT_FUZZ_DEVICE");
    chosen.device = device ? device : "";
    chosen.ptx = rng.chance(0.15) && !device;
    return chosen;
}

ConfigurationScope::ConfigurationScope(const Configuration& c) {
    config() = read_environment();
    config().backend = c.backend;
    config().cpu = c.cpu;
    config().threads = c.threads;
    if (!c.off.empty()) config().off.insert(c.off);
    config().donate = !config().switched_off("donate");
    if (!c.device.empty()) device_.emplace(Device(c.device));
    if (!c.ptx) return;
    device_.emplace("simulated");
    ptx_.emplace(ptx::Order::Shuffled);
}
ConfigurationScope::~ConfigurationScope() { config() = read_environment(); }

}  // namespace weft::testing::fuzz
