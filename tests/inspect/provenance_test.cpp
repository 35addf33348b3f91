// Which lines become which kernels: through gradients, rewrites, fusion, caches and jit; and that looking changes nothing.
#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/device.h>
#include <weft/error.h>
#include <weft/jit.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/profile.h>
#include <weft/random.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <thread>

using namespace weft;

namespace {

// Stands in for a front end: line(n) says that the program is at line n from now on.
thread_local int current = -1;
int where() { return current; }
void line(int number) {
    static std::map<int, int> numbers;
    set_source_callback(where);
    if (!numbers.contains(number)) numbers[number] = add_source_line({"net.py", number, "forward", "net"});
    current = numbers[number];
}

bool has_line(const Explanation::Kernel& kernel, int number) {
    return std::find(kernel.lines.begin(), kernel.lines.end(), "net.py:" + std::to_string(number)) !=
           kernel.lines.end();
}

const Explanation::Kernel& kernel_with(const Explanation& plan, int number) {
    for (const Explanation::Kernel& kernel : plan.kernels)
        if (has_line(kernel, number)) return kernel;
    FAIL("no kernel is from line ", number);
    return plan.kernels[0];
}

}  // namespace

TEST_CASE("a kernel knows the lines and ops that it came from, and has their names") {
    const Tensor x = rand({32, 24}).realize(), w = rand({16, 24}).realize(), b = rand({16}).realize();
    const Inspection inspection;
    line(1);
    const Tensor h = linear(x, w, b);
    line(2);
    const Tensor y = relu(h);
    line(3);
    const Tensor z = softmax(y, -1);
    line(9);
    const Explanation plan = explain(z);
    REQUIRE(plan.kernels.size() == 2);
    CHECK(plan.kernels[0].lines == std::vector<std::string>{"net.py:1", "net.py:2"});
    CHECK(plan.kernels[0].name == "linear+relu 32×24×16");
    CHECK(plan.kernels[0].ops == std::vector<std::string>{"linear", "relu"});
    CHECK(plan.kernels[1].lines == std::vector<std::string>{"net.py:3"});
    CHECK(plan.kernels[1].name == "softmax 32×16");
    const std::string text = plan.text();
    CHECK(std::count(text.begin(), text.end(), '\n') == 4);  // a line per kernel, the heading, and how many there are
    CHECK(text.find("net.py:1 net.py:2") != std::string::npos);
}

TEST_CASE("backward work points at its forward line") {
    Tensor w = (rand({24, 16}) - 0.5).realize();
    w.set_requires_grad();
    const Tensor x = rand({32, 24}).realize();
    const Inspection inspection;
    line(1);
    const Tensor h = matmul(x, w);
    line(2);
    const Tensor loss = (tanh(h) * 2).sum();
    line(3);
    loss.backward();
    const Explanation plan = explain(w.grad());
    CHECK(std::any_of(plan.kernels.begin(), plan.kernels.end(), [](const Explanation::Kernel& kernel) {
        return kernel.name == "grad matmul 24×32×16" && has_line(kernel, 1);
    }));
    CHECK(std::any_of(plan.kernels.begin(), plan.kernels.end(), [](const Explanation::Kernel& kernel) {
        return std::find(kernel.ops.begin(), kernel.ops.end(), "grad tanh") != kernel.ops.end() && has_line(kernel, 2);
    }));
    for (const Explanation::Kernel& kernel : plan.kernels) CHECK_FALSE(kernel.lines.empty());
}

TEST_CASE("a forward kernel that stores what backward needs of its line says that it does both") {
    nn::Linear first(12, 24), second(24, 3);
    Profile profile("both");
    line(1);
    const Tensor h = gelu(first(rand({8, 12}).realize()));
    line(2);
    square(second(h)).mean().backward();
    first.parameters()[0].grad().realize();
    profile.stop();
    CHECK(profile.table().find("linear+gelu+grad gelu 8×12×24") != std::string::npos);
    CHECK(profile.json().find("\"both\":[") != std::string::npos);
}

