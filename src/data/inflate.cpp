// data/inflate.cpp: the deflate decoder, table-driven: the next bits of the input are an index into a table whose entry
// says which symbol they start with and how many bits it took.
#include "data/inflate.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace weft::data {
namespace {

constexpr int kMaxCodeBits = 15;
constexpr int kMaxLiterals = 288, kMaxDistances = 32;  // of the fixed code; a dynamic block may use 286 and 30
constexpr int kFirstLength = 257;                      // 0 to 255 are literals, 256 ends the block
constexpr std::size_t kFirstAllocation = 4096;

// Bits of the input, lowest first. Up to 64 of them wait in `bits_`.
class BitReader {
public:
    explicit BitReader(std::span<const std::byte> input) : input_(input) {}

    // Afterwards 56 bits or more wait, or all that are left. A length and a distance with extra bits take at most 48.
    void refill() {
        if (input_.size() - next_ >= 8) {
            std::uint64_t word = 0;
            for (int i = 0; i < 8; ++i) word |= std::to_integer<std::uint64_t>(input_[next_ + i]) << (8 * i);
            // Part of the word's last byte may land above count_. It will be added again, and is the same then.
            bits_ |= word << count_;
            next_ += (63 - count_) / 8;
            count_ |= 56;
        } else {
            for (; count_ <= 56 && next_ < input_.size(); count_ += 8)
                bits_ |= std::to_integer<std::uint64_t>(input_[next_++]) << count_;
        }
    }
    std::uint64_t peek() const { return bits_; }
    void skip(unsigned bits) {
        if (bits > count_) fail("it is truncated");
        bits_ >>= bits;
        count_ -= bits;
    }
    unsigned take(unsigned bits) {  // after refill()
        const unsigned value = static_cast<unsigned>(bits_) & ((1u << bits) - 1);
        skip(bits);
        return value;
    }
    std::size_t skip_to_byte() {
        skip(count_ % 8);
        return position();
    }
    std::span<const std::byte> take_bytes(std::size_t count) {  // after skip_to_byte()
        const std::size_t start = position();
        if (count > input_.size() - start) fail("it is truncated within a stored block");
        next_ = start + count;
        bits_ = count_ = 0;
        return input_.subspan(start, count);
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw CorruptData(what + " (at byte " + std::to_string(position()) + " of the compressed stream)");
    }

private:
    std::size_t position() const { return next_ - count_ / 8; }

    std::span<const std::byte> input_;
    std::size_t next_ = 0;  // the first byte of which no bit is counted in count_
    std::uint64_t bits_ = 0;
    unsigned count_ = 0;
};

// What a code stands for. `kind` is one of the constants or, below 16, a number of extra bits to add to `value`.
struct Entry {
    std::uint16_t value = 0;  // literal, base of a length or distance, or where the second table starts
    std::uint8_t bits = 0;    // length of the code
    std::uint8_t kind = kInvalid;

    static constexpr std::uint8_t kLiteral = 16, kEndOfBlock = 17, kSecondTable = 18, kInvalid = 19;
};

constexpr Entry number(int symbol) { return {static_cast<std::uint16_t>(symbol), 0, Entry::kLiteral}; }

// Lengths: eight plain ones, then in groups of four, each group with one extra bit more; the last symbol is 258 alone.
constexpr Entry literal_or_length(int symbol) {
    if (symbol < 256) return number(symbol);
    if (symbol == 256) return {0, 0, Entry::kEndOfBlock};
    const int i = symbol - kFirstLength, extra = i / 4 - 1;
    if (i < 8) return {static_cast<std::uint16_t>(3 + i), 0, 0};
    if (i < 28) return {static_cast<std::uint16_t>(3 + ((4 + i % 4) << extra)), 0, static_cast<std::uint8_t>(extra)};
    if (i == 28) return {258, 0, 0};
    return {};  // two symbols of the fixed code have no meaning
}

// Distances: four plain ones, then in groups of two, each group with one extra bit more.
constexpr Entry distance(int symbol) {
    if (symbol < 4) return {static_cast<std::uint16_t>(1 + symbol), 0, 0};
    if (symbol >= 30) return {};
    const int extra = symbol / 2 - 1;
    return {static_cast<std::uint16_t>(1 + ((2 + symbol % 2) << extra)), 0, static_cast<std::uint8_t>(extra)};
}

static_assert(literal_or_length(284).value == 227 && literal_or_length(284).kind == 5);
static_assert(distance(29).value == 24577 && distance(29).kind == 13);

unsigned reverse_bits(unsigned code, int length) {
    unsigned reversed = 0;
    for (int i = 0; i < length; ++i) reversed |= ((code >> i) & 1) << (length - 1 - i);
    return reversed;
}

// The decoding table of one prefix code. Codes longer than the first table's index go on in a second one.
class Table {
public:
    // `lengths[s]` is the length of the code of symbol s, 0 if it has none; meaning(s) is its entry. Returns what is
    // wrong with the lengths, or nullptr.
    template <class Meaning>
    const char* build(std::span<const std::uint8_t> lengths, int index_bits, Meaning meaning);

