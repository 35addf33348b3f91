// numerics/order.cpp: sorting by radix: an element becomes an unsigned key of the same order, a key with its position a record, and records
// are distributed digit by digit, which is stable. Blocks are fixed by the length, so the result never depends on threads.
#include "numerics/order.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace weft::order {
namespace {

using Call = ir::CustomCall;

// ---- keys ------------------------------------------------------------------------------------------------------------

template <class Bits>
Bits float_key(Bits bits, Bits infinity) {
    constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
    const Bits magnitude = Bits(bits & Bits(~kSign));
    // Masks instead of branches: signs are hard to guess.
    const Bits is_nan = Bits(Bits(0) - Bits(magnitude > infinity)), is_zero = Bits(Bits(0) - Bits(magnitude == 0));
    const Bits number = Bits(bits & Bits(~is_zero));  // without the sign of -0
    const Bits negative = Bits(Bits(0) - Bits(number >> (8 * sizeof(Bits) - 1)));
    return Bits((number ^ (negative | kSign)) | is_nan);
}

// The keys of elements [begin, end), the only code that knows element types; `flip` reverses the order.
template <class Bits, class Key, class F>
void write_keys(const void* row, std::int64_t begin, std::int64_t end, bool flip, Key* out, F key) {
    const Bits* const from = static_cast<const Bits*>(row);
    const Bits mask = flip ? Bits(~Bits(0)) : Bits(0);
    for (std::int64_t i = begin; i < end; ++i) *out++ = Key(Bits(key(from[i]) ^ mask));
}

template <class Key>
void keys_of(DType dtype, const void* row, std::int64_t begin, std::int64_t end, bool flip, Key* out) {
    const auto unsigned_bits = [&]<class Bits>(Bits) {
        write_keys<Bits>(row, begin, end, flip, out, [](Bits x) { return x; });
    };
    const auto signed_bits = [&]<class Bits>(Bits) {
        constexpr Bits kSign = Bits(Bits(1) << (8 * sizeof(Bits) - 1));
        write_keys<Bits>(row, begin, end, flip, out, [](Bits x) { return Bits(x ^ kSign); });
    };
    const auto float_bits = [&]<class Bits>(Bits infinity) {
        write_keys<Bits>(row, begin, end, flip, out, [infinity](Bits x) { return float_key<Bits>(x, infinity); });
    };
    switch (dtype) {
        case DType::Bool:
        case DType::U8: return unsigned_bits(std::uint8_t());
        case DType::U16: return unsigned_bits(std::uint16_t());
        case DType::U32: return unsigned_bits(std::uint32_t());
        case DType::U64: return unsigned_bits(std::uint64_t());
        case DType::I8: return signed_bits(std::uint8_t());
        case DType::I16: return signed_bits(std::uint16_t());
        case DType::I32: return signed_bits(std::uint32_t());
        case DType::I64: return signed_bits(std::uint64_t());
        case DType::F16: return float_bits(std::uint16_t(0x7c00));
        case DType::BF16: return float_bits(std::uint16_t(0x7f80));
        case DType::F32: return float_bits(std::uint32_t(0x7f800000));
        case DType::F64: return float_bits(std::uint64_t(0x7ff0000000000000));
    }
}

// ---- records: a key and a position, ordered by both ------------------------------------------------------------------

struct Narrow {  // 32 bits each, in one word
    using Key = std::uint32_t;
    static constexpr int kDigits = 3;
    std::uint64_t word;
    Narrow() = default;
    Narrow(Key key, std::int64_t position) : word(std::uint64_t(key) << 32 | static_cast<std::uint32_t>(position)) {}
    Key key() const { return static_cast<Key>(word >> 32); }
    std::int64_t position() const { return static_cast<std::int64_t>(word & 0xffffffff); }
    bool operator<(const Narrow& other) const { return word < other.word; }
};
struct Wide {
    using Key = std::uint64_t;
    static constexpr int kDigits = 6;
    Key word;
    std::int64_t at;
    Wide() = default;
    Wide(Key key, std::int64_t position) : word(key), at(position) {}
    Key key() const { return word; }
    std::int64_t position() const { return at; }
    bool operator<(const Wide& other) const { return word < other.word || (word == other.word && at < other.at); }
};

constexpr int kDigitBits = 11, kBins = 1 << kDigitBits;
constexpr std::int64_t kRadixFrom = 256;         // shorter rows: by comparison
constexpr std::int64_t kBlock = 1 << 15;         // elements that one task handles
constexpr std::int64_t kParallelFrom = 1 << 17;  // longer rows are distributed by several threads

template <class Record>
int digit_of(const Record& record, int digit) {
    return static_cast<int>(record.key() >> (digit * kDigitBits)) & (kBins - 1);
}

// Memory for records that is not cleared first.
template <class Record>
struct Records {
    explicit Records(std::int64_t count) : data(new Record[static_cast<std::size_t>(count)]) {}
    std::unique_ptr<Record[]> data;
};

// Sorts a[0, n) on this thread; b is scratch of the same size. The result is in what is returned.
template <class Record>
Record* sort_serially(Record* a, Record* b, std::int64_t n) {
    if (n < kRadixFrom) {
        std::sort(a, a + n);
        return a;
    }
    std::vector<std::uint32_t> counts(static_cast<std::size_t>(Record::kDigits) * kBins, 0);
    for (std::int64_t i = 0; i < n; ++i)
        for (int d = 0; d < Record::kDigits; ++d) ++counts[static_cast<std::size_t>(d * kBins + digit_of(a[i], d))];
    for (int d = 0; d < Record::kDigits; ++d) {
        std::uint32_t* const count = counts.data() + d * kBins;
        if (count[digit_of(a[0], d)] == static_cast<std::uint32_t>(n)) continue;  // all alike
        std::uint32_t start = 0;
        for (int bin = 0; bin < kBins; ++bin) start += std::exchange(count[bin], start);
        for (std::int64_t i = 0; i < n; ++i) b[count[digit_of(a[i], d)]++] = a[i];
        std::swap(a, b);
    }
    return a;
}

// The same with all threads: each block counts its digits, then moves its records to where its share of each bin begins.
template <class Record>
Record* sort_in_blocks(const Call& call, Record* a, Record* b, std::int64_t n) {
    const std::int64_t blocks = std::min<std::int64_t>(16, (n + kBlock - 1) / kBlock),
                       block = (n + blocks - 1) / blocks;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(blocks) * kBins);
    for (int d = 0; d < Record::kDigits; ++d) {
        call.for_each(blocks, [&](std::int64_t k) {
            std::int64_t* const count = counts.data() + k * kBins;
            std::fill_n(count, kBins, 0);
            for (std::int64_t i = k * block; i < std::min(n, (k + 1) * block); ++i) ++count[digit_of(a[i], d)];
        });
        std::int64_t alike = 0;
        for (std::int64_t k = 0; k < blocks; ++k)
            alike += counts[static_cast<std::size_t>(k * kBins + digit_of(a[0], d))];
        if (alike == n) continue;
        std::int64_t start = 0;
        for (int bin = 0; bin < kBins; ++bin)
            for (std::int64_t k = 0; k < blocks; ++k)
                start += std::exchange(counts[static_cast<std::size_t>(k * kBins + bin)], start);
        call.for_each(blocks, [&](std::int64_t k) {
            std::int64_t* const next = counts.data() + k * kBins;
            for (std::int64_t i = k * block; i < std::min(n, (k + 1) * block); ++i) b[next[digit_of(a[i], d)]++] = a[i];
        });
        std::swap(a, b);
    }
    return a;
}

