// tensor/order.cpp: sorting by radix: an element becomes an unsigned key of the same order, a key with its position a record, and records
// are distributed digit by digit, which is stable. Blocks are fixed by the length, so the result never depends on threads.
#include "tensor/order.h"

#include "core/word.h"

#include <algorithm>
#include <bit>
#include <memory>
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
    if (magnitude > infinity) return Bits(~Bits(0));
    if (magnitude == 0) return kSign;
    return bits & kSign ? Bits(~bits) : Bits(bits | kSign);
}

template <class T>
struct Element;  // how T lies in memory, and its key
template <class T>
requires std::is_integral_v<T>
struct Element<T> {
    using Bits = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t,
                                    std::make_unsigned_t<std::conditional_t<std::is_same_v<T, bool>, char, T>>>;
    static Bits key(Bits bits) {
        return std::is_signed_v<T> ? Bits(bits ^ Bits(Bits(1) << (8 * sizeof(Bits) - 1))) : bits;
    }
};
template <>
struct Element<float> {
    using Bits = std::uint32_t;
    static Bits key(Bits bits) { return float_key<Bits>(bits, 0x7f800000); }
};
template <>
struct Element<double> {
    using Bits = std::uint64_t;
    static Bits key(Bits bits) { return float_key<Bits>(bits, 0x7ff0000000000000); }
};
template <>
struct Element<Half> {
    using Bits = std::uint16_t;
    static Bits key(Bits bits) { return float_key<Bits>(bits, 0x7c00); }
};
template <>
struct Element<BFloat16> {
    using Bits = std::uint16_t;
    static Bits key(Bits bits) { return float_key<Bits>(bits, 0x7f80); }
};

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

// ---- rows --------------------------------------------------------------------------------------------------------------

template <class T>
using Bits = typename Element<T>::Bits;

template <class Record, class T>
void make_records(const Bits<T>* row, std::int64_t begin, std::int64_t end, bool descending, Record* out) {
    for (std::int64_t i = begin; i < end; ++i) {
        const Bits<T> key = Element<T>::key(row[i]);
        *out++ = Record(typename Record::Key(descending ? Bits<T>(~key) : key), i);
    }
}

template <class Record, class T>
void write(const Record* sorted, const Bits<T>* row, std::int64_t begin, std::int64_t end, Bits<T>* values,
           std::int64_t* indices) {
    for (std::int64_t i = begin; i < end; ++i) {
        indices[i] = sorted[i].position();
        values[i] = row[indices[i]];
    }
}

template <class F>
void for_each_block(const Call& call, std::int64_t n, std::int64_t block, F f) {
    call.for_each((n + block - 1) / block, [&](std::int64_t k) { f(k * block, std::min(n, (k + 1) * block)); });
}

// Calls f(Record, T) with the narrowest record that holds T's key and a position.
template <class F>
void with_types(DType dtype, std::int64_t length, F f) {
    visit_dtype(dtype, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (sizeof(T) <= 4) {
            if (length <= INT64_C(0xffffffff)) return f(Narrow(), zero);
        }
        f(Wide(), zero);
    });
}

template <class Record, class T>
void sort_long_row(const Call& call, const Bits<T>* row, std::int64_t n, bool descending, Bits<T>* values,
                   std::int64_t* indices) {
    const Records<Record> a(n), b(n);
    for_each_block(call, n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        make_records<Record, T>(row, begin, end, descending, a.data.get() + begin);
    });
    const Record* const sorted = sort_in_blocks(call, a.data.get(), b.data.get(), n);
    for_each_block(call, n, kBlock, [&](std::int64_t begin, std::int64_t end) {
        write<Record, T>(sorted, row, begin, end, values, indices);
    });
}

// Calls f(row) for all rows, several of them per task when they are short.
template <class F>
void for_each_row(const Call& call, Rows rows, F f) {
    const std::int64_t block = std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(1, rows.length));
    for_each_block(call, rows.count, block, [&](std::int64_t begin, std::int64_t end) { f(begin, end); });
}

// ---- the first k -----------------------------------------------------------------------------------------------------

// The k first records of a row's part, in any order: those below a limit are collected, and the limit falls whenever they are many.
template <class Record, class T>
std::vector<Record> first_records(const Bits<T>* row, std::int64_t begin, std::int64_t end, std::int64_t k,
                                  bool largest) {
    std::vector<Record> found;
    const std::size_t most = static_cast<std::size_t>(2 * k + 32), wanted = static_cast<std::size_t>(k);
    found.reserve(std::min(most, static_cast<std::size_t>(end - begin)));
    const auto thin_out = [&] {
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(wanted) - 1, found.end());
        found.resize(wanted);
        return found.back().key();  // a later record with this key comes after all that are kept
    };
    bool limited = false;
    typename Record::Key limit = 0;
    for (std::int64_t i = begin; i < end; ++i) {
        const Bits<T> bits = Element<T>::key(row[i]);
        const auto key = typename Record::Key(largest ? Bits<T>(~bits) : bits);
        if (limited && key >= limit) continue;
        found.emplace_back(key, i);
        if (found.size() == most) limit = thin_out(), limited = true;
    }
    if (found.size() > wanted) thin_out();
    return found;
}