    Entry look_up(std::uint64_t bits) const {
        Entry entry = entries_[bits & first_mask_];
        if (entry.kind == Entry::kSecondTable) entry = entries_[entry.value + ((bits >> entry.bits) & second_mask_)];
        return entry;
    }

private:
    void place(Entry entry, unsigned code, int length);

    std::vector<Entry> entries_;
    int index_bits_ = 0, second_bits_ = 0;
    std::uint64_t first_mask_ = 0, second_mask_ = 0;
};

template <class Meaning>
const char* Table::build(std::span<const std::uint8_t> lengths, int index_bits, Meaning meaning) {
    std::array<int, kMaxCodeBits + 1> count = {};
    for (const int length : lengths) ++count[length];
    const int used = static_cast<int>(lengths.size()) - count[0];

    int longest = 0, left = 1;  // codes of the current length that are still free
    std::array<unsigned, kMaxCodeBits + 2> next_code = {};
    for (int length = 1; length <= kMaxCodeBits; ++length) {
        left = 2 * left - count[length];
        if (left < 0) return "has more codes than fit their lengths";
        if (count[length] > 0) longest = length;
        next_code[length + 1] = (next_code[length] + count[length]) << 1;
    }
    // One symbol alone still takes a bit, and a block without matches needs no distances; all other gaps are errors.
    if (left > 0 && used > 1) return "does not use all codes of its lengths";
    if (used == 1 && longest != 1) return "has a single code that is longer than one bit";

    index_bits_ = std::min(index_bits, std::max(longest, 1));
    second_bits_ = std::max(longest - index_bits_, 0);
    first_mask_ = (1u << index_bits_) - 1;
    second_mask_ = (1u << second_bits_) - 1;
    entries_.assign(first_mask_ + 1, Entry{});
    for (std::size_t symbol = 0; symbol < lengths.size(); ++symbol)
        if (const int length = lengths[symbol]) place(meaning(static_cast<int>(symbol)), next_code[length]++, length);
    return nullptr;
}

void Table::place(Entry entry, unsigned code, int length) {
    entry.bits = static_cast<std::uint8_t>(length);
    const unsigned index = reverse_bits(code, length);  // codes come highest bit first, unlike all else
    if (length <= index_bits_) {
        for (std::size_t i = index; i <= first_mask_; i += std::size_t{1} << length) entries_[i] = entry;
        return;
    }
    Entry& first = entries_[index & first_mask_];
    if (first.kind != Entry::kSecondTable)
        first = {static_cast<std::uint16_t>(entries_.size()), static_cast<std::uint8_t>(index_bits_),
                 Entry::kSecondTable};
    const std::size_t start = first.value;  // `first` dangles after the resize
    entries_.resize(std::max<std::size_t>(entries_.size(), start + second_mask_ + 1));
    for (std::size_t i = index >> index_bits_; i <= second_mask_; i += std::size_t{1} << (length - index_bits_))
        entries_[start + i] = entry;
}

struct Codes {
    Table literals;
    Table distances;
};

constexpr int kLiteralIndexBits = 11, kDistanceIndexBits = 9;  // the tables stay in the first-level cache

const Codes& fixed_codes() {
    static const Codes kCodes = [] {
        std::array<std::uint8_t, kMaxLiterals> literals;
        for (int s = 0; s < kMaxLiterals; ++s) literals[s] = s < 144 ? 8 : s < 256 ? 9 : s < 280 ? 7 : 8;
        std::array<std::uint8_t, kMaxDistances> distances;
        distances.fill(5);
        Codes codes;
        codes.literals.build(literals, kLiteralIndexBits, literal_or_length);
        codes.distances.build(distances, kDistanceIndexBits, distance);
        return codes;
    }();
    return kCodes;
}

// The lengths of a dynamic block's two codes, run-length coded with a code of their own.
void read_code_lengths(BitReader& in, const Table& code, std::span<std::uint8_t> lengths) {
    for (std::size_t filled = 0; filled < lengths.size();) {
        in.refill();
        const Entry entry = code.look_up(in.peek());
        in.skip(entry.bits);
        if (entry.kind == Entry::kInvalid) in.fail("a code length has an unused code");
        if (entry.value < 16) {
            lengths[filled++] = static_cast<std::uint8_t>(entry.value);
            continue;
        }
        if (entry.value == 16 && filled == 0) in.fail("the first code length repeats the one before it");
        const std::uint8_t repeated = entry.value == 16 ? lengths[filled - 1] : 0;
        const unsigned times = entry.value == 18 ? 11 + in.take(7) : 3 + in.take(entry.value == 17 ? 3 : 2);
        if (times > lengths.size() - filled) in.fail("there are more code lengths than symbols");
        std::fill_n(lengths.begin() + filled, times, repeated);
        filled += times;
    }
}

Codes read_dynamic_codes(BitReader& in) {
    in.refill();
    const unsigned literals = kFirstLength + in.take(5), distances = 1 + in.take(5), given = 4 + in.take(4);
    if (literals > 286) in.fail("a block announces " + std::to_string(literals) + " literal codes, the most is 286");
    if (distances > 30) in.fail("a block announces " + std::to_string(distances) + " distance codes, the most is 30");

    constexpr std::uint8_t kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    std::array<std::uint8_t, 19> code_lengths = {};
    for (unsigned i = 0; i < given; ++i) {
        in.refill();
        code_lengths[kOrder[i]] = static_cast<std::uint8_t>(in.take(3));
    }
    Table lengths_code;
    if (const char* wrong = lengths_code.build(code_lengths, 7, number))
        in.fail(std::string("a block's code for code lengths ") + wrong);

    std::array<std::uint8_t, kMaxLiterals + kMaxDistances> buffer = {};
    const auto lengths = std::span(buffer).first(literals + distances);
    read_code_lengths(in, lengths_code, lengths);
    if (lengths[256] == 0) in.fail("a block has no code for its end");
    Codes codes;
    if (const char* wrong = codes.literals.build(lengths.first(literals), kLiteralIndexBits, literal_or_length))
        in.fail(std::string("a block's literal code ") + wrong);
    if (const char* wrong = codes.distances.build(lengths.subspan(literals), kDistanceIndexBits, distance))
        in.fail(std::string("a block's distance code ") + wrong);
    return codes;
}

// One block's symbols, up to its end. False: the output is full. `start`: where this stream's output begins.
bool decode_symbols(BitReader& reader, const Codes& codes, Unpacked& output, std::size_t start) {
    BitReader in = reader;  // a local copy can live in registers: stores to the output cannot change it
    for (;;) {
        in.refill();
        const Entry entry = codes.literals.look_up(in.peek());
        in.skip(entry.bits);
        if (entry.kind == Entry::kLiteral) {
            if (!output.put(static_cast<std::byte>(entry.value))) return false;
            continue;
        }
        if (entry.kind == Entry::kEndOfBlock) break;
        if (entry.kind == Entry::kInvalid) in.fail("a literal has an unused code");
        const std::size_t length = entry.value + in.take(entry.kind);
        const Entry back = codes.distances.look_up(in.peek());
        in.skip(back.bits);
        if (back.kind == Entry::kInvalid) in.fail("a distance has an unused code");
        const std::size_t far = back.value + in.take(back.kind);
        if (far > output.size() - start)
            in.fail("a match starts " + std::to_string(far) + " bytes back, after " +
                    std::to_string(output.size() - start) + " bytes of output");
        if (!output.repeat(far, length)) return false;
    }
    reader = in;
    return true;
}

bool copy_stored_block(BitReader& in, Unpacked& output) {
    in.skip_to_byte();
    const auto header = in.take_bytes(4);
    const auto byte = [&](int i) { return std::to_integer<unsigned>(header[i]); };
    const unsigned length = byte(0) | byte(1) << 8, complement = byte(2) | byte(3) << 8;
    if ((length ^ complement) != 0xffff) in.fail("a stored block's length and its complement differ");
    return output.append(in.take_bytes(length));
}

}  // namespace

