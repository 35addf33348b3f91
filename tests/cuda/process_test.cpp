// What another process sees: machine code that is kept on disk, a fork, drivers that cannot be used, and the end.
#include "cuda/driver_of_tests.h"

#include "backend/cache.h"

#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

using namespace weft;
using namespace weft::testing;
namespace fs = std::filesystem;

namespace {

struct Outcome {
    int status = -1;
    std::string text;  // of both outputs
};

// Runs a test case of this file, which is skipped otherwise.
Outcome in_process(const std::string& settings, const std::string& test_case) {
    const fs::path self = fs::read_symlink("/proc/self/exe");
    const std::string command =
        settings + " '" + self.string() + "' --no-skip --minimal -tc='child: " + test_case + "' 2>&1";
    Outcome outcome;
    FILE* const out = ::popen(command.c_str(), "r");
    REQUIRE(out);
    char buffer[4096];
    while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, out)) outcome.text.append(buffer, got);
    outcome.status = ::pclose(out);
    return outcome;
}

std::string fake_folder() {
    void* const function = reinterpret_cast<void*>(from_driver<decltype(weft_fake_count)>("weft_fake_count"));
    Dl_info info{};
    REQUIRE(::dladdr(function, &info));
    return fs::path(info.dli_fname).parent_path().string();
}

// What a forked child prints.
template <class F>
std::string in_child(F&& body) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        const std::string text = body();
        const auto written = ::write(ends[1], text.data(), text.size());
        ::_exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
    }
    ::close(ends[1]);
    std::string text;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
    return text;
}

struct Folder {
    Folder() {
        std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path = name;
    }
    ~Folder() { fs::remove_all(path); }
    fs::path path;
};

}  // namespace

// ---- machine code on disk --------------------------------------------------------------------------------------------

TEST_CASE("child: one kernel" * doctest::skip()) {
    const DeviceScope scope("cuda");
    CHECK(values(tensor({1.0, 2.0}).realize() * 3) == Floats{3, 6});
    std::cout << "assembled " << calls("cuLinkComplete") << ", loaded " << calls("cuModuleLoadDataEx") << "\n";
}

TEST_CASE("machine code is kept for the next process; what is damaged counts as absent, and is written anew") {
    const Folder folder;
    const std::string settings = "WEFT_CACHE='" + folder.path.string() + "'";
    const auto run = [&] {
        const Outcome outcome = in_process(settings, "one kernel");
        CHECK(outcome.status == 0);
        const std::size_t line = outcome.text.find("assembled");
        REQUIRE(line != std::string::npos);
        return outcome.text.substr(line, outcome.text.find('\n', line) - line);
    };
    const auto the_file = [&] {
        std::vector<fs::path> files;
        for (const auto& entry : fs::directory_iterator(folder.path)) files.push_back(entry.path());
        REQUIRE(files.size() == 1);
        CHECK(files[0].extension() == ".cubin");
        return files[0];
    };
    CHECK(run() == "assembled 1, loaded 1");
    CHECK(run() == "assembled 0, loaded 1");
    {
        std::fstream file(the_file(), std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(100);
        file << "?";
    }
    CHECK(run() == "assembled 1, loaded 1");
    CHECK(run() == "assembled 0, loaded 1");
    fs::resize_file(the_file(), 10);
    CHECK(run() == "assembled 1, loaded 1");
    backend::Cache::instance().write(the_file(), "\177ELF, and nothing that the driver knows");  // with a seal
    CHECK(run() == "assembled 1, loaded 2");
    CHECK(run() == "assembled 0, loaded 1");
}

// ---- fork ------------------------------------------------------------------------------------------------------------

TEST_CASE("a forked child cannot use the GPU, is told so, and leaves its parent's alone") {
    const Device gpu("cuda");
    const Tensor x = full({3}, 2).to(gpu).realize();
    const CallCount frees("cuMemFreeAsync");
    const std::string text = in_child([&] {
        const std::string use = error_of<BackendError>([&] { values(x + 1); });
        const std::string read = error_of<BackendError>([&] { values(x); });
        const std::string cpu_works = values(full({2}, 4, TensorOptions(cpu))) == Floats{4, 4} ? "works" : "does not";
        return use + "\n" + read + "\n" + cpu_works;
    });
    CHECK(says(text, "started by fork()"));
    CHECK(says(text, "\nworks"));
    CHECK(std::count(text.begin(), text.end(), '(') == 2);  // both
    CHECK(values(x + 1) == Floats{3, 3, 3});
    CHECK(frees() == 0);
}

TEST_CASE("child: only asked" * doctest::skip()) {
    CHECK_THROWS_AS(Device("cuda:7").name().size() && zeros({1}, "cuda:7").clone().realize().numel(), ValueError);
    std::cout << in_child([] { return error_of<ValueError>([] { ones({1}, "cuda").clone().realize(); }); }) << "\n";
}

TEST_CASE("the child of a process that has only asked for devices is told as well") {
    CHECK(says(in_process("", "only asked").text, "there is no device cuda:0: a process that was started by fork()"));
}

// ---- drivers that cannot be used -------------------------------------------------------------------------------------

TEST_CASE("child: opens the device" * doctest::skip()) {
    std::cout << error_of<Error>([] { values(ones({1}, "cuda").clone() + 1); }) << "\n";
}

TEST_CASE("a driver that cannot be used is named, with the reason") {
    const std::string folder = fake_folder(), message = "there is no device cuda:0: NVIDIA's driver ";
    CHECK(says(in_process("LD_LIBRARY_PATH='" + folder + "/old'", "opens the device").text,
               message + "is too old: it has no cuGetErrorName; version 12.1 or newer is needed"));
    CHECK(says(in_process("WEFT_FAKE_VERSION=11080", "opens the device").text,
               message + "is too old: it is for CUDA 11.8; version 12.1 or newer is needed"));
    CHECK(says(in_process("WEFT_FAKE_DEVICES=0", "opens the device").text,
               message + "finds no GPU (CUDA_VISIBLE_DEVICES may hide it)"));
    CHECK(says(in_process("WEFT_FAKE_FAIL=cuInit:0:999", "opens the device").text,
               message + "does not start (cuInit gives 999)"));
    CHECK(says(in_process("WEFT_FAKE_FAIL=cuDevicePrimaryCtxRetain:0:2", "opens the device").text, "making a context"));
}

TEST_CASE("a kernel that fails is told by the call that waits, and by every one after it") {
    CHECK(says(in_process("WEFT_FAKE_FAIL=kernel:0:700", "opens the device").text,
               "cuda: running kernels: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"));
}

// ---- the end ---------------------------------------------------------------------------------------------------------

TEST_CASE("child: ends with everything alive" * doctest::skip()) {
    static const DeviceScope scope("cuda");
    static nn::Linear layer(3, 2);
    static optim::Adam adam(layer.parameters());
    static Tensor pending;
    for (int i = 0; i < 4; ++i) {
        adam.zero_grad();
        layer(ones({4, 3})).sum().backward();
        adam.step();
    }
    pending = layer(ones({4, 3})) * 2;
}

TEST_CASE("a process ends without a word, whatever of the device is alive") {
    const Outcome outcome = in_process("", "ends with everything alive");
    CHECK(outcome.status == 0);
    CHECK(outcome.text == "");
}
