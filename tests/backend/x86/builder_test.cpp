// Where instructions go, and what stands before them: the layers below the emitter, without a kernel.
#include "backend/x86/lane_ops.h"

#include <asmjit/x86.h>
#include <doctest/doctest.h>

#include <vector>

namespace weft::backend::x86 {
namespace {

namespace Id = asmjit::x86::Inst;

std::vector<std::uint32_t> ids(const Code& code) {
    std::vector<std::uint32_t> result;
    for (const Ins& ins : code.list) result.push_back(ins.id);
    return result;
}

}  // namespace

TEST_CASE("an open level's instructions stand behind what is put in front of it, and constants before all") {
    Builder builder(true, 16);
    const Reg r = builder.gp_reg();
    builder.open_level();
    builder.go_to_innermost();
    builder.put(Id::kIdAdd, {gp(r), imm(1)});
    {
        const Builder::AtLevel outside(builder, 0);
        builder.put(Id::kIdMov, {gp(r), imm(0)});
        const Reg ones = builder.constant_vector(1, 4, 64);
        CHECK(builder.constant_vector(1, 4, 64) == ones);  // one register, made once
    }
    CHECK(builder.level() == 1);
    builder.put(Id::kIdSub, {gp(r), imm(1)});
    std::vector<Ins> loop = builder.close_level();
    builder.go_to_innermost();
    builder.append(std::move(loop));
    CHECK(ids(builder.finish()) == std::vector<std::uint32_t>{kConstant, Id::kIdMov, Id::kIdAdd, Id::kIdSub});
}

TEST_CASE("the last instruction writes another register, unless it needs the one it has") {
    Builder builder(true, 16);
    const Reg a = builder.vec_reg(64), sum = builder.vec_reg(64), next = builder.vec_reg(64);
    const auto v = [](Reg r) { return vec(r, 64); };
    builder.put(Id::kIdVaddps, {v(next), v(sum), v(a)});
    CHECK_FALSE(builder.redirect(a, sum));  // it does not make a
    CHECK(builder.redirect(next, sum));
    builder.move(next, sum);
    builder.put(Id::kIdVfmadd231ps, {v(next), v(a), v(a)}).reads_first = true;
    CHECK(builder.redirect(next, sum));  // adds to sum itself: the copy goes
    builder.move(next, a);
    builder.put(Id::kIdVfmadd231ps, {v(next), v(a), v(a)}).reads_first = true;
    CHECK_FALSE(builder.redirect(next, sum));  // adds to what is no copy of sum
    builder.put(Id::kIdVmovups, {v(next), v(a)}).lanes = builder.constant_mask(1);
    CHECK_FALSE(builder.redirect(next, sum));  // leaves lanes as they were
    const Code code = builder.finish();
    REQUIRE(ids(code) == std::vector<std::uint32_t>{kConstant, Id::kIdVaddps, Id::kIdVfmadd231ps, kMove,
                                                    Id::kIdVfmadd231ps, Id::kIdVmovups});
    CHECK(code.list[1].o[0].reg == sum);
    CHECK(code.list[2].o[0].reg == sum);
    CHECK(code.list[4].o[0].reg == next);
}

TEST_CASE("a comparison is a mask register with AVX-512, and lanes of 4 bytes with AVX2") {
    for (const bool wide : {true, false}) {
        CAPTURE(wide);
        LaneOps ops(wide, 4);
        const Value a = ops.new_vector(8), b = ops.new_vector(8), less = ops.compare_lanes(kLt, a, b, DType::I64);
        CHECK(less.is_mask);
        CHECK(less.lane == (wide ? 0 : 4));
        CHECK(ops.info(less.reg).cls == (wide ? Class::Mask : Class::Vec));
        CHECK(ops.info(ops.select(less, a, b).reg).bytes == 32);
    }
}

}  // namespace weft::backend::x86
