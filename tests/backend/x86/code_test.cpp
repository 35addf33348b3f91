// The passes over instructions, between the emitter and the registers: each on a short listing made by hand.
#include "backend/x86/fold_loads.h"
#include "backend/x86/interleave.h"
#include "backend/x86/meaning.h"
#include "backend/x86/split_registers.h"
#include "core/str.h"

#include <asmjit/x86.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>

namespace weft::backend::x86 {
namespace {

namespace Id = asmjit::x86::Inst;

// Instructions over made-up registers: what the passes after the emitter see.
struct Listing {
    Code code;
    Reg base = code.make(Class::Gp, 8);

    Reg vector() { return code.make(Class::Vec, 64); }
    void add(std::uint32_t id, bool writes, std::initializer_list<Operand> operands) {
        Ins ins{.id = id, .count = static_cast<std::uint8_t>(operands.size()), .writes_first = writes};
        if (operands.size() == 3) ins.element = 4;
        std::copy(operands.begin(), operands.end(), ins.o);
        code.list.push_back(ins);
    }
};

// What the code computes: each instruction's result as a text of its operands.
std::pair<std::map<int, std::string>, std::string> meaning(const Code& code) {
    std::map<int, std::string> regs;
    std::string memory = "memory";
    for (const Ins& ins : code.list) {
        if (ins.id >= kMove && ins.id != kMove) continue;
        std::string text = str(ins.id == kMove ? 0 : ins.id);
        for (int i = ins.writes_first && !ins.reads_first ? 1 : 0; i < ins.count; ++i)
            text += ins.o[i].kind == Operand::Kind::Memory ? str("(", ins.o[i].value, memory, ")")
                                                           : str("(", regs[ins.o[i].reg.id], ")");
        text = str(std::hash<std::string>()(text));
        (ins.writes_first ? regs[ins.o[0].reg.id] : memory) = text;
    }
    return {regs, memory};
}

// How many vectors, or masks, are between their first and their last use at one time, at most.
int most_alive(const Code& code, Class cls = Class::Vec) {
    std::map<int, std::pair<std::size_t, std::size_t>> ranges;
    for (std::size_t i = 0; i < code.list.size(); ++i)
        for_each_reg(code.list[i], [&](int id, bool, bool) {
            if (code.regs[static_cast<std::size_t>(id)].cls == cls)
                ranges.try_emplace(id, i, i).first->second.second = i;
        });
    long most = 0;
    for (std::size_t i = 0; i < code.list.size(); ++i)
        most = std::max(most, std::count_if(ranges.begin(), ranges.end(), [&](const auto& range) {
                            return range.second.first <= i && i < range.second.second;
                        }));
    return static_cast<int>(most);
}

}  // namespace

TEST_CASE("chains of instructions take turns; loads, stores and what is overwritten keep their order") {
    Listing l;
    const auto v = [](Reg r) { return vec(r, 64); };
    std::vector<Reg> sums;
    l.add(kLoopBegin, false, {imm(100)});
    for (int chain = 0; chain < 2; ++chain) {
        const Reg x = l.vector(), sum = l.vector();
        l.add(Id::kIdVmovups, true, {v(x), memory(l.base, 64 * chain, 64)});
        l.add(kMove, true, {v(sum), v(x)});
        for (int i = 0; i < 10; ++i) {
            l.add(Id::kIdVfmadd231ps, true, {v(sum), v(sum), v(x)});
            l.code.list.back().reads_first = true;
        }
        sums.push_back(sum);
    }
    for (const Reg sum : sums) l.add(Id::kIdVmovups, false, {memory(l.base, 0, 64), v(sum)});
    l.add(Id::kIdVmovups, true, {v(sums[0]), memory(l.base, 0, 64)});  // must stay behind the second store
    l.add(kLoopEnd, false, {});

    Code interleaved = l.code;
    interleave(interleaved, 32);
    CHECK(interleaved.list.size() == l.code.list.size());
    CHECK(meaning(interleaved) == meaning(l.code));
    int changes = 0;  // from one chain to the other
    for (std::size_t i = 4; i + 4 < interleaved.list.size(); ++i)
        changes += interleaved.list[i].o[0].reg.id != interleaved.list[i - 1].o[0].reg.id;
    CHECK(changes > 12);

    Code crowded = l.code;
    interleave(crowded, 3);  // two chains at once need four registers
    CHECK(meaning(crowded) == meaning(l.code));
    CHECK(most_alive(interleaved) == 4);
    CHECK(most_alive(crowded) <= 3);
}

TEST_CASE("chains in few registers: as many at once as there is room for") {
    Listing l;
    const auto v = [](Reg r) { return vec(r, 64); };
    l.add(kLoopBegin, false, {imm(100)});
    for (int chain = 0; chain < 6; ++chain) {  // three alive in each
        const Reg x = l.vector(), y = l.vector();
        l.add(Id::kIdVmovups, true, {v(x), memory(l.base, 64 * chain, 64)});
        l.add(Id::kIdVmovups, true, {v(y), memory(l.base, 64 * chain + 1024, 64)});
        Reg sum = x;
        for (int i = 0; i < 8; ++i) {
            const Reg next = l.vector();
            l.add(Id::kIdVmulps, true, {v(next), v(sum), v(y)});
            sum = next;
        }
        Operand to = memory(l.base, 64 * chain, 64);
        to.local = true;
        l.add(Id::kIdVmovups, false, {to, v(sum)});
    }
    l.add(kLoopEnd, false, {});
    for (const int registers : {4, 7, 16}) {
        CAPTURE(registers);
        Code code = l.code;
        interleave(code, registers);
        CHECK(most_alive(code) <= registers);
        CHECK(most_alive(code) > registers / 2);
        CHECK(code.list.size() == l.code.list.size());
    }
}

TEST_CASE("chains leave registers to constants that all of them read, and to an inner loop") {
    const auto v = [](Reg r) { return vec(r, 64); };
    const auto make = [&](bool constants, bool inner) {
        Listing l;
        Reg table[4];
        for (Reg& r : table) {
            r = l.vector();
            l.code.regs[static_cast<std::size_t>(r.id)].constant = constants;
        }
        l.add(kLoopBegin, false, {imm(100)});
        if (inner) {
            l.add(kLoopBegin, false, {imm(100)});
            l.add(kLoopEnd, false, {});
        }
        for (int chain = 0; chain < 12; ++chain) {  // one alive in each
            Reg sum = l.vector();
            l.add(Id::kIdVmovups, true, {v(sum), memory(l.base, 64 * chain, 64)});
            for (int i = 0; i < 8; ++i) {
                const Reg next = l.vector();
                l.add(Id::kIdVmulps, true, {v(next), v(sum), v(constants ? table[i % 4] : sum)});
                sum = next;
            }
            Operand to = memory(l.base, 64 * chain, 64);
            to.local = true;
            l.add(Id::kIdVmovups, false, {to, v(sum)});
        }
        l.add(kLoopEnd, false, {});
        interleave(l.code, 8);
        return most_alive(l.code);
    };
    CHECK(make(false, false) == 8);
    CHECK(make(true, false) == 6 + 4);  // the constants, which may be read from memory, are alive throughout
    CHECK(make(false, true) == 1);
}

TEST_CASE("no more masks are alive at once than there are") {
    Listing l;
    const auto v = [](Reg r) { return vec(r, 64); };
    l.add(kLoopBegin, false, {imm(100)});
    for (int chain = 0; chain < 12; ++chain) {
        Reg sum = l.vector();
        l.add(Id::kIdVmovups, true, {v(sum), memory(l.base, 64 * chain, 64)});
        for (int i = 0; i < 6; ++i) {
            const Reg k = l.code.make(Class::Mask, 8), next = l.vector();
            l.add(Id::kIdVcmpps, true, {mask(k), v(sum), v(sum)});
            l.add(Id::kIdVblendmps, true, {v(next), v(sum), v(sum)});
            l.code.list.back().lanes = k;
            l.code.list.back().blends = true;
            sum = next;
        }
        Operand to = memory(l.base, 64 * chain, 64);
        to.local = true;
        l.add(Id::kIdVmovups, false, {to, v(sum)});
    }
    l.add(kLoopEnd, false, {});
    interleave(l.code, 32);
    CHECK(most_alive(l.code) > 6);
    const int masks = most_alive(l.code, Class::Mask);
    CHECK(masks > 1);
    CHECK(masks <= 7);
}

TEST_CASE("loads pass stores to the kernel's own memory, and no others") {
    for (const bool local : {false, true}) {
        CAPTURE(local);
        Listing l;
        const auto v = [](Reg r) { return vec(r, 64); };
        l.add(kLoopBegin, false, {imm(100)});
        for (int chain = 0; chain < 2; ++chain) {
            Reg x = l.vector();
            l.add(Id::kIdVmovups, true, {v(x), memory(l.base, 64 * chain, 64)});
            for (int i = 0; i < 10; ++i) {
                const Reg next = l.vector();
                l.add(Id::kIdVmulps, true, {v(next), v(x), v(x)});
                x = next;
            }
            Operand to = memory(l.base, 0, 64);
            to.local = local;
            l.add(Id::kIdVmovups, false, {to, v(x)});
        }
        l.add(kLoopEnd, false, {});
        interleave(l.code, 32);
        const auto is_load = [](const Ins& ins) { return ins.count == 2 && ins.o[1].kind == Operand::Kind::Memory; };
        const auto is_store = [](const Ins& ins) { return ins.o[0].kind == Operand::Kind::Memory; };
        const auto last_load = std::find_if(l.code.list.rbegin(), l.code.list.rend(), is_load).base();
        const auto store = std::find_if(l.code.list.begin(), l.code.list.end(), is_store);
        CHECK((last_load <= store) == local);
    }
}

TEST_CASE("what is compared with memory is compared where its flags are read") {
    Listing l;
    const auto v = [](Reg r) { return vec(r, 64); };
    const Reg flag = l.code.make(Class::Gp, 8), sum = l.code.make(Class::Gp, 8);
    l.add(kLoopBegin, false, {imm(100)});
    Reg x = l.vector();
    l.add(Id::kIdVmovups, true, {v(x), memory(l.base, 0, 64)});
    for (int i = 0; i < 20; ++i) {
        const Reg next = l.vector();
        l.add(Id::kIdVmulps, true, {v(next), v(x), v(x)});
        x = next;
    }
    l.add(Id::kIdVmovups, false, {memory(l.base, 0, 64), v(x)});
    l.add(Id::kIdAdd, true, {gp(sum), imm(64)});  // its flags are nobody's, and it has time
    l.code.list.back().reads_first = true;
    Operand compared = memory(l.base, 0, 1);
    compared.local = true;  // it waits for nothing either
    l.add(Id::kIdCmp, false, {compared, imm(0)});
    l.add(Id::kIdSetne, true, {gp(flag, 1)});
    l.add(kLoopEnd, false, {});
    const Meaning before = meaning_of(l.code);
    interleave(l.code, 32);
    CHECK(meaning_of(l.code) == before);
    const auto at = [&](std::uint32_t id) {
        return std::find_if(l.code.list.begin(), l.code.list.end(), [&](const Ins& ins) { return ins.id == id; });
    };
    CHECK(at(Id::kIdCmp) + 1 == at(Id::kIdSetne));
}

TEST_CASE("a vector of which only lanes are written goes on with what it held before the block") {
    Listing l;
    const auto v = [](Reg r) { return vec(r, 32); };
    const Reg x = l.code.make(Class::Vec, 32), y = l.code.make(Class::Vec, 32);
    l.add(kLoopBegin, false, {imm(100)});
    for (int iteration = 0; iteration < 2; ++iteration)
        l.add(Id::kIdVblendps, true, {v(x), v(x), v(y), imm(1 << iteration)});
    l.add(Id::kIdVmovups, false, {memory(l.base, 0, 32), v(x)});
    l.add(kLoopEnd, false, {});
    const Meaning before = meaning_of(l.code);
    split_registers(l.code);
    CHECK(meaning_of(l.code) == before);
    for (const Ins& ins : l.code.list)
        if (ins.id == Id::kIdVblendps) CHECK(ins.o[1].reg == x);
}

TEST_CASE("a vector that is written anew is another one, unless something outside sees it") {
    for (const bool read_outside : {false, true}) {
        CAPTURE(read_outside);
        Listing l;
        const auto v = [](Reg r) { return vec(r, 64); };
        const Reg x = l.vector();
        l.add(kLoopBegin, false, {imm(100)});
        for (int iteration = 0; iteration < 3; ++iteration) {
            l.add(Id::kIdVmovups, true, {v(x), memory(l.base, 64 * iteration, 64)});
            l.add(Id::kIdVaddps, true, {v(x), v(x), v(x)});  // reads itself, and is a new value
            l.add(Id::kIdVfmadd231ps, true, {v(x), v(x), v(x)});
            l.code.list.back().reads_first = true;  // goes on with the old one
            l.add(Id::kIdVmovups, false, {memory(l.base, 64 * iteration, 64), v(x)});
        }
        l.add(kLoopEnd, false, {});
        if (read_outside) l.add(Id::kIdVmovups, false, {memory(l.base, 0, 64), v(x)});
        Code split = l.code;
        split_registers(split);
        CHECK(meaning(split).second == meaning(l.code).second);
        std::map<int, int> written;
        for (const Ins& ins : split.list)
            if (ins.writes_first && ins.count > 1) ++written[ins.o[0].reg.id];
        CHECK(written.size() == (read_outside ? 1 : 6));
    }
}

TEST_CASE("what was loaded before a store is not loaded after it, if they may be one place") {
    enum Stored { kNothing, kElsewhere, kThere };
    for (const Stored stored : {kNothing, kElsewhere, kThere}) {
        CAPTURE(stored);
        Listing l;
        const Reg x = l.vector(), y = l.vector();
        l.add(Id::kIdVmovups, true, {vec(x, 64), memory(l.base, 0, 64)});
        Operand to = memory(l.base, 0, 64);
        to.local = stored == kElsewhere;
        if (stored != kNothing) l.add(Id::kIdVmovups, false, {to, vec(y, 64)});
        l.add(Id::kIdVaddps, true, {vec(y, 64), vec(y, 64), vec(x, 64)});
        Code& code = l.code;
        const std::size_t before = code.list.size();
        fold_loads(code);
        CHECK(code.list.size() == (stored == kThere ? before : before - 1));
        CHECK((code.list.back().o[2].kind == Operand::Kind::Memory) == (stored != kThere));
    }
}

TEST_CASE("what was loaded from an address that has changed since is no operand") {
    for (const bool changed : {false, true}) {
        CAPTURE(changed);
        Listing l;
        const Reg x = l.vector(), y = l.vector();
        l.add(Id::kIdVmovups, true, {vec(x, 64), memory(l.base, 0, 64)});
        if (changed) {
            l.add(Id::kIdAdd, true, {gp(l.base), imm(64)});
            l.code.list.back().reads_first = true;
        }
        l.add(Id::kIdVaddps, true, {vec(y, 64), vec(y, 64), vec(x, 64)});
        l.add(Id::kIdVmovups, false, {memory(l.base, 0, 64), vec(y, 64)});
        const Meaning before = meaning_of(l.code);
        const std::size_t count = l.code.list.size();
        fold_loads(l.code);
        CHECK(l.code.list.size() == (changed ? count : count - 1));
        CHECK(meaning_of(l.code) == before);
    }
}

}  // namespace weft::backend::x86
