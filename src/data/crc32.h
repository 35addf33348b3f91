// data/crc32.h: the checksum of gzip, zip, PNG and Ethernet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::data {

// `before` is the checksum of the bytes before these.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace weft::data
