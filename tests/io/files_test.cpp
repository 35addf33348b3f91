// Files: what is written comes back, golden bytes of each format, what is wrong is said, and modules load and save.
#include "data/crc32.h"
#include "io/file.h"
#include "io/json.h"
#include "io/storage_view.h"
#include "io/zip.h"

#include <weft/creation.h>
#include <weft/io.h>
#include <weft/io/objects.h>
#include <weft/nn.h>
#include <weft/ops.h>

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

using namespace weft;
using namespace std::string_literals;

namespace {

namespace fs = std::filesystem;

struct Scratch {
    fs::path path;
    Scratch() {
        std::string name = fs::temp_directory_path() / "weft_io_XXXXXX";
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path = name;
    }
    ~Scratch() { fs::remove_all(path); }
    fs::path file(const std::string& name, const std::string& content) const {
        std::ofstream(path / name, std::ios::binary) << content;
        return path / name;
    }
};

std::string content_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string safetensors(const std::string& header, const std::string& data = "") {
    std::string text;
    io::append_little_endian(text, header.size(), 8);
    return text + header + data;
}

const std::string kTwoFloats = "\0\0\x80\x3f\0\0\0\x40"s;  // 1, 2

struct Net : nn::Module {
    nn::Linear hidden{3, 4};
    nn::BatchNorm1d norm{4};
    Net() { child("hidden", hidden), child("norm", norm); }
    Tensor forward(const Tensor& x) override { return norm(hidden(x)); }
};

void check_equal(const io::NamedTensors& a, const io::NamedTensors& b) {
    REQUIRE(a.size() == b.size());
    for (const auto& [name, tensor] : a) {
        CAPTURE(name);
        const auto other = std::find_if(b.begin(), b.end(), [&](const auto& entry) { return entry.first == name; });
        REQUIRE(other != b.end());
        CHECK(other->second.dtype() == tensor.dtype());
        CHECK(other->second.shape() == tensor.shape());
        CHECK(other->second.to_vector<double>() == tensor.to_vector<double>());
    }
}

io::NamedTensors some_of_each() {
    io::NamedTensors tensors;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto dtype = static_cast<DType>(i);
        tensors.emplace_back("x." + std::string(name_of(dtype)), arange(6).to(dtype).reshape({2, 3}));
        tensors.emplace_back("t." + std::string(name_of(dtype)), arange(6).to(dtype).reshape({2, 3}).t());
    }
    tensors.emplace_back("empty", zeros({0, 3}));
    tensors.emplace_back("scalar", Tensor(2.5));
    tensors.emplace_back("wide", Tensor(1.5).expand({1000, 1000}));
    return tensors;
}

}  // namespace

