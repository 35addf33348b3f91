// tests/support/ptx_memory.cpp: loads, stores and atomics, and where their addresses lead.
#include "support/ptx_arithmetic.h"
#include "support/ptx_decode.h"

#include "core/str.h"

#include <cstring>

namespace weft::testing::ptx {

// ---- places ----------------------------------------------------------------------------------------------------------

namespace {

const char* name_of(Space space) {
    switch (space) {
        case Space::Shared: return "shared memory";
        case Space::Local: return "local memory";
        case Space::Param: return "the parameters";
        default: return "the memory of the launch";
    }
}

bool inside(std::uint64_t address, std::size_t bytes, const Range& range) {
    return address - range.address < range.bytes && bytes <= range.bytes - (address - range.address);
}

}  // namespace

Block::Place Block::place(const Thread& thread, const Instruction& at, Space space, std::uint64_t address,
                          std::size_t bytes, bool write) {
    if (address % bytes != 0)
        fault(thread, at, str("the address ", address, " is not a multiple of ", bytes, " bytes"));
    return place_bytes(thread, at, space, address, bytes, write);
}

Block::Place Block::place_bytes(const Thread& thread, const Instruction& at, Space space, std::uint64_t address,
                                std::size_t bytes, bool write) {
    if (space == Space::Generic && address >= kSharedWindow) {
        const std::uint64_t window = address >> 56 << 56;
        space = window == kSharedWindow ? Space::Shared : window == kLocalWindow ? Space::Local : Space::Param;
        address -= window;
    }
    const auto outside = [&] [[noreturn]] {
        fault(thread, at,
              str(write ? "writes" : "reads", " ", bytes, " bytes at ", address, ", outside of ", name_of(space)));
    };
    switch (space) {
        case Space::Shared:
            if (!inside(address, bytes, {kSharedBase, shared_.size()})) outside();
            address -= kSharedBase;
            return {shared_.data() + address, shared_.poison() + address, &shared_, address};
        case Space::Local:
            if (!inside(address, bytes, {0, code_.local_bytes})) outside();
            return {thread.local + address, thread.local_poison + address, nullptr, 0};
        case Space::Param:
            if (write || !inside(address, bytes, {0, parameters_.size()})) outside();
            return {parameters_.data() + address, nullptr, nullptr, 0};
        default: break;
    }
    std::uint8_t& hint = hints_[static_cast<std::size_t>(&at - code_.instructions.data())];
    const auto fits = [&](const Range& range) { return inside(address, bytes, range) && (range.writable || !write); };
    if (hint < memory_.size() && fits(memory_[hint]))
        return {memory_[hint].host(address), nullptr, nullptr, 0, watched_[hint]};
    for (std::size_t r = 0; r < memory_.size(); ++r)
        if (fits(memory_[r])) {
            hint = static_cast<std::uint8_t>(std::min<std::size_t>(r, 255));
            return {memory_[r].host(address), nullptr, nullptr, 0, watched_[r]};
        }
    auto* const data = reinterpret_cast<std::byte*>(address);
    const std::uint64_t offset = data - scratch_.data();
    if (scratch_.size() > 0 && inside(offset, bytes, {0, scratch_.size()}))
        return {data, scratch_.poison() + offset, &scratch_, offset};
    for (const Range& range : memory_)
        if (inside(address, bytes, range)) fault(thread, at, "writes to memory that it may only read");
    outside();
}

void Block::touch(const Thread& thread, const Instruction& at, const Place& place, std::size_t bytes, Touch how) {
    if (!place.shadow && !place.watched) return;
    touch_as({thread.number, thread.number, clocks_.time(thread.number)}, at, place, bytes, how);
}

void Block::touch_as(const Toucher& who, const Instruction& at, const Place& place, std::size_t bytes, Touch how) {
    if (!place.shadow && !place.watched) return;
    const auto address = reinterpret_cast<std::uint64_t>(place.data);
    const Word::Access* const other = place.shadow ? place.shadow->touch(clocks_, who, place.offset, bytes, how)
                                                   : device_.touch(clocks_, who, address, bytes, how);
    if (!other) return;
    const std::string where = place.shadow == &shared_    ? str("byte ", place.offset, " of shared memory")
                              : place.shadow == &scratch_ ? str("byte ", place.offset, " of the block's scratch memory")
                                                          : str("address ", address);
    const std::size_t agent = other->thread - threads_.size();
    const std::string with = other->thread < threads_.size()       ? str("thread ", other->thread)
                             : agent == kLoads || agent == kStores ? std::string("a bulk copy")
                                                                   : std::string("a product of tensor cores");
    fault(threads_[who.me], at,
          str("a race with ", with, place.watched && other->time <= clocks_.start() ? " of another block" : "",
              ": both touch ", where, other->how == Touch::Read ? ", which that one read" : ", which that one wrote",
              ", and nothing orders the two"));
}

namespace {

// ---- handlers --------------------------------------------------------------------------------------------------------

std::uint64_t address_of(const Thread& t, const Instruction& i) {
    t.block->need(t, i, t.p[i.a], "an address");
    return t.r[i.a] + static_cast<std::uint64_t>(i.offset);
}

Poison poison_of(const Block::Place& from, std::size_t bytes) {
    Poison all = 0;
    if (from.poison)
        for (std::size_t b = 0; b < bytes; ++b) all |= from.poison[b];
    return all;
}

// What is loaded is extended to the register's width.
template <class T>
std::uint64_t loaded(const std::byte* from, std::uint64_t mask) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) & mask;
}

