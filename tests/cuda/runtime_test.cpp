// The runtime for GPUs, with the fake driver: graphs, checks that are told later, memory, and calls that fail.
#include "cuda/driver_of_tests.h"

#include "backend/cuda/driver.h"
#include "backend/cuda/memory_pool.h"
#include "backend/device.h"

#include <weft/cuda.h>
#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/profile.h>
#include <weft/weft.h>

#include <atomic>
#include <cstring>
#include <thread>

using namespace weft;
using namespace weft::testing;

namespace {

// Two kernels.
Tensor less_sum(const Tensor& x) { return x - matmul(x.reshape({1, -1}), ones({x.numel(), 1}).clone()).reshape({}); }

struct Training {
    explicit Training(Device device) {
        const DeviceScope scope(device);
        manual_seed(3);
        net.add<nn::Linear>(8, 16);
        net.add<nn::ReLU>();
        net.add<nn::Linear>(16, 4);
        adam = std::make_unique<optim::Adam>(net.parameters(), optim::AdamOptions{.lr = 0.01});
        x = randn({12, 8}).realize();
        y = randint(0, 4, {12}).realize();
    }
    void step() {
        adam->zero_grad();
        cross_entropy(net(x), y).backward();
        adam->step();
    }
    std::vector<Floats> parameters() const {
        std::vector<Floats> all;
        for (const Tensor& parameter : net.parameters()) all.push_back(values(parameter));
        return all;
    }
    nn::Sequential net;
    std::unique_ptr<optim::Adam> adam;
    Tensor x, y;
};

// A table of which a step moves one row.
struct Table {
    Table() : sgd({weight}, {.lr = 1}) {}
    void step(const Tensor& row) {
        sgd.zero_grad();
        take(weight, row).sum().backward();
        sgd.step();
    }
    void step(std::int64_t row) { step(tensor({row}, i64)); }
    Tensor weight = Tensor(zeros({3, 2}).clone().realize()).set_requires_grad();
    optim::SGD sgd;
};

const DeviceScope& on_gpu() {
    static const DeviceScope scope("cuda");
    return scope;
}

}  // namespace

TEST_CASE("training has the CPU's bits, and a steady step neither allocates nor waits") {
    Training here(cpu), there("cuda");
    for (int i = 0; i < 4; ++i) {
        here.step();
        there.step();
    }
    CHECK(here.parameters() == there.parameters());
    for (int i = 0; i < 3; ++i) there.step();  // reading them has taken a step apart
    const CallCount allocations("cuMemAllocAsync"), waits("cuStreamSynchronize"), events("cuEventSynchronize"),
        reads("cuMemcpyDtoHAsync_v2"), launches("cuLaunchKernel"), graphs("cuGraphLaunch"),
        made("cuGraphInstantiateWithFlags");
    for (int i = 0; i < 5; ++i) there.step();
    CHECK(allocations() == 0);
    CHECK(waits() == 0);
    CHECK(events() == 0);
    CHECK(reads() == 0);
    CHECK(launches() == 0);
    CHECK(made() == 0);
    CHECK(graphs() == 5);
    for (int i = 0; i < 8; ++i) here.step();
    CHECK(here.parameters() == there.parameters());
}

TEST_CASE("an op that was run before is two calls of the driver: the context and the kernel") {
    on_gpu();
    const Tensor x = tensor({1.0, 2.0, 3.0}).realize();
    for (int run = 0; run < 3; ++run) (x + 1).realize();
    const CallCount all("calls"), contexts("cuCtxSetCurrent"), launches("cuLaunchKernel");
    for (int run = 0; run < 10; ++run) (x + 1).realize();
    CHECK(all() == 20);
    CHECK(contexts() == 10);
    CHECK(launches() == 10);
    CHECK(values(x + 1) == Floats{2, 3, 4});
}

TEST_CASE("a plan is a graph from its third run on, and is told of other memory and numbers") {
    on_gpu();
    std::vector<Tensor> kept;  // so that memory is not the same
    for (int run = 0; run < 6; ++run) {
        CAPTURE(run);
        const Tensor x = tensor({1.0 + run, 3.0 + run}).realize();
        const CallCount launches("cuLaunchKernel"), graphs("cuGraphLaunch");
        kept.push_back(less_sum(x).realize());
        CHECK(graphs() == (run < 2 ? 0 : 1));
        CHECK(launches() == (run < 2 ? 2 : 0));
    }
    for (int run = 0; run < 6; ++run)
        CHECK(values(kept[static_cast<std::size_t>(run)]) ==
              Floats{-3.f - static_cast<float>(run), -1.f - static_cast<float>(run)});
}

