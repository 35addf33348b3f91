// python/src/files.cpp: weft.io, and what weft.save() and weft.load() are made of.
#include "files.h"

#include "arguments.h"
#include "interrupt.h"
#include "lifetime.h"
#include "topics.h"

#include <nanobind/stl/vector.h>
#include <weft/io.h>
#include <weft/io/objects.h>

#include <set>

namespace weft::python {

namespace {

nb::dict dict_of(const io::NamedTensors& tensors) {
    nb::dict result;
    for (const auto& [name, tensor] : tensors) result[nb::cast(name)] = nb::steal(to_python(tensor));
    return result;
}

std::string text_of(nb::handle object, const Site& site) { return std::string(to_text(object.ptr(), site)); }

io::NamedTensors tensors_in(nb::handle object, const char* call) {
    if (!PyDict_Check(object.ptr())) wrong_type({call, "tensors"}, "a dict of tensors", object.ptr());
    io::NamedTensors tensors;
    for (const auto [name, value] : nb::borrow<nb::dict>(object)) {
        if (!PyUnicode_Check(name.ptr()))
            wrong_type({call, "tensors"}, "a dict whose keys are strings, and a key is", name.ptr());
        if (!is_tensor(value.ptr()))
            raise(PyExc_TypeError, std::string(call) + "(): the value of '" + nb::cast<std::string>(name) +
                                       "' must be a Tensor, not " + type_name(value.ptr()));
        tensors.emplace_back(nb::cast<std::string>(name), tensor_in(value.ptr()));
    }
    return tensors;
}

io::Metadata metadata_in(nb::handle object) {
    const Site site{"save_safetensors", "metadata"};
    io::Metadata metadata;
    if (object.is_none()) return metadata;
    if (!PyDict_Check(object.ptr())) wrong_type(site, "a dict of strings", object.ptr());
    for (const auto [key, value] : nb::borrow<nb::dict>(object))
        metadata.emplace(text_of(key, site), text_of(value, site));
    return metadata;
}

nb::dict dict_of(const io::Metadata& metadata) {
    nb::dict result;
    for (const auto& [key, value] : metadata) result[nb::cast(key)] = nb::cast(value);
    return result;
}

// Which further globals a file may name: a list of names, or True for all.
std::function<bool(const std::string&)> allowance(nb::handle allowed) {
    if (allowed.ptr() == Py_True) return [](const std::string&) { return true; };
    std::set<std::string> names;
    for (const nb::handle name : allowed) names.insert(nb::cast<std::string>(name));
    return [names](const std::string& name) { return names.contains(name); };
}

// The memory of a bytes-like object, held for as long as a tensor reads it.
std::shared_ptr<Py_buffer> memory_of(nb::handle object) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object.ptr(), view.get(), PyBUF_SIMPLE) != 0) throw nb::python_error();
    return {view.release(), [](Py_buffer* buffer) {
                put_aside([buffer] {
                    PyBuffer_Release(buffer);
                    delete buffer;
                });
            }};
}

void bind_objects(nb::module_& m) {
    function(m, "_read_file", "path, mmap, allowed, maker", "The object of a .pt file.",
             [](std::string_view path, bool mmap, nb::handle allowed, nb::handle maker) {
                 io::ObjectOptions options;
                 options.mmap = mmap;
                 options.allowed = allowance(allowed);
                 const io::Objects objects =
                     without_gil([&] { return io::read_objects(std::filesystem::path(path), options); });
                 return python_object(objects, maker);
             });
    function(m, "_read_bytes", "data, allowed, maker",
             "The object of a .pt file in memory, and how many bytes it took.",
             [](nb::handle data, nb::handle allowed, nb::handle maker) {
                 settle();
                 io::ObjectOptions options;
                 options.allowed = allowance(allowed);
                 const std::shared_ptr<Py_buffer> memory = memory_of(data);
                 std::size_t taken = 0;
                 const io::Objects objects = without_gil([&] {
                     return io::read_objects(
                         {static_cast<const std::byte*>(memory->buf), static_cast<std::size_t>(memory->len)}, memory,
                         options, &taken);
                 });
                 return nb::object(nb::make_tuple(python_object(objects, maker), taken));
             });
    function(m, "_write_file", "obj, path, taker", "Writes a .pt file.",
             [](nb::handle object, std::string_view path, nb::handle taker) {
                 const io::Objects objects = plain_objects(object, taker);
                 without_gil([&] { io::write_objects(objects, std::filesystem::path(path)); });
             });
    function(m, "_write_bytes", "obj, taker", "A .pt file as bytes.", [](nb::handle object, nb::handle taker) {
        const io::Objects objects = plain_objects(object, taker);
        const std::string bytes = without_gil([&] { return io::objects_as_bytes(objects); });
        return nb::object(nb::bytes(bytes.data(), bytes.size()));
    });
}

}  // namespace

void bind_files(nb::module_& m) {
    nb::class_<io::SafetensorsFile>(m, "_SafetensorsFile", "An open safetensors file.")
        .def("keys", &io::SafetensorsFile::keys)
        .def("contains", &io::SafetensorsFile::contains)
        .def("tensor", [](const io::SafetensorsFile& file,
                          const std::string& name) { return nb::steal(to_python(file.tensor(name))); })
        .def("shape",
             [](const io::SafetensorsFile& file, const std::string& name) { return shape_object(file.shape(name)); })
        .def("dtype_name", &io::SafetensorsFile::dtype_name)
        .def("metadata", [](const io::SafetensorsFile& file) { return dict_of(file.metadata()); });
    function(m, "_open_safetensors", "path", "An open safetensors file, or the files of an index.",
             [](std::string_view path) {
                 return nb::cast(new io::SafetensorsFile(std::filesystem::path(path), "safe_open()"),
                                 nb::rv_policy::take_ownership);
             });
    function(
        m, "_load_safetensors", "path", "The tensors of a safetensors file, or of the files of an index.",
        [](std::string_view path) {
            return nb::object(dict_of(without_gil([&] { return io::load_safetensors(std::filesystem::path(path)); })));
        });
    function(m, "_save_safetensors", "tensors, path, metadata", "Writes a safetensors file.",
             [](nb::handle tensors, std::string_view path, nb::handle metadata) {
                 const io::NamedTensors named = tensors_in(tensors, "save_safetensors");
                 const io::Metadata facts = metadata_in(metadata);
                 without_gil([&] { io::save_safetensors(named, std::filesystem::path(path), facts); });
             });
    function(m, "_load_npy", "path, mmap", "The array of an .npy file.", [](std::string_view path, bool mmap) {
        return without_gil([&] { return io::load_npy(std::filesystem::path(path), {.mmap = mmap}); });
    });
    function(m, "_save_npy", "tensor, path", "Writes an .npy file.", [](const Tensor& tensor, std::string_view path) {
        without_gil([&] { io::save_npy(tensor, std::filesystem::path(path)); });
    });
    function(m, "_load_npz", "path, mmap", "The arrays of an .npz file.", [](std::string_view path, bool mmap) {
        return nb::object(
            dict_of(without_gil([&] { return io::load_npz(std::filesystem::path(path), {.mmap = mmap}); })));
    });
    function(m, "_save_npz", "tensors, path", "Writes an .npz file.", [](nb::handle tensors, std::string_view path) {
        const io::NamedTensors named = tensors_in(tensors, "save_npz");
        without_gil([&] { io::save_npz(named, std::filesystem::path(path)); });
    });
    bind_objects(m);
}

}  // namespace weft::python