template <class T>
const Instruction* load(Thread& t, const Instruction& i) {
    const auto from = t.block->place(t, i, i.space, address_of(t, i), sizeof(T), false);
    t.block->touch(t, i, from, sizeof(T), Touch::Read);
    t.r[i.d] = loaded<T>(from.data, i.mask);
    t.p[i.d] = poison_of(from, sizeof(T));
    return &i + 1;
}
template <class T, std::size_t kCount>
const Instruction* load_vector(Thread& t, const Instruction& i) {
    constexpr std::size_t kBytes = kCount * sizeof(T);
    const auto from = t.block->place(t, i, i.space, address_of(t, i), kBytes, false);
    t.block->touch(t, i, from, kBytes, Touch::Read);
    const std::uint32_t* const to = &t.block->code().lists[i.list];
    for (std::size_t k = 0; k < kCount; ++k) {
        t.r[to[k]] = loaded<T>(from.data + k * sizeof(T), i.mask);
        t.p[to[k]] = from.poison ? poison_of({nullptr, from.poison + k * sizeof(T), nullptr, 0, false}, sizeof(T)) : 0;
    }
    return &i + 1;
}

void store_one(Thread& t, const Instruction& i, const Block::Place& to, std::size_t at, std::size_t bytes,
               std::uint32_t slot) {
    std::memcpy(to.data + at, &t.r[slot], bytes);
    if (to.poison) std::memset(to.poison + at, t.p[slot], bytes);
    else t.block->need(t, i, t.p[slot], "what is stored");
}
template <class T>
const Instruction* store(Thread& t, const Instruction& i) {
    const auto to = t.block->place(t, i, i.space, address_of(t, i), sizeof(T), true);
    t.block->touch(t, i, to, sizeof(T), Touch::Write);
    store_one(t, i, to, 0, sizeof(T), i.b);
    return &i + 1;
}
template <class T, std::size_t kCount>
const Instruction* store_vector(Thread& t, const Instruction& i) {
    const auto to = t.block->place(t, i, i.space, address_of(t, i), kCount * sizeof(T), true);
    t.block->touch(t, i, to, kCount * sizeof(T), Touch::Write);
    const std::uint32_t* const from = &t.block->code().lists[i.list];
    for (std::size_t k = 0; k < kCount; ++k) store_one(t, i, to, k * sizeof(T), sizeof(T), from[k]);
    return &i + 1;
}

