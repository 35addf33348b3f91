// data/cache.h: finds a data set's file in the folders a user may keep it in, or has it downloaded to the cache folder.
#pragma once

#include <weft/data.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weft::data {

// One way in which a file was compressed: the same content may be around in several.
struct Packing {
    std::uint64_t size;  // in bytes
    std::string sha256;  // 64 hexadecimal digits
};

// A file of a data set, and what a download of it must be.
struct KnownFile {
    std::string set;                // the sub-folder it lies in: "mnist"
    std::string name;               // "train-labels-idx1-ubyte.gz"
    std::vector<Packing> packings;  // a download must be one of them; none: the file is never downloaded
    bool shared_name = false;  // other sets have files of this name: without its sub-folder it counts in `folder` only
};

// The path of the file, after a download if need be; a .gz file may also lie unpacked in the first three places. Throws
// IoError that lists the folders if it is nowhere and no address is set, or if the download failed.
std::filesystem::path find_file(const KnownFile& file, const Places& places);

// The cache folder: of `places`, or of the environment; empty if the environment has neither it nor a home folder.
std::filesystem::path cache_folder(const Places& places);

}  // namespace weft::data
