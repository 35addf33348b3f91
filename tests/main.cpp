// The main function of every test executable: doctest's own. At the end it says what was not proven: kernels that overwrite what they read,
// and were refused that; and passes that were left out of a kernel, which is a failure.
#define DOCTEST_CONFIG_IMPLEMENT
#include "support/ptx_runner.h"

#include <weft/debug.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <iostream>

int main(int argc, char** argv) {
    if (const char* device = std::getenv("WEFT_TEST_DEVICE")) weft::set_default_device(device);
    if (std::getenv("WEFT_TEST_PTX")) weft::testing::set_ptx_order(weft::testing::ptx::Order::Shuffled);
    const int result = doctest::Context(argc, argv).run();
    const weft::Counters counters = weft::counters();
    if (counters.donations_refused > 0)
        std::cerr << counters.donations_refused
                  << " donations were refused, because the order of loads and stores was not proven\n";
    if (counters.passes_refused == 0) return result;
    std::cerr << counters.passes_refused
              << " passes were left out, because what they made was not proven (WEFT_DEBUG=1 names them)\n";
    return 1;
}