// ---- atomics ---------------------------------------------------------------------------------------------------------

struct Exchange {
    template <class T>
    T operator()(T, T b) const {
        return b;
    }
};

// The old value goes to d; slot 0 where nobody wants it (red).
template <class F, class T>
const Instruction* atomic(Thread& t, const Instruction& i) {
    const auto at = t.block->place(t, i, i.space, address_of(t, i), sizeof(T), true);
    t.block->touch(t, i, at, sizeof(T), Touch::Atomic);
    BitsOf<sizeof(T)> old;
    std::memcpy(&old, at.data, sizeof old);
    const Poison poison = poison_of(at, sizeof(T)) | t.p[i.b];
    if (!at.poison) t.block->need(t, i, poison, "what is stored");
    const auto bits = static_cast<BitsOf<sizeof(T)>>(to_slot<T>(F()(from_slot<T>(old), from_slot<T>(t.r[i.b]))));
    std::memcpy(at.data, &bits, sizeof bits);
    if (at.poison) std::memset(at.poison, poison, sizeof bits);
    t.r[i.d] = old;
    t.p[i.d] = poison;
    return &i + 1;
}
template <class T>
const Instruction* compare_and_swap(Thread& t, const Instruction& i) {
    const auto at = t.block->place(t, i, i.space, address_of(t, i), sizeof(T), true);
    t.block->touch(t, i, at, sizeof(T), Touch::Atomic);
    T old;
    std::memcpy(&old, at.data, sizeof old);
    const Poison poison = poison_of(at, sizeof(T)) | t.p[i.b] | t.p[i.c];
    t.block->need(t, i, poison, "what is compared and stored");
    const auto next = static_cast<T>(t.r[i.c]);
    if (old == static_cast<T>(t.r[i.b])) std::memcpy(at.data, &next, sizeof next);
    t.r[i.d] = old;
    t.p[i.d] = 0;
    return &i + 1;
}

// Into the space that everything has in common, and out of it.
const Instruction* to_generic(Thread& t, const Instruction& i) {
    t.r[i.d] = t.r[i.a] + static_cast<std::uint64_t>(i.offset);
    t.p[i.d] = t.p[i.a];
    return &i + 1;
}

// ---- which handler ---------------------------------------------------------------------------------------------------

// Hints for caches, and strengths of ordering between blocks: they change nothing here.
void take_hints(Decoder& d) {
    for (const std::string_view hint : {"nc",
                                        "ca",
                                        "cg",
                                        "cs",
                                        "lu",
                                        "cv",
                                        "wb",
                                        "wt",
                                        "weak",
                                        "volatile",
                                        "relaxed",
                                        "acquire",
                                        "release",
                                        "acq_rel",
                                        "cta",
                                        "cluster",
                                        "gpu",
                                        "sys",
                                        "L1::no_allocate",
                                        "L2::128B",
                                        "L2::256B"})
        d.take(hint);
}

template <class Pick>
Handler for_memory(Type type, Pick pick) {
    const bool is_signed = type.kind == 's';
    switch (type.bits) {
        case 8: return is_signed ? pick.template operator()<std::int8_t>() : pick.template operator()<std::uint8_t>();
        case 16:
            return is_signed ? pick.template operator()<std::int16_t>() : pick.template operator()<std::uint16_t>();
        case 32:
            return is_signed ? pick.template operator()<std::int32_t>() : pick.template operator()<std::uint32_t>();
        case 64: return pick.template operator()<std::uint64_t>();
        default: return nullptr;
    }
}

