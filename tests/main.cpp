// The main function of every test executable: doctest's own. At the end it says what was not proven: kernels that overwrite what they read,
// and were refused that; and kernels whose bounds or independence have no proof.
#define DOCTEST_CONFIG_IMPLEMENT
#include "runtime/plan_cache.h"

#include <doctest/doctest.h>

#include <iostream>

int main(int argc, char** argv) {
    const int result = doctest::Context(argc, argv).run();
    if (const auto refused = weft::runtime::donations_refused())
        std::cerr << refused << " donations were refused, because the order of loads and stores was not proven\n";
    if (const auto kernels = weft::runtime::kernels_unproven())
        std::cerr << kernels << " kernels without a proof of bounds and independence (WEFT_DEBUG=1 names them)\n";
    return result;
}
