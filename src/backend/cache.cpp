// backend/cache.cpp: the folder of compiled kernels.
#include "backend/cache.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

namespace weft::backend {

namespace fs = std::filesystem;

void Hash::add_byte(std::uint8_t byte) {
    constexpr unsigned __int128 kPrime = (static_cast<unsigned __int128>(1) << 88) + 0x13b;
    state_ = (state_ ^ byte) * kPrime;
}

Hash& Hash::add(std::string_view text) {
    for (std::size_t size = text.size(), i = 0; i < 8; ++i, size >>= 8) add_byte(static_cast<std::uint8_t>(size));
    for (const char c : text) add_byte(static_cast<std::uint8_t>(c));
    return *this;
}

std::string Hash::hex() const {
    std::string text;
    for (int shift = 124; shift >= 0; shift -= 4) text += "0123456789abcdef"[static_cast<int>(state_ >> shift) & 15];
    return text;
}

namespace {

constexpr std::string_view kSeal = "weft-kernels:";  // then 32 digits

constexpr mode_t kWrittenByOthers = S_IWGRP | S_IWOTH;

// Whoever may rename a folder above ours can put another one in its place. What is written by all and sticky, as /tmp, is safe; so is
// everything beneath a folder of ours that others cannot enter.
std::string objection_above(const fs::path& folder) {
    fs::path above;
    for (const fs::path& name : fs::canonical(folder).parent_path()) {
        above /= name;
        struct stat info = {};
        if (::stat(above.c_str(), &info) != 0) return str("cannot look at ", above.string());
        if (info.st_uid != 0 && info.st_uid != ::geteuid()) return str(above.string(), " belongs to someone else");
        if ((info.st_mode & kWrittenByOthers) != 0 && (info.st_mode & S_ISVTX) == 0)
            return str("others can write to ", above.string());
        if (info.st_uid == ::geteuid() && (info.st_mode & (S_IXGRP | S_IXOTH)) == 0) return {};
    }
    return {};
}

// Makes the folder if need be. Why it cannot be trusted or used, or nothing: what lies in it is run. Its rights are its owner's affair.
std::string objection(const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder.parent_path(), error);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return std::strerror(errno);
    struct stat info = {};
    if (::lstat(folder.c_str(), &info) != 0) return std::strerror(errno);
    if (!S_ISDIR(info.st_mode)) return "it is not a folder";
    if (info.st_uid != ::geteuid()) return "it belongs to someone else";
    if ((info.st_mode & kWrittenByOthers) != 0) return "others can write to it";
    if (::access(folder.c_str(), R_OK | W_OK | X_OK) != 0) return std::strerror(errno);
    return objection_above(folder);
}

std::optional<std::string> environment(const char* name) {
    const char* value = std::getenv(name);
    if (!value || !*value) return {};
    return value;
}

// A folder for this process alone, removed when it ends.
const fs::path& private_folder() {
    struct Folder {
        fs::path path;
        Folder() {
            std::string name = (fs::temp_directory_path() / "weft-XXXXXX").string();
            if (!::mkdtemp(name.data()))
                throw BackendError(str("there is no folder for compiled kernels: ", name, ": ", std::strerror(errno),
                                       "; set WEFT_CACHE to a folder that you own"));
            path = name;
        }
        ~Folder() {
            std::error_code error;
            fs::remove_all(path, error);
        }
    };
    static const Folder folder;
    return folder.path;
}

fs::path choose_folder() {
    if (const auto chosen = environment("WEFT_CACHE")) {
        const fs::path folder = fs::absolute(*chosen);
        const std::string why = objection(folder);
        if (why.empty()) return folder;
        std::cerr << "weft: WEFT_CACHE=" << *chosen << " is not used for compiled kernels: " << why
                  << ". Name a folder that is yours and that only you can write to.\n";
        return private_folder();
    }
    if (const auto caches = environment("XDG_CACHE_HOME"); caches && objection(fs::path(*caches) / "weft").empty())
        return fs::path(*caches) / "weft";
    if (const auto home = environment("HOME"); home && objection(fs::path(*home) / ".cache" / "weft").empty())
        return fs::path(*home) / ".cache" / "weft";
    return private_folder();
}

// Whether a name is one that path_of() or temporary() gives: whatever else is in the folder belongs to someone else.
bool is_kernel(const std::string& name) {
    return name.find_first_not_of("0123456789abcdef") == 32 &&
           (name.substr(32) == ".so" || name.substr(32) == ".cubin");
}

bool is_temporary(const std::string& name) {
    if (!name.starts_with("tmp-") || !(name.ends_with(".so") || name.ends_with(".c") || name.ends_with(".cubin")))
        return false;
    const std::string_view numbers = std::string_view(name).substr(4, name.rfind('.') - 4);
    return std::count(numbers.begin(), numbers.end(), '-') == 1 &&
           numbers.find_first_not_of("0123456789-") == std::string_view::npos;
}

// Changes whenever the file's bytes do.
std::string identity_of(const fs::path& file) {
    struct stat info = {};
    if (::stat(file.c_str(), &info) != 0) return "absent";
    return str(info.st_dev, " ", info.st_ino, " ", info.st_size, " ", info.st_mtim.tv_sec, ".", info.st_mtim.tv_nsec);
}

std::string read_file(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    std::ostringstream text;
    text << in.rdbuf();
    return std::move(text).str();
}

// A file that nobody else may have put there.
bool is_ours(const fs::path& file) {
    struct stat info = {};
    return ::lstat(file.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
           (info.st_mode & kWrittenByOthers) == 0;
}

// What was sealed; nothing, if the seal does not fit.
std::optional<std::string_view> body_of(std::string_view bytes) {
    const std::size_t tail = kSeal.size() + 32;
    if (bytes.size() < tail) return {};
    const std::string_view body = bytes.substr(0, bytes.size() - tail);
    if (bytes.substr(body.size()) != str(kSeal, Hash().add(body).hex())) return {};
    return body;
}

}  // namespace

Cache& Cache::instance() {
    static Cache cache;
    return cache;
}

const fs::path& Cache::folder() {
    // By what the environment says now: tests change it. Checked once for each setting.
    static std::mutex mutex;
    static std::map<std::string, fs::path> chosen;
    std::string key;
    for (const char* name : {"WEFT_CACHE", "XDG_CACHE_HOME", "HOME"}) key += environment(name).value_or("") + "\n";
    const std::lock_guard lock(mutex);
    auto found = chosen.find(key);
    if (found != chosen.end() && !fs::exists(found->second)) {  // deleted under our feet
        chosen.erase(found);
        found = chosen.end();
    }
    if (found == chosen.end()) found = chosen.emplace(key, choose_folder()).first;
    return found->second;
}

fs::path Cache::temporary(std::string_view suffix) {
    static std::atomic<unsigned> count = 0;
    return folder() / str("tmp-", ::getpid(), "-", count++, suffix);
}

bool Cache::intact(const fs::path& file) {
    if (!is_ours(file)) return false;
    {
        const std::lock_guard lock(mutex_);
        if (verified_.contains(identity_of(file))) return true;
    }
    if (!body_of(read_file(file))) return false;
    std::error_code error;
    fs::last_write_time(file, fs::file_time_type::clock::now(), error);  // trim() takes what was not used for longest
    const std::lock_guard lock(mutex_);
    if (verified_.size() > kMostFiles) verified_.clear();
    verified_.insert(identity_of(file));
    return true;
}

void Cache::seal(const fs::path& file) const {
    const std::string seal = str(kSeal, Hash().add(read_file(file)).hex());
    std::ofstream out(file, std::ios::binary | std::ios::app);
    out << seal;
    if (!out.flush() || ::chmod(file.c_str(), 0700) != 0)
        throw BackendError(str("cannot write ", file.string(), "; is the disk full?"));
}

std::string Cache::read(const fs::path& file) {
    if (!is_ours(file)) return {};
    const std::string bytes = read_file(file);  // once: another process may replace or delete it at any time
    const auto body = body_of(bytes);
    if (!body) return {};
    std::error_code error;
    fs::last_write_time(file, fs::file_time_type::clock::now(), error);
    return std::string(*body);
}

void Cache::write(const fs::path& file, std::string_view bytes) noexcept {
    try {
        const fs::path made = temporary(file.extension().string());
        {
            std::ofstream out(made, std::ios::binary);
            out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        }
        seal(made);
        fs::rename(made, file);
        static std::atomic<unsigned> written = 0;
        if (written++ % 64 == 0) trim();
    } catch (const std::exception&) {}
}

void Cache::trim() {
    std::error_code error;
    std::vector<std::pair<fs::file_time_type, fs::path>> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder(), error)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file(error)) continue;
        if (is_kernel(name)) files.emplace_back(entry.last_write_time(error), entry.path());
        if (is_temporary(name) &&
            entry.last_write_time(error) < fs::file_time_type::clock::now() - std::chrono::hours(24))
            fs::remove(entry.path(), error);  // of a process that was killed
    }
    if (files.size() <= kMostFiles) return;
    // Down to three quarters, so that the next few calls have nothing to do.
    const std::size_t excess = files.size() - kMostFiles * 3 / 4;
    std::nth_element(files.begin(), files.begin() + static_cast<std::ptrdiff_t>(excess), files.end());
    for (std::size_t i = 0; i < excess; ++i) fs::remove(files[i].second, error);
}

}  // namespace weft::backend
