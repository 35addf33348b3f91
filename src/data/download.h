// data/download.h: brings one file from an address into a folder, whole and checked, or not at all.
#pragma once

#include "data/cache.h"

#include <filesystem>
#include <string>

namespace weft::data {

// Reads file:// addresses itself, and http(s):// ones through curl or wget. The file appears in `folder` under its name
// once its SHA-256 was found right; until then its bytes are in a temporary file beside it, which goes when an error is
// thrown. Returns the file's path. Throws IoError, or ValueError for an address of another kind.
std::filesystem::path download(const std::string& url, const KnownFile& file, const std::filesystem::path& folder);

}  // namespace weft::data
