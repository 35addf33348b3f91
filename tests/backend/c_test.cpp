// The c backend around its printer: compilers that are missing or fail, the cache on disk, what source() and machine()
// show.
#include "backend/c/compiler.h"
#include "backend/cache.h"
#include "backend/support.h"
#include "support/target.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>

#include <sys/stat.h>

namespace weft::test {
namespace {

namespace fs = std::filesystem;

// Sets an environment variable for as long as it lives.
class Setting {
public:
    Setting(const char* name, const std::string& value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    ~Setting() {
        if (old_) ::setenv(name_, old_->c_str(), 1);
        else ::unsetenv(name_);
    }

private:
    const char* name_;
    std::optional<std::string> old_;
};

struct TemporaryFolder {
    fs::path path;
    TemporaryFolder() {
        std::string name = (fs::temp_directory_path() / "weft-test-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()));
        path = name;
    }
    ~TemporaryFolder() { fs::remove_all(path); }
};

// out[i] = x[i] * by, a kernel that differs with `by`
Nest scaled(float by, const std::string& name = "scaled") {
    Nest n(name);
    const int x = n.input("x", f32, 40), out = n.output("out", f32, 40);
    const NodeRef i = n.k.new_var(40);
    n.k.schedule = {kernel::Chunks{8, 40}};
    n.k.body = {Nest::loop(i, LoopKind::Parallel, {Store{out, i, n.k.mul(n.k.load(x, i), n.k.constant(f32, by))}})};
    return n;
}

void check_scaled(const Nest& n, float by) {
    std::vector<float> x(40), expected(40);
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = (x[i] = static_cast<float>(i) - 7) * by;
    CHECK(run_on("c", n.k, {Memory::of(x), Memory(f32, 40)}).memories[1].values<float>() == expected);
}

std::vector<fs::path> files_in(const fs::path& folder) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
    return files;
}

}  // namespace

TEST_CASE("c: a compiler that is missing or fails raises, and a later compile works again") {
    const TemporaryFolder folder;
    const Setting cache("WEFT_CACHE", (folder.path / "cache").string());
    const Nest n = scaled(1.25f);
    {
        const Setting compiler("WEFT_CC", "/bin/false");
        CHECK_THROWS_WITH_AS(compile_one(backend::c_backend(), n.k),
                             doctest::Contains("/bin/false failed with status 1"), BackendError);
    }
    {
        const Setting compiler("WEFT_CC", "/nowhere/cc");
        CHECK_THROWS_WITH_AS(compile_one(backend::c_backend(), n.k),
                             doctest::Contains("WEFT_CC = \"/nowhere/cc\" is not a program"), BackendError);
        CHECK(backend::c_backend().describe(testing::here()) == "c: no C compiler was found");
    }
    {
        const fs::path script = folder.path / "cc";
        std::ofstream(script) << "#!/bin/sh\necho 'this is what went wrong'\nexit 3\n";
        fs::permissions(script, fs::perms::owner_all);
        const Setting compiler("WEFT_CC", script.string());
        CHECK_THROWS_WITH_AS(compile_one(backend::c_backend(), n.k), doctest::Contains("this is what went wrong"),
                             BackendError);
    }
    {
        const Setting path("PATH", folder.path.string() + "/empty"), compiler("WEFT_CC", ""), other("CC", "");
        CHECK_THROWS_WITH_AS(compile_one(backend::c_backend(), n.k), doctest::Contains("no cc, gcc or clang on PATH"),
                             BackendError);
    }
    check_scaled(n, 1.25f);
    for (const fs::path& file : files_in(folder.path / "cache"))
        CHECK(file.extension() == ".so");  // nothing is left lying about
}

TEST_CASE("c: the cache is private, found again, and damage is mended") {
    const TemporaryFolder folder;
    const fs::path cached = folder.path / "deep" / "cache";
    const Setting cache("WEFT_CACHE", cached.string());
    {
        const Nest n = scaled(2.5f);
        check_scaled(n, 2.5f);
    }
    struct stat info = {};
    REQUIRE(::stat(cached.c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
    REQUIRE(files_in(cached).size() == 1);
    const fs::path file = files_in(cached)[0];
    const auto written = fs::last_write_time(file);
    const auto size = fs::file_size(file);
    {
        const Setting compiler(
            "WEFT_CC", std::getenv("WEFT_CC") ? std::getenv("WEFT_CC") : "cc");  // the same key, no compiler needed
        check_scaled(scaled(2.5f), 2.5f);
    }
    CHECK(files_in(cached).size() == 1);
    for (const auto left : {size / 2, std::uintmax_t(0)}) {  // cut short
        fs::resize_file(file, left);
        check_scaled(scaled(2.5f), 2.5f);
        CHECK(fs::file_size(file) == size);
    }
    {
        std::fstream damage(file, std::ios::in | std::ios::out | std::ios::binary);
        damage.seekp(static_cast<std::streamoff>(size / 2));
        damage << "damage";
    }
    check_scaled(scaled(2.5f), 2.5f);
    CHECK(backend::Cache::instance().intact(file));
    CHECK(fs::last_write_time(file) >= written);
    fs::remove_all(cached);  // deleted under our feet
    check_scaled(scaled(2.75f), 2.75f);
}

TEST_CASE("c: a cache folder that others can write to is refused, and left as it is") {
    const TemporaryFolder folder;
    fs::permissions(folder.path, fs::perms(0755));  // beneath a folder that others cannot enter, nothing is open
    for (const unsigned rights : {0777u, 0720u}) {
        const fs::path open = folder.path / str("open-", rights), inner = open / "inner";
        fs::create_directory(open);
        std::ofstream(open / "theirs") << "planted";
        fs::permissions(open, fs::perms(rights));
        for (const fs::path& chosen : {open, inner}) {  // whoever can write to `open` can replace `inner`
            CAPTURE(chosen);
            const Setting cache("WEFT_CACHE", chosen.string());
            CHECK(backend::Cache::instance().folder() != chosen);
            check_scaled(scaled(3.5f), 3.5f);
        }
        CHECK(fs::status(open).permissions() == fs::perms(rights));
        CHECK(files_in(open).size() == 2);  // "theirs" and "inner"
        CHECK(files_in(inner).empty());
    }
    const fs::path file = folder.path / "file";
    std::ofstream(file) << "no folder";
    const Setting cache("WEFT_CACHE", file.string());
    check_scaled(scaled(3.75f), 3.75f);  // in a temporary folder
}

TEST_CASE("c: a kernel in the cache that others could have written is not run") {
    const TemporaryFolder folder;
    const Setting cache("WEFT_CACHE", folder.path.string());
    const Nest n = scaled(3.25f);
    check_scaled(n, 3.25f);
    REQUIRE(files_in(folder.path).size() == 1);
    const fs::path file = files_in(folder.path)[0];
    CHECK((fs::status(file).permissions() & (fs::perms::group_write | fs::perms::others_write)) == fs::perms::none);
    CHECK(backend::Cache::instance().intact(file));
    fs::permissions(file, fs::perms::all);
    CHECK(!backend::Cache::instance().intact(file));
    fs::permissions(file, fs::perms::owner_all);
    const fs::path link = folder.path / "link.so";
    fs::create_symlink(file, link);
    CHECK(!backend::Cache::instance().intact(link));
}

TEST_CASE("c: the cache is bounded, the oldest go first, and what is not ours stays") {
    const TemporaryFolder folder;
    const Setting cache("WEFT_CACHE", folder.path.string());
    const auto now = fs::file_time_type::clock::now();
    const auto kernel = [&](int i) { return folder.path / (backend::Hash().add(str(i)).hex() + ".so"); };
    const auto write = [&](const fs::path& file, int hours) {
        std::ofstream(file) << hours;
        fs::last_write_time(file, now - std::chrono::hours(hours));
    };
    for (int i = 0; i < 2100; ++i) {
        write(kernel(i), 1 + i);
        write(folder.path / str("thesis-", i, ".so"), 5000);
    }
    const std::vector<fs::path> foreign = {
        "0123456789abcdef.so", "tmp-report.c", "tmp-1.c",
        "tmp-1-2.txt",         "tmp-1-2-3.so", kernel(1).filename().string() + ".bak"};
    for (const fs::path& name : foreign) write(folder.path / name, 5000);
    write(folder.path / "tmp-12-3.so", 25);
    write(folder.path / "tmp-12-4.c", 1);
    check_scaled(scaled(4.5f), 4.5f);
    CHECK(files_in(folder.path).size() <= backend::Cache::kMostFiles + 2100 + foreign.size() + 1);
    CHECK(fs::exists(kernel(0)));
    CHECK(!fs::exists(kernel(2099)));
    for (int i = 0; i < 2100; ++i) REQUIRE(fs::exists(folder.path / str("thesis-", i, ".so")));
    for (const fs::path& name : foreign) CHECK(fs::exists(folder.path / name));
    CHECK(!fs::exists(folder.path / "tmp-12-3.so"));  // left by a process that was killed
    CHECK(fs::exists(folder.path / "tmp-12-4.c"));    // perhaps in use
}

TEST_CASE("c: a kernel whose vectors crash the compiler does without them") {
    const TemporaryFolder folder;
    const Setting cache("WEFT_CACHE", (folder.path / "cache").string());
    const fs::path script = folder.path / "cc";
    std::ofstream(script)
        << "#!/bin/sh\nfor a in \"$@\"; do case \"$a\" in *.c) if grep -q vector_size \"$a\"; then\n"
           "echo 'internal compiler error: in convert_mode'; exit 1; fi;; esac; done\nexec cc \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
    const Setting compiler("WEFT_CC", script.string());
    Nest n("crash");
    const int x = n.input("x", f32, 16), out = n.output("out", f32, 16);
    const NodeRef q = n.k.new_var(2), l = n.k.new_var(16), zero = n.at(0);
    const int own = n.local("own", f32, 1, Buffer::MemoryType::Register, 1);
    const NodeRef sum =
        n.k.add(n.k.load(x, l), n.k.where(n.k.binary(Op::CmpEq, q, zero), n.k.constant(f32, 0), n.k.load(own, zero)));
    n.k.body = {
        Nest::loop(q, LoopKind::Serial,
                   {Nest::loop(l, LoopKind::Vector, {Store{own, zero, sum}, Store{out, l, n.k.load(own, zero)}})})};
    const Nest other = scaled(8.5f);
    const Kernel* const kernels[] = {&other.k, &n.k};
    const auto programs = backend::c_backend().compile(kernels, testing::target_for("c"));
    CHECK(programs[1]->source().find("vector_size") == std::string::npos);
    std::vector<float> values, expected;
    for (int i = 0; i < 16; ++i) {
        values.push_back(static_cast<float>(i) / 4);
        expected.push_back(2 * values.back());
    }
    const Result result = run_program(*programs[1], n.k, {Memory::of(values), Memory(f32, 16)});
    CHECK(result.memories[1].values<float>() == expected);
    check_scaled(other, 8.5f);
}

TEST_CASE("c: many kernels are compiled by one start of the compiler, equal ones once") {
    const TemporaryFolder folder;
    const Setting cache("WEFT_CACHE", (folder.path / "cache").string());
    const fs::path script = folder.path / "cc", log = folder.path / "log";
    std::ofstream(script) << "#!/bin/sh\necho start >> " << log.string() << "\nexec cc \"$@\"\n";
    fs::permissions(script, fs::perms::owner_all);
    const Setting compiler("WEFT_CC", script.string());
    std::vector<Nest> nests;
    for (const float by : {5.f, 6.f, 7.f, 6.f}) nests.push_back(scaled(by));
    std::vector<const Kernel*> kernels;
    for (const Nest& n : nests) kernels.push_back(&n.k);
    const auto programs = backend::c_backend().compile(kernels, testing::target_for("c"));
    CHECK(programs.size() == 4);
    CHECK(programs[1] == programs[3]);
    const auto again = backend::c_backend().compile(kernels, testing::target_for("c"));
    CHECK(again == programs);
    CHECK(files_in(folder.path / "cache").size() == 3);
    CHECK(fs::file_size(log) == std::string_view("start\n").size());
}

TEST_CASE("c: source and machine code can be looked at") {
    const Nest n = scaled(0.1f, "a name */ with\nanything \\ in it");
    const auto program = compile_one(backend::c_backend(), n.k);
    const std::string source = program->source();
    for (const std::string& decision : kernel::describe(n.k)) CHECK(source.find(decision) != std::string::npos);
    CHECK(source.find("out[k0] = x[k0] * 0.1f;") != std::string::npos);
    check_scaled(n, 0.1f);
    if (!backend::c::find_on_path("objdump").empty()) CHECK(program->machine().find("mul") != std::string::npos);
    CHECK(backend::c_backend().describe(testing::here()).find("-ffp-contract=off") != std::string::npos);
}

TEST_CASE("c: awkward buffer names become identifiers") {
    Nest n("names");
    std::vector<Memory> memories;
    Body body;
    const NodeRef i = n.k.new_var(3);
    NodeRef sum = n.k.constant(f32, 0);
    for (const char* name : {"x", "x", "for", "i0", "t0", "", "1st", "a b", "ä", "all_f32x16", "check", "x_b1"}) {
        const int b = n.input(name, f32, 3);
        memories.push_back(Memory::of<float>({1, 2, 3}));
        sum = n.k.add(sum, n.k.load(b, i));
    }
    const int out = n.output("out", f32, 3);
    memories.emplace_back(f32, 3);
    n.k.body = {Nest::loop(i, LoopKind::Vector, {Store{out, i, sum}})};
    CHECK(run_on("c", n.k, memories).memories.back().values<float>() == std::vector<float>{12, 24, 36});
}

TEST_CASE("c: programs outlive the kernel, and threads may compile and run at the same time") {
    std::vector<std::thread> threads;
    std::atomic<int> right = 0;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&right, t] {
            std::shared_ptr<const backend::Program> program;
            {
                const Nest n = scaled(static_cast<float>(10 + t % 2));
                const Kernel* const one[] = {&n.k};
                program = backend::c_backend().compile(one, testing::target_for("c"))[0];
            }
            std::vector<float> x(40, 2), out(40);
            void* pointers[] = {x.data(), out.data()};
            for (int repeat = 0; repeat < 100; ++repeat)
                static_cast<const backend::HostProgram&>(*program).run(pointers, nullptr, 0, 40, nullptr, nullptr);
            if (out == std::vector<float>(40, static_cast<float>(2 * (10 + t % 2)))) ++right;
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(right == 4);
}

}  // namespace weft::test
