// Where files are looked for, in which order, and what a download leaves behind when it goes wrong.
#include "data/cache.h"

#include "data/download.h"
#include "data/sha256.h"
#include "scratch.h"

using namespace weft::data;
using scratch::contains;
using scratch::content_of;
using scratch::message_of;
using weft::IoError;
using weft::ValueError;

namespace fs = std::filesystem;

namespace {

KnownFile known(const std::string& content) {
    return {"set", "numbers.gz", {{content.size(), sha256_hex(scratch::bytes_of(content))}}};
}

// A world of its own: all places are sub-folders of one folder, and the environment names them.
struct World {
    scratch::Folder folder;
    scratch::Variable data{"WEFT_DATA", folder.path() / "env"};
    scratch::Variable cache{"WEFT_CACHE", folder.path() / "cache"};
    scratch::Variable url{"WEFT_DATA_URL", ""};
    scratch::WorkingFolder here{folder.path()};
    const fs::path& path() const { return folder.path(); }
    std::string found(const KnownFile& file, const Places& places = {}) const {
        return fs::relative(find_file(file, places), path());
    }
};

}  // namespace

TEST_CASE("find_file tries the places in the documented order") {
    const World world;
    const Places places = {.folder = world.path() / "mine", .source_folder = world.path() / "source"};
    const KnownFile file = known("x");
    fs::create_directories(world.path() / "mine");

    world.folder.write("cache/set/numbers.gz", "x");
    CHECK(world.found(file, places) == "cache/set/numbers.gz");
    world.folder.write("source/set/numbers.gz", "x");
    CHECK(world.found(file, places) == "source/set/numbers.gz");
    CHECK(world.found(file) == "cache/set/numbers.gz");  // without source_folder
    world.folder.write("data/set/numbers.gz", "x");
    CHECK(world.found(file, places) == "data/set/numbers.gz");
    world.folder.write("env/set/numbers.gz", "x");
    CHECK(world.found(file) == "env/set/numbers.gz");
    CHECK(world.found(file, places) == "data/set/numbers.gz");  // `folder` takes the place of WEFT_DATA
    world.folder.write("mine/numbers", "x");
    CHECK(world.found(file, places) == "mine/numbers");  // unpacked, and in the folder itself
    world.folder.write("mine/numbers.gz", "x");
    CHECK(world.found(file, places) == "mine/numbers.gz");
    world.folder.write("mine/set/numbers", "x");
    CHECK(world.found(file, places) == "mine/set/numbers");
    world.folder.write("mine/set/numbers.gz", "x");
    CHECK(world.found(file, places) == "mine/set/numbers.gz");
}

TEST_CASE("find_file: a file that is nowhere, and no address") {
    const World world;
    const std::string message = message_of<IoError>([] { find_file(known("x"), {}); });
    CHECK(message.starts_with("set/numbers.gz: not found in "));
    for (const char* searched : {"env", "data", "cache"}) CHECK(contains(message, (world.path() / searched).string()));
    CHECK(contains(message, "WEFT_DATA_URL"));
    CHECK(contains(message_of<IoError>([] { find_file(known("x"), {.folder = "typo"}); }),
                   "typo: there is no such folder"));
    CHECK(!fs::exists(world.path() / "cache"));
}

TEST_CASE("cache_folder: argument, WEFT_CACHE, XDG_CACHE_HOME, home") {
    const scratch::Variable home("HOME", "/h"), xdg("XDG_CACHE_HOME", "/x"), cache("WEFT_CACHE", "/c");
    CHECK(cache_folder({.cache_folder = "/a"}) == "/a");
    CHECK(cache_folder({}) == "/c");
    const scratch::Variable no_cache("WEFT_CACHE", "");
    CHECK(cache_folder({}) == "/x/weft");
    const scratch::Variable relative("XDG_CACHE_HOME", "x");
    CHECK(cache_folder({}) == "/h/.cache/weft");
    const scratch::Variable no_home("HOME", "");
    CHECK(cache_folder({}).empty());
}

TEST_CASE("a download through file:// is kept, and found the next time") {
    const World world;
    world.folder.write("my server/set/numbers.gz", "content");
    const std::string url = "file://" + world.path().string() + "/my%20server/";
    CHECK(world.found(known("content"), {.url = url}) == "cache/set/numbers.gz");
    CHECK(content_of(world.path() / "cache/set/numbers.gz") == "content");
    CHECK(world.folder.count_files() == 2);
    fs::remove_all(world.path() / "my server");
    CHECK(world.found(known("content"), {.url = url}) == "cache/set/numbers.gz");
}

