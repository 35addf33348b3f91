// data/idx.h: the idx format, in which MNIST comes: a magic number, the sizes, then the elements, all big-endian.
#pragma once

#include <weft/data.h>

#include <cstddef>
#include <span>
#include <string>

namespace weft::data {

// Parses the bytes of an idx file, plain or gzip-compressed; load_idx() is this for a file on disk. Throws IoError,
// opening with `name`. Takes no more memory than the elements that are really there need.
IdxArray parse_idx(std::span<const std::byte> file, const std::string& name);

}  // namespace weft::data