TEST_CASE("a graph that the driver does not make or change is no error") {
    on_gpu();
    for (const char* const call :
         {"cuGraphCreate", "cuGraphAddKernelNode", "cuGraphInstantiateWithFlags", "cuGraphExecKernelNodeSetParams"}) {
        CAPTURE(call);
        std::vector<Tensor> kept;
        fail_call(call, 2, std::strcmp(call, "cuGraphAddKernelNode") == 0 ? 1 : 0);
        const std::int64_t size = 3 + calls("cuGraphCreate");  // another plan
        Tensor written = zeros({size}).clone().realize();
        for (int run = 0; run < 6; ++run) {
            const Tensor x = (arange(size, TensorOptions(f32)) * (run + 1)).clone().realize();
            kept.push_back(less_sum(x).realize());
            written += less_sum(x);
            written.realize();
        }
        fail_call(call, 0);
        for (std::size_t run = 0; run < kept.size(); ++run) {
            const float first = -0.5f * static_cast<float>(size * (size - 1)) * static_cast<float>(run + 1);
            CHECK(values(kept[run])[0] == first);
        }
        CHECK(values(written)[0] == -0.5f * static_cast<float>(size * (size - 1)) * 21);
    }
}

TEST_CASE("a label that a step finds wrong is told at the next read; parameters that were handed over are as before") {
    on_gpu();
    Training training("cuda");
    const Tensor good = training.y, bad = (good + 4).realize();
    for (int i = 0; i < 4; ++i) training.step();
    training.y = bad;
    training.step();
    training.y = good;
    training.step();  // is skipped, too
    const std::string message = error_of<IndexError>([&] { training.parameters(); });
    CHECK(says(message, "cross_entropy(logits: f32[12, 4], labels: i64[12]): label out of range [0, 4); got "));

    Training other(cpu);
    for (int i = 0; i < 4; ++i) other.step();
    CHECK(training.parameters() == other.parameters());
    const auto there = training.adam->state(), here = other.adam->state();
    for (std::size_t i = 0; i < here.size(); ++i)
        if (here[i].first.find("avg") != std::string::npos) CHECK(values(there[i].second) == values(here[i].second));
}

TEST_CASE("so is a table whose step finds the wrong index itself, with and without jit") {
    on_gpu();
    for (const bool traced : {false, true}) {
        CAPTURE(traced);
        Table table;
        const auto plain = [&](Tensor index) {
            table.step(index);
            return index;
        };
        const auto replayed = jit(plain);
        const auto step = [&](std::int64_t row) {
            const Tensor index = tensor({row}, i64).realize();
            if (traced) replayed(index);
            else plain(index);
        };
        for (const std::int64_t row : {0, 1, 0, 1, 2}) step(row);
        step(-4);
        step(2);  // is skipped, too
        CHECK(says(error_of<IndexError>([&] { values(table.weight); }), "got -4"));
        CHECK(values(table.weight) == Floats{-2, -2, -2, -2, -1, -1});
        step(0);
        CHECK(values(table.weight) == Floats{-3, -3, -2, -2, -1, -1});
    }
}

TEST_CASE("device::synchronise tells it, too") {
    on_gpu();
    Table table;
    for (const std::int64_t row : {0, 1, 0}) table.step(row);
    table.step(9);
    CHECK_THROWS_AS(device::runtime_of(Device("cuda").number()).synchronise(), IndexError);
    device::runtime_of(Device("cuda").number()).synchronise();
}

TEST_CASE("what a step has found wrong is not lost when another run fails before it was told") {
    on_gpu();
    for (const char* const call : {"cuMemAllocAsync", "cuLaunchKernel"}) {
        CAPTURE(call);
        Table table;
        for (const std::int64_t row : {0, 1, 0}) table.step(row);
        table.step(7);
        const Tensor large = ones({calls("cuGraphCreate") + 1000}).clone();
        const MemoryScope little(1000);
        fail_call(call, call[2] == 'M' ? 2 : 719);
        CHECK_THROWS_AS(less_sum(large).realize(), Error);
        fail_call(call, 0, 0);
        CHECK(says(error_of<IndexError>([&] { values(table.weight); }), "got 7"));
    }
}