TEST_CASE("equal expressions show all their lines, and what a rewrite merges keeps both") {
    const Tensor x = rand({50}).realize();
    const Inspection inspection;
    line(1);
    const Tensor a = exp(x);
    line(2);
    const Tensor b = exp(x);
    line(3);
    CHECK(explain(a + b).kernels[0].lines == std::vector<std::string>{"net.py:1", "net.py:2", "net.py:3"});
    line(4);
    const Tensor c = x * 2;
    line(5);
    const Tensor d = c * 4;
    const Explanation plan = explain(d);
    CHECK(has_line(plan.kernels.at(0), 5));
    CHECK(has_line(plan.kernels.at(0), 4));
    line(6);
    const Tensor e = exp(x);
    line(7);
    CHECK(has_line(explain(-(-e)).kernels.at(0), 7));  // a rule gives a node that was there before
}

TEST_CASE("what was freed is forgotten: a node at its address has its own lines") {
    const Tensor x = rand({50}).realize();
    const Inspection inspection;
    for (int i = 1; i < 100; ++i) {
        line(i);
        const Explanation plan = explain(exp(x + i) * 3);
        CHECK(plan.kernels.at(0).lines == std::vector<std::string>{"net.py:" + std::to_string(i)});
    }
}

TEST_CASE("layers that are equal but for their weights keep their lines apart, though they share one compiled kernel") {
    const Tensor x = rand({16, 32}).realize(), w1 = rand({32, 32}).realize(), w2 = rand({32, 32}).realize();
    const Inspection inspection;
    line(1);
    const Tensor h = relu(matmul(x, w1));
    line(2);
    const Tensor y = relu(matmul(h, w2));
    const Explanation plan = explain(y);
    REQUIRE(plan.kernels.size() == 2);
    CHECK(plan.kernels[0].lines == std::vector<std::string>{"net.py:1"});
    CHECK(plan.kernels[1].lines == std::vector<std::string>{"net.py:2"});
    CHECK(plan.kernels[0].function == plan.kernels[1].function);
}

TEST_CASE("a kernel that was made before anybody recorded has no lines, though it shares constants with others") {
    const Tensor before = rand({4, 8});
    const Inspection inspection;
    line(1);
    const Tensor now = rand({3, 8}), view = rand({5, 6}).realize().t().contiguous(), zero = zeros({7}).clone();
    CHECK(explain(before).kernels.at(0).lines.empty());
    CHECK(explain(before).kernels[0].name == "rand+mul 32");
    for (const Tensor& made : {now, view, zero})
        CHECK(explain(made).kernels.at(0).lines == std::vector<std::string>{"net.py:1"});
}

TEST_CASE("keys, caches and counters do not change, and a plan that is cached already gets its lines") {
    const Tensor x = rand({40, 30}).realize();
    const auto make = [&] { return (exp(x) * 3).sum(1); };
    make().realize();
    const CounterScope count;
    make().realize();
    const Inspection inspection;
    line(7);
    const Tensor y = make();
    CHECK(kernel_with(explain(y), 7).name.starts_with("exp+mul+sum"));
    y.realize();
    CHECK(count.plans_made() == 0);
    CHECK(count.kernels_compiled() == 0);
}

TEST_CASE("without an inspection there are no lines, but names") {
    line(1);
    const Tensor x = rand({8, 9}).realize();
    const Explanation plan = explain(exp(x).sum(1));
    CHECK(plan.kernels.at(0).lines.empty());
    CHECK(plan.kernels[0].name == "exp+sum 8×9");
    CHECK(explain(matmul(x, x.t())).kernels.at(0).name == "matmul 8×9×8");
    {
        const Inspection inspection;
        exp(x);
    }
    line(2);
    CHECK(explain(exp(x)).kernels.at(0).lines.empty());
}

TEST_CASE("an optimiser's step is one op") {
    nn::Linear layer(20, 10);
    optim::Adam adam(layer.parameters(), {.lr = 0.01});
    const Tensor x = rand({5, 20}).realize();
    Profile profile("test");
    for (int i = 0; i < 3; ++i) {
        line(1);
        const Tensor loss = square(layer(x)).mean();
        adam.zero_grad();
        loss.backward();
        line(2);
        adam.step();
    }
    profile.stop();
    const std::string table = profile.table();
    CHECK(table.find("grad linear+Adam 10×5×20") != std::string::npos);
    CHECK(table.find("net.py:1 net.py:2") != std::string::npos);
}

