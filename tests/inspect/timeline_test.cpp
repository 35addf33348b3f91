// The rows of a profile's timeline: threads, the helpers of kernels, devices; and that a device is asked for its times only later.
#include "ir/build.h"
#include "pipeline/observer.h"
#include "pipeline/pipeline.h"
#include "tensor/cell.h"

#include <weft/data_loader.h>
#include <weft/debug.h>
#include <weft/device.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/profile.h>
#include <weft/random.h>

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

using namespace weft;

namespace {

int times_in(const std::string& text, std::string_view part) {
    int times = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
    return times;
}

// A device that is behind: whoever asks waits.
struct Late final : device::Moment {
    Late(std::int64_t time, int& asked) : at(time), asked(asked) {}
    std::int64_t time() override { return ++asked, at; }
    const std::int64_t at;
    int& asked;
};

// Any plan of one kernel.
std::shared_ptr<const pipeline::CachedPlan> some_plan() {
    const Tensor x = rand({77}).realize(), y = exp(x) * 3;
    std::unique_lock graph(ir::graph_lock());
    const std::vector<ir::NodeRef> roots{node_of(y)};
    return pipeline::plan_for(schedule::capture(roots, nullptr), pipeline::target_of(kCpu), graph);
}

}  // namespace

TEST_CASE("helpers of a kernel have rows of their own, and are no launches") {
    const DeviceScope here(cpu);
    const ThreadScope two(2);
    const Tensor x = rand({512, 512}).realize();
    Profile profile("helpers");
    int launches = 0;
    do {  // a helper that finds no core in time helps nobody
        matmul(x, x).realize();
        ++launches;
    } while (launches < 1000 && profile.json().find("\"helper 1\"") == std::string::npos);
    profile.stop();
    const std::string json = profile.json();
    CHECK(json.find(R"("tracks":[{"name":"main","kind":"thread"},{"name":"helper 1","kind":"worker"}])") !=
          std::string::npos);
    CHECK(json.find("\"calls\":" + std::to_string(launches) + ",") != std::string::npos);
}

TEST_CASE("threads have their names, and one that has ended leaves its row to the next") {
    const DeviceScope here(cpu);
    const Tensor x = rand({10}).realize();
    Profile profile("names");
    for (int i = 0; i < 3; ++i)
        std::thread([&] {
            name_thread("loader");
            exp(x).realize();
        }).join();
    std::thread([&] {
        name_thread("loader");
        exp(x).realize();
        std::thread([&] {
            name_thread("loader");
            sin(x).realize();
        }).join();
    }).join();
    profile.stop();
    CHECK(profile.json().find(R"x({"name":"loader","kind":"thread"},{"name":"loader (2)","kind":"thread"}],)x") !=
          std::string::npos);
}

TEST_CASE("steps, batches and regions are on the timeline, and nowhere without a profile") {
    nn::Linear layer(4, 2);
    optim::SGD sgd(layer.parameters(), {.lr = 0.1});
    const data::DataLoader loader(data::TensorDataset({rand({6, 4})}), {.batch_size = 2});
    const auto epoch = [&] {
        const ProfileRegion region("an epoch");
        for (const std::vector<Tensor>& batch : loader) {
            square(layer(batch[0])).mean().backward();
            sgd.step();
        }
    };
    epoch();
    {
        const ProfileRegion before("before");
        Profile profile("steps");
        {
            const ProfileRegion older("older");
            profile.stop();
        }
    }
    Profile profile("steps");
    epoch();
    profile.stop();
    const std::string json = profile.json();
    for (const char* label : {"\"next batch\"", "\"SGD.step\"", "\"an epoch\""}) CHECK(times_in(json, label) == 1);
    for (const char* label : {"\"before\"", "\"older\""}) CHECK(times_in(json, label) == 0);
    const std::string kinds =
        json.substr(json.find("\"kind\":[") + 8, json.find("],\"start\"") - json.find("\"kind\":[") - 8);
    CHECK(times_in(kinds, "4") == 3);
    CHECK(times_in(kinds, "6") == 3);
    CHECK(times_in(kinds, "5") == 1);
}

TEST_CASE("kernels of a device are on its row, copies on the thread's; the host's limits are not the device's") {
    const DeviceScope here(cpu);
    const Tensor x = rand({40, 50}).realize();
    Profile profile("device");
    const Tensor y = x.to("simulated");
    matmul(y, y.t()).to_vector<float>();
    profile.stop();
    const std::string json = profile.json();
    CHECK(json.find(R"({"name":"simulated:0","kind":"stream"})") != std::string::npos);
    CHECK(json.find("cpu → simulated:0") != std::string::npos);
    CHECK(json.find("simulated:0 → cpu") != std::string::npos);
    CHECK(json.find("\"kind\":\"contraction\"") != std::string::npos);
    CHECK(json.find("\"limit\"") == std::string::npos);
    CHECK(explain(exp(rand({9}).to("simulated"))).kernels.back().estimate == 0);
}

TEST_CASE("the graph that a profile shows is the one that ran: on a GPU a short sort is a sum") {
    const Tensor x = rand({4, 37}).to("simulated").realize();
    Profile profile("graphs");
    sort(x).values.realize();
    profile.stop();
    const std::string json = profile.json();
    const std::size_t asked = json.find("\"graph\""), ran = json.find("\"simplified\"", asked),
                      rules = json.find("\"rules\"", ran);
    REQUIRE(rules != std::string::npos);
    CHECK(times_in(json.substr(asked, ran - asked), "custom") > 0);
    CHECK(times_in(json.substr(ran, rules - ran), "custom") == 0);
    CHECK(times_in(json.substr(ran, rules - ran), "reduce") > 0);
}

TEST_CASE("a device that is behind is asked for its times when the profile is read, or has many of them to ask for") {
    const auto plan = some_plan();
    Profile profile("behind");
    pipeline::Observer& observer = *pipeline::observer();
    const int run = observer.traced_before(plan);
    const std::int64_t start = Profile::now();
    int asked = 0;
    const auto launch = [&](std::int64_t from, std::int64_t to) {
        observer.launched({.run = run,
                           .step = 0,
                           .start = start,
                           .end = start,
                           .threads = {},
                           .began = std::make_unique<Late>(start + from, asked),
                           .ended = std::make_unique<Late>(start + to, asked),
                           .device = &device::runtime_of(kCpu),
                           .kernel = plan->kernels[0]});
    };
    launch(100'000, 107'000);
    launch(200'000, 205'000);
    CHECK(asked == 0);
    std::string json = profile.json();
    CHECK(asked == 4);
    CHECK(json.find("\"calls\":2,\"time\":12000,\"best\":5000") != std::string::npos);
    CHECK(times_in(json, "\"stream\"") == 1);
    CHECK(json.find("\"labels\":[]") != std::string::npos);  // nobody waited
    for (int i = 0; i < 5000; ++i) launch(300'000 + i, 300'001 + i);
    CHECK(asked > 5000);  // it does not wait for all of them at the end
    CHECK(asked < 10004);
    profile.stop();
    CHECK(asked == 10004);
    CHECK(profile.json().find("\"calls\":5002,") != std::string::npos);
}
