// python/src/data.cpp: data sets.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/creation.h>
#include <weft/data.h>

namespace weft::python {

namespace {

Tensor tensor_of(const data::IdxArray& array) { return from_bytes(array.bytes.data(), array.dtype, array.shape); }

std::vector<Tensor> load(std::string_view set, const data::Places& places) {
    if (set == "iris" || set == "digits") {
        const data::Labelled found = set == "iris" ? data::load_iris(places) : data::load_digits(places);
        return {tensor_of(found.inputs), tensor_of(found.labels)};
    }
    const data::Mnist found = set == "mnist" ? data::load_mnist(places) : data::load_fashion_mnist(places);
    return {tensor_of(found.train_images), tensor_of(found.train_labels), tensor_of(found.test_images),
            tensor_of(found.test_labels)};
}

}  // namespace

void bind_data(nb::module_& m) {
    function(
        m, "_load_dataset", "name, folder, source_folder, url", "The tensors of a data set of weft.datasets.",
        [](std::string_view set, std::string_view folder, std::string_view source_folder, std::string_view url) {
            return without_gil([&] {
                return load(
                    set,
                    {.folder = folder, .source_folder = source_folder, .cache_folder = {}, .url = std::string(url)});
            });
        });
}

}  // namespace weft::python