TEST_CASE("an optimiser that shares another one's rule has its own name, in kernels and in messages") {
    nn::Linear layer(20, 10);
    optim::AdamW adamw(layer.parameters(), {.lr = 0.01});
    Profile profile("test");
    square(layer(rand({5, 20}))).mean().backward();
    adamw.step();
    profile.stop();
    CHECK(profile.table().find("+AdamW 10×5×20") != std::string::npos);
    CHECK_THROWS_WITH_AS(optim::AdamW(layer.parameters(), {.lr = -1}), doctest::Contains("AdamW: lr"), ValueError);
}

TEST_CASE("a kernel whose results take over the memory of what it reads has its lines") {
    const DeviceScope here(cpu);
    Tensor table = rand({50, 8}).realize();
    table.set_requires_grad();
    optim::Adam adam({table}, {.lr = 0.01});
    const Tensor rows = randint(0, 50, {20}).realize();
    const auto step = [&] {
        line(1);
        const Tensor loss = tanh(embedding(table, rows)).sum();
        adam.zero_grad();
        loss.backward();
        line(2);
        adam.step();
    };
    for (int i = 0; i < 3; ++i) step();
    Profile profile("table");
    for (int i = 0; i < 2; ++i) step();
    profile.stop();
    CHECK(profile.table().find("Adam 50×8") != std::string::npos);
    CHECK(profile.json().find("\"sites\":[]") == std::string::npos);
}

TEST_CASE("what jit captured before the profile has lines in it") {
    const Tensor x = rand({30}).realize();
    const Jit f([](std::span<const Tensor> in) {
        line(4);
        return std::vector<Tensor>{exp(in[0]) + 1};
    });
    f(std::vector{x})[0].realize();
    for (int round = 0; round < 2; ++round) {  // a second profile shows what the first one has captured
        const CounterScope count;
        Profile profile("jit");
        for (int i = 0; i < 3; ++i) f(std::vector{x})[0].realize();
        profile.stop();
        CHECK(count.plans_made() == 0);  // the table below may measure the machine
        CHECK(profile.table().find("net.py:4") != std::string::npos);
        CHECK(profile.json().find("\"line\":4") != std::string::npos);
    }
}

TEST_CASE("one profile at a time; it can be stopped twice; other threads are recorded") {
    const Tensor x = rand({1000}).realize();
    Profile profile("threads");
    CHECK_THROWS_AS(Profile("second"), ValueError);
    CHECK_THROWS_AS(profile.add(Profile::Event::Kernel, "mine", 0, 1), ValueError);
    std::vector<std::thread> others;
    for (int t = 0; t < 3; ++t)
        others.emplace_back([&, t] {
            for (int i = 0; i < 20; ++i) {
                line(10 + t);
                (sin(x) + t).to_vector<float>();
            }
        });
    for (std::thread& other : others) other.join();
    const std::int64_t now = Profile::now();
    profile.add(Profile::Event::Region, "</script><b>", now, now + 5);
    profile.stop();
    profile.stop();
    const std::string json = profile.json();
    for (const char* part :
         {"\"line\":10", "\"line\":11", "\"line\":12", "\"format\":\"weft-profile\"", "\"bandwidth\":"})
        CHECK(json.find(part) != std::string::npos);
    CHECK(json.find("<") == std::string::npos);  // it can stand in a page
    CHECK_THROWS_AS(profile.save("/nonexistent/folder/x.json"), IoError);
    CHECK_THROWS_AS(profile.save("x.txt"), ValueError);
    Profile next("next");  // now another one may
}

TEST_CASE("explain() gives each stage, and says which there are") {
    const Explanation plan = explain(exp(rand({70}).realize()));
    CHECK(plan.text("details").find("cut here") != std::string::npos);
    CHECK_FALSE(plan.text("loops").empty());
    CHECK(plan.text("graph").find("exp") != std::string::npos);
    CHECK_FALSE(plan.kernels.at(0).source.empty());
    CHECK(plan.text("source").find(plan.kernels[0].source) != std::string::npos);
    CHECK_FALSE(plan.text("schedule").empty());
    CHECK_THROWS_WITH_AS(plan.text("lops"), doctest::Contains("kernels, details, graph, schedule, loops, source"),
                         ValueError);
    CHECK(explain(ones({3}).realize()).text().find("nothing to compute") == 0);
}
