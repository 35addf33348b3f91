// tests/data/scratch.h: folders, environment variables and a working folder that are as before at the end of a scope.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scratch {

class Folder {
public:
    Folder() {
        std::string name = std::filesystem::temp_directory_path() / "weft_test_XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::filesystem::path write(const std::filesystem::path& name, std::string_view content) const {
        const std::filesystem::path file = path_ / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << content;
        return file;
    }
    // An executable shell script: tests put a made-up curl into PATH.
    void write_program(const std::string& name, const std::string& script) const {
        std::filesystem::permissions(write(name, "#!/bin/sh\n" + script + "\n"), std::filesystem::perms::owner_all);
    }
    int count_files() const {
        int count = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(path_)) count += !entry.is_directory();
        return count;
    }

private:
    std::filesystem::path path_;
};

class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* old = std::getenv(name)) old_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    ~Variable() {
        if (old_) ::setenv(name_, old_->c_str(), 1);
        else ::unsetenv(name_);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::optional<std::string> old_;
};

class WorkingFolder {
public:
    explicit WorkingFolder(const std::filesystem::path& path) : old_(std::filesystem::current_path()) {
        std::filesystem::current_path(path);
    }
    ~WorkingFolder() { std::filesystem::current_path(old_); }
    WorkingFolder(const WorkingFolder&) = delete;
    WorkingFolder& operator=(const WorkingFolder&) = delete;

private:
    std::filesystem::path old_;
};

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

inline std::string content_of(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// The message of the E that `call` throws; fails the test if it throws nothing.
template <class E, class Call>
std::string message_of(Call call) {
    try {
        call();
    } catch (const E& error) {
        return error.what();
    }
    FAIL_CHECK("nothing was thrown");
    return "";
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace scratch
