// python/src/data.cpp: data sets.
#include "arguments.h"
#include "topics.h"

#include <weft/creation.h>
#include <weft/data.h>

namespace weft::python {

namespace {

Tensor tensor_of(const data::IdxArray& array) { return from_bytes(array.bytes.data(), array.dtype, array.shape); }

}  // namespace

void bind_data(nb::module_& m) {
    function(
        m, "_load_mnist", "folder, source_folder, url", "The images and labels of MNIST: train, train, test, test.",
        [](std::string_view folder, std::string_view source_folder, std::string_view url) {
            data::Mnist digits;
            {
                const nb::gil_scoped_release released;
                digits = data::load_mnist(
                    {.folder = folder, .source_folder = source_folder, .cache_folder = {}, .url = std::string(url)});
            }
            return std::vector<Tensor>{tensor_of(digits.train_images), tensor_of(digits.train_labels),
                                       tensor_of(digits.test_images), tensor_of(digits.test_labels)};
        });
}

}  // namespace weft::python
