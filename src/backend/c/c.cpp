// backend/c/c.cpp: the backend that prints kernels as C, has them compiled into shared objects, and loads those.
// Compiled kernels are kept on disk by the hash of their source, the compiler, its flags and the processor.
#include "backend/backend.h"
#include "backend/c/compiler.h"
#include "backend/c/printer.h"
#include "backend/cache.h"
#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <system_error>
#include <unordered_map>

#include <dlfcn.h>

namespace weft::backend {
namespace {

using namespace c;
namespace fs = std::filesystem;

using Function = void (*)(void* const*, const Word*, std::int64_t, std::int64_t, std::byte*, CheckRecord*);

// A loaded shared object; programs share it.
class Library {
public:
    explicit Library(const fs::path& file) : handle_(::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {}
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library() {
        if (handle_) ::dlclose(handle_);
    }
    Function function(const std::string& name) const {
        return handle_ ? reinterpret_cast<Function>(::dlsym(handle_, name.c_str())) : nullptr;
    }

private:
    void* handle_;
};

class CProgram final : public HostProgram {
public:
    CProgram(std::shared_ptr<const Library> library, Function function, std::string symbol, std::string source,
             fs::path file)
        : library_(std::move(library)),
          function_(function),
          symbol_(std::move(symbol)),
          source_(std::move(source)),
          file_(std::move(file)) {}

    void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end, std::byte* scratch,
             CheckRecord* check) const override {
        function_(buffers, scalars, begin, end, scratch, check);
    }
    std::string source() const override { return source_; }
    std::string machine() const override {
        const std::string objdump = find_on_path("objdump");
        if (objdump.empty()) return {};
        const Outcome outcome =
            run_command({objdump, "-d", "--no-show-raw-insn", "--disassemble=" + symbol_, file_.string()});
        return outcome.started && outcome.status == 0 ? outcome.output : "";
    }

private:
    std::shared_ptr<const Library> library_;
    Function function_;
    std::string symbol_, source_;
    fs::path file_;
};

// A kernel on its way through compile().
struct Job {
    const kernel::Kernel* kernel = nullptr;
    Printed printed;
    std::string key, symbol;
    std::shared_ptr<const Program> program;
};

std::string symbol_of(const std::string& name, const std::string& key) {
    std::string symbol;
    for (const char c : name.substr(0, 40)) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return str("weft_", symbol, "_", key);
}

std::string text_of(const std::vector<Piece>& pieces) {
    std::string text;
    for (const Piece& piece : pieces) text += piece.text;
    return text;
}

std::string function_of(const Job& job) { return str(job.printed.comment, "void ", job.symbol, job.printed.function); }

std::string source_of(const Job& job) {
    return str(kScalarTypes, text_of(job.printed.helpers), "\n", function_of(job));
}

class CBackend final : public Backend {
public:
    std::string_view name() const override { return "c"; }
    bool starts_compiler() const override { return true; }
    bool usable(CpuLevel) const override { return true; }
    std::string describe(const Target& target) const override;
    std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                        const Target& target, Detail detail) override;

private:
    std::shared_ptr<const Program> load(const Job& job, const fs::path& file);
    void build(const Compiler& compiler, std::span<Job* const> jobs, int threads);
    void build_part(const Compiler& compiler, std::span<Job* const> jobs);
    void build_file(const Compiler& compiler, std::span<Job* const> jobs);
    std::shared_ptr<const Program> remembered(const std::string& key);
    void remember(const Job& job);

