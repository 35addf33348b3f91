// iris and digits are what they should be, Fashion-MNIST is looked for where it may be.
#include "scratch.h"

#include <weft/data.h>

#include <algorithm>
#include <cmath>

using namespace weft::data;
using weft::IoError;
using weft::Shape;

namespace {

const std::filesystem::path kData = WEFT_SOURCE_DIR "/data";

}  // namespace

TEST_CASE("iris: shapes, means and classes are those of Fisher's paper") {
    const Labelled iris = load_iris({.folder = kData});
    CHECK(iris.inputs.shape == Shape{150, 4});
    const auto values = iris.inputs.values<float>();
    const double means[] = {5.843, 3.057, 3.758, 1.199};
    for (std::size_t column = 0; column < 4; ++column) {
        double sum = 0;
        for (std::size_t row = 0; row < 150; ++row) sum += values[4 * row + column];
        CHECK(std::abs(sum / 150 - means[column]) < 1e-3);
    }
    const auto labels = iris.labels.values<std::uint8_t>();
    CHECK((labels[0] == 0 && labels[50] == 1 && labels[149] == 2));
}

TEST_CASE("digits: shapes, the largest pixel, and the number of each digit") {
    const Labelled digits = load_digits({.folder = kData});
    CHECK(digits.inputs.shape == Shape{1797, 8, 8});
    const auto pixels = digits.inputs.values<std::uint8_t>();
    CHECK(*std::max_element(pixels.begin(), pixels.end()) == 16);
    std::vector<int> count(10);
    for (const std::uint8_t label : digits.labels.values<std::uint8_t>()) ++count[label];
    CHECK(count == std::vector<int>{178, 182, 177, 183, 181, 182, 181, 179, 174, 180});
}

TEST_CASE("small sets: the checksums they know are those of the files here") {
    const scratch::Folder folder;
    const scratch::WorkingFolder here(folder.path());
    const scratch::Variable data("WEFT_DATA", "");
    const Places places = {.cache_folder = "cache", .url = "file://" + kData.string()};
    CHECK(load_iris(places).labels.shape == Shape{150});
    CHECK(load_digits(places).labels.shape == Shape{1797});
}

TEST_CASE("small sets: a file of another shape") {
    const scratch::Folder folder;
    folder.write("iris-features-idx2-float", std::string("\0\0\x0d\1\0\0\0\1\0\0\0\0", 12));
    const std::string message = scratch::message_of<IoError>([&] { load_iris({.folder = folder.path()}); });
    CHECK(scratch::contains(message, "holds f32[1], but iris has f32[150, 4]"));
}

TEST_CASE("fashion_mnist is not MNIST by mistake, and says where it belongs") {
    const scratch::Folder folder;
    const scratch::WorkingFolder here(folder.path());
    const scratch::Variable data("WEFT_DATA", kData / "mnist"), cache("WEFT_CACHE", folder.path() / "cache"),
        url("WEFT_DATA_URL", "file://" + kData.string());
    const std::string message = scratch::message_of<IoError>([] { load_fashion_mnist(); });
    CHECK(scratch::contains(message, "put the set's files into a folder fashion-mnist/"));
    CHECK(load_fashion_mnist({.folder = kData / "mnist"}).test_images.shape == Shape{10000, 28, 28});  // if one says so
}