TEST_CASE("the address may come from WEFT_DATA_URL") {
    const World world;
    world.folder.write("server/set/numbers.gz", "content");
    const scratch::Variable url("WEFT_DATA_URL", "file://localhost" + world.path().string() + "/server");
    CHECK(world.found(known("content")) == "cache/set/numbers.gz");
}

TEST_CASE("a download with a wrong checksum or length leaves nothing behind") {
    const World world;
    const Places places = {.url = "file://" + world.path().string() + "/server"};
    const auto error = [&] { return message_of<IoError>([&] { find_file(known("content"), places); }); };
    CHECK(contains(error(), "cannot be opened"));
    world.folder.write("server/set/numbers.gz", "CONTENT");
    CHECK(contains(error(), "wrong checksum"));
    CHECK(contains(error(), known("CONTENT").packings[0].sha256));
    world.folder.write("server/set/numbers.gz", "conten");
    CHECK(contains(error(), "wrong checksum"));
    world.folder.write("server/set/numbers.gz", "content, and more");
    CHECK(contains(error(), "longer than numbers.gz, which has 7 bytes"));
    CHECK(world.folder.count_files() == 1);  // the server's
}

TEST_CASE("a download may be any of the known packings") {
    const World world;
    KnownFile file = known("packed well");
    file.packings.push_back(known("packed not so well").packings[0]);
    const Places places = {.url = "file://" + world.path().string() + "/server"};
    for (const char* content : {"packed well", "packed not so well"}) {
        world.folder.write("server/set/numbers.gz", content);
        CHECK(content_of(find_file(file, places)) == content);
        fs::remove_all(world.path() / "cache");
    }
    world.folder.write("server/set/numbers.gz", "packed badly");
    const std::string message = message_of<IoError>([&] { find_file(file, places); });
    CHECK(contains(message, file.packings[0].sha256 + " or 18 with " + file.packings[1].sha256));
}

TEST_CASE("addresses and cache folders that cannot work") {
    const World world;
    for (const char* url : {"ftp://host", "--output=/x", "/local/folder", "https:/host"})
        CHECK(contains(message_of<ValueError>([&] { find_file(known("x"), {.url = url}); }), "starts with https://"));
    CHECK_THROWS_AS(find_file(known("x"), {.url = "file://host/folder"}), ValueError);
    world.folder.write("file", "");
    CHECK(contains(message_of<IoError>([] { find_file(known("x"), {.cache_folder = "file", .url = "http://h"}); }),
                   "cache folder cannot be made"));
}

TEST_CASE("a web address goes to curl as one argument, and no shell sees it") {
    const World world;
    world.folder.write_program("bin/curl", "for last; do :; done; printf '%s' \"$last\"");
    const scratch::Variable path("PATH", world.path() / "bin");
    const std::string url = "https://example.org/a b;$(touch x)`touch x`/set/numbers.gz";
    CHECK(world.found(known(url), {.url = "https://example.org/a b;$(touch x)`touch x`/"}) == "cache/set/numbers.gz");
    CHECK(content_of(world.path() / "cache/set/numbers.gz") == url);
    CHECK(world.folder.count_files() == 2);
}

TEST_CASE("without curl there is wget, and without both an error") {
    const World world;
    const scratch::Variable path("PATH", world.path() / "bin");
    fs::create_directories(world.path() / "bin");
    const Places places = {.url = "https://example.org"};
    CHECK(contains(message_of<IoError>([&] { find_file(known("by wget"), places); }), "neither curl nor wget"));
    world.folder.write_program("bin/wget", "printf 'by wget'");
    CHECK(world.found(known("by wget"), places) == "cache/set/numbers.gz");
}

TEST_CASE("a failing, endless or silent curl leaves nothing behind") {
    const World world;
    const scratch::Variable path("PATH", world.path() / "bin");
    const auto error = [&] {
        return message_of<IoError>([&] { find_file(known("content"), {.url = "https://example.org"}); });
    };
    world.folder.write_program("bin/curl", "printf content; echo 'no route' >&2; exit 7");
    CHECK(error() == "https://example.org/set/numbers.gz: download failed: no route");
    world.folder.write_program("bin/curl", "while :; do echo more; done");
    CHECK(contains(error(), "longer than numbers.gz"));
    world.folder.write_program("bin/curl", ":");
    CHECK(contains(error(), "it has 0 bytes"));
    CHECK(world.folder.count_files() == 1);  // curl
}
