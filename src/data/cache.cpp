// data/cache.cpp: the search order of weft/data.h, place by place.
#include "data/cache.h"

#include "data/download.h"

#include <cstdlib>
#include <string_view>

namespace weft::data {
namespace {

namespace fs = std::filesystem;

std::string from_environment(const char* variable) {
    const char* value = std::getenv(variable);
    return value ? value : "";
}

bool is_file(const fs::path& path) {
    std::error_code ignored;  // a place that cannot be looked into has no file for us
    return fs::is_regular_file(path, ignored);
}

// The user's folders, in order. A mistyped `folder` raises, or another copy of the data would silently take its place.
std::vector<fs::path> user_folders(const Places& places) {
    std::vector<fs::path> folders;
    std::error_code ignored;
    if (!places.folder.empty() && !fs::is_directory(places.folder, ignored))
        throw IoError(places.folder.string() + ": there is no such folder");
    if (!places.folder.empty()) folders.push_back(places.folder);
    else if (const std::string set = from_environment("WEFT_DATA"); !set.empty()) folders.push_back(set);
    folders.push_back("data");
    if (!places.source_folder.empty()) folders.push_back(places.source_folder);
    return folders;
}

std::string without_gz(const std::string& name) {
    constexpr std::string_view kSuffix = ".gz";
    return name.ends_with(kSuffix) ? name.substr(0, name.size() - kSuffix.size()) : name;
}

std::string address(const Places& places) {
    std::string url = places.url.empty() ? from_environment("WEFT_DATA_URL") : places.url;
    while (url.ends_with('/') && !url.ends_with("://")) url.pop_back();
    return url;
}

[[noreturn]] void report_missing(const KnownFile& file, const std::vector<fs::path>& searched) {
    std::string message = file.set + "/" + file.name + ": not found in";
    for (std::size_t i = 0; i < searched.size(); ++i)
        message += (i == 0 ? " " : ", ") + fs::absolute(searched[i]).lexically_normal().string();
    if (file.packings.empty())
        throw IoError(message + "; put the set's files into a folder " + file.set +
                      "/ in one of these, or name the folder that holds them (as the argument, or with WEFT_DATA)");
    throw IoError(message + "; set WEFT_DATA to the folder that holds " + file.set +
                  "/, or WEFT_DATA_URL to an address to download <address>/" + file.set + "/" + file.name + " from");
}

}  // namespace

fs::path cache_folder(const Places& places) {
    if (!places.cache_folder.empty()) return places.cache_folder;
    if (const std::string set = from_environment("WEFT_CACHE"); !set.empty()) return set;
    // A relative XDG_CACHE_HOME is void, says the XDG specification: it would move with the working folder.
    if (const fs::path xdg = from_environment("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "weft";
    if (const std::string home = from_environment("HOME"); !home.empty()) return fs::path(home) / ".cache" / "weft";
    return {};
}

fs::path find_file(const KnownFile& file, const Places& places) {
    std::vector<fs::path> searched = user_folders(places);
    for (const fs::path& folder : searched) {
        std::vector<fs::path> bases = {folder / file.set};
        if (!file.shared_name || folder == places.folder) bases.push_back(folder);
        for (const fs::path& base : bases)
            for (const std::string& name : {file.name, without_gz(file.name)})
                if (is_file(base / name)) return base / name;
    }

    const fs::path cache = cache_folder(places);
    if (!cache.empty()) {
        searched.push_back(cache);
        if (is_file(cache / file.set / file.name)) return cache / file.set / file.name;
    }
    const std::string url = address(places);
    if (url.empty() || file.packings.empty()) report_missing(file, searched);
    if (cache.empty()) throw IoError(file.name + ": no folder to download it to; set WEFT_CACHE");
    return download(url + "/" + file.set + "/" + file.name, file, cache / file.set);
}

}  // namespace weft::data