template <bool kLoad>
void decode_access(Decoder& d) {
    Instruction& out = d.out();
    out.space = d.take_space();
    take_hints(d);
    const std::size_t count = d.take("v2") ? 2 : d.take("v4") ? 4 : 1;
    const Type type = d.take_type();
    d.expect_operands(2);
    d.address(kLoad ? 1 : 0);
    const Operand& value = d.operand(kLoad ? 0 : 1);
    if (count == 1) {
        if (kLoad) out.d = d.write(value, type, true);
        else out.b = d.read(value, type, true);
        out.run = for_memory(type, []<class T>() -> Handler { return kLoad ? load<T> : store<T>; });
        return;
    }
    if (value.kind != Operand::Vector || value.parts.size() != count ||
        count * static_cast<std::size_t>(type.bits) > 128)
        d.fail("has another vector");
    std::vector<std::uint32_t> slots;
    for (const Operand& part : value.parts)
        slots.push_back(kLoad ? d.write(part, type, true) : d.read(part, type, true));
    out.list = d.add_list(slots);
    out.run = for_memory(type, [&]<class T>() -> Handler {
        if (count == 2) return kLoad ? load_vector<T, 2> : store_vector<T, 2>;
        return kLoad ? load_vector<T, 4> : store_vector<T, 4>;
    });
}

template <bool kKeepsOld>
void decode_atomic(Decoder& d) {
    Instruction& out = d.out();
    out.space = d.take_space();
    take_hints(d);
    const std::size_t how = d.take_index({"add", "min", "max", "and", "or", "xor", "exch", "cas"});
    const Type type = d.take_type();
    const std::size_t first = kKeepsOld ? 1 : 0;
    const bool swaps = how == 7;
    d.expect_operands(first + (swaps ? 3 : 2));
    d.address(first);
    out.b = d.read(first + 1, type);
    if (swaps) out.c = d.read(first + 2, type);
    if (kKeepsOld) out.d = d.write(0, type);
    if (type.kind == 'f')  // f32 in the device's memory is flushed, whatever the text says
        out.mode = type.bits == 32 && out.space == Space::Global ? Mode::Flush : Mode::Keep;
    const auto pick = [&]<class T>() -> Handler {
        if (how == 0) return atomic<Add, T>;
        if (how == 1) return atomic<Extreme<false>, T>;
        if (how == 2) return atomic<Extreme<true>, T>;
        if (how == 6) return atomic<Exchange, T>;
        if constexpr (std::is_integral_v<T>) {
            if (how == 3) return atomic<And, T>;
            if (how == 4) return atomic<Or, T>;
            if (how == 5) return atomic<Xor, T>;
            return compare_and_swap<std::make_unsigned_t<T>>;
        }
        return nullptr;
    };
    if (type == Type{'f', 32}) out.run = how == 0 ? pick.template operator()<float>() : nullptr;
    else if (type == Type{'f', 64}) out.run = how == 0 ? pick.template operator()<double>() : nullptr;
    else if (type.bits == 32)
        out.run =
            type.kind == 's' ? pick.template operator()<std::int32_t>() : pick.template operator()<std::uint32_t>();
    else if (type.bits == 64)
        out.run =
            type.kind == 's' ? pick.template operator()<std::int64_t>() : pick.template operator()<std::uint64_t>();
}

void decode_cvta(Decoder& d) {
    Instruction& out = d.out();
    const bool to = d.take("to");
    const Space space = d.take_space();
    if (d.take_type() != Type{'u', 64}) d.fail("is of 64 bits here");
    d.expect_operands(2);
    out.a = d.read(1, {'u', 64});
    out.d = d.write(0, {'u', 64});
    const std::uint64_t window = space == Space::Shared  ? kSharedWindow
                                 : space == Space::Local ? kLocalWindow
                                 : space == Space::Param ? kParamWindow
                                                         : 0;
    out.offset = static_cast<std::int64_t>(to ? -window : window);
    out.run = to_generic;
}

}  // namespace

std::span<const Family> memory_instructions() {
    static constexpr Family kTable[] = {
        {"ld", decode_access<true>},   {"st", decode_access<false>}, {"atom", decode_atomic<true>},
        {"red", decode_atomic<false>}, {"cvta", decode_cvta},
    };
    return kTable;
}

}  // namespace weft::testing::ptx
