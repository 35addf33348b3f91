// tests/fuzz/configuration.h: how a program is run: the backend, the processor's level, threads, and what is switched off; or by the PTX of a GPU.
#pragma once

#include "tests/support/ptx_runner.h"
#include "tests/support/random.h"

#include <weft/device.h>

#include <optional>
#include <string>

namespace weft::testing::fuzz {

struct Configuration {
    std::string backend = "x86", cpu = "native";
    int threads = 1;
    std::string off;     // a pass, "donate", "all", or nothing
    bool ptx = false;    // on the simulated device
    std::string device;  // WEFT_FUZZ_DEVICE: all programs run there
};

std::string to_string(const Configuration& configuration);  // as environment variables

Configuration random_configuration(Rng& rng);

class ConfigurationScope {
public:
    explicit ConfigurationScope(const Configuration& configuration);
    ~ConfigurationScope();
    ConfigurationScope(const ConfigurationScope&) = delete;
    ConfigurationScope& operator=(const ConfigurationScope&) = delete;

private:
    std::optional<DeviceScope> device_;
    std::optional<PtxScope> ptx_;
};

}  // namespace weft::testing::fuzz