TEST_CASE("a loop that reads nothing keeps a bounded list of what may go wrong, and an error is told in time") {
    on_gpu();
    Table table;
    for (const std::int64_t row : {0, 1, 0}) table.step(row);
    table.step(5);
    bool told = false;
    for (int i = 0; i < 5000 && !told; ++i) told = !error_of<IndexError>([&] { table.step(1); }).empty();
    CHECK(told);
}

TEST_CASE("threads that read do not take the errors of a thread that runs, nor its checks") {
    on_gpu();
    const Tensor table = arange(4, TensorOptions(f32)).clone().realize(), other = ones({4}).clone().realize();
    std::atomic<bool> ready = false, done = false;
    std::atomic<int> wrong = 0;
    std::thread reader([&] {
        const DeviceScope scope("cuda");
        while (!done) {
            try {
                if (values(other) != Floats{1, 1, 1, 1}) ++wrong;
            } catch (const std::exception&) {
                ++wrong;
            }
            ready = true;
        }
    });
    while (!ready) std::this_thread::yield();
    int told = 0;
    for (int i = 0; i < 200; ++i) {
        const Tensor index = tensor({i % 2 ? 3 : 4}, i64).clone().realize();
        told += error_of<IndexError>([&] { less_sum(take(table, index)).realize(); }).empty() ? 0 : 1;
    }
    done = true;
    reader.join();
    CHECK(told == 100);
    CHECK(wrong == 0);
}

TEST_CASE("a call that fails in the middle of a run is an error that names it, and the next run works") {
    on_gpu();
    const Tensor x = tensor({2.0, 4.0}).realize();
    for (const int after : {0, 1}) {
        fail_call("cuLaunchKernel", 719, after);
        const std::string message = error_of<BackendError>([&] { less_sum(x + after).realize(); });
        CHECK(says(message, "launching a kernel: unspecified launch failure (CUDA_ERROR_LAUNCH_FAILED)"));
        CHECK(values(less_sum(x + after)) ==
              Floats{-4.f - static_cast<float>(after), -2.f - static_cast<float>(after)});
    }
    fail_call("cuModuleLoadDataEx", 2);
    CHECK_THROWS_AS((x * 3 + tanh(x) / 7).realize(), MemoryError);
    CHECK(values(x * 3 + tanh(x) * 0) == Floats{6, 12});
    fail_call("cuMemcpyDtoHAsync_v2", 719);
    CHECK_THROWS_AS(values(x), BackendError);
    CHECK(values(x) == Floats{2, 4});
    fail_call("cuMemcpyHtoDAsync_v2", 719);
    CHECK_THROWS_AS(tensor({5.0, 6.0}).realize(), BackendError);
    CHECK(values(tensor({5.0, 6.0})) == Floats{5, 6});
}

