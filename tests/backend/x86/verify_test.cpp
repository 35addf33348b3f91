// What must hold between the emitter and the assembler: the passes leave the code's meaning as it is, and every register is read where its value
// lies. Each test breaks one condition, and the proof must fail.
#include "backend/x86/meaning.h"
#include "backend/x86/verify_allocation.h"

#include <weft/error.h>

#include <asmjit/x86.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

namespace weft::backend::x86 {
namespace {

namespace Id = asmjit::x86::Inst;

Operand v(Reg r) { return vec(r, 64); }

struct Listing {
    Code code;

    Reg general() { return code.make(Class::Gp, 8); }
    Reg vector() { return code.make(Class::Vec, 64); }
    Reg lanes() { return code.make(Class::Mask, 8); }
    Ins& add(std::uint32_t id, std::initializer_list<Operand> operands, bool writes = true, bool reads = false) {
        Ins ins{.id = id,
                .count = static_cast<std::uint8_t>(operands.size()),
                .reads_first = reads,
                .writes_first = writes};
        std::copy(operands.begin(), operands.end(), ins.o);
        code.list.push_back(ins);
        return code.list.back();
    }
    void store(Reg base, std::int64_t at, Reg x, bool local = false) {
        Operand to = memory(base, at, 64);
        to.local = local;
        add(Id::kIdVmovups, {to, v(x)}, false);
    }
};

// Do two neighbours mean the same the other way round?
bool may_swap(Listing l, std::size_t first) {
    const Meaning before = meaning_of(l.code);
    std::swap(l.code.list[first], l.code.list[first + 1]);
    return meaning_of(l.code) == before;
}

}  // namespace

TEST_CASE("instructions that depend on each other have another meaning the other way round, all others have not") {
    const auto listing = [](const std::function<void(Listing&, Reg base, Reg a, Reg b, Reg c)>& two) {
        Listing l;
        const Reg base = l.general(), a = l.vector(), b = l.vector(), c = l.vector();
        for (const Reg r : {a, b, c}) l.add(Id::kIdVmovups, {v(r), memory(base, 64 * r.id, 64)});
        two(l, base, a, b, c);
        for (const Reg r : {a, b, c}) l.store(base, 64 * r.id, r);
        return may_swap(l, 3);
    };
    using L = Listing&;
    CHECK(listing([](L l, Reg, Reg a, Reg b, Reg c) {  // nothing
        l.add(Id::kIdVaddps, {v(a), v(c), v(c)});
        l.add(Id::kIdVmulps, {v(b), v(c), v(c)});
    }));
    CHECK_FALSE(listing([](L l, Reg, Reg a, Reg b, Reg c) {  // what the first writes
        l.add(Id::kIdVaddps, {v(a), v(c), v(c)});
        l.add(Id::kIdVmulps, {v(b), v(a), v(c)});
    }));
    CHECK_FALSE(listing([](L l, Reg, Reg a, Reg b, Reg c) {  // what the first reads is overwritten
        l.add(Id::kIdVaddps, {v(a), v(b), v(c)});
        l.add(Id::kIdVmulps, {v(b), v(c), v(c)});
    }));
    CHECK_FALSE(listing([](L l, Reg, Reg a, Reg b, Reg c) {  // both write
        l.add(Id::kIdVaddps, {v(a), v(b), v(c)});
        l.add(Id::kIdVmulps, {v(a), v(b), v(c)});
    }));
    CHECK_FALSE(listing([](L l, Reg, Reg a, Reg b, Reg c) {  // a sum goes on
        l.add(Id::kIdVmulps, {v(a), v(b), v(c)});
        l.add(Id::kIdVfmadd231ps, {v(a), v(b), v(c)}, true, true);
    }));
    CHECK_FALSE(listing([](L l, Reg base, Reg a, Reg b, Reg) {  // a store, then a load
        l.store(base, 0, a);
        l.add(Id::kIdVmovups, {v(b), memory(base, 64, 64)});
    }));
    CHECK_FALSE(listing([](L l, Reg base, Reg a, Reg b, Reg) {  // two stores
        l.store(base, 0, a);
        l.store(base, 64, b);
    }));
    CHECK(listing([](L l, Reg base, Reg a, Reg b, Reg) {  // a store to the kernel's own memory
        l.store(base, 0, a, true);
        l.add(Id::kIdVmovups, {v(b), memory(base, 64, 64)});
    }));
    CHECK_FALSE(listing([](L l, Reg base, Reg, Reg b, Reg) {  // an address
        l.add(Id::kIdAdd, {gp(base), imm(64)}, true, true);
        l.add(Id::kIdVmovups, {v(b), memory(base, 64, 64)});
    }));
}

TEST_CASE("flags and masks are dependences too") {
    Listing l;
    const Reg base = l.general(), flag = l.general(), sum = l.general();
    l.add(Id::kIdAdd, {gp(sum), imm(1)}, true, true);
    l.add(Id::kIdCmp, {memory(base, 0, 1), imm(0)}, false);
    l.add(Id::kIdSetne, {gp(flag, 1)});
    l.add(Id::kIdMov, {memory(base, 0, 8), gp(flag)}, false);
    CHECK_FALSE(may_swap(l, 0));
    CHECK_FALSE(may_swap(l, 1));

    Listing m;
    const Reg k = m.lanes(), y = m.vector(), from = m.general();
    m.add(Id::kIdKmovw, {mask(k), gp(from, 4)});
    m.add(Id::kIdVmovups, {v(y), memory(from, 0, 64)}).lanes = k;
    m.code.list.back().zeroes = true;
    m.store(from, 0, y);
    CHECK_FALSE(may_swap(m, 0));
}

TEST_CASE("a record that says otherwise of its result than the machine does is refused") {
    Listing l;
    const Reg a = l.vector(), b = l.vector();
    l.add(Id::kIdVfmadd231ps, {v(a), v(b), v(b)});  // goes on with a, and does not say so
    CHECK_THROWS_AS(meaning_of(l.code), InternalError);
}

namespace {

Allocation places(Code& code, int vectors = 32) {
    const Allocation allocation = allocate(code, vectors);
    verify_allocation(code, allocation, "test");
    return allocation;
}

// A loop that reads `outside` in each iteration, and `count` values that are alive at once.
Listing loop_listing(int count) {
    Listing l;
    const Reg base = l.general(), i = l.general(), outside = l.vector();
    l.add(Id::kIdMov, {gp(base), frame(kArgScratch, 8)});
    l.add(Id::kIdVmovups, {v(outside), memory(base, 0, 64)});
    l.add(Id::kIdMov, {gp(i), imm(0)});
    l.code.labels = 2;
    l.add(Id::kIdCmp, {gp(i), frame(kArgEnd, 8)}, false);
    l.add(Id::kIdJge, {label(1)}, false);
    l.add(kLoopBegin, {imm(10)}, false);
    l.add(kBind, {label(0)}, false);
    std::vector<Reg> sums;
    for (int n = 0; n < count; ++n) l.add(Id::kIdVaddps, {v(sums.emplace_back(l.vector())), v(outside), v(outside)});
    for (const Reg sum : sums) l.store(base, 0, sum);
    l.add(Id::kIdAdd, {gp(i), imm(1)}, true, true);
    l.add(Id::kIdCmp, {gp(i), frame(kArgEnd, 8)}, false);
    l.add(Id::kIdJl, {label(0)}, false);
    l.add(kLoopEnd, {});
    l.add(kBind, {label(1)}, false);
    return l;
}

}  // namespace

TEST_CASE("what allocate decides holds, with and without spilled values") {
    for (const int count : {1, 5, 16, 40})
        for (const int vectors : {16, 32}) {
            CAPTURE(count);
            CAPTURE(vectors);
            Listing l = loop_listing(count);
            CHECK_NOTHROW(places(l.code, vectors));
        }
}

TEST_CASE("two values in one place are found") {
    Listing l = loop_listing(4);
    const Allocation allocation = places(l.code);
    const auto broken = [&](const std::function<void(Code&)>& change) {
        Code code = l.code;
        change(code);
        CHECK_THROWS_AS(verify_allocation(code, allocation, "test"), InternalError);
    };
    const std::size_t base = 0, counter = 1, outside = 2, first = 3, second = 4;
    broken([&](Code& code) { code.regs[second].machine = code.regs[first].machine; });
    broken([&](Code& code) { code.regs[first].machine = code.regs[outside].machine; });  // the next iteration reads it
    broken([&](Code& code) { code.regs[counter].machine = code.regs[base].machine; });
    broken([&](Code& code) { code.regs[counter].machine = 4; });  // the stack's pointer
    broken([&](Code& code) { code.regs[first].machine = 32; });
    broken([&](Code& code) { code.regs[first].bytes = 16; });
}

TEST_CASE("a value that one way to a label leaves behind is not there") {
    Listing l;
    const Reg base = l.general(), x = l.vector();
    l.code.labels = 1;
    l.add(Id::kIdMov, {gp(base), frame(kArgScratch, 8)});
    l.add(Id::kIdCmp, {gp(base), imm(0)}, false);
    l.add(Id::kIdJz, {label(0)}, false);
    l.add(Id::kIdVmovups, {v(x), memory(base, 0, 64)});
    l.add(kBind, {label(0)}, false);
    l.store(base, 0, x);
    const Allocation allocation = allocate(l.code, 32);
    CHECK_THROWS_AS(verify_allocation(l.code, allocation, "test"), InternalError);
    std::swap(l.code.list[2], l.code.list[3]);  // written before the jump
    CHECK_NOTHROW(verify_allocation(l.code, allocation, "test"));
}

}  // namespace weft::backend::x86