Unpacked::Unpacked(std::size_t limit, std::size_t expected) : bytes_(std::min(limit, expected)), limit_(limit) {}

std::vector<std::byte> Unpacked::take() {
    bytes_.resize(used_);
    used_ = 0;
    return std::move(bytes_);
}

std::size_t Unpacked::room_for(std::size_t count) {
    const std::size_t allowed = std::min(count, limit_ - used_);
    if (allowed > bytes_.size() - used_)
        bytes_.resize(std::min(limit_, std::max({used_ + allowed, 2 * bytes_.size(), kFirstAllocation})));
    return allowed;
}

bool Unpacked::append(std::span<const std::byte> piece) {
    const std::size_t count = room_for(piece.size());
    std::copy_n(piece.begin(), count, bytes_.begin() + used_);
    used_ += count;
    return count == piece.size();
}

bool Unpacked::repeat(std::size_t distance, std::size_t length) {
    const std::size_t count = room_for(length);
    std::byte* const to = bytes_.data() + used_;
    const std::byte* const from = to - distance;
    if (distance >= count) std::memcpy(to, from, count);
    else if (distance == 1) std::memset(to, std::to_integer<int>(*from), count);
    else
        for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    used_ += count;
    return count == length;
}

InflateResult inflate(std::span<const std::byte> input, Unpacked& output) {
    BitReader in(input);
    const std::size_t start = output.size();
    for (bool last = false; !last;) {
        in.refill();
        last = in.take(1) == 1;
        bool fits = true;
        switch (in.take(2)) {
            case 0: fits = copy_stored_block(in, output); break;
            case 1: fits = decode_symbols(in, fixed_codes(), output, start); break;
            case 2: fits = decode_symbols(in, read_dynamic_codes(in), output, start); break;
            default: in.fail("a block has the reserved type 3");
        }
        if (!fits) return {0, false};
    }
    return {in.skip_to_byte(), true};
}

}  // namespace weft::data