TEST_CASE("every element type and layout comes back from every format") {
    const Scratch scratch;
    const io::NamedTensors tensors = some_of_each();
    io::save_safetensors(tensors, scratch.path / "a.safetensors", {{"k", "v"}});
    check_equal(tensors, io::load_safetensors(scratch.path / "a.safetensors"));
    io::save_pt(tensors, scratch.path / "a.pt");
    CHECK(fs::file_size(scratch.path / "a.pt") < 20'000);  // a number a million times over is one number
    check_equal(tensors, io::load_pt(scratch.path / "a.pt"));
    check_equal(tensors, io::load_pt(scratch.path / "a.pt", {.mmap = true}));
    io::NamedTensors arrays = tensors;
    std::erase_if(arrays, [](const auto& entry) { return entry.second.dtype() == bf16; });
    io::save_npz(arrays, scratch.path / "a.npz");
    check_equal(arrays, io::load_npz(scratch.path / "a.npz"));
    check_equal(arrays, io::load_npz(scratch.path / "a.npz", {.mmap = true}));
    CHECK_THROWS_AS(io::save_npz(tensors, scratch.path / "a.npz"), DTypeError);
}

TEST_CASE("safetensors: golden bytes") {
    const Scratch scratch;
    const fs::path path = scratch.file(
        "a.safetensors", safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", kTwoFloats));
    const io::SafetensorsFile file(path);
    CHECK(file.keys() == std::vector<std::string>{"a"});
    CHECK(file.tensor("a").to_vector<float>() == std::vector<float>{1, 2});
    CHECK(file.shape("a") == Shape{2});
    CHECK(file.dtype_name("a") == "F32");
    CHECK(file.metadata().empty());
    CHECK_THROWS_AS(file.tensor("b"), IndexError);
    io::save_safetensors({{"a", from_data<float>({1, 2})}}, path);
    CHECK(content_of(path) == safetensors(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  )", kTwoFloats));
}

TEST_CASE("npy: golden bytes") {
    const Scratch scratch;
    io::save_npy(from_data<float>({1, 2}), scratch.path / "a.npy");
    const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    CHECK(content_of(scratch.path / "a.npy") ==
          "\x93NUMPY\1\0\x76\0"s + header + std::string(0x75 - header.size(), ' ') + "\n" + kTwoFloats);
    CHECK(io::load_npy(scratch.path / "a.npy").to_vector<float>() == std::vector<float>{1, 2});
}

TEST_CASE("a state dict of nested dicts and lists has names with dots") {
    io::Objects objects;
    using io::Kind;
    const auto text = [&](const std::string& value) { return objects.add({.kind = Kind::Text, .text = value}); };
    const auto tensor = [&](double value) { return objects.add({.kind = Kind::Tensor, .tensor = Tensor(value)}); };
    const io::Ref inner =
        objects.add({.kind = Kind::Dict,
                     .items = {text("w"), tensor(1), text("n"), objects.add({.kind = Kind::Int, .integer = 3})}});
    const io::Ref list = objects.add({.kind = Kind::List, .items = {tensor(2), inner}});
    objects.root = objects.add({.kind = Kind::Dict, .items = {text("model"), inner, text("list"), list}});
    const Scratch scratch;
    io::write_objects(objects, scratch.path / "a.pt");
    const io::NamedTensors found = io::load_pt(scratch.path / "a.pt");
    std::vector<std::string> names;
    for (const auto& [name, value] : found) names.push_back(name);
    CHECK(names == std::vector<std::string>{"model.w", "list.0", "list.1.w"});
}

TEST_CASE("views share memory in a .pt file") {
    const Scratch scratch;
    const Tensor x = arange(12).to(f32).reshape({3, 4});
    io::save_pt({{"x", x}, {"row", x[1]}, {"t", x.t()}, {"part", x[{Slice{}, Slice{1, 3}}]}, {"copy", x.clone()}},
                scratch.path / "a.pt");
    io::NamedTensors found = io::load_pt(scratch.path / "a.pt");
    found[0].second[1][1].fill_(50);
    CHECK(found[1].second.to_vector<float>() == std::vector<float>{4, 50, 6, 7});
    CHECK(found[2].second[1].to_vector<float>() == std::vector<float>{1, 50, 9});
    CHECK(found[3].second.to_vector<float>() == std::vector<float>{1, 2, 50, 6, 9, 10});
    CHECK(found[4].second[1].to_vector<float>() == std::vector<float>{4, 5, 6, 7});
}

TEST_CASE("storage_view walks as strides say") {
    const Tensor storage = arange(60);
    std::mt19937 draw(5);
    for (int i = 0; i < 500; ++i) {
        Shape shape;
        Dims strides;
        std::int64_t last = 0;
        for (int d = static_cast<int>(draw() % 4); d >= 0; --d) {
            shape.push_back(1 + draw() % 4);
            strides.push_back(std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 12, 20}[draw() % 8]);
            last += (shape.back() - 1) * strides.back();
        }
        if (last >= 60) continue;
        const std::int64_t offset = draw() % (60 - last);
        std::vector<std::int64_t> expected(numel(shape));
        for (std::size_t k = 0; k < expected.size(); ++k) {
            std::int64_t rest = static_cast<std::int64_t>(k), at = offset;
            for (int d = static_cast<int>(shape.size()) - 1; d >= 0; rest /= shape[d--])
                at += rest % shape[d] * strides[d];
            expected[k] = at;
        }
        const Tensor view = io::storage_view(storage, shape, strides, offset);
        CAPTURE(to_string(shape));
        CHECK(view.shape() == shape);
        CHECK(view.to_vector<std::int64_t>() == expected);
    }
}

TEST_CASE("modules load and save") {
    const Scratch scratch;
    Net a, b;
    a.norm.train();
    a(rand({8, 3})).sum().realize();
    for (const std::string name : {"a.safetensors", "a.pt", "a.pth"}) {
        CAPTURE(name);
        a.save(scratch.path / name);
        Net c;
        c.load(scratch.path / name);
        check_equal(a.state(), c.state());
    }
    io::NamedTensors more = a.state();
    more.emplace_back("other", Tensor(1));
    io::save_safetensors(more, scratch.path / "b.safetensors");
    CHECK_THROWS_AS(b.load(scratch.path / "b.safetensors"), ValueError);
    CHECK_THROWS_AS(b.load(scratch.path / "b.txt"), ValueError);
    CHECK_THROWS_AS(b.load(scratch.path / "none.pt"), io::FileError);
}

TEST_CASE("files that are cut short raise, and so do mutated ones, or they load") {
    const Scratch scratch;
    const io::NamedTensors tensors = {{"a", arange(6).to(f32).reshape({2, 3})}, {"b", ones({3}, bf16).reshape({3, 1})}};
    io::save_safetensors(tensors, scratch.path / "safetensors", {{"k", "v"}});
    io::save_pt(tensors, scratch.path / "pt");
    io::save_npz({{"a", tensors[0].second}}, scratch.path / "npz");
    const auto read = [&](const std::string& kind, const std::string& data) {
        const fs::path path = scratch.file("x", data);
        try {
            const auto found = kind == "pt"    ? io::load_pt(path)
                               : kind == "npz" ? io::load_npz(path)
                                               : io::load_safetensors(path);
            for (const auto& [name, tensor] : found) tensor.to_vector<double>();
            return true;
        } catch (const IoError& error) {
            CHECK(std::string(error.what()).find('\n') == std::string::npos);
        } catch (const DTypeError&) {
        } catch (const IndexError&) {}
        return false;
    };
    for (const std::string kind : {"safetensors", "pt", "npz"}) {
        CAPTURE(kind);
        const std::string good = content_of(scratch.path / kind);
        REQUIRE(read(kind, good));
        for (std::size_t length = 0; length < good.size(); ++length) REQUIRE(!read(kind, good.substr(0, length)));
        for (const std::uint32_t seed : {1u, std::random_device()()}) {
            CAPTURE(seed);
            std::mt19937 draw(seed);
            for (int i = 0; i < 1000; ++i) {
                std::string data = good;
                for (unsigned changes = 1 + draw() % 3; changes > 0; --changes) {
                    const std::size_t at = draw() % data.size();
                    if (draw() % 4 == 0) data.erase(at, 1 + draw() % 9);
                    else if (draw() % 4 == 0) data.insert(at, data.substr(draw() % data.size(), draw() % 20));
                    else data[at] = static_cast<char>(draw() % 3 == 0 ? 255 : draw());
                    if (data.empty()) data = "x";
                }
                read(kind, data);
            }
        }
    }
}

TEST_CASE("JSON: what is read and what is not") {
    const auto string = [](std::string_view text) { return io::JsonReader(text).string(); };
    CHECK(string(R"("a\"\\\/\b\f\n\r\tA\u00e9\u20ac\ud83d\ude00")") == "a\"\\/\b\f\n\r\tA\u00e9\u20ac\U0001f600");
    for (const auto text : {R"("a)", R"("\x")", R"("\ud800")", R"("\ud800A")", R"("\udc00")", "\"\xc0\x80\"",
                            "\"\xed\xa0\x80\"", "\"\n\"", R"("\u12)", "a"})
        CHECK_THROWS_AS(string(text), io::JsonError);
    const auto number = [](std::string_view text) { return io::JsonReader(text).number(); };
    CHECK(number(" 18446744073709551615") == 18446744073709551615u);
    for (const auto text : {"18446744073709551616", "-1", "01", "1.5", "1e3", "", "x"})
        CHECK_THROWS_AS(number(text), io::JsonError);
    const auto skip = [](const std::string& text) {
        io::JsonReader json(text);
        json.skip();
        json.end();
    };
    skip(R"( {"a": [1, -2.5e3, true, false, null, {}, [], "x"]} )");
    skip(std::string(32, '[') + std::string(32, ']'));
    for (const std::string text : {"{", "[1,]", "{\"a\" 1}", "tru", "1 2", "[", "{\"a\":}", "-", "+1"})
        CHECK_THROWS_AS(skip(text), io::JsonError);
    CHECK_THROWS_AS(skip(std::string(100000, '[')), io::JsonError);
    CHECK(io::json_text("a\"\\\n\x1f\u00e9") == R"("a\"\\\u000a\u001f)"
                                                "\u00e9\"");
}

TEST_CASE("a file that cannot be written leaves the old one") {
    const Scratch scratch;
    const fs::path path = scratch.file("a.safetensors", "old");
    rlimit before;
    REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1000, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    CHECK_THROWS_AS(io::save_safetensors({{"a", ones({10000})}}, path), io::FileError);
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    CHECK(content_of(path) == "old");
    CHECK(std::distance(fs::directory_iterator(scratch.path), fs::directory_iterator()) == 1);
}

TEST_CASE("undefined tensors and equal names are refused before a file is made") {
    const Scratch scratch;
    const fs::path path = scratch.path / "a";
    const io::NamedTensors twice = {{"a", ones({1})}, {"a", ones({1})}}, undefined = {{"a", Tensor()}};
    for (const auto& tensors : {twice, undefined}) {
        CHECK_THROWS_AS(io::save_safetensors(tensors, path), ValueError);
        CHECK_THROWS_AS(io::save_pt(tensors, path), ValueError);
        CHECK_THROWS_AS(io::save_npz(tensors, path), ValueError);
    }
    CHECK_THROWS_AS(io::save_npy(Tensor(), path), ValueError);
    CHECK(fs::is_empty(scratch.path));
}

TEST_CASE("checksums of any length, and of parts, are those of the definition") {
    const auto by_bits = [](std::string_view bytes) {
        std::uint32_t crc = ~std::uint32_t{0};
        for (const char c : bytes) {
            crc ^= static_cast<unsigned char>(c);
            for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320 : 0);
        }
        return ~crc;
    };
    CHECK(data::crc32(io::bytes_of("123456789")) == 0xcbf43926);
    std::mt19937 draw(9);
    std::string text;
    for (int length = 0; length < 700; ++length, text.push_back(static_cast<char>(draw()))) {
        CAPTURE(length);
        REQUIRE(data::crc32(io::bytes_of(text)) == by_bits(text));
        const std::size_t cut = draw() % (text.size() + 1);
        const std::string_view all = text;
        REQUIRE(data::crc32(io::bytes_of(all.substr(cut)), data::crc32(io::bytes_of(all.substr(0, cut)))) ==
                by_bits(text));
    }
}
