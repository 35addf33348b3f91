// weft/io.h: files of tensors: safetensors, PyTorch's .pt and NumPy's .npy and .npz. weft/io/objects.h has all of a .pt file.
//
// Reading: sizes are checked before memory is taken, and no code of a file is ever run. What is wrong with a file is an IoError of
// one sentence with its path; what the system refuses is a FileError.
// Writing: the file is written beside its place, synced, and renamed: the old file stays until the new one is whole.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace WEFT_API weft {
namespace io {

using NamedTensors =
    std::vector<std::pair<std::string, Tensor>>;  // as Module::state() gives and load_state() takes them
using Metadata = std::map<std::string, std::string>;

struct FileError : IoError {
    FileError(const std::string& message, int code) : IoError(message), code(code) {}
    int code;  // errno
};

struct ReadOptions {
    bool mmap = false;  // read the file's memory where it lies; else it is copied, and its checksums are compared
};

// ---- safetensors -----------------------------------------------------------------------------------------------------

// All tensors of a file, or of all files that an index (a path that ends with .json) lists. They read the file's memory where it
// lies, without a copy, and keep it alive. A tensor that is written later takes memory of its own.
//
//     model.load_state(io::load_safetensors("model.safetensors"));
NamedTensors load_safetensors(const std::filesystem::path& path);

//     io::save_safetensors(model.state(), "model.safetensors");
void save_safetensors(const NamedTensors& tensors, const std::filesystem::path& path, const Metadata& metadata = {});

// An open file, or the files of an index, of which single tensors are taken. What is wrong with the header raises here.
//
//     const io::SafetensorsFile file("model.safetensors");
//     const Tensor rows = file.tensor("embedding.weight")[{Slice{0, 100}}];   // reads no more than these
class SafetensorsFile {
public:
    explicit SafetensorsFile(const std::filesystem::path& path, const std::string& call = "SafetensorsFile()");

    std::vector<std::string> keys() const;  // in the order of the header
    bool contains(const std::string& name) const;
    Tensor tensor(const std::string& name) const;  // IndexError: there is none; DTypeError: Weft has no such elements
    Shape shape(const std::string& name) const;
    std::string dtype_name(const std::string& name) const;  // as the format calls it: "F32", "BF16" …
    const Metadata& metadata() const;                       // of an index: none

private:
    struct Parts;
    std::shared_ptr<Parts> parts_;
};

// ---- PyTorch ---------------------------------------------------------------------------------------------------------

// The tensors of a file that torch.save() or Weft wrote: those of nested dicts have their keys joined by dots ("model.0.weight"), those of
// lists their positions. Numbers and text are left out; objects of a program are refused by name. Views that share memory in the file
// share it here.
//
//     model.load_state(io::load_pt("weights.pt"));
NamedTensors load_pt(const std::filesystem::path& path, const ReadOptions& options = {});

// A dict of these names, which torch.load() opens with weights_only=True.
void save_pt(const NamedTensors& tensors, const std::filesystem::path& path);

// ---- NumPy -----------------------------------------------------------------------------------------------------------

Tensor load_npy(const std::filesystem::path& path, const ReadOptions& options = {});
void save_npy(const Tensor& tensor, const std::filesystem::path& path);  // DTypeError: bf16, which NumPy has not
NamedTensors load_npz(const std::filesystem::path& path, const ReadOptions& options = {});
void save_npz(const NamedTensors& tensors, const std::filesystem::path& path);

}  // namespace io
}  // namespace weft