// ---- rows ------------------------------------------------------------------------------------------------------------

constexpr std::int64_t kKeysAtOnce = 1024;

// Calls f(key, position) for elements [begin, end) of a row.
template <class Key, class F>
void for_each_key(DType dtype, const void* row, std::int64_t begin, std::int64_t end, bool flip, F f) {
    Key keys[kKeysAtOnce];
    for (std::int64_t from = begin; from < end; from += kKeysAtOnce) {
        const std::int64_t to = std::min(end, from + kKeysAtOnce);
        keys_of(dtype, row, from, to, flip, keys);
        for (std::int64_t i = from; i < to; ++i) f(keys[i - from], i);
    }
}

template <class Record>
void make_records(DType dtype, const void* row, std::int64_t begin, std::int64_t end, bool flip, Record* out) {
    for_each_key<typename Record::Key>(dtype, row, begin, end, flip,
                                       [&](auto key, std::int64_t i) { *out++ = Record(key, i); });
}

// Elements of the row at these positions, to values[0 …].
void copy_elements(std::size_t size, const void* row, const std::int64_t* positions, std::int64_t count, void* values) {
    const auto copy = [&]<class Bits>(Bits) {
        for (std::int64_t i = 0; i < count; ++i)
            static_cast<Bits*>(values)[i] = static_cast<const Bits*>(row)[positions[i]];
    };
    switch (size) {
        case 1: return copy(std::uint8_t());
        case 2: return copy(std::uint16_t());
        case 4: return copy(std::uint32_t());
        default: return copy(std::uint64_t());
    }
}

