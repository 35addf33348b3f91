// nn/files.cpp: the state of modules in files, through weft/io.h.
#include <weft/error.h>
#include <weft/io.h>
#include <weft/nn/module.h>

#include <string>

namespace weft::nn {
namespace {

enum class Format { Safetensors, Pt };

Format format_of(const std::filesystem::path& path, const char* call) {
    const std::string ending = path.extension().string();
    if (ending == ".safetensors" || ending == ".json") return Format::Safetensors;
    if (ending == ".pt" || ending == ".pth" || ending == ".bin") return Format::Pt;
    throw ValueError(std::string(call) + ": " + path.string() +
                     ": the file's name must end with .safetensors, .pt or .pth, which says how it is written");
}

}  // namespace

void Module::load(const std::filesystem::path& path) {
    load_state(format_of(path, "load()") == Format::Safetensors ? io::load_safetensors(path) : io::load_pt(path));
}

void Module::save(const std::filesystem::path& path) const {
    if (format_of(path, "save()") == Format::Safetensors) io::save_safetensors(state(), path, {{"format", "pt"}});
    else io::save_pt(state(), path);
}

}  // namespace weft::nn
