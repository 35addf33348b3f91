// io/zip.cpp: the zip format. Every number of a file is checked before it is used: a record lies within the archive and overlaps no other,
// and a packed one unpacks to no more than it says and deflate can give.
#include "io/zip.h"

#include "data/crc32.h"
#include "data/inflate.h"

#include <algorithm>

namespace weft::io {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56, kLocatorSize = 20;
constexpr std::uint64_t kMostComment = 65535, kIn64 = 0xffffffff;  // kIn64: the number is in the zip64 field
constexpr std::uint64_t kMostPerByte = 1032;                       // deflate never unpacks a byte to more

constexpr std::size_t kAlignment = 64;

// The numbers of a zip64 field, which replace those that did not fit 32 bits, in this order.
void read_zip64(const ErrorContext& context, std::span<const std::byte> extra,
                std::initializer_list<std::uint64_t*> numbers) {
    const bool needed =
        std::any_of(numbers.begin(), numbers.end(), [](const std::uint64_t* number) { return *number == kIn64; });
    if (!needed) return;
    for (std::size_t at = 0; at + 4 <= extra.size();) {
        const auto id = little_endian(extra, at, 2), size = little_endian(extra, at + 2, 2);
        at += 4;
        if (size > extra.size() - at) break;
        if (id == 1) {
            std::size_t from = at;
            for (std::uint64_t* number : numbers) {
                if (*number != kIn64) continue;
                if (from + 8 > at + size) context.fail("its directory is damaged: a 64-bit size is missing");
                *number = little_endian(extra, from, 8);
                from += 8;
            }
            return;
        }
        at += size;
    }
    context.fail("its directory is damaged: a 64-bit size is missing");
}

}  // namespace

ZipReader::ZipReader(const ErrorContext& context, Bytes archive) : context_(context), archive_(std::move(archive)) {
    const auto bytes = archive_.data;
    if (bytes.size() < kEndSize) context_.fail("it is cut short: a zip archive has at least 22 bytes");
    std::size_t end = bytes.size() - kEndSize;
    const std::size_t least = end > kMostComment ? end - kMostComment : 0;
    while (little_endian(bytes, end, 4) != kEnd || little_endian(bytes, end + 20, 2) != bytes.size() - end - kEndSize)
        if (end-- == least)
            context_.fail("it is cut short or damaged: a zip archive ends with its directory, and this one does not");
    std::uint64_t count = little_endian(bytes, end + 10, 2), size = little_endian(bytes, end + 12, 4),
                  at = little_endian(bytes, end + 16, 4);
    std::uint64_t limit = end;  // the directory ends before this
    if (end >= kLocatorSize && little_endian(bytes, end - kLocatorSize, 4) == kLocator64) {
        const std::uint64_t at64 = little_endian(bytes, end - kLocatorSize + 8, 8);
        if (at64 > end - kLocatorSize || end - kLocatorSize - at64 < kEnd64Size ||
            little_endian(bytes, at64, 4) != kEnd64)
            context_.fail("its directory is damaged: the 64-bit end is not where it should be");
        count = little_endian(bytes, at64 + 32, 8);
        size = little_endian(bytes, at64 + 40, 8);
        at = little_endian(bytes, at64 + 48, 8);
        limit = at64;
    }
    if (at > limit || size > limit - at) context_.fail("its directory is damaged: it does not lie within the file");
    read_directory(at, size, count);
    check_overlaps();
}

void ZipReader::read_directory(std::uint64_t at, std::uint64_t size, std::uint64_t count) {
    if (count > size / kCentralSize)
        context_.fail("its directory is damaged: it is too small for its number of records");
    const auto directory = archive_.data.subspan(at, size);
    std::size_t from = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        if (directory.size() - from < kCentralSize || little_endian(directory, from, 4) != kCentral)
            context_.fail("its directory is damaged: an entry is not where it should be");
        const auto field = [&](std::size_t offset, int width) {
            return little_endian(directory, from + offset, width);
        };
        const auto flags = field(8, 2), method = field(10, 2), name = field(28, 2), extra = field(30, 2),
                   comment = field(32, 2);
        if (name + extra + comment > directory.size() - from - kCentralSize)
            context_.fail("its directory is damaged: an entry is cut short");
        Record record;
        record.name = text_of(directory.subspan(from + kCentralSize, name));
        record.checksum = static_cast<std::uint32_t>(field(16, 4));
        record.packed = field(20, 4), record.size = field(24, 4);
        std::uint64_t header = field(42, 4);
        read_zip64(context_, directory.subspan(from + kCentralSize + name, extra),
                   {&record.size, &record.packed, &header});
        from += kCentralSize + name + extra + comment;
        if (flags & 1) context_.fail("its record '" + record.name + "' is encrypted");
        if (method != 0 && method != 8)
            context_.fail("its record '" + record.name +
                          "' is packed by a method other than deflate, which is not read");
        record.deflated = method == 8;
        if (!record.deflated && record.packed != record.size)
            context_.fail("its record '" + record.name + "' has two different sizes");
        if (record.deflated && record.size / kMostPerByte > record.packed)
            context_.fail("its record '" + record.name + "' says that it unpacks to more than it can");
        place_record(record, header);
        if (!by_name_.emplace(record.name, records_.size()).second)
            context_.fail("its record '" + record.name + "' comes twice");
        records_.push_back(std::move(record));
    }
}

