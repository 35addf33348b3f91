// What is donated: memory of the last use of a value, unless the run could then not be interrupted for long.
#include "schedule/cost.h"
#include "ir/build.h"
#include "pipeline/pipeline.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft;

namespace {

// Plans are made from shapes: there is no memory behind it.
struct NoMemory final : ir::Storage {
    explicit NoMemory(std::int64_t size) { bytes = static_cast<std::size_t>(size); }
};

ir::NodeRef floats(const Shape& shape) {
    return ir::buffer(std::make_shared<NoMemory>(4 * numel(shape)), f32, shape, 0, row_major_strides(shape));
}

bool donates(const ir::NodeRef& root) {
    const schedule::Captured captured = schedule::capture(std::span(&root, 1), [](const ir::Storage&) { return true; });
    const schedule::Plan plan = pipeline::make_plan(captured, {}, Target(), {.donate = true});
    const bool takes_over = std::ranges::any_of(
        plan.values, [](const auto& value) { return value.where == schedule::PlanValue::Where::Donated; });
    CHECK((schedule::seconds_after_donation(plan) > 0) == takes_over);
    return takes_over;
}

ir::NodeRef update(std::int64_t size) {
    const ir::NodeRef x = floats({size});
    return x + ir::like(x, 1.0);
}

}  // namespace

TEST_CASE("a short kernel takes memory over, one that may run for long does not") {
    CHECK(donates(update(1 << 20)));
    CHECK(donates(update(1 << 26)));
    CHECK_FALSE(donates(update(std::int64_t{1} << 32)));
}
