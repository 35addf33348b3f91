// The passes over instructions, between the emitter and the registers: each on a short listing made by hand.
#include "backend/x86/fold_loads.h"
#include "backend/x86/interleave.h"
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

    // What the loop computes: each instruction's result as a text of its operands.
    const auto meaning = [](const Code& code) {
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
        return std::pair(regs, memory);
    };
    Code turned = l.code;
    interleave(turned, 32);
    CHECK(turned.list.size() == l.code.list.size());
    CHECK(meaning(turned) == meaning(l.code));
    int changes = 0;  // from one chain to the other
    for (std::size_t i = 4; i + 4 < turned.list.size(); ++i)
        changes += turned.list[i].o[0].reg.id != turned.list[i - 1].o[0].reg.id;
    CHECK(changes > 12);

    Code crowded = l.code;
    interleave(crowded, 3);  // two chains need four registers
    for (std::size_t i = 0; i < crowded.list.size(); ++i) CHECK(crowded.list[i].o[0].reg == l.code.list[i].o[0].reg);
}

TEST_CASE("what was loaded before a store is not loaded after it") {
    for (const bool stored : {false, true}) {
        CAPTURE(stored);
        Listing l;
        const Reg x = l.vector(), y = l.vector();
        l.add(Id::kIdVmovups, true, {vec(x, 64), memory(l.base, 0, 64)});
        if (stored) l.add(Id::kIdVmovups, false, {memory(l.base, 0, 64), vec(y, 64)});
        l.add(Id::kIdVaddps, true, {vec(y, 64), vec(y, 64), vec(x, 64)});
        Code& code = l.code;
        const std::size_t before = code.list.size();
        fold_loads(code);
        CHECK(code.list.size() == (stored ? before : before - 1));
        CHECK((code.list.back().o[2].kind == Operand::Kind::Memory) == !stored);
    }
}

}  // namespace weft::backend::x86
