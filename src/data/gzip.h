// data/gzip.h: unpacks gzip files (RFC 1952), for data sets that come compressed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace weft::data {

// Whether the bytes start like a gzip file.
bool is_gzip(std::span<const std::byte> file);

// The unpacked content of all members, one after the other. Every header, checksum and length is checked. Throws
// IoError, opening with `name`, if something is wrong or if the content is longer than `limit` bytes.
std::vector<std::byte> gunzip(std::span<const std::byte> file, const std::string& name, std::size_t limit);

// The first `count` bytes of the content, or all if it is shorter: enough to read a header and know what to expect.
std::vector<std::byte> gunzip_prefix(std::span<const std::byte> file, const std::string& name, std::size_t count);

}  // namespace weft::data