template <class Record, class T>
void write_first(std::vector<Record>& found, const Bits<T>* row, std::int64_t k, Bits<T>* values,
                 std::int64_t* indices) {
    if (static_cast<std::int64_t>(found.size()) > k) {
        std::nth_element(found.begin(), found.begin() + k - 1, found.end());
        found.resize(static_cast<std::size_t>(k));
    }
    std::vector<Record> scratch(found.size());
    write<Record, T>(sort_serially(found.data(), scratch.data(), k), row, 0, k, values, indices);
}

template <class Record, class T>
void top_of_long_row(const Call& call, const Bits<T>* row, std::int64_t n, std::int64_t k, bool largest,
                     Bits<T>* values, std::int64_t* indices) {
    const std::int64_t block = std::max(kBlock, 4 * k), blocks = (n + block - 1) / block;
    std::vector<std::vector<Record>> parts(static_cast<std::size_t>(blocks));
    call.for_each(blocks, [&](std::int64_t b) {
        parts[static_cast<std::size_t>(b)] =
            first_records<Record, T>(row, b * block, std::min(n, (b + 1) * block), k, largest);
    });
    std::vector<Record> found;
    for (const auto& part : parts) found.insert(found.end(), part.begin(), part.end());
    write_first<Record, T>(found, row, k, values, indices);
}

}  // namespace

void sort_rows(const Call& call, Rows rows, bool descending) {
    with_types(call.node.source().dtype, rows.length, [&]<class Record, class T>(Record, T) {
        const auto* const source = call.source<Bits<T>>(0);
        auto* const values = call.result<Bits<T>>(0);
        auto* const indices = call.result<std::int64_t>(1);
        const std::int64_t n = rows.length;
        if (n >= kParallelFrom) {
            for (std::int64_t r = 0; r < rows.count; ++r)
                sort_long_row<Record, T>(call, source + r * n, n, descending, values + r * n, indices + r * n);
            return;
        }
        for_each_row(call, rows, [&](std::int64_t begin, std::int64_t end) {
            const Records<Record> a(n), b(n);
            for (std::int64_t r = begin; r < end; ++r) {
                make_records<Record, T>(source + r * n, 0, n, descending, a.data.get());
                const Record* const sorted = sort_serially(a.data.get(), b.data.get(), n);
                write<Record, T>(sorted, source + r * n, 0, n, values + r * n, indices + r * n);
            }
        });
    });
}

void top_rows(const Call& call, Rows rows, std::int64_t k, bool largest) {
    if (k == 0) return;
    with_types(call.node.source().dtype, rows.length, [&]<class Record, class T>(Record, T) {
        const auto* const source = call.source<Bits<T>>(0);
        auto* const values = call.result<Bits<T>>(0);
        auto* const indices = call.result<std::int64_t>(1);
        const std::int64_t n = rows.length;
        if (n >= kParallelFrom) {
            for (std::int64_t r = 0; r < rows.count; ++r)
                top_of_long_row<Record, T>(call, source + r * n, n, k, largest, values + r * k, indices + r * k);
            return;
        }
        for_each_row(call, rows, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t r = begin; r < end; ++r) {
                auto found = first_records<Record, T>(source + r * n, 0, n, k, largest);
                write_first<Record, T>(found, source + r * n, k, values + r * k, indices + r * k);
            }
        });
    });
}

void mode_rows(const Call& call, Rows rows) {
    with_types(call.node.source().dtype, rows.length, [&]<class Record, class T>(Record, T) {
        const std::int64_t n = rows.length;
        for_each_row(call, rows, [&](std::int64_t first, std::int64_t last) {
            const Records<Record> a(n), b(n);
            for (std::int64_t r = first; r < last; ++r) {
                const auto* const row = call.source<Bits<T>>(0) + r * n;
                make_records<Record, T>(row, 0, n, false, a.data.get());
                const Record* const sorted = sort_serially(a.data.get(), b.data.get(), n);
                std::int64_t best = 0, most = 0;  // the end of the longest run of equal keys, and its length
                for (std::int64_t begin = 0, end = 0; begin < n; begin = end) {
                    for (end = begin; end < n && sorted[end].key() == sorted[begin].key();) ++end;
                    if (end - begin > most) most = end - begin, best = end - 1;
                }
                call.result<std::int64_t>(1)[r] = sorted[best].position();
                call.result<Bits<T>>(0)[r] = row[sorted[best].position()];
            }
        });
    });
}

void search_rows(const Call& call, const Search& search) {
    visit_dtype(call.node.source().dtype, [&](auto zero) {
        using T = decltype(zero);
        const std::int64_t n = search.length, m = search.per_row, total = numel(call.node.shape);
        for_each_block(call, total, 4096, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) {
                const auto* const row = call.source<Bits<T>>(0) + (search.shared ? 0 : i / m * n);
                const Bits<T> key = Element<T>::key(call.source<Bits<T>>(1)[i]);
                const auto* base = row;  // all before it come first, whatever the comparison says of those from it on
                for (std::int64_t left = n; left > 0;) {
                    const std::int64_t half = (left + 1) / 2;
                    const Bits<T> there = Element<T>::key(base[half - 1]);
                    const bool before = search.right ? there <= key : there < key;
                    base = before ? base + half : base;
                    left = before ? left - half : half - 1;
                }
                call.result<std::int64_t>(0)[i] = base - row;
            }
        });
    });
}

}  // namespace weft::order
