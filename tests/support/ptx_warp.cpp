// tests/support/ptx_warp.cpp: barriers, and what the lanes of a warp do together: shuffles and votes.
#include "support/ptx_decode.h"

#include <array>
#include <bit>

namespace weft::testing::ptx {
namespace {

template <class F>
void for_lanes(std::uint32_t lanes, F f) {
    for (; lanes; lanes &= lanes - 1) f(std::countr_zero(lanes));
}

// All lanes of the instruction's mask, which is in slot `e`.
const Instruction* meet_masked(Thread& t, const Instruction& i) {
    t.block->need(t, i, t.p[i.e], "a mask of lanes");
    return t.block->meet(t, i, t.r[i.e]);
}

// ---- shuffles --------------------------------------------------------------------------------------------------------

enum Shuffle : std::uint8_t { kUp, kDown, kButterfly, kIndex };

struct Source {
    int lane;
    bool in_range;
};
// As the manual has it: c says how far a lane may look, and into which segments the warp is cut.
Source source_of(int how, int lane, std::uint32_t b, std::uint32_t c) {
    const int by = b & 31, clamp = c & 31, segment = c >> 8 & 31;
    const int most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment;
    const int from = how == kUp          ? lane - by
                     : how == kDown      ? lane + by
                     : how == kButterfly ? lane ^ by
                                         : least | (by & ~segment & 31);
    const bool in_range = how == kUp ? from >= most : from <= most;
    return {in_range ? from : lane, in_range};
}

void shuffle(Block& block, const Instruction& i, int warp, std::uint32_t lanes) {
    std::array<std::uint64_t, 32> values{};
    std::array<Poison, 32> poison;
    poison.fill(kNoLane);
    for_lanes(lanes, [&](int lane) {
        const Thread& t = block.thread(warp, lane);
        values[static_cast<std::size_t>(lane)] = t.r[i.a];
        poison[static_cast<std::size_t>(lane)] = t.p[i.a];
    });
    for_lanes(lanes, [&](int lane) {
        Thread& t = block.thread(warp, lane);
        block.need(t, i, t.p[i.b] | t.p[i.c], "where a shuffle reads");
        const auto [from, in_range] =
            source_of(i.how, lane, static_cast<std::uint32_t>(t.r[i.b]), static_cast<std::uint32_t>(t.r[i.c]));
        t.r[i.d] = values[static_cast<std::size_t>(from)];
        t.p[i.d] = poison[static_cast<std::size_t>(from)];
        if (i.list) {
            t.r[i.list] = in_range;
            t.p[i.list] = 0;
        }
    });
}

void decode_shfl(Decoder& d) {
    Instruction& out = d.out();
    if (!d.take("sync")) d.fail("needs .sync");
    out.how = static_cast<std::uint8_t>(d.take_index({"up", "down", "bfly", "idx"}));
    if (d.take_type() != Type{'b', 32}) d.fail("moves 32 bits");
    d.expect_operands(5);
    out.a = d.read(1, {'b', 32});
    out.b = d.read(2, {'b', 32});
    out.c = d.read(3, {'b', 32});
    out.e = d.read(4, {'b', 32});
    out.d = d.write(0, {'b', 32});
    if (!d.operand(0).parts.empty()) out.list = d.write(d.operand(0).parts[0], {'p', 1});  // a slot of its own
    out.collective = shuffle;
    out.run = meet_masked;
}

// ---- votes -----------------------------------------------------------------------------------------------------------

enum Vote : std::uint8_t { kAll, kAny, kUniform, kBallot };

void vote(Block& block, const Instruction& i, int warp, std::uint32_t lanes) {
    std::uint32_t ballot = 0;
    Poison poison = 0;
    for_lanes(lanes, [&](int lane) {
        const Thread& t = block.thread(warp, lane);
        if ((t.r[i.a] != 0) != (i.flags != 0)) ballot |= 1u << lane;
        poison |= t.p[i.a];
    });
    const bool all = ballot == lanes, any = ballot != 0;
    for_lanes(lanes, [&](int lane) {
        Thread& t = block.thread(warp, lane);
        t.r[i.d] = i.how == kBallot ? ballot : i.how == kAll ? all : i.how == kAny ? any : all || !any;
        t.p[i.d] = poison;
    });
}

void decode_vote(Decoder& d) {
    Instruction& out = d.out();
    if (!d.take("sync")) d.fail("needs .sync");
    out.how = static_cast<std::uint8_t>(d.take_index({"all", "any", "uni", "ballot"}));
    const Type type = d.take_type();
    d.expect_operands(3);
    out.a = d.read(1, {'p', 1});
    out.flags = d.operand(1).negated;
    out.e = d.read(2, {'b', 32});
    out.d = d.write(0, out.how == kBallot ? Type{'b', 32} : Type{'p', 1});
    if (type != (out.how == kBallot ? Type{'b', 32} : Type{'p', 1})) d.fail("has another type");
    out.collective = vote;
    out.run = meet_masked;
}

// One of the lanes: the lowest.
void elect(Block& block, const Instruction& i, int warp, std::uint32_t lanes) {
    for_lanes(lanes, [&](int lane) {
        Thread& t = block.thread(warp, lane);
        t.r[i.d] = static_cast<std::uint64_t>(std::countr_zero(lanes));
        t.p[i.d] = 0;
        t.r[i.list] = lane == std::countr_zero(lanes);
        t.p[i.list] = 0;
    });
}
void decode_elect(Decoder& d) {
    if (!d.take("sync")) d.fail("needs .sync");
    d.expect_operands(2);
    d.out().e = d.read(1, {'b', 32});
    d.out().d = d.write(0, {'b', 32});
    if (d.operand(0).parts.empty()) d.fail("needs a predicate to write");
    d.out().list = d.write(d.operand(0).parts[0], {'p', 1});
    d.out().collective = elect;
    d.out().run = meet_masked;
}

// Which lanes run together is the hardware's choice: here all that are there.
const Instruction* active_mask(Thread& t, const Instruction& i) {
    t.r[i.d] = t.block->lanes_there(t.warp());
    t.p[i.d] = 0;
    return &i + 1;
}
void decode_activemask(Decoder& d) {
    if (d.take_type() != Type{'b', 32}) d.fail("has 32 bits");
    d.expect_operands(1);
    d.out().d = d.write(0, {'b', 32});
    d.out().run = active_mask;
}

// ---- barriers --------------------------------------------------------------------------------------------------------

template <bool kWait>
const Instruction* barrier(Thread& t, const Instruction& i) {
    t.block->need(t, i, t.p[i.a] | (i.b ? t.p[i.b] : 0), "the number of a barrier");
    return t.block->arrive(t, i, t.r[i.a], i.b ? t.r[i.b] : 0, kWait);
}

void order_warp(Block& block, const Instruction&, int warp, std::uint32_t lanes) {
    std::vector<std::uint16_t> group;
    for_lanes(lanes, [&](int lane) { group.push_back(static_cast<std::uint16_t>(warp * 32 + lane)); });
    block.clocks().meet(group);
}

void decode_bar(Decoder& d) {
    Instruction& out = d.out();
    d.take("cta"), d.take("aligned");
    if (d.take("warp")) {
        if (!d.take("sync")) d.fail("needs .sync");
        d.expect_operands(1);
        out.e = d.read(0, {'b', 32});
        out.collective = order_warp;
        out.run = meet_masked;
        return;
    }
    const bool wait = d.take_one({"sync", "arrive"}) == "sync";
    d.expect_operands(wait ? 1 : 2, 2);
    out.a = d.read(0, {'u', 32});
    if (d.operands() == 2) out.b = d.read(1, {'u', 32});
    out.run = wait ? barrier<true> : barrier<false>;
}

}  // namespace

std::span<const Family> warp_instructions() {
    static constexpr Family kTable[] = {
        {"shfl", decode_shfl}, {"vote", decode_vote},   {"elect", decode_elect}, {"activemask", decode_activemask},
        {"bar", decode_bar},   {"barrier", decode_bar},
    };
    return kTable;
}

}  // namespace weft::testing::ptx
