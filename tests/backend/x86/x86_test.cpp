// The x86 backend by itself: what its code looks like, where it lies, and what happens where there may be none.
#include "backend/support.h"
#include "core/cpu.h"
#include "kernel/lower.h"
#include "kernel/optimise.h"
#include "support/backends.h"
#include "support/target.h"

#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>

namespace weft::test {
namespace {

using testing::CpuScope;

struct DebugScope {
    explicit DebugScope(int level) : before(std::exchange(config().debug, level)) {}
    ~DebugScope() { config().debug = before; }
    int before;
};

// What Weft prints while f runs.
std::string printed(const std::function<void()>& f) {
    std::ostringstream text;
    std::streambuf* const before = std::clog.rdbuf(text.rdbuf());
    f();
    std::clog.rdbuf(before);
    return text.str();
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += what.size()) ++n;
    return n;
}

// The machine code between a label and the jump back to it: of the loops without a loop inside, the one with most of these instructions.
std::string innermost_loop(const std::string& listing, const std::string& what) {
    std::istringstream lines(listing);
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    std::string best;
    for (std::size_t i = 0; i < all.size(); ++i) {
        std::smatch jump;
        if (!std::regex_search(all[i], jump, std::regex(R"(\bjl (L\d+))"))) continue;
        std::string body;
        for (std::size_t j = i; j-- > 0;) {
            if (all[j].starts_with(jump[1].str() + ":")) {
                if (count(body, what) > count(best, what)) best = body;
                break;
            }
            if (all[j].starts_with("L")) break;
            body = all[j] + "\n" + body;
        }
    }
    return best;
}

// The machine code of a matmul of new numbers.
std::string matmul_listing(std::int64_t rows, std::int64_t steps, std::int64_t columns) {
    const BackendScope x86("x86");
    const Tensor a = randn({rows, steps}).realize(), b = randn({steps, columns}).realize();
    const DebugScope debug(5);
    return printed([&] { matmul(a, b).realize(); });
}

}  // namespace

TEST_CASE("a matmul's inner loop is its multiply-adds, loads and broadcasts") {
    for (const char* cpu : {"native", "avx2"}) {
        const CpuScope scope(cpu);
        const bool wide = testing::level_here() == CpuLevel::Avx512;
        CAPTURE(wide);
        const std::int64_t n = wide ? 481 : 487;  // sizes that nothing else compiles
        const std::string loop = innermost_loop(matmul_listing(n, n, n), "vfmadd");
        CAPTURE(loop);
        CHECK(count(loop, "vfmadd231ps") >= (wide ? 24u : 12u));
        CHECK(count(loop, "[rsp") == 0);
        CHECK(count(loop, "vbroadcastss") <= 8);
    }
}

TEST_CASE("a matmul of few columns keeps its sums in registers; AVX2 stores them without masks") {
    for (const char* cpu : {"native", "avx2"})
        for (const std::int64_t columns : {2, 3, 10, 13, 30}) {
            const CpuScope scope(cpu);
            const bool wide = testing::level_here() == CpuLevel::Avx512;
            CAPTURE(wide);
            CAPTURE(columns);
            const std::string listing = matmul_listing(60, wide ? 479 : 467, columns);
            const std::string loop = innermost_loop(listing, "vfmadd");
            CAPTURE(loop);
            CHECK(count(loop, "vfmadd231") >= 6);
            CHECK_FALSE(std::regex_search(loop, std::regex(R"((^|\n)v\w+ [xyz]?m?m?word ptr)")));
            CHECK(count(loop, "[rsp") == 0);
            CHECK_FALSE(std::regex_search(listing, std::regex(R"(vpmaskmovd [xy]mmword)")));
        }
}

TEST_CASE("AVX2 adds a row's tail to its sums by a blend, not lane by lane") {
    const BackendScope x86("x86");
    const CpuScope scope("avx2");
    if (testing::level_here() != CpuLevel::Avx2) return;
    const Tensor x = randn({61, 44}).realize();  // 32, and 12: a whole vector and half of one
    const DebugScope debug(5);
    const std::string listing = printed([&] { x.sum(1).realize(); });
    REQUIRE(count(listing, "vaddps") > 0);
    CHECK(count(listing, "vblendps") > 0);
    CHECK(count(listing, "dword ptr [rsp+r") == 0);
}

