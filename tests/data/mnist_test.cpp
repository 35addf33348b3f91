// The real MNIST of this source tree, and sets that only look like it.
#include <weft/data.h>

#include "data/sha256.h"
#include "scratch.h"

#include <array>
#include <numeric>

using namespace weft::data;
using namespace std::string_literals;
using scratch::contains;
using scratch::message_of;
using weft::IoError;
using weft::Shape;

namespace {

const std::filesystem::path kData = std::filesystem::path(WEFT_SOURCE_DIR) / "data";

std::array<int, 10> histogram(const IdxArray& labels) {
    std::array<int, 10> counts = {};
    for (const std::uint8_t label : labels.values<std::uint8_t>()) ++counts[label];
    return counts;
}

double mean(const IdxArray& images) {
    const auto pixels = images.values<std::uint8_t>();
    return std::accumulate(pixels.begin(), pixels.end(), 0.0) / static_cast<double>(pixels.size());
}

}  // namespace

TEST_CASE("load_mnist: shapes, label histograms and mean pixels are those of MNIST") {
    const Mnist mnist = load_mnist({.folder = kData});
    CHECK(mnist.train_images.shape == Shape{60000, 28, 28});
    CHECK(mnist.train_labels.shape == Shape{60000});
    CHECK(mnist.test_images.shape == Shape{10000, 28, 28});
    CHECK(mnist.test_labels.shape == Shape{10000});
    CHECK(histogram(mnist.train_labels) == std::array{5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949});
    CHECK(histogram(mnist.test_labels) == std::array{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
    CHECK(mean(mnist.train_images) / 255 == doctest::Approx(0.13066).epsilon(1e-4));
    CHECK(mean(mnist.test_images) / 255 == doctest::Approx(0.13251).epsilon(1e-4));
    CHECK(mnist.train_labels.values<std::uint8_t>()[0] == 5);
}

TEST_CASE("load_mnist: the checksums it knows are those of the files here") {
    const scratch::Folder empty;
    const scratch::Variable data("WEFT_DATA", ""), url("WEFT_DATA_URL", "");
    const scratch::WorkingFolder nowhere(empty.path());
    const Mnist mnist = load_mnist({.cache_folder = "cache", .url = "file://" + kData.string()});
    CHECK(mnist.test_images.shape == Shape{10000, 28, 28});
    CHECK(empty.count_files() == 4);
}

TEST_CASE("load_mnist: files that do not fit together") {
    const scratch::Folder folder;
    const scratch::WorkingFolder here(folder.path());
    const auto error = [] { return message_of<IoError>([] { load_mnist({.folder = "."}); }); };
    const std::string images = "\0\0\x08\3\0\0\0\2\0\0\0\x1c\0\0\0\x1c"s + std::string(2 * 28 * 28, '\0');
    for (const char* part : {"train", "t10k"}) {
        folder.write(part + "-images-idx3-ubyte"s, images);
        folder.write(part + "-labels-idx1-ubyte"s, "\0\0\x08\1\0\0\0\2\0\x09"s);
    }
    CHECK(load_mnist({.folder = "."}).test_images.shape == Shape{2, 28, 28});
    folder.write("t10k-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\2\0\x0a"s);
    CHECK(contains(error(), "t10k-labels-idx1-ubyte: label 1 is 10"));
    folder.write("t10k-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\1\0"s);
    CHECK(contains(error(), "holds u8[1], one label for each of the 2 images is u8[2]"));
    folder.write("t10k-images-idx3-ubyte", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\1xy"s);
    CHECK(contains(error(), "holds u8[2, 1, 1], images of MNIST are u8[n, 28, 28]"));
}
