// Batches of tensors: sizes, order, the generator, and that a shuffled epoch needs one plan.
#include "scratch.h"

#include <weft/weft.h>

#include <algorithm>
#include <numeric>

using namespace weft;
using data::DataLoader;
using data::TensorDataset;

namespace {

TensorDataset ten() { return TensorDataset({arange(0, 10).to(f32).reshape({10, 1}), arange(0, 10)}); }

std::vector<std::int64_t> seen(const DataLoader& loader) {
    std::vector<std::int64_t> all;
    for (const std::vector<Tensor>& batch : loader) {
        const auto rows = batch[0].to(i64).to_vector<std::int64_t>(), labels = batch[1].to_vector<std::int64_t>();
        CHECK(rows == labels);
        all.insert(all.end(), labels.begin(), labels.end());
    }
    return all;
}

std::vector<std::int64_t> sorted(std::vector<std::int64_t> values) {
    std::sort(values.begin(), values.end());
    return values;
}

std::vector<std::int64_t> first(std::int64_t count) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0);
    return values;
}

}  // namespace

TEST_CASE("DataLoader goes over all rows, in order or not") {
    CHECK(seen(DataLoader(ten(), {.batch_size = 4})) == first(10));
    CHECK(seen(DataLoader(ten(), {.batch_size = 4, .drop_last = true})) == first(8));
    CHECK(DataLoader(ten(), {.batch_size = 4}).size() == 3);
    CHECK(DataLoader(ten(), {.batch_size = 4, .drop_last = true}).size() == 2);
    CHECK(DataLoader(ten(), {.batch_size = 20, .drop_last = true}).size() == 0);
    manual_seed(1);
    const DataLoader loader(ten(), {.batch_size = 3, .shuffle = true});
    const auto one = seen(loader), two = seen(loader);
    CHECK(sorted(one) == first(10));
    CHECK(sorted(two) == first(10));
    CHECK(one != two);
}

TEST_CASE("a generator of its own: the order depends on nothing else, and nothing else on it") {
    const auto order = [](std::uint64_t seed) {
        return seen(
            DataLoader(ten(), {.batch_size = 5, .shuffle = true, .generator = std::make_shared<Generator>(seed)}));
    };
    manual_seed(3);
    const auto before = order(7);
    rand({5}).realize();
    CHECK(order(7) == before);
    CHECK(order(8) != before);
    const RandomState state = random_state();
    order(7);
    CHECK(random_state().counter == state.counter);
    const auto generator = std::make_shared<Generator>(3);
    manual_seed(3);
    const auto global = randn({4}).to_vector<float>();
    const GeneratorScope scope(generator);
    CHECK(randn({4}).to_vector<float>() == global);
}

TEST_CASE("a shuffled epoch is planned once") {
    const DataLoader loader(ten(), {.batch_size = 5, .shuffle = true});
    const auto epoch = [&] {
        for (const auto& batch : loader) (batch[0].sum() + batch[1].sum()).item();
    };
    epoch();
    const CounterScope count;
    epoch();
    CHECK(count.plans_made() == 0);
    CHECK(count.compile_nanoseconds() == 0);
}

TEST_CASE("random_split") {
    manual_seed(2);
    const auto parts = data::random_split(ten(), {7, 3});
    auto all = parts[0].tensors()[1].to_vector<std::int64_t>();
    const auto rest = parts[1].tensors()[1].to_vector<std::int64_t>();
    CHECK(all.size() == 7);
    all.insert(all.end(), rest.begin(), rest.end());
    CHECK(all != first(10));
    CHECK(sorted(all) == first(10));
}

TEST_CASE("data loaders: what cannot be") {
    using scratch::contains;
    using scratch::message_of;
    CHECK(contains(message_of<ValueError>([] { DataLoader(ten(), {.batch_size = 0}); }), "at least 1, not 0"));
    CHECK(contains(message_of<ValueError>([] { data::random_split(ten(), {7, 4}); }), "add up to 11"));
    CHECK(contains(message_of<ValueError>([] { data::random_split(ten(), {11, -1}); }), "-1 is negative"));
    CHECK(contains(message_of<ShapeError>([] { TensorDataset({zeros({3}), zeros({4, 2})}); }), "[3] and [4, 2]"));
    CHECK_THROWS_AS(TensorDataset({}), ValueError);
    CHECK_THROWS_AS(TensorDataset({full({}, 1)}), ShapeError);
}
