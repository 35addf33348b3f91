// weft/data.h: data sets. Finds a file on this machine or downloads it, unpacks and checks it, and gives plain arrays.
#pragma once

#include <weft/api.h>
#include <weft/dtype.h>
#include <weft/error.h>
#include <weft/shape.h>

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace WEFT_API weft {
namespace data {

// A dense row-major array as a file held it, in this machine's byte order.
//
//     const data::IdxArray labels = data::load_idx("train-labels-idx1-ubyte.gz");
//     for (std::uint8_t label : labels.values<std::uint8_t>()) ++histogram[label];
struct IdxArray {
    DType dtype = DType::U8;
    Shape shape;
    std::vector<std::byte> bytes;  // as many as the shape's elements take

    // The elements, all in a row. Throws DTypeError if T is not the array's type.
    template <class T>
    std::span<const T> values() const {
        require_dtype(dtype_of<T>());
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }

private:
    void require_dtype(DType asked) const;
};

// Reads an idx file, plain or gzip-compressed (its first bytes tell, not its name). The element types are u8, i8, i16,
// i32, f32 and f64. Throws IoError, with the file's name, if the file is missing, truncated, too long or garbage.
//
//     const data::IdxArray images = data::load_idx("data/mnist/t10k-images-idx3-ubyte.gz");  // u8[10000, 28, 28]
IdxArray load_idx(const std::filesystem::path& path);

// Where the files of a data set may be. All is optional. The places are tried in this order:
//   1. `folder`, or the environment's WEFT_DATA if `folder` is empty
//   2. ./data
//   3. `source_folder`: the data folder of a source tree, for examples and tests
//   4. `cache_folder`, or WEFT_CACHE, or $XDG_CACHE_HOME/weft, or ~/.cache/weft
//   5. `url`, or WEFT_DATA_URL: http://, https:// or file://. What was downloaded is kept in the cache folder, but only
//      if its SHA-256 is the known one; Weft asks no host that you did not name.
// The set "mnist" is looked for in the sub-folder mnist of each place, and in the first three in the place itself too.
//
//     const data::Mnist digits = data::load_mnist({.folder = "/datasets", .url = "https://example.org/datasets"});
struct Places {
    std::filesystem::path folder = {};
    std::filesystem::path source_folder = {};
    std::filesystem::path cache_folder = {};
    std::string url = {};
};

// Handwritten digits, by Yann LeCun and Corinna Cortes (CC BY-SA 3.0). A pixel is 0 for paper up to 255 for ink.
struct Mnist {
    IdxArray train_images;  // u8[60000, 28, 28]
    IdxArray train_labels;  // u8[60000], each 0 to 9
    IdxArray test_images;   // u8[10000, 28, 28]
    IdxArray test_labels;   // u8[10000]
};

// Finds and reads the four files of MNIST, as .gz or unpacked. Files of the same layout in `folder` work as well (a
// subset, another set of 28 x 28 images with labels 0 to 9): shapes must fit each other, the number of images is free.
//
//     const data::Mnist digits = data::load_mnist();
//     digits.train_images.shape;                         // [60000, 28, 28]
//     digits.train_labels.values<std::uint8_t>()[0];     // 5
Mnist load_mnist(const Places& places = {});

// Fashion-MNIST, by Zalando Research (MIT licence): articles of clothing in MNIST's layout and under its file names, in a folder
// fashion-mnist. It does not come with Weft and is not downloaded; without its sub-folder it counts in `folder` only.
//
//     const data::Mnist clothes = data::load_fashion_mnist({.folder = "/datasets/fashion-mnist"});
Mnist load_fashion_mnist(const Places& places = {});

struct Labelled {
    IdxArray inputs, labels;
};

// Fisher's irises: f32[150, 4], the length and width of sepals and petals in cm; u8[150]: setosa, versicolor, virginica.
Labelled load_iris(const Places& places = {});

// Handwritten digits, by Ethem Alpaydin and Cenk Kaynak (CC BY 4.0): u8[1797, 8, 8], each pixel 0 to 16; u8[1797], each 0 to 9.
Labelled load_digits(const Places& places = {});

}  // namespace data
}  // namespace weft