// Row r of a call's source, and of its two results when a row becomes `kept` elements.
struct RowOf {
    const void* elements;
    std::byte* values;
    std::int64_t* indices;
};
RowOf row_of(const Call& call, std::int64_t r, std::int64_t length, std::int64_t kept) {
    const auto size = static_cast<std::int64_t>(size_of(call.node.source().dtype));
    return {call.source<std::byte>(0) + r * length * size, call.result<std::byte>(0) + r * kept * size,
            call.result<std::int64_t>(1) + r * kept};
}

template <class Record>
void write(const Call& call, const RowOf& row, const Record* sorted, std::int64_t begin, std::int64_t end) {
    const std::size_t size = size_of(call.node.source().dtype);
    for (std::int64_t i = begin; i < end; ++i) row.indices[i] = sorted[i].position();
    copy_elements(size, row.elements, row.indices + begin, end - begin,
                  row.values + begin * static_cast<std::int64_t>(size));
}

template <class F>
void for_each_block(const Call& call, std::int64_t n, std::int64_t block, F f) {
    call.for_each((n + block - 1) / block, [&](std::int64_t k) { f(k * block, std::min(n, (k + 1) * block)); });
}

// Calls f(begin, end) for groups of rows, several of them per task when they are short.
template <class F>
void for_each_rows(const Call& call, Rows rows, F f) {
    for_each_block(call, rows.count, std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(1, rows.length)), f);
}

// Calls f(Record()) with the narrowest record that holds a key and a position.
template <class F>
void with_record(const Call& call, Rows rows, F f) {
    if (size_of(call.node.source().dtype) <= 4 && rows.length <= INT64_C(0xffffffff)) f(Narrow());
    else f(Wide());
}

template <class Record>
void sort_long_row(const Call& call, const RowOf& row, std::int64_t n, bool descending) {
    const Records<Record> a(n), b(n);
    for_each_block(call, n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        make_records(call.node.source().dtype, row.elements, begin, end, descending, a.data.get() + begin);
    });
    const Record* const sorted = sort_in_blocks(call, a.data.get(), b.data.get(), n);
    for_each_block(call, n, kBlock,
                   [&](std::int64_t begin, std::int64_t end) { write(call, row, sorted, begin, end); });
}

// ---- the first k -----------------------------------------------------------------------------------------------------

// At least k of these keys lie below it: each of k groups has one that does. Nothing: there are too few keys for that.
template <class Key>
std::optional<Key> first_limit(const Key* keys, std::int64_t count, std::int64_t k) {
    constexpr std::int64_t kGroups = 64;
    if (k > kGroups / 2 || count < 4 * kGroups) return {};
    Key least[kGroups];
    std::copy_n(keys, kGroups, least);
    for (std::int64_t i = kGroups; i + kGroups <= count; i += kGroups)
        for (std::int64_t g = 0; g < kGroups; ++g) least[g] = std::min(least[g], keys[i + g]);
    std::nth_element(least, least + k - 1, least + kGroups);
    if (least[k - 1] == std::numeric_limits<Key>::max()) return {};
    return least[k - 1] + 1;
}