    std::mutex mutex_;
    std::unordered_map<std::string, std::weak_ptr<const Program>> programs_;  // alive in this process, by key
};

std::string CBackend::describe(const Target& target) const {
    const std::lock_guard lock(ir::graph_lock());  // as compile() is called with it: a fork waits for both
    std::string text = "c: ";
    try {
        for (const std::string& word : find_compiler(target.level).command) text += word + " ";
    } catch (const BackendError&) {
        return "c: no C compiler was found";
    }
    for (const std::string& flag : compile_flags(target.level)) text += flag + " ";
    return str(text, "in ", Cache::instance().folder().string());
}

std::shared_ptr<const Program> CBackend::remembered(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = programs_.find(key);
    return found == programs_.end() ? nullptr : found->second.lock();
}

void CBackend::remember(const Job& job) {
    const std::lock_guard lock(mutex_);
    if (programs_.size() > 4096) std::erase_if(programs_, [](const auto& entry) { return entry.second.expired(); });
    programs_[job.key] = job.program;
}

// The program in a file, or nothing if the file is missing, damaged or not what it should be.
std::shared_ptr<const Program> CBackend::load(const Job& job, const fs::path& file) {
    if (!Cache::instance().intact(file)) return nullptr;
    auto library = std::make_shared<const Library>(file);
    const Function function = library->function(job.symbol);
    if (!function) return nullptr;
    return std::make_shared<const CProgram>(std::move(library), function, job.symbol, source_of(job), file);
}

// One file pays for one start of the compiler; only what takes long to compile is cut into files, for the other threads.
void CBackend::build(const Compiler& compiler, std::span<Job* const> jobs, int threads) {
    constexpr std::size_t kFileBytes = 48 * 1024;
    std::size_t bytes = 0;
    for (const Job* job : jobs) bytes += job->printed.function.size();
    const auto compilers = static_cast<std::size_t>(std::clamp(threads, 1, 8));
    const std::size_t files = std::min({compilers, jobs.size(), 1 + bytes / kFileBytes});

    std::vector<std::vector<Job*>> parts(files);
    std::vector<std::size_t> sizes(files);
    for (Job* job : jobs) {  // to the file that is shortest so far
        const auto file = static_cast<std::size_t>(std::min_element(sizes.begin(), sizes.end()) - sizes.begin());
        parts[file].push_back(job);
        sizes[file] += job->printed.function.size();
    }
    std::vector<std::future<void>> others;
    for (std::size_t f = 1; f < files; ++f)
        others.push_back(std::async(std::launch::async, [&, f] { build_part(compiler, parts[f]); }));
    build_part(compiler, parts[0]);
    for (std::future<void>& other : others) other.get();
    Cache::instance().trim();
}

// Vectors that are wider than registers have crashed compilers: find the kernel that does it, and let it do without.
void CBackend::build_part(const Compiler& compiler, std::span<Job* const> jobs) {
    try {
        build_file(compiler, jobs);
    } catch (const CompilerCrash&) {
        if (jobs.size() > 1) {
            for (Job* const& job : jobs) build_part(compiler, std::span(&job, 1));
            return;
        }
        {
            static std::mutex printing;  // kernels may share an interner
            const std::lock_guard lock(printing);
            Printed scalars = Printer(*jobs[0]->kernel, 0).run();
            if (scalars.function == jobs[0]->printed.function) throw;
            jobs[0]->printed = std::move(scalars);
        }
        build_file(compiler, jobs);
    }
}

// Compiles jobs as one file. Each kernel gets a name (a hard link) of its own in the cache.
void CBackend::build_file(const Compiler& compiler, std::span<Job* const> jobs) {
    Cache& cache = Cache::instance();
    const fs::path source = cache.temporary(".c"), object = cache.temporary(".so");
    struct Cleaner {
        std::vector<fs::path> files;
        ~Cleaner() {
            std::error_code error;
            for (const fs::path& file : files) fs::remove(file, error);
        }
    } cleaner{{source, object}};

    std::string helpers, functions;
    std::set<std::string> seen;
    for (const Job* job : jobs) {
        for (const Piece& piece : job->printed.helpers)
            if (seen.insert(piece.name).second) helpers += piece.text;
        functions += "\n" + function_of(*job);
    }
    std::ofstream out(source, std::ios::binary);
    out << kScalarTypes << helpers << functions;
    out.close();
    if (!out) throw BackendError(str("the c backend cannot write ", source.string(), "; is the disk full?"));
    compile_file(compiler, source, object);
    cache.seal(object);
    for (Job* job : jobs) {
        const fs::path target = cache.path_of(job->key, ".so"), link = cache.temporary(".so");
        std::error_code error;
        fs::create_hard_link(object, link, error);
        if (error) fs::copy_file(object, link, error);  // a file system without links
        if (!error) fs::rename(link, target, error);
        job->program = load(*job, error ? object : target);
        if (!job->program) throw BackendError(str("the c backend cannot load what it compiled: ", target.string()));
        remember(*job);
    }
}

std::vector<std::shared_ptr<const Program>> CBackend::compile(std::span<const kernel::Kernel* const> kernels,
                                                              const Target& target, Detail) {
    const Compiler compiler = find_compiler(target.level);
    Hash base;
    base.add(compiler.identity).add(processor_name()).add(kScalarTypes);
    for (const std::string& flag : compiler.flags) base.add(flag);

    std::vector<Job> jobs;
    std::unordered_map<std::string, Job*> missing;  // by key: equal kernels are compiled once
    std::vector<Job*> to_build;
    jobs.reserve(kernels.size());
    for (const kernel::Kernel* kernel : kernels) {
        Job& job = jobs.emplace_back(Job{kernel, Printer(*kernel, target.register_bytes).run(), {}, {}, nullptr});
        job.key = Hash(base).add(text_of(job.printed.helpers)).add(job.printed.comment).add(job.printed.function).hex();
        job.symbol = symbol_of(kernel->name, job.key);
        job.program = remembered(job.key);
        if (!job.program) job.program = load(job, Cache::instance().path_of(job.key, ".so"));
        if (job.program) remember(job);
        else if (missing.emplace(job.key, &job).second) to_build.push_back(&job);
    }
    if (!to_build.empty()) build(compiler, to_build, target.threads);

    std::vector<std::shared_ptr<const Program>> programs;
    for (const Job& job : jobs) programs.push_back(job.program ? job.program : missing.at(job.key)->program);
    return programs;
}

}  // namespace

Backend& c_backend() {
    static CBackend backend;
    return backend;
}

}  // namespace weft::backend
