// backend/cache.h: compiled kernels on disk, in a folder that only its owner can write to. A file is named by the hash of
// all that went into it, and ends with a hash of its own bytes: one that was cut short or damaged counts as absent. So does
// one that somebody else owns or can write to. Files with other names are not ours, and are left alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace weft::backend {

// 128 bits of FNV-1a over texts, for names of files; not meant to withstand an attacker, whom the folder keeps out.
class Hash {
public:
    Hash& add(std::string_view text);  // with its length, so that ("ab", "c") and ("a", "bc") differ
    std::string hex() const;           // 32 digits

private:
    void add_byte(std::uint8_t byte);
    unsigned __int128 state_ = (static_cast<unsigned __int128>(0x6c62272e07bb0142u) << 64) | 0x62b821756295c58du;
};

class Cache {
public:
    // $WEFT_CACHE, $XDG_CACHE_HOME/weft or ~/.cache/weft; if none of them can be used, a private temporary folder.
    static Cache& instance();

    const std::filesystem::path& folder();
    std::filesystem::path path_of(std::string_view key, std::string_view suffix) {
        return folder() / (std::string(key) += suffix);
    }
    std::filesystem::path temporary(std::string_view suffix);  // a name that nobody else uses

    bool intact(const std::filesystem::path& file);      // its bytes are those that were sealed
    void seal(const std::filesystem::path& file) const;  // appends the hash of its bytes; then only we can write to it
    void trim();                                         // deletes the oldest kernels beyond kMostFiles

    // The bytes that were kept under a name; empty: none, or they are damaged.
    std::string read(const std::filesystem::path& file);
    // Keeps bytes under a name, or nothing where that is not possible: a cache is a convenience.
    void write(const std::filesystem::path& file, std::string_view bytes) noexcept;

    static constexpr std::size_t kMostFiles = 2000;

private:
    std::mutex mutex_;
    std::set<std::string> verified_;  // kernels compiled together share a file under many names: it is read once
};

}  // namespace weft::backend