// The k first records of a row's part, in any order: those below a limit are collected, and the limit falls whenever they are many.
template <class Record>
void first_records(DType dtype, const void* row, std::int64_t begin, std::int64_t end, std::int64_t k, bool largest,
                   std::vector<Record>& found) {
    using Key = typename Record::Key;
    const std::size_t most = static_cast<std::size_t>(2 * k + 8), wanted = static_cast<std::size_t>(k);
    found.clear();
    const auto thin_out = [&] {
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted) - 1, found.end());
        found.resize(wanted);
        return found.back().key();  // a later record with this key comes after all that are kept
    };
    bool limited = false;
    Key limit = 0, keys[kKeysAtOnce];
    for (std::int64_t from = begin; from < end; from += kKeysAtOnce) {
        const std::int64_t count = std::min(end - from, kKeysAtOnce);
        keys_of(dtype, row, from, from + count, largest, keys);
        if (from == begin)
            if (const std::optional<Key> known = first_limit(keys, count, k)) limit = *known, limited = true;
        for (std::int64_t i = 0; i < count; ++i) {
            if (limited) {  // most are above the limit: eight at a time, without a branch for each
                const auto none_of_eight = [&](const Key* at) {
                    bool some = false;
                    for (int j = 0; j < 8; ++j) some |= at[j] < limit;
                    return !some;
                };
                while (i + 8 <= count && none_of_eight(keys + i)) i += 8;
                if (i == count) break;
                if (keys[i] >= limit) continue;
            }
            found.emplace_back(keys[i], from + i);
            if (found.size() == most) limit = thin_out(), limited = true;
        }
    }
    if (found.size() > wanted) thin_out();
}

template <class Record>
void write_first(const Call& call, const RowOf& row, std::vector<Record>& found, std::int64_t k) {
    if (static_cast<std::int64_t>(found.size()) > k) {
        std::nth_element(found.begin(), found.begin() + k - 1, found.end());
        found.resize(static_cast<std::size_t>(k));
    }
    std::vector<Record> scratch(found.size());
    write(call, row, sort_serially(found.data(), scratch.data(), k), 0, k);
}

template <class Record>
void top_of_long_row(const Call& call, const RowOf& row, std::int64_t n, std::int64_t k, bool largest) {
    const std::int64_t block = std::max(kBlock, 4 * k), blocks = (n + block - 1) / block;
    std::vector<std::vector<Record>> parts(static_cast<std::size_t>(blocks));
    call.for_each(blocks, [&](std::int64_t b) {
        first_records(call.node.source().dtype, row.elements, b * block, std::min(n, (b + 1) * block), k, largest,
                      parts[static_cast<std::size_t>(b)]);
    });
    std::vector<Record> found;
    for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
    write_first(call, row, found, k);
}

// ---- one of them -----------------------------------------------------------------------------------------------------

// The record that has `rank` others before it. Of a long row first the highest digits are counted: only records with one of them are looked at.
template <class Record>
Record nth_of_long_row(const Call& call, const void* row, std::int64_t n, std::int64_t rank) {
    using Key = typename Record::Key;
    const DType dtype = call.node.source().dtype;
    const std::int64_t blocks = (n + kBlock - 1) / kBlock;
    const auto digit = [](Key key) { return digit_of(Record(key, 0), Record::kDigits - 1); };
    std::vector<std::int64_t> counts(static_cast<std::size_t>(blocks * kBins));
    for_each_block(call, n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        std::int64_t* const count = counts.data() + begin / kBlock * kBins;
        for_each_key<Key>(dtype, row, begin, end, false, [&](Key key, std::int64_t) { ++count[digit(key)]; });
    });
    std::int64_t wanted = 0;  // digit
    for (std::int64_t in_bin; rank >= 0; rank -= in_bin, ++wanted) {
        in_bin = 0;
        for (std::int64_t b = 0; b < blocks; ++b) in_bin += counts[static_cast<std::size_t>(b * kBins + wanted)];
        if (rank < in_bin) break;
    }
    std::vector<std::vector<Record>> parts(static_cast<std::size_t>(blocks));
    for_each_block(call, n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        std::vector<Record>& part = parts[static_cast<std::size_t>(begin / kBlock)];
        part.reserve(static_cast<std::size_t>(counts[static_cast<std::size_t>(begin / kBlock * kBins + wanted)]));
        for_each_key<Key>(dtype, row, begin, end, false, [&](Key key, std::int64_t i) {
            if (digit(key) == wanted) part.emplace_back(key, i);
        });
    });
    std::vector<Record> found;
    for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
    std::nth_element(found.begin(), found.begin() + rank, found.end());
    return found[static_cast<std::size_t>(rank)];
}

}  // namespace

