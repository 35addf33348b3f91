// backend/c/compiler.cpp: child processes: the C compiler and objdump.
#include "backend/c/compiler.h"

#include "core/str.h"

#include <weft/error.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace weft::backend::c {
namespace {

std::vector<std::string> words_of(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::vector<std::string> words;
    for (std::string word; in >> word;) words.push_back(std::move(word));
    return words;
}

bool is_program(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string identity_of(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) return path;
    return str(path, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec, " ", info.st_ino);
}

Compiler as_compiler(std::vector<std::string> command, std::string_view asked_by, CpuLevel level) {
    const std::string path = find_on_path(command[0]);
    if (path.empty())
        throw BackendError(str("the c backend needs a C compiler, but ", asked_by, " = \"", command[0],
                               "\" is not a program that can be run; correct or unset ", asked_by,
                               ", or choose another backend with WEFT_BACKEND=ref"));
    command[0] = path;
    Compiler result{std::move(command), {}, compile_flags(level)};
    for (const std::string& word : result.command) {  // "ccache gcc": both count
        const std::string program = find_on_path(word);
        result.identity += (program.empty() ? word : identity_of(program)) + "\n";
    }
    return result;
}

std::string first_lines(const std::string& text, int count) {
    std::size_t end = 0;
    while (count-- > 0 && end != std::string::npos) end = text.find('\n', end + 1);
    return end == std::string::npos ? text : text.substr(0, end) + "\n…";
}

class FileDescriptor {
public:
    explicit FileDescriptor(int fd) : fd_(fd) {}
    FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&&) = delete;
    ~FileDescriptor() { close(); }
    int get() const { return fd_; }
    void close() {
        if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }

private:
    int fd_;
};

std::string read_all(int fd) {
    std::string text;
    char block[4096];
    for (;;) {
        const ssize_t got = ::read(fd, block, sizeof block);
        if (got > 0) text.append(block, static_cast<std::size_t>(got));
        else if (got == 0 || errno != EINTR) return text;
    }
}

int wait_for(pid_t child) {
    int status = 0;
    for (;;) {
        if (::waitpid(child, &status, 0) == child) break;
        if (errno != EINTR) return 0;  // somebody else collects children: what the compiler left behind will tell
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

std::string find_on_path(std::string_view program) {
    if (program.find('/') != std::string_view::npos)
        return is_program(std::string(program)) ? std::string(program) : "";
    const char* path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        std::string candidate = str(folder.empty() ? "." : folder, "/", program);
        if (is_program(candidate)) return candidate;
    }
    return {};
}

Compiler find_compiler(CpuLevel level) {
    for (const char* name : {"WEFT_CC", "CC"})
        if (const char* value = std::getenv(name))
            if (std::vector<std::string> words = words_of(value); !words.empty())
                return as_compiler(std::move(words), name, level);
    for (const char* name : {"cc", "gcc", "clang"})
        if (!find_on_path(name).empty()) return as_compiler({name}, "PATH", level);
    throw BackendError(
        "the c backend needs a C compiler, and there is no cc, gcc or clang on PATH; install one, name one in "
        "WEFT_CC, or choose another backend with WEFT_BACKEND=ref");
}

namespace {

std::vector<std::string> level_flags(CpuLevel level) {
    const bool native = level == machine_level();
    if (level == CpuLevel::Avx512) return {"-march=native", "-mprefer-vector-width=512"};  // lanes in one piece
    if (level == CpuLevel::Avx2) return {native ? "-march=native" : "-march=x86-64-v3"};
    return {native ? "-march=native" : "-march=x86-64-v2"};
}

}  // namespace

std::vector<std::string> compile_flags(CpuLevel level) {
    std::vector<std::string> flags = {
        "-std=gnu11",
        "-O2",
        "-shared",
        "-fPIC",
        "-w",
        "-Wno-psabi",
        "-ffp-contract=off",     // a*b + c is two roundings unless it says fma
        "-fno-strict-overflow",  // integers and pointers wrap
        "-fno-strict-aliasing",
        "-fno-math-errno",
        "-fno-trapping-math",
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
    };
    for (std::string& flag : level_flags(level)) flags.push_back(std::move(flag));
    return flags;
}

void compile_file(const Compiler& compiler, const std::filesystem::path& source, const std::filesystem::path& object) {
    std::vector<std::string> command = compiler.command;
    command.insert(command.end(), compiler.flags.begin(), compiler.flags.end());
    command.insert(command.end(), {source.string(), "-o", object.string(), "-lm"});
    const Outcome outcome = run_command(command);
    const std::string& program = compiler.command[0];
    if (!outcome.started)
        throw BackendError(str("the c backend could not start the compiler ", program, ": ", outcome.output,
                               "; name another one in WEFT_CC, or choose another backend with WEFT_BACKEND=ref"));
    if (outcome.status == 0 && ::access(object.c_str(), R_OK) == 0) return;
    const std::string message =
        str("the C compiler ", program, " failed with status ", outcome.status,
            "; name another one in WEFT_CC, or choose another backend with WEFT_BACKEND=ref. It said:\n",
            outcome.output.empty() ? "(nothing)" : first_lines(outcome.output, 12));
    for (const char* sign : {"internal compiler error", "submit a bug report", "submit a full bug report"})
        if (outcome.output.find(sign) != std::string::npos) throw CompilerCrash(message);
    throw BackendError(message);
}

Outcome run_command(const std::vector<std::string>& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return {false, 0, std::strerror(errno)};
    FileDescriptor reader(ends[0]), writer(ends[1]);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), 1);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), 2);
    posix_spawnattr_t attributes;  // the child starts with no signal blocked or ignored, whatever this thread does
    posix_spawnattr_init(&attributes);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, command[0].c_str(), &actions, &attributes, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    writer.close();
    if (error != 0) return {false, 0, std::strerror(error)};
    Outcome outcome{true, 0, read_all(reader.get())};
    outcome.status = wait_for(child);
    return outcome;
}

const std::string& processor_name() {
    static const std::string text = [] {
        std::ifstream file("/proc/cpuinfo");
        std::string result;
        for (std::string line; std::getline(file, line) && !line.empty();)  // the first core
            for (const char* key : {"vendor_id", "cpu family", "model", "stepping", "flags", "Features", "CPU "})
                if (line.starts_with(key)) result += line + "\n";
        return result;
    }();
    return text;
}

}  // namespace weft::backend::c
