// data/download.cpp: source (a file, or curl's output) -> hash and temporary file -> rename. So a reader of the cache
// folder never sees half a file, and two processes may download the same one.
#include "data/download.h"

#include "data/sha256.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace weft::data {
namespace {

namespace fs = std::filesystem;

std::string reason(int error = errno) { return std::generic_category().message(error); }

// An open file, closed at the end of its scope.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }

private:
    int number_;
};

// A file with a name of its own in the folder of its later name. It vanishes unless move_to() is reached.
class TemporaryFile {
public:
    explicit TemporaryFile(const fs::path& beside) {
        std::string name = beside.parent_path() / ("." + beside.filename().string() + ".XXXXXX");
        descriptor_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
        if (descriptor_.number() < 0) throw IoError(beside.string() + ": cannot be written: " + reason());
        path_ = name;
    }
    ~TemporaryFile() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove(path_, ignored);
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;

    void write(std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const ssize_t written = ::write(descriptor_.number(), bytes.data(), bytes.size());
            if (written < 0 && errno != EINTR) throw IoError(path_.string() + ": cannot be written: " + reason());
            if (written > 0) bytes = bytes.subspan(static_cast<std::size_t>(written));
        }
    }
    // The bytes reach the disk before the name does, or a power cut could leave the name without them.
    void move_to(const fs::path& target) {
        constexpr mode_t kReadableByAll = 0644;  // mkostemp gives 0600, and a cache may be shared
        if (::fchmod(descriptor_.number(), kReadableByAll) != 0 || ::fsync(descriptor_.number()) != 0 ||
            ::rename(path_.c_str(), target.c_str()) != 0)
            throw IoError(target.string() + ": cannot be written: " + reason());
        path_.clear();
        const Descriptor folder(::open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder.number() >= 0) ::fsync(folder.number());  // best effort: not all file systems can
    }

private:
    fs::path path_;
    Descriptor descriptor_;
};

// A program whose output we read. It does not outlive this object.
class Program {
public:
    // Starts arguments[0], searched in PATH, without a shell. started() is false if there is no such program.
    explicit Program(std::vector<std::string> arguments);
    ~Program() {
        if (id_ <= 0) return;
        ::kill(id_, SIGTERM);
        wait();
    }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    bool started() const { return id_ > 0; }
    int output() const { return output_.number(); }
    bool wait() {  // for its end; whether it succeeded
        int status = 0;
        while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) {}
        id_ = -1;
        return WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    std::string messages();  // what it wrote to its error stream

private:
    pid_t id_ = -1;
    Descriptor output_;
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> messages_{std::tmpfile(), std::fclose};
};

Program::Program(std::vector<std::string> arguments) {
    int ends[2];
    if (!messages_ || ::pipe2(ends, O_CLOEXEC) != 0) throw IoError("cannot start " + arguments[0] + ": " + reason());
    output_ = Descriptor(ends[0]);
    const Descriptor write_end(ends[1]);

    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, write_end.number(), 1);
    ::posix_spawn_file_actions_adddup2(&actions, ::fileno(messages_.get()), 2);
    const int error = ::posix_spawnp(&id_, pointers[0], &actions, nullptr, pointers.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    if (error != 0) id_ = -1;
    if (error != 0 && error != ENOENT) throw IoError("cannot start " + arguments[0] + ": " + reason(error));
}

std::string Program::messages() {
    std::array<char, 1000> text;
    std::rewind(messages_.get());
    std::string message(text.data(), std::fread(text.data(), 1, text.size(), messages_.get()));
    while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
    return message;
}

std::uint64_t longest(const KnownFile& file) {
    std::uint64_t size = 0;
    for (const Packing& packing : file.packings) size = std::max(size, packing.size);
    return size;
}