TEST_CASE(
    "without memory there is an error with the sizes, and then everything works; what was freed is used for other "
    "sizes") {
    on_gpu();
    const Tensor x = ones({1000}).clone().realize();
    const MemoryScope little(static_cast<std::uint64_t>(calls("bytes")) + (8 << 20));
    const std::string message = error_of<MemoryError>([&] { (x.reshape({1000, 1}) + zeros({100'000})).realize(); });
    CHECK(says(message, "cannot allocate 400000000 bytes on cuda:0"));
    CHECK(says(message, "bytes are free"));
    CHECK(values(x + 1)[999] == 2);
    for (int i = 0; i < 20; ++i) (void)full({1'000'000 + 200'000 * (i % 3)}, 0.5 * i).clone().realize();  // 4 to 5.6 MB
    CHECK(values(x + 2)[0] == 3);
}

TEST_CASE("the pool: what is allocated, what is reserved, the most of both, and what goes back") {
    using namespace weft::backend::cuda;
    device::runtime_of(Device("cuda").number());
    Context context = nullptr;
    Stream stream = nullptr;
    require(driver().retain_context(&context, 0), "test");
    require(driver().set_context(context), "test");
    require(driver().create_stream(&stream, 1), "test");
    const CallCount allocations("cuMemAllocAsync"), frees("cuMemFreeAsync");
    const std::int64_t bytes = calls("bytes");
    MemoryPool pool;
    pool.open(0, context, stream, "cuda:0");
    const auto use = [&] {
        const DeviceMemory now = pool.use();
        return std::vector{now.allocated, now.most_allocated, now.reserved, now.most_reserved};
    };
    using Bytes = std::vector<std::int64_t>;
    const Address a = pool.allocate(100), b = pool.allocate(10'000);
    CHECK(a % 256 == 0);
    CHECK(use() == Bytes{10752, 10752, 10752, 10752});  // 512 + 10240
    pool.free(a, 100);
    CHECK(use() == Bytes{10240, 10752, 10752, 10752});
    CHECK(pool.allocate(500) == a);
    CHECK(allocations() == 2);
    pool.free(a, 500);
    pool.free(b, 10'000);
    CHECK(use() == Bytes{0, 10752, 10752, 10752});
    CHECK(calls("bytes") == bytes + 10752);
    pool.reset_most();
    pool.release_all();
    CHECK(use() == Bytes{0, 0, 0, 10752});
    CHECK(frees() == 2);
    CHECK(calls("bytes") == bytes);
    const Address again = pool.allocate(100);
    pool.free(again, 100);
    const MemoryScope little(static_cast<std::uint64_t>(bytes) + 4096);
    pool.allocate(4000);  // not without what it keeps for 512
    CHECK(use() == Bytes{4096, 4096, 4096, 10752});
    CHECK_THROWS_AS(pool.allocate(1), MemoryError);
    CHECK(use() == Bytes{4096, 4096, 4096, 10752});
}

TEST_CASE("parameters that are not aligned have code of their own") {
    on_gpu();
    constexpr std::int64_t kSize = 64;
    const Tensor x = (arange(kSize * kSize + 1, TensorOptions(f32)) % 7).clone().realize();
    const auto computed = [&](std::int64_t begin, Device device) {
        const Tensor matrix = x.to(device).slice(0, {begin, begin + kSize * kSize}).reshape({kSize, kSize});
        return values(matmul(matrix, matrix));
    };
    const Floats aligned = computed(0, cpu), shifted = computed(1, cpu);
    CHECK(computed(0, "cuda") == aligned);
    const CallCount modules("cuModuleLoadDataEx");
    CHECK(computed(1, "cuda") == shifted);
    CHECK(computed(0, "cuda") == aligned);
    CHECK(computed(1, "cuda") == shifted);
    CHECK(modules() == 1);
}

TEST_CASE("memory of the host may be reused after a copy, also where another library has pinned it") {
    on_gpu();
    (void)ones({2}).clone().realize();
    device::DeviceRuntime& runtime = device::runtime_of(Device("cuda").number());
    const ir::StorageRef storage = runtime.allocate(8);
    void* pinned = nullptr;
    REQUIRE(backend::cuda::driver().allocate_host(&pinned, 8, 0) == backend::cuda::Result::Success);
    std::memcpy(pinned, "weft-012", 8);
    runtime.write(*storage, 0, pinned, 8);
    std::memset(pinned, 0, 8);
    char back[8];
    runtime.read(*storage, 0, back, 8);
    CHECK(std::string(back, 8) == "weft-012");
    CHECK(backend::cuda::driver().free_host(pinned) == backend::cuda::Result::Success);
}

TEST_CASE("moments of the device are in order, between those of the host") {
    on_gpu();
    device::DeviceRuntime& runtime = device::runtime_of(Device("cuda").number());
    const auto before = runtime.mark();
    const Tensor x = less_sum(rand({100})).realize();
    const auto after = runtime.mark();
    const std::int64_t ran = after->time() - before->time();
    CHECK(ran > 0);
    CHECK(ran < 10'000'000'000);
}

TEST_CASE("cuda: a profile says what a launch asks for, and how fast it was") {
    on_gpu();
    const Tensor x = randn({300, 40}).realize();
    const Profile profile;
    softmax(x, 1).realize();
    cuda::synchronize("cuda");
    const std::string json = profile.json(), table = profile.table();
    CHECK(json.find("\"launches\"") != std::string::npos);
    CHECK(json.find("\"registers\":32") != std::string::npos);
    CHECK(table.find("B/s)") != std::string::npos);
    CHECK(to_string(backend::LaunchSize{528, 288, 192 << 10, 154}) ==
          "528 blocks of 288 threads, 154 registers, 192 kB shared");
    CHECK(to_string(backend::LaunchSize{313, 128, 49600}) == "313 blocks of 128 threads, 49 kB shared");  // not 48
    CHECK(to_string(backend::LaunchSize{1, 64, 768}) == "1 block of 64 threads, 768 B shared");
}