TEST_CASE("what is computed from a matmul's sums takes no registers from its inner loop") {
    const BackendScope x86("x86");
    const Tensor a = randn({60, 499}).realize(), b = randn({499, 128}).realize(), c = randn({60, 128}).realize();
    std::string listing;
    {
        const DebugScope debug(5);
        listing = printed([&] {  // as in the gradient of an LSTM's cell
            const Tensor sum = matmul(a, b), gate = sigmoid(c), other = tanh(sum * gate + c);
            realize(std::vector{other * gate, other * sigmoid(sum), tanh(sum) * sigmoid(other)});
        });
    }
    const std::string loop = innermost_loop(listing, "vbroadcastss");
    CAPTURE(loop);
    CHECK(count(loop, "vfmadd231ps") >= 8);
    CHECK(count(loop, "zmmword ptr [rsp") + count(loop, "ymmword ptr [rsp") == 0);
}

TEST_CASE("what an update reads after a matmul's sums is fetched before them") {
    const BackendScope x86("x86");
    const Tensor a = randn({13, 197}).realize(), b = randn({13, 193}).realize(), w = randn({197, 193}).realize();
    const DebugScope debug(5);
    const std::string listing = printed([&] { (w - matmul(a.t(), b)).realize(); });
    const std::size_t first = listing.find("prefetcht1");
    REQUIRE(first != std::string::npos);
    CHECK(first < listing.find("vfmadd"));
}

TEST_CASE("what one instruction needs from memory is its operand") {
    const BackendScope x86("x86");
    const auto loop_of = [](const char* what, const std::function<Tensor()>& f) {
        const DebugScope debug(5);
        return innermost_loop(printed([&] { f().realize(); }), what);
    };
    for (const char* cpu : {"native", "avx2"}) {
        const std::string before = std::exchange(config().cpu, cpu);
        const std::int64_t n =
            testing::level_here() == CpuLevel::Avx512 ? 4816 : 4832;  // sizes that nothing else compiles
        const Tensor a = randn({n}).realize(), b = randn({n}).realize(), c = randn({n}).realize();
        const std::string sum = loop_of("vaddps", [&] { return a.sum(); });
        CAPTURE(sum);
        CHECK(count(sum, "vaddps") >= 4);
        CHECK(count(sum, "vmovups") == 0);
        const std::string difference = loop_of("vsubps", [&] { return (a - b) * c; });  // a is no last operand
        config().cpu = before;
        CAPTURE(difference);
        CHECK(count(difference, "vsubps") >= 1);
        CHECK(count(difference, "vmovups") == 2 * count(difference, "vsubps"));  // a and the store
    }
}

TEST_CASE("two vectors of a long computation are mixed") {
    const BackendScope x86("x86");
    const std::string before = std::exchange(config().cpu, "native");
    if (testing::level_here() == CpuLevel::Avx512) {
        const Tensor a = randn({(1 << 18) + 32}).realize();
        std::string listing;
        {
            const DebugScope debug(5);
            listing = printed([&] { (sigmoid(a) * tanh(a)).realize(); });
        }
        const std::string loop = innermost_loop(listing, "vdivps");
        CAPTURE(loop);
        REQUIRE(count(loop, "vdivps") == 2);
        CHECK(loop.rfind("vminps") < loop.find("vdivps"));  // both begin before one ends
    }
    config().cpu = before;
}

TEST_CASE("integers are divided, and floats become integers, without calls") {
    const BackendScope x86("x86");
    const std::string before = std::exchange(config().cpu, "native");
    if (testing::level_here() == CpuLevel::Avx512) {
        const auto listing_of = [](const std::function<Tensor()>& f) {
            const DebugScope debug(5);
            return printed([&] { f().realize(); });
        };
        for (const DType t : {i8, i32, u32, i64}) {
            CAPTURE(t);
            const Tensor a = arange(4813, i64).to(t).realize(), b = (a + 3).realize();
            CHECK(count(listing_of([&] { return a % b; }), "call") == 0);
            CHECK(count(listing_of([&] { return floor_divide(a, b); }), "call") == 0);
        }
        const Tensor at = (rand({4813}) * 10).realize();
        const std::string counted = listing_of([&] { return index_add(zeros({10}), 0, at.to(i64), ones({4813})); });
        CHECK(count(counted, "vcvttss2si") == 1);
    }
    config().cpu = before;
}