void nth_rows(const Call& call, Rows rows) {
    with_record(call, rows, [&]<class Record>(Record) {
        const std::int64_t n = rows.length;
        const std::int64_t* const ranks = call.source<std::int64_t>(1);
        if (n >= kParallelFrom) {
            for (std::int64_t r = 0; r < rows.count; ++r) {
                const RowOf row = row_of(call, r, n, 1);
                const Record found = nth_of_long_row<Record>(call, row.elements, n, ranks[r]);
                write(call, row, &found, 0, 1);
            }
            return;
        }
        for_each_rows(call, rows, [&](std::int64_t begin, std::int64_t end) {
            const Records<Record> all(n);
            for (std::int64_t r = begin; r < end; ++r) {
                const RowOf row = row_of(call, r, n, 1);
                make_records(call.node.source().dtype, row.elements, 0, n, false, all.data.get());
                std::nth_element(all.data.get(), all.data.get() + ranks[r], all.data.get() + n);
                write(call, row, all.data.get() + ranks[r], 0, 1);
            }
        });
    });
}

void sort_rows(const Call& call, Rows rows, bool descending) {
    with_record(call, rows, [&]<class Record>(Record) {
        const std::int64_t n = rows.length;
        if (n >= kParallelFrom) {
            for (std::int64_t r = 0; r < rows.count; ++r)
                sort_long_row<Record>(call, row_of(call, r, n, n), n, descending);
            return;
        }
        for_each_rows(call, rows, [&](std::int64_t begin, std::int64_t end) {
            const Records<Record> a(n), b(n);
            for (std::int64_t r = begin; r < end; ++r) {
                const RowOf row = row_of(call, r, n, n);
                make_records(call.node.source().dtype, row.elements, 0, n, descending, a.data.get());
                write(call, row, sort_serially(a.data.get(), b.data.get(), n), 0, n);
            }
        });
    });
}

void top_rows(const Call& call, Rows rows, std::int64_t k, bool largest) {
    if (k == 0) return;
    with_record(call, rows, [&]<class Record>(Record) {
        const std::int64_t n = rows.length;
        if (n >= kParallelFrom) {
            for (std::int64_t r = 0; r < rows.count; ++r)
                top_of_long_row<Record>(call, row_of(call, r, n, k), n, k, largest);
            return;
        }
        for_each_rows(call, rows, [&](std::int64_t begin, std::int64_t end) {
            std::vector<Record> found;
            for (std::int64_t r = begin; r < end; ++r) {
                const RowOf row = row_of(call, r, n, k);
                first_records(call.node.source().dtype, row.elements, 0, n, k, largest, found);
                write_first(call, row, found, k);
            }
        });
    });
}

void mode_rows(const Call& call, Rows rows) {
    with_record(call, rows, [&]<class Record>(Record) {
        const std::int64_t n = rows.length;
        for_each_rows(call, rows, [&](std::int64_t first, std::int64_t last) {
            const Records<Record> a(n), b(n);
            for (std::int64_t r = first; r < last; ++r) {
                const RowOf row = row_of(call, r, n, 1);
                make_records(call.node.source().dtype, row.elements, 0, n, false, a.data.get());
                const Record* const sorted = sort_serially(a.data.get(), b.data.get(), n);
                std::int64_t best = 0, most = 0;  // the end of the longest run of equal keys, and its length
                for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
                    for (end = begin; end < n && sorted[end].key() == sorted[begin].key();) ++end;
                    if (end - begin > most) most = end - begin, best = end - 1;
                }
                write(call, row, sorted + best, 0, 1);
            }
        });
    });
}

void search_rows(const Call& call, const Search& search) {
    const DType dtype = call.node.source().dtype;
    const std::int64_t n = search.length, m = search.per_row, total = numel(call.node.shape),
                       rows = search.shared ? 1 : total / m;
    std::vector<std::uint64_t> sorted(static_cast<std::size_t>(rows * n));
    for_each_block(call, rows * n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        keys_of(dtype, call.sources[0], begin, end, false, sorted.data() + begin);
    });
    for_each_block(call, total, 4096, [&](std::int64_t begin, std::int64_t end) {
        for_each_key<std::uint64_t>(dtype, call.sources[1], begin, end, false, [&](std::uint64_t key, std::int64_t i) {
            const std::uint64_t* const row = sorted.data() + (search.shared ? 0 : i / m * n);
            const std::uint64_t* base =
                row;  // all before it come first, whatever the comparison says of those from it on
            for (std::int64_t left = n; left > 0;) {
                const std::int64_t half = (left + 1) / 2;
                const bool before = search.right ? base[half - 1] <= key : base[half - 1] < key;
                base = before ? base + half : base;
                left = before ? left - half : half - 1;
            }
            call.result<std::int64_t>(0)[i] = base - row;
        });
    });
}

}  // namespace weft::order
