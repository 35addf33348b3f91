// io/zip.h: zip archives, as PyTorch and NumPy use them: records by name, of any size (zip64). Read from memory, written in one go.
#pragma once

#include "io/file.h"

#include <optional>
#include <unordered_map>
#include <vector>

namespace weft::io {

class ZipReader {
public:
    // Checks the whole directory: names, sizes, and that no two records overlap.
    ZipReader(const ErrorContext& context, Bytes archive);

    struct Record {
        std::string name;
        std::uint64_t offset = 0, packed = 0, size = 0;  // where its bytes lie, how many, and how many they unpack to
        std::uint32_t checksum = 0;
        bool deflated = false;
    };
    const std::vector<Record>& records() const { return records_; }
    const Record* find(const std::string& name) const;  // null: there is none

    // A record's bytes: those of the archive where they lie, or unpacked ones. `check`: compare the checksum.
    Bytes read(const Record& record, bool check) const;

private:
    void read_directory(std::uint64_t at, std::uint64_t size, std::uint64_t count);
    void place_record(Record& record, std::uint64_t header) const;
    void check_overlaps() const;

    ErrorContext context_;
    Bytes archive_;
    std::vector<Record> records_;
    std::unordered_map<std::string, std::size_t> by_name_;
};

inline bool is_zip(std::span<const std::byte> bytes) { return text_of(bytes).starts_with("PK\3\4"); }

// Records are stored as they are, and start at multiples of 64 bytes, so that they can be used where they lie.
class ZipWriter {
public:
    explicit ZipWriter(Sink& sink) : sink_(sink) {}
    void add(const std::string& name, std::span<const std::byte> bytes) { add(name, {&bytes, 1}); }
    void add(const std::string& name, std::span<const std::span<const std::byte>> pieces);  // one record of all of them
    void finish();

private:
    struct Record {
        std::string name;
        std::uint64_t header, size;
        std::uint32_t checksum;
    };
    Sink& sink_;
    std::vector<Record> records_;
};

}  // namespace weft::io