TEST_CASE("the bits of three values are one instruction, and so is rotating them") {
    const BackendScope x86("x86");
    const std::string before = std::exchange(config().cpu, "native");
    if (testing::level_here() == CpuLevel::Avx512) {
        const Tensor a = arange(4817, i32).realize(), b = a + 5, c = a * 3;
        const DebugScope debug(5);
        const std::string listing = printed([&] { ((a & b.realize()) ^ c.realize()).realize(); });
        CHECK(count(listing, "vpternlogd") >= 1);
        CHECK(count(listing, "vpandd") == 0);
        const std::string random = printed([&] { rand({4817}).realize(); });
        CHECK(count(random, "vprold zmm") >= 19);  // the bits of 16 numbers are rotated at once
    }
    config().cpu = before;
}

TEST_CASE("lanes that lie near each other are loaded whole and permuted, bytes too") {
    const BackendScope x86("x86");
    for (const DType t : {f32, u8, f64}) {
        CAPTURE(t);
        const Tensor x = arange(4096).to(t).realize();
        const std::string text = printed([&] {
            const DebugScope debug(5);
            (x.slice(0, {0, 4096, 2}) + x.slice(0, {0, 2048}).flip(0)).realize();
        });
        CHECK(count(text, "vperm") > 0);
        CHECK(count(text, "gather") == 0);
    }
}

TEST_CASE("every n-th element under a gate is loaded, and stored, without gathers and scatters") {
    const BackendScope x86("x86");
    const std::string before = std::exchange(config().cpu, "native");
    if (testing::level_here() == CpuLevel::Avx512)
        for (const std::int64_t step : {2, 3, 4}) {
            CAPTURE(step);
            const std::int64_t rows = 480 + step;  // sizes that nothing else compiles
            const Tensor x = randn({rows, 8 * step}).realize(), a = randn({rows, 8}).realize();
            const auto listing_of = [](const std::function<Tensor()>& f) {
                const DebugScope debug(5);
                return printed([&] { f().realize(); });
            };
            const std::string loads = listing_of([&] { return pad(x, {1, 0}).slice(1, {0, 8 * step, step}) + 1; });
            CHECK(count(loads, "pdep") > 0);
            CHECK(count(loads, "gather") == 0);
            std::vector<Tensor> parts;
            for (std::int64_t i = 0; i < step; ++i) parts.push_back(a * static_cast<float>(i + 2));
            const std::string stores = listing_of([&] { return stack(parts, -1); });
            CHECK(count(stores, "vpermd") > 0);
            CHECK(count(stores, "scatter") == 0);
        }
    config().cpu = before;
}

TEST_CASE("no memory is ever writable and executable") {
    const BackendScope x86("x86");
    (rand({3, 5}) + 1).realize();
    std::ifstream maps("/proc/self/maps");
    int executable = 0;
    for (std::string line; std::getline(maps, line);) {
        // Private and of no file: a kernel's code. A shared mapping would be written by the other side of a fork.
        executable += line.find("r-xp") != std::string::npos && line.find('/') == std::string::npos &&
                      line.find('[') == std::string::npos;
        CHECK_MESSAGE(line.find("wx") == std::string::npos, line);
        CHECK_MESSAGE(line.find("r-xs") == std::string::npos, line);
    }
    CHECK(executable > 0);
}

// Run by the next test, in a process that may not make memory executable.
TEST_CASE("without executable memory" * doctest::skip()) {
    CHECK((arange(5).to(f32) * 2).to_vector<float>() == std::vector<float>{0, 2, 4, 6, 8});
    CHECK(matmul(ones({3, 4}), ones({4, 2})).sum().item() == 24);
    CHECK(backend::named(testing::here()).describe(testing::here()).find("interpreter") != std::string::npos);
}

TEST_CASE("where executable memory is refused, Weft says so once and runs on the interpreter") {
    int pipe_ends[2];
    REQUIRE(pipe(pipe_ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        dup2(pipe_ends[1], STDERR_FILENO);
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, STDOUT_FILENO);
        // mprotect(…, PROT_EXEC) fails with EPERM; the loader maps code with mmap.
        sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        const sock_fprog program{std::size(filter), filter};
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(99);
        execl("/proc/self/exe", "weft_test_backend", "--no-skip", "-tc=without executable memory", nullptr);
        _exit(98);
    }
    close(pipe_ends[1]);
    std::string text;
    char buffer[512];
    for (ssize_t n; (n = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(n));
    close(pipe_ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 99) {
        MESSAGE("this system allows no seccomp filter: not tested");
        return;
    }
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(count(text, "refuses executable memory") == 1);
}

}  // namespace weft::test