void ZipReader::place_record(Record& record, std::uint64_t header) const {
    const auto bytes = archive_.data;
    const std::string what = "its record '" + record.name + "' does not lie within the file";
    if (header > bytes.size() || bytes.size() - header < kLocalSize || little_endian(bytes, header, 4) != kLocal)
        context_.fail(what);
    const std::uint64_t skipped =
        kLocalSize + little_endian(bytes, header + 26, 2) + little_endian(bytes, header + 28, 2);
    if (skipped > bytes.size() - header || record.packed > bytes.size() - header - skipped) context_.fail(what);
    record.offset = header + skipped;
}

void ZipReader::check_overlaps() const {
    std::vector<const Record*> order;
    for (const Record& record : records_) order.push_back(&record);
    std::sort(order.begin(), order.end(), [](const Record* a, const Record* b) { return a->offset < b->offset; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (order[i]->offset - order[i - 1]->offset < order[i - 1]->packed)
            context_.fail("its records '" + order[i - 1]->name + "' and '" + order[i]->name + "' overlap");
}

const ZipReader::Record* ZipReader::find(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : &records_[found->second];
}

Bytes ZipReader::read(const Record& record, bool check) const {
    Bytes result{archive_.data.subspan(record.offset, record.packed), archive_.owner};
    if (record.deflated) {
        const auto owner = std::make_shared<std::vector<std::byte>>();
        try {
            const auto found = data::inflate(data::Wrapper::None, result.data, *owner, record.size);
            if (!found.complete || owner->size() != record.size)
                throw data::CorruptData("it unpacks to another size than it says");
        } catch (const data::CorruptData& error) {
            context_.fail("its record '" + record.name + "' is damaged: " + error.what());
        }
        result = {*owner, owner};
    }
    if (check && data::crc32(result.data) != record.checksum)
        context_.fail("its record '" + record.name + "' is damaged: the checksum differs");
    return result;
}

void ZipWriter::add(const std::string& name, std::span<const std::span<const std::byte>> pieces) {
    Record record{name, sink_.written(), 0, 0};
    for (const auto piece : pieces) {
        record.checksum = data::crc32(piece, record.checksum);
        record.size += piece.size();
    }
    // The extra field: the sizes in 64 bits, then one that only fills up to the alignment.
    const std::size_t start = record.header + kLocalSize + name.size() + 20 + 4;
    const std::size_t filled = (kAlignment - start % kAlignment) % kAlignment;
    std::string header;
    const auto put = [&](std::uint64_t value, int width) { append_little_endian(header, value, width); };
    put(kLocal, 4), put(45, 2), put(1 << 11, 2), put(0, 2), put(0, 2), put(0x21, 2);  // names are UTF-8; 1980-01-01
    put(record.checksum, 4), put(kIn64, 4), put(kIn64, 4), put(name.size(), 2), put(20 + 4 + filled, 2);
    header += name;
    put(1, 2), put(16, 2), put(record.size, 8), put(record.size, 8);
    put(0x4246, 2), put(filled, 2);  // "FB", the id that PyTorch gives to such a field
    header.append(filled, 'Z');
    sink_.write(header);
    for (const auto piece : pieces) sink_.write(piece);
    records_.push_back(std::move(record));
}

void ZipWriter::finish() {
    std::string directory;
    const auto put = [&](std::uint64_t value, int width) { append_little_endian(directory, value, width); };
    const std::uint64_t start = sink_.written();
    for (const Record& record : records_) {
        put(kCentral, 4), put(45, 2), put(45, 2), put(1 << 11, 2), put(0, 2), put(0, 2), put(0x21, 2),
            put(record.checksum, 4);
        put(kIn64, 4), put(kIn64, 4), put(record.name.size(), 2), put(28, 2), put(0, 2), put(0, 2), put(0, 2),
            put(0, 4), put(kIn64, 4);
        directory += record.name;
        put(1, 2), put(24, 2), put(record.size, 8), put(record.size, 8), put(record.header, 8);
    }
    const std::uint64_t size = directory.size(), count = records_.size();
    put(kEnd64, 4), put(kEnd64Size - 12, 8), put(45, 2), put(45, 2), put(0, 4), put(0, 4), put(count, 8), put(count, 8),
        put(size, 8), put(start, 8);
    put(kLocator64, 4), put(0, 4), put(start + size, 8), put(1, 4);
    put(kEnd, 4), put(0, 2), put(0, 2), put(std::min<std::uint64_t>(count, 0xffff), 2),
        put(std::min<std::uint64_t>(count, 0xffff), 2);
    put(std::min(size, kIn64), 4), put(std::min(start, kIn64), 4), put(0, 2);
    sink_.write(directory);
}

}  // namespace weft::io
