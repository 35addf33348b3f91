// Polling inside a chunk: a scan of one long row is one chunk, and yet it is asked whether to go on; its bits are those of a scan that is not.
#include "core/config.h"

#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/random.h>

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

TEST_CASE("a scan of one long row polls, and ends where it is told to") {
    constexpr std::int64_t kLength = (1 << 23) + 77;
    const Tensor x = rand({kLength});
    realize(std::vector<Tensor>{x});
    const auto scanned = [&] { return cumsum(x, 0).to_vector<float>(); };
    for (const std::string_view backend : {"x86", "c"}) {
        CAPTURE(backend);
        const BackendScope scope(backend);
        const std::vector<float> expected = [&] {
            const OptScope off{"poll"};
            return scanned();
        }();
        int asked = 0, limit = 1 << 30;
        set_interrupt_callback([&] { return ++asked >= limit; });
        CHECK(scanned() == expected);
        const int in_a_whole_run = asked;
        limit = asked = 2;
        CHECK_THROWS_AS(scanned(), Interrupted);
        CHECK(in_a_whole_run >= 2);
        set_interrupt_callback(nullptr);
        CHECK(scanned() == expected);
    }
}
