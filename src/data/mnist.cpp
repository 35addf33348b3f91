// data/mnist.cpp: MNIST and Fashion-MNIST: which files they have, and what must be in them.
#include "data/cache.h"

#include <algorithm>
#include <array>
#include <span>

namespace weft::data {
namespace {

// In the order of struct Mnist. Two packings of the same bytes: as first published, which is what mirrors have, and as
// in this source tree (gzip -9 -n).
const std::array<KnownFile, 4>& files() {
    static const std::array<KnownFile, 4> kFiles = {{
        {"mnist",
         "train-images-idx3-ubyte.gz",
         {{9912422, "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"},
          {9719438, "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971"}}},
        {"mnist",
         "train-labels-idx1-ubyte.gz",
         {{28881, "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c"},
          {28857, "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203"}}},
        {"mnist",
         "t10k-images-idx3-ubyte.gz",
         {{1648877, "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6"},
          {1616508, "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be"}}},
        {"mnist",
         "t10k-labels-idx1-ubyte.gz",
         {{4542, "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6"},
          {4517, "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b"}}},
    }};
    return kFiles;
}

std::string describe(const IdxArray& array) { return std::string(name_of(array.dtype)) + to_string(array.shape); }

IdxArray load_images(const std::filesystem::path& path) {
    IdxArray images = load_idx(path);
    const Shape& shape = images.shape;
    if (images.dtype != DType::U8 || shape.size() != 3 || shape[1] != 28 || shape[2] != 28)
        throw IoError(path.string() + ": holds " + describe(images) + ", images of MNIST are u8[n, 28, 28]");
    return images;
}

IdxArray load_labels(const std::filesystem::path& path, const IdxArray& images) {
    IdxArray labels = load_idx(path);
    if (labels.dtype != DType::U8 || labels.shape != Shape{images.shape[0]})
        throw IoError(path.string() + ": holds " + describe(labels) + ", one label for each of the " +
                      std::to_string(images.shape[0]) + " images is u8[" + std::to_string(images.shape[0]) + "]");
    const auto values = labels.values<std::uint8_t>();
    const auto largest = std::max_element(values.begin(), values.end());
    if (largest != values.end() && *largest > 9)
        throw IoError(path.string() + ": label " + std::to_string(largest - values.begin()) + " is " +
                      std::to_string(*largest) + ", the labels of MNIST are 0 to 9");
    return labels;
}

Mnist load(std::span<const KnownFile, 4> files, const Places& places) {
    std::vector<std::filesystem::path> paths;  // all four first: a missing one is known before any is read
    for (const KnownFile& file : files) paths.push_back(find_file(file, places));
    Mnist mnist;
    mnist.train_images = load_images(paths[0]);
    mnist.train_labels = load_labels(paths[1], mnist.train_images);
    mnist.test_images = load_images(paths[2]);
    mnist.test_labels = load_labels(paths[3], mnist.test_images);
    return mnist;
}

}  // namespace

Mnist load_mnist(const Places& places) { return load(files(), places); }

Mnist load_fashion_mnist(const Places& places) {
    std::array<KnownFile, 4> fashion = files();
    for (KnownFile& file : fashion)
        file = {.set = "fashion-mnist", .name = file.name, .packings = {}, .shared_name = true};
    return load(fashion, places);
}

}  // namespace weft::data
