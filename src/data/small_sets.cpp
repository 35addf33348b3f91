// data/small_sets.cpp: iris and digits, which are small enough to come with Weft: which files they have, what must be in them.
#include "data/cache.h"

#include <algorithm>

namespace weft::data {
namespace {

std::string describe(DType dtype, const Shape& shape) { return std::string(name_of(dtype)) + to_string(shape); }

IdxArray load(const KnownFile& file, const Places& places, DType dtype, const Shape& shape) {
    const std::filesystem::path path = find_file(file, places);
    IdxArray array = load_idx(path);
    if (array.dtype != dtype || array.shape != shape)
        throw IoError(path.string() + ": holds " + describe(array.dtype, array.shape) + ", but " + file.set + " has " +
                      describe(dtype, shape));
    return array;
}

Labelled load(const KnownFile& inputs, const KnownFile& labels, const Places& places, DType dtype, const Shape& shape,
              int classes) {
    Labelled set{load(inputs, places, dtype, shape), load(labels, places, DType::U8, {shape[0]})};
    const auto values = set.labels.values<std::uint8_t>();
    if (const auto most = std::max_element(values.begin(), values.end()); *most >= classes)
        throw IoError(labels.set + "/" + labels.name + ": label " + std::to_string(most - values.begin()) + " is " +
                      std::to_string(*most) + ", the labels are 0 to " + std::to_string(classes - 1));
    return set;
}

}  // namespace

Labelled load_iris(const Places& places) {
    return load({"iris",
                 "iris-features-idx2-float.gz",
                 {{897, "9e1067def48183e04dc099232b5f12fbf27055a04b2b643da433447dcfed9e76"}}},
                {"iris",
                 "iris-labels-idx1-ubyte.gz",
                 {{36, "b0e0564edeb2d127a30ccd9aaa61ce6df0d74a1ef365fa85ccfc88d69c6e0d4b"}}},
                places, DType::F32, {150, 4}, 3);
}

Labelled load_digits(const Places& places) {
    return load({"digits",
                 "digits-images-idx3-ubyte.gz",
                 {{44098, "16bf71e8bfa958f11ad68a045567f2a2f5362b27ab1e7cadd4cf9a3cbb37176e"}}},
                {"digits",
                 "digits-labels-idx1-ubyte.gz",
                 {{145, "22e1486adc7849d49bbac7f3e6227134ade1aea8cf5289c8dceeecd5a005d43c"}}},
                places, DType::U8, {1797, 8, 8}, 10);
}

}  // namespace weft::data