void check_sum(const std::string& found, std::uint64_t size, const std::string& url, const KnownFile& file) {
    std::string known;
    for (const Packing& packing : file.packings) {
        if (packing.sha256 == found) return;
        known += (known.empty() ? "" : " or ") + std::to_string(packing.size) + " with " + packing.sha256;
    }
    throw IoError(url + ": discarded: wrong checksum: it has " + std::to_string(size) + " bytes with SHA-256 " + found +
                  ", " + file.name + " has " + known);
}

// Copies all of `source` to the temporary file, and compares its checksum. `wait` runs when the source has ended, and
// throws if it was not whole.
template <class Wait>
void receive(int source, const std::string& url, const KnownFile& file, TemporaryFile& temporary, Wait wait) {
    std::vector<std::byte> buffer(1 << 16);
    Sha256 hash;
    std::uint64_t received = 0;
    const std::uint64_t limit = longest(file);
    for (;;) {
        const ssize_t count = ::read(source, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) throw IoError(url + ": cannot be read: " + reason());
        if (count == 0) break;
        const auto piece = std::span(buffer).first(static_cast<std::size_t>(count));
        received += piece.size();
        if (received > limit)
            throw IoError(url + ": discarded: longer than " + file.name + ", which has " + std::to_string(limit) +
                          " bytes");
        hash.add(piece);
        temporary.write(piece);
    }
    wait();
    check_sum(to_hex(hash.finish()), received, url, file);
}

// The path in a file:// address: its host part must be empty or localhost, and %20 is a space.
fs::path path_of(const std::string& url) {
    std::string rest = url.substr(std::string_view("file://").size());
    if (rest.starts_with("localhost/")) rest = rest.substr(std::string_view("localhost").size());
    if (!rest.starts_with('/')) throw ValueError(url + ": a file address needs an absolute path: file:///folder");
    std::string path;
    for (std::size_t i = 0; i < rest.size(); ++i) {
        unsigned code = 0;
        if (rest[i] == '%' && i + 2 < rest.size() &&
            std::from_chars(&rest[i + 1], &rest[i + 3], code, 16).ptr == &rest[i + 3]) {
            path += static_cast<char>(code);
            i += 2;
        } else {
            path += rest[i];
        }
    }
    return path;
}

void copy_local(const std::string& url, const KnownFile& file, TemporaryFile& temporary) {
    const Descriptor source(::open(path_of(url).c_str(), O_RDONLY | O_CLOEXEC));
    if (source.number() < 0) throw IoError(url + ": cannot be opened: " + reason());
    receive(source.number(), url, file, temporary, [] {});
}

void copy_from_web(const std::string& url, const KnownFile& file, TemporaryFile& temporary) {
    // Redirections stay on the web, and a connection that hangs for a minute is given up.
    const std::vector<std::vector<std::string>> programs = {
        {"curl", "--silent", "--show-error", "--fail", "--location", "--globoff", "--proto", "=http,https",
         "--connect-timeout", "30", "--speed-limit", "1", "--speed-time", "60", "--url", url},
        {"wget", "--no-verbose", "--tries=2", "--timeout=60", "--output-document=-", "--", url}};
    for (const auto& arguments : programs) {
        Program program(arguments);
        if (!program.started()) continue;
        receive(program.output(), url, file, temporary, [&] {
            if (!program.wait()) throw IoError(url + ": download failed: " + program.messages());
        });
        return;
    }
    throw IoError(url + ": cannot be downloaded: neither curl nor wget is installed");
}

}  // namespace

fs::path download(const std::string& url, const KnownFile& file, const fs::path& folder) {
    const bool local = url.starts_with("file://");
    if (!local && !url.starts_with("http://") && !url.starts_with("https://"))
        throw ValueError(url + ": an address to download from starts with https://, http:// or file://");
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw IoError(folder.string() + ": this cache folder cannot be made: " + error.message());

    const fs::path target = folder / file.name;
    TemporaryFile temporary(target);
    if (local) copy_local(url, file, temporary);
    else copy_from_web(url, file, temporary);
    temporary.move_to(target);
    return target;
}

}  // namespace weft::data
