// The PTX machine itself: what instructions give at their edges, as the manual has it, and what it complains about.
#include "ptx_snippets.h"
#include "support/ptx_runner.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

using namespace weft;
using namespace weft::testing::ptx;

namespace {

// One instruction: operands are %r1 … %r3, or the registers of another kind with the same numbers, and the result is number 0.
struct Row {
    std::string text;
    std::vector<std::uint64_t> operands;
    std::uint64_t expected;
};

std::uint64_t value_of(const Row& row) {
    std::string body = "mov.pred %p1, 1; mov.pred %p2, 0;\n";
    for (std::size_t i = 0; i < row.operands.size(); ++i) {
        const std::string n = str(i + 1), at = str("[%in+", 8 * i, "]");
        body += "ld.global.b64 %l" + n + ", " + at + "; ld.global.f64 %d" + n + ", " + at + ";\n";
        body += "ld.global.b32 %r" + n + ", " + at + "; ld.global.f32 %f" + n + ", " + at + "; ld.global.b16 %h" + n +
                ", " + at + ";\n";
    }
    const std::size_t space = row.text.find(" %");
    const char kind = row.text[space + 2];
    body += row.text + ";\n";
    if (kind == 'p') body += "selp.b32 %r0, 1, 0, %p0;\n";
    if (kind == 'h') body += "cvt.u32.u16 %r0, %h0;\n";
    body += kind == 'l'   ? "st.global.b64 [%out], %l0;"
            : kind == 'd' ? "st.global.f64 [%out], %d0;"
            : kind == 'f' ? "st.global.f32 [%out], %f0;"
                          : "st.global.b32 [%out], %r0;";
    const std::uint64_t result = run_snippet<std::uint64_t>({body}, 1, row.operands)[0];
    return kind == 'l' || kind == 'd' ? result : result & 0xffffffff;
}

void check_rows(const std::vector<Row>& rows) {
    for (const Row& row : rows) {
        CAPTURE(row.text);
        CHECK(value_of(row) == row.expected);
    }
}

std::uint64_t bits(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }

constexpr std::uint64_t kNan = 0x7fc12345, kInf = 0x7f800000, kMinusInf = 0xff800000, kSmall = 0x00400000,
                        kMinusSmall = 0x80400000, kLeast = 0x00800000, kMinusZero = 0x80000000,
                        kNan64 = 0x7ff8000000000123, kCanonicalNan = 0x7fffffff;

}  // namespace

TEST_CASE("ptx: integers wrap, shifts go to the end, division is exact") {
    check_rows({
        {"add.s32 %r0, %r1, %r2", {0x7fffffff, 1}, 0x80000000},
        {"add.u64 %l0, %l1, 1", {~0ull}, 0},
        {"sub.s32 %r0, %r1, 5", {3}, 0xfffffffe},
        {"mul.lo.s32 %r0, %r1, %r2", {0xffffffff, 7}, 0xfffffff9},
        {"mul.lo.u64 %l0, %l1, %l2", {1ull << 63, 3}, 1ull << 63},
        {"mul.hi.u32 %r0, %r1, %r2", {0xffffffff, 0xffffffff}, 0xfffffffe},
        {"mul.hi.s32 %r0, %r1, %r2", {0xffffffff, 2}, 0xffffffff},
        {"mul.hi.u64 %l0, %l1, %l2", {1ull << 63, 6}, 3},
        {"mul.wide.u32 %l0, %r1, %r2", {0xffffffff, 2}, 0x1fffffffe},
        {"mul.wide.s32 %l0, %r1, %r2", {0xffffffff, 2}, ~1ull},
        {"mul.wide.s16 %r0, %h1, %h2", {0xffff, 3}, 0xfffffffd},
        {"mad.lo.u32 %r0, %r1, %r2, %r3", {3, 4, 5}, 17},
        {"mad.hi.u32 %r0, %r1, %r2, %r3", {0x80000000, 6, 5}, 8},
        {"mad.wide.s32 %l0, %r1, 4, %l3", {0xffffffff, 0, 100}, 96},
        {"mad.wide.u32 %l0, %r1, 4, %l3", {0xffffffff, 0, 100}, 0x400000060},
        {"mad.lo.s64 %l0, %l1, %l2, %l3", {~0ull, 8, 100}, 92},
        {"div.s32 %r0, %r1, %r2", {0xfffffff9, 2}, 0xfffffffd},
        {"rem.s32 %r0, %r1, %r2", {0xfffffff9, 2}, 0xffffffff},
        {"div.s32 %r0, %r1, %r2", {0x80000000, 0xffffffff}, 0x80000000},
        {"div.u64 %l0, %l1, %l2", {~0ull, 10}, ~0ull / 10},
        {"rem.u32 %r0, %r1, 10", {0xffffffff}, 5},
        {"abs.s32 %r0, %r1", {0x80000000}, 0x80000000},
        {"abs.s64 %l0, %l1", {~4ull}, 5},
        {"neg.s32 %r0, %r1", {1}, 0xffffffff},
        {"min.s32 %r0, %r1, %r2", {0xffffffff, 1}, 0xffffffff},
        {"min.u32 %r0, %r1, %r2", {0xffffffff, 1}, 1},
        {"max.s64 %l0, %l1, %l2", {~0ull, 1}, 1},
        {"max.u64 %l0, %l1, %l2", {~0ull, 1}, ~0ull},
        {"shl.b32 %r0, %r1, %r2", {1, 31}, 0x80000000},
        {"shl.b32 %r0, %r1, %r2", {1, 32}, 0},
        {"shl.b64 %l0, %l1, %r2", {1, 64}, 0},
        {"shl.b64 %l0, %l1, %r2", {1, 0xffffffff}, 0},
        {"shr.s32 %r0, %r1, %r2", {0x80000000, 200}, 0xffffffff},
        {"shr.u32 %r0, %r1, %r2", {0x80000000, 32}, 0},
        {"shr.s64 %l0, %l1, %r2", {1ull << 63, 63}, ~0ull},
        {"shr.u64 %l0, %l1, 1", {3}, 1},
        {"shf.l.wrap.b32 %r0, %r1, %r2, 33", {0x80000000, 1}, 3},
        {"shf.r.clamp.b32 %r0, %r1, %r2, 40", {5, 9}, 9},
    });
}

TEST_CASE("ptx: bits") {
    check_rows({
        {"and.b32 %r0, %r1, %r2", {0xff00ff00, 0x0ff00ff0}, 0x0f000f00},
        {"or.b64 %l0, %l1, %l2", {1, 1ull << 40}, 1 | 1ull << 40},
        {"xor.b32 %r0, %r1, -1", {5}, 0xfffffffa},
        {"not.b32 %r0, %r1", {5}, 0xfffffffa},
        {"not.pred %p0, %p1", {}, 0},
        {"xor.pred %p0, %p1, %p2", {}, 1},
        {"and.pred %p0, %p1, %p2", {}, 0},
        {"or.pred %p0, %p1, %p2", {}, 1},
        {"popc.b32 %r0, %r1", {0xf0f0}, 8},
        {"popc.b64 %r0, %l1", {~0ull}, 64},
        {"clz.b32 %r0, %r1", {0}, 32},
        {"clz.b64 %r0, %l1", {1}, 63},
        {"brev.b32 %r0, %r1", {1}, 0x80000000},
        {"bfe.s32 %r0, %r1, 0, 8", {0x80}, 0xffffff80},
        {"bfe.u32 %r0, %r1, 4, 8", {0xabcd}, 0xbc},
        {"bfe.s32 %r0, %r1, 0, 0", {0xffffffff}, 0},
        {"bfe.s32 %r0, %r1, 28, 8", {0x90000000}, 0xfffffff9},
        {"bfe.u32 %r0, %r1, 28, 8", {0x90000000}, 9},
        {"bfe.s32 %r0, %r1, 40, 8", {0x80000000}, 0xffffffff},
        {"bfe.u64 %l0, %l1, 60, 4", {0xa000000000000000}, 10},
        {"bfe.s32 %r0, %r1, 0, 32", {0x80000001}, 0x80000001},
        {"bfi.b32 %r0, %r1, %r2, 8, 4", {0xff, 0}, 0xf00},
        {"bfi.b32 %r0, %r1, %r2, 28, 8", {0xff, 1}, 0xf0000001},
        {"prmt.b32 %r0, %r1, %r2, 0x5410", {0x33221100, 0x77665544}, 0x55441100},
        {"prmt.b32 %r0, %r1, %r2, 0x888b", {0x80000000, 0}, 0x000000ff},
        {"lop3.b32 %r0, %r1, %r2, %r3, 0x96", {0xc, 0xa, 0x6}, 0xc ^ 0xa ^ 0x6},
        {"lop3.b32 %r0, %r1, %r2, %r3, 0xca", {0xf0, 0xaa, 0x55}, 0xa5},
        {"selp.b32 %r0, %r1, %r2, %p1", {3, 4}, 3},
        {"selp.f32 %f0, %f1, %f2, %p2", {3, kMinusSmall}, kMinusSmall},
        {"mov.b64 %l0, {%r1, %r2}", {3, 4}, 4ull << 32 | 3},
        {"mov.b32 %r0, {%h1, %h2}", {0xffff, 1}, 0x1ffff},
        {"mov.f32 %f0, 0f3F800000", {}, bits(1.0f)},
        {"mov.f64 %d0, 0d3FF0000000000000", {}, bits(1.0)},
        {"mov.b64 %l0, -3", {}, ~2ull},
        {"mov.b32 %r0, -3", {}, 0xfffffffd},
    });
    CHECK(run_snippet<std::uint32_t>(
              {"mov.b64 %l0, 0x500000007; mov.b64 {%r0, %r1}, %l0; st.global.v2.b32 [%out], {%r1, %r0};"}, 2) ==
          std::vector<std::uint32_t>{5, 7});
}

TEST_CASE("ptx: floats: subnormal numbers, zeros of two signs, NaN") {
    const std::uint64_t one = bits(1.0f), half = bits(0.5f);
    check_rows({
        {"add.rn.ftz.f32 %f0, %f1, %f2", {kSmall, kSmall}, 0},
        {"add.rn.f32 %f0, %f1, %f2", {kSmall, kSmall}, kLeast},
        {"sub.rn.ftz.f32 %f0, %f1, %f2", {kMinusSmall, 0}, kMinusZero},
        {"mul.rn.ftz.f32 %f0, %f1, %f2", {kLeast, half}, 0},
        {"mul.rn.f32 %f0, %f1, %f2", {kLeast, half}, kSmall},
        {"mul.rn.ftz.f32 %f0, %f1, %f2", {bits(-1.0f), kSmall}, kMinusZero},
        {"mul.rn.ftz.f32 %f0, %f1, %f2", {0x00800001, 0x3f7ffffe}, kLeast},  // rounds up to a normal number
        {"fma.rn.f32 %f0, %f1, %f2, %f3",
         {bits(1 + 0x1p-12f), bits(1 + 0x1p-12f), bits(-1.0f)},
         bits(0x1p-11f + 0x1p-24f)},
        {"fma.rn.f64 %d0, %d1, %d2, %d3", {bits(3.0), bits(5.0), bits(7.0)}, bits(22.0)},
        {"div.rn.ftz.f32 %f0, %f1, %f2", {one, 0}, kInf},
        {"div.rn.f32 %f0, %f1, %f2", {one, bits(3.0f)}, bits(1.0f / 3.0f)},
        {"div.rn.ftz.f32 %f0, %f1, %f2", {one, kMinusSmall}, kMinusInf},
        {"div.rn.f32 %f0, %f1, %f2", {0, 0}, kCanonicalNan},
        {"rcp.rn.ftz.f32 %f0, %f1", {kMinusZero}, kMinusInf},
        {"sqrt.rn.ftz.f32 %f0, %f1", {kMinusZero}, kMinusZero},
        {"sqrt.rn.f32 %f0, %f1", {bits(-1.0f)}, kCanonicalNan},
        {"sqrt.rn.f64 %d0, %d1", {bits(2.0)}, bits(std::sqrt(2.0))},
        {"mul.rn.f64 %d0, %d1, %d2", {bits(0x1p-1000), bits(0x1p-60)}, bits(0x1p-1060)},  // f64 is never flushed
        {"add.rn.ftz.f32 %f0, %f1, %f2", {kNan, one}, kCanonicalNan},
        {"add.rn.f32 %f0, %f1, %f2", {kInf, kMinusInf}, kCanonicalNan},
        {"neg.f32 %f0, %f1", {kNan}, kNan | 0x80000000},
        {"neg.f32 %f0, %f1", {kSmall}, kMinusSmall},
        {"neg.ftz.f32 %f0, %f1", {kSmall}, kMinusZero},
        {"abs.f64 %d0, %d1", {bits(-2.0)}, bits(2.0)},
        {"min.f32 %f0, %f1, %f2", {kNan, one}, one},
        {"min.f32 %f0, %f1, %f2", {0, kMinusZero}, kMinusZero},
        {"max.f32 %f0, %f1, %f2", {kMinusZero, 0}, 0},
        {"max.NaN.f32 %f0, %f1, %f2", {kNan, one}, kCanonicalNan},
        {"max.ftz.f32 %f0, %f1, %f2", {kSmall, 0}, 0},
        {"max.f32 %f0, %f1, %f2", {kSmall, 0}, kSmall},
    });
}

TEST_CASE("ptx: comparisons") {
    const std::uint64_t one = bits(1.0f);
    check_rows({
        {"setp.lt.s32 %p0, %r1, %r2", {0xffffffff, 0}, 1},
        {"setp.lt.u32 %p0, %r1, %r2", {0xffffffff, 0}, 0},
        {"setp.hs.u32 %p0, %r1, %r2", {5, 5}, 1},
        {"setp.ge.s64 %p0, %l1, 0", {1ull << 63}, 0},
        {"setp.eq.f32 %p0, %f1, %f2", {0, kMinusZero}, 1},
        {"setp.eq.ftz.f32 %p0, %f1, %f2", {kSmall, 0}, 1},
        {"setp.eq.f32 %p0, %f1, %f2", {kSmall, 0}, 0},
        {"setp.ne.f32 %p0, %f1, %f2", {kNan, one}, 0},
        {"setp.neu.f32 %p0, %f1, %f2", {kNan, one}, 1},
        {"setp.lt.f32 %p0, %f1, %f2", {kNan, one}, 0},
        {"setp.ltu.f32 %p0, %f1, %f2", {kNan, one}, 1},
        {"setp.nan.f64 %p0, %d1, %d1", {kNan64}, 1},
        {"setp.num.f32 %p0, %f1, %f2", {one, one}, 1},
        {"setp.nan.or.f32 %p0, %f1, %f1, %p1", {one}, 1},
        {"setp.gt.and.s32 %p0, %r1, 2, %p2", {3}, 0},
        {"setp.gt.and.s32 %p0, %r1, 2, !%p2", {3}, 1},
        {"setp.gt.xor.s32 %p0, %r1, 2, %p1", {3}, 0},
    });
    CHECK(run_snippet<std::uint32_t>({"mov.u32 %r1, 3; setp.eq.u32 %p1|%p2, %r1, 3; selp.b32 %r2, 1, 0, %p1;"
                                      "selp.b32 %r3, 1, 0, %p2; st.global.v2.u32 [%out], {%r2, %r3};"},
                                     2) == std::vector<std::uint32_t>{1, 0});
}

TEST_CASE("ptx: conversions round, saturate and extend") {
    check_rows({
        {"cvt.s64.s32 %l0, %r1", {0xffffffff}, ~0ull},
        {"cvt.u64.u32 %l0, %r1", {0xffffffff}, 0xffffffff},
        {"cvt.u32.u64 %r0, %l1", {0x500000007}, 7},
        {"cvt.u32.u16 %r0, %h1", {0xffff}, 0xffff},
        {"cvt.s32.s8 %r0, %r1", {0x80}, 0xffffff80},
        {"cvt.u16.u32 %h0, %r1", {0x12345}, 0x2345},
        {"cvt.sat.u8.s32 %r0, %r1", {0xffffffff}, 0},
        {"cvt.sat.s8.s32 %r0, %r1", {1000}, 127},
        {"cvt.rn.f32.s32 %f0, %r1", {0x7fffffff}, bits(0x1p31f)},
        {"cvt.rn.f32.s64 %f0, %l1", {(1ull << 60) + (1ull << 36) + 1}, bits(0x1p60f + 0x1p37f)},  // not twice
        {"cvt.rn.f32.u64 %f0, %l1", {~0ull}, bits(0x1p64f)},
        {"cvt.rn.f64.u64 %d0, %l1", {~0ull}, bits(0x1p64)},
        {"cvt.rzi.s32.f32 %r0, %f1", {bits(-2.9f)}, 0xfffffffe},
        {"cvt.rmi.s32.f32 %r0, %f1", {bits(-2.1f)}, 0xfffffffd},
        {"cvt.rpi.s32.f32 %r0, %f1", {bits(2.1f)}, 3},
        {"cvt.rni.s32.f32 %r0, %f1", {bits(2.5f)}, 2},
        {"cvt.rmi.s32.f32 %r0, %f1", {kMinusSmall}, 0xffffffff},
        {"cvt.rmi.ftz.s32.f32 %r0, %f1", {kMinusSmall}, 0},
        {"cvt.rzi.s32.f32 %r0, %f1", {bits(1e20f)}, 0x7fffffff},
        {"cvt.rzi.s32.f32 %r0, %f1", {kMinusInf}, 0x80000000},
        {"cvt.rzi.u32.f32 %r0, %f1", {bits(-1.0f)}, 0},
        {"cvt.rzi.u32.f32 %r0, %f1", {bits(1e20f)}, 0xffffffff},
        {"cvt.rzi.s32.f32 %r0, %f1", {kNan}, 0},
        {"cvt.rzi.s64.f32 %l0, %f1", {kNan}, 1ull << 63},
        {"cvt.rzi.s64.f64 %l0, %d1", {bits(-1e30)}, 1ull << 63},
        {"cvt.rzi.s64.f64 %l0, %d1", {bits(1e30)}, ~0ull >> 1},
        {"cvt.rzi.u64.f64 %l0, %d1", {bits(0x1p63)}, 1ull << 63},
        {"cvt.rzi.u64.f64 %l0, %d1", {bits(0x1p64)}, ~0ull},
        {"cvt.rzi.f32.f32 %f0, %f1", {bits(-0.5f)}, kMinusZero},
        {"cvt.rzi.ftz.f32.f32 %f0, %f1", {kMinusSmall}, kMinusZero},
        {"cvt.rn.f32.f64 %f0, %d1", {bits(1 + 0x1p-24)}, bits(1.0f)},
        {"cvt.rn.ftz.f32.f64 %f0, %d1", {bits(0x1p-130)}, 0},
        {"cvt.rn.f32.f64 %f0, %d1", {bits(0x1p-130)}, bits(0x1p-130f)},
        {"cvt.f64.f32 %d0, %f1", {kSmall}, bits(0x1p-127)},
        {"cvt.ftz.f64.f32 %d0, %f1", {kMinusSmall}, bits(-0.0)},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(65520.0f)}, 0x7c00},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(65519.0f)}, 0x7bff},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(0x1p-24f)}, 1},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(0x1p-25f)}, 0},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(0x1.8p-25f)}, 1},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(0x1.ff8p-15f)}, 0x3ff},
        {"cvt.rn.f16.f32 %h0, %f1", {bits(-1.0f - 0x1p-11f)}, 0xbc00},
        {"cvt.rn.f16.f32 %h0, %f1", {kNan}, 0x7fff},
        {"cvt.f32.f16 %f0, %h1", {1}, bits(0x1p-24f)},
        {"cvt.f32.f16 %f0, %h1", {0xfc00}, kMinusInf},
        {"cvt.f32.f16 %f0, %h1", {0x3555}, bits(0x1.554p-2f)},
        {"cvt.rn.bf16.f32 %h0, %f1", {0x3f808000}, 0x3f80},
        {"cvt.rn.bf16.f32 %h0, %f1", {0x3f818000}, 0x3f82},
        {"cvt.rn.bf16.f32 %h0, %f1", {0x7f7fffff}, 0x7f80},
        {"cvt.rn.bf16.f32 %h0, %f1", {kNan}, 0x7fff},
        {"cvt.rn.bf16x2.f32 %r0, %f1, %f2", {bits(1.0f), bits(-2.0f)}, 0x3f80c000},
        {"cvt.rn.f16x2.f32 %r0, %f1, %f2", {bits(1.0f), bits(-2.0f)}, 0x3c00c000},
        {"cvt.rna.tf32.f32 %r0, %f1", {0x3f801000}, 0x3f802000},
        {"cvt.rna.tf32.f32 %r0, %f1", {0x3f800fff}, 0x3f800000},
    });
}

// ---- memory ----------------------------------------------------------------------------------------------------------

TEST_CASE("ptx: memory of every kind, in vectors, through generic addresses, and tables") {
    CHECK(run_snippet<std::uint32_t>(
              {"ld.global.nc.v4.u32 {%r0, %r1, %r2, %r3}, [%in+16];"
               "st.global.v2.u32 [%out], {%r3, %r0}; ld.global.s8 %r4, [%in+1]; st.global.u32 [%out+8], %r4;"
               "ld.global.u8 %r4, [%in+1]; st.global.u32 [%out+12], %r4;"},
              4, std::vector<std::uint32_t>{0xff80, 0, 0, 0, 5, 6, 7, 8}) ==
          std::vector<std::uint32_t>{8, 5, 0xffffffff, 0xff});
    CHECK(run_snippet<std::uint32_t>({"mov.u64 %l0, table; ld.global.u32 %r0, [%l0+4]; st.global.u32 [%out], %r0;",
                                      ".global .align 64 .b32 table[3] = {10, 11, 12};"},
                                     1)[0] == 11);
    CHECK(run_snippet<std::uint32_t>({".local .align 8 .b8 mine[16]; mov.u64 %l0, mine; st.local.u32 [%l0+4], %t;"
                                      "cvta.local.u64 %l1, %l0; ld.u32 %r0, [%l1+4]; mad.wide.u32 %at, %t, 4, %out;"
                                      "st.global.u32 [%at], %r0;",
                                      "", 4},
                                     4) == std::vector<std::uint32_t>{0, 1, 2, 3});
    CHECK(
        run_snippet<std::uint32_t>({"mov.u32 %r0, dyn; mad.lo.u32 %r1, %t, 4, %r0; st.shared.u32 [%r1], %t; bar.sync 0;"
                                    "xor.b32 %r2, %t, 63; mad.lo.u32 %r1, %r2, 4, %r0; ld.shared.u32 %r3, [%r1];"
                                    "mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %r3;",
                                    ".extern .shared .align 16 .b8 dyn[];", 64, 1, 256},
                                   64)[5] == 58);
}

TEST_CASE("ptx: atomics") {
    const auto body = [](const std::string& each) {
        return str(
            ".shared .align 8 .b8 s[8]; mov.u64 %l0, s; setp.eq.u32 %p0, %t, 0; @%p0 st.shared.b64 [%l0], 0; "
            "bar.sync 0;",
            each, "bar.sync 0; ld.shared.u32 %r0, [%l0]; @%p0 st.global.u32 [%out], %r0;");
    };
    CHECK(run_snippet<std::uint32_t>({body("red.shared.add.u32 [%l0], 2;"), "", 100}, 1)[0] == 200);
    CHECK(run_snippet<std::uint32_t>({body("atom.shared.max.s32 %r1, [%l0], %t;"), "", 100}, 1)[0] == 99);
    CHECK(run_snippet<std::uint32_t>({body("not.b32 %r1, %t; atom.shared.min.s32 %r1, [%l0], %r1;"), "", 100}, 1)[0] ==
          0xffffff9c);
    CHECK(run_snippet<std::uint32_t>({body("mov.f32 %f0, 0f40000000; atom.shared.add.f32 %f1, [%l0], %f0;"), "", 3},
                                     1)[0] == bits(6.0f));
    CHECK(run_snippet<std::uint32_t>(
              {body("atom.shared.cas.b32 %r1, [%l0], 0, 5; setp.eq.u32 %p1, %r1, 0; @%p1 red.shared.add.u32 [%l0+4], 1;"
                    "bar.sync 0; ld.shared.u32 %r2, [%l0+4]; @%p0 st.shared.u32 [%l0], %r2;"),
               "", 70},
              1)[0] == 1);
    CHECK(run_snippet<std::uint32_t>({body("atom.shared.exch.b32 %r1, [%l0], 9;"), "", 33}, 1)[0] == 9);
}

// ---- warps -----------------------------------------------------------------------------------------------------------

TEST_CASE("ptx: shuffles and votes") {
    const auto shuffled = [](const std::string& how, const std::string& rest) {
        return run_snippet<std::uint32_t>({str("add.u32 %r1, %t, 100; shfl.sync.", how, ".b32 %r0|%p0, %r1, ", rest,
                                               ", 0xffffffff; mad.wide.u32 %at, %t, 8, %out; selp.b32 %r2, 1, 0, %p0;"
                                               "st.global.v2.u32 [%at], {%r0, %r2};"),
                                           "", 64},
                                          128);
    };
    using Pair = std::pair<std::uint32_t, std::uint32_t>;
    const auto at = [](const std::vector<std::uint32_t>& all, std::size_t lane) {
        return Pair{all[2 * lane], all[2 * lane + 1]};
    };
    auto all = shuffled("idx", "%t, 0x1f");  // each its own
    CHECK(at(all, 3) == Pair{103, 1});
    CHECK(at(all, 40) == Pair{140, 1});
    all = shuffled("idx", "35, 0x100f");  // the number is taken modulo 16 in segments of 16
    CHECK(at(all, 0) == Pair{103, 1});
    CHECK(at(all, 31) == Pair{119, 1});
    all = shuffled("up", "1, 0");
    CHECK(at(all, 0) == Pair{100, 0});
    CHECK(at(all, 31) == Pair{130, 1});
    all = shuffled("down", "2, 0x1f");
    CHECK(at(all, 29) == Pair{131, 1});
    CHECK(at(all, 30) == Pair{130, 0});
    all = shuffled("down", "2, 0x181f");  // segments of 8
    CHECK(at(all, 5) == Pair{107, 1});
    CHECK(at(all, 6) == Pair{106, 0});
    all = shuffled("bfly", "16, 0x1f");
    CHECK(at(all, 1) == Pair{117, 1});
    CHECK(at(all, 33) == Pair{149, 1});

    const auto voted = [](const std::string& text) {
        return run_snippet<std::uint32_t>({str("and.b32 %r1, %t, 1; setp.eq.u32 %p0, %r1, 0;", text,
                                               "mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %r0;"),
                                           "", 32},
                                          32)[7];
    };
    CHECK(voted("vote.sync.ballot.b32 %r0, %p0, -1;") == 0x55555555);
    CHECK(voted("vote.sync.ballot.b32 %r0, !%p0, -1;") == 0xaaaaaaaa);
    CHECK(voted("vote.sync.any.pred %p1, %p0, -1; selp.b32 %r0, 1, 0, %p1;") == 1);
    CHECK(voted("vote.sync.all.pred %p1, %p0, -1; selp.b32 %r0, 1, 0, %p1;") == 0);
    CHECK(voted("vote.sync.uni.pred %p1, %p0, -1; selp.b32 %r0, 1, 0, %p1;") == 0);
    CHECK(voted("elect.sync %r1|%p1, -1; selp.b32 %r0, 1, 0, %p1;") == 0);
    CHECK(voted("activemask.b32 %r0; bar.warp.sync -1;") == 0xffffffff);
}

TEST_CASE("ptx: barriers of some warps, and lanes that wait for each other") {
    // Warps 0 and 1 hand over to each other by barrier 1, warps 2 and 3 by barrier 2.
    const std::string pairs =
        ".shared .align 4 .b8 s[512]; mov.u64 %l0, s; mad.wide.u32 %l1, %t, 4, %l0; st.shared.u32 [%l1], %t;"
        "shr.u32 %r0, %t, 6; add.u32 %r0, %r0, 1; bar.sync %r0, 64; xor.b32 %r1, %t, 32; mad.wide.u32 %l1, %r1, 4, "
        "%l0;"
        "ld.shared.u32 %r2, [%l1]; mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %r2;";
    const auto out = run_snippet<std::uint32_t>({pairs, "", 128}, 128);
    CHECK(out[0] == 32);
    CHECK(out[100] == 68);
    // Warp 1 only arrives.
    const std::string one_way =
        ".shared .align 4 .b8 s[128]; mov.u64 %l0, s; setp.lt.u32 %p0, %t, 32; and.b32 %r1, %t, 31; mad.wide.u32 "
        "%l1, %r1, 4, %l0;"
        "@%p0 bra WAIT; st.shared.u32 [%l1], %t; bar.arrive 3, 64; ret;\n"
        "WAIT: bar.sync 3, 64; ld.shared.u32 %r2, [%l1]; mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %r2;";
    CHECK(run_snippet<std::uint32_t>({one_way, "", 64}, 32)[5] == 37);
    const std::string in_warp =
        ".shared .align 4 .b8 s[256]; mov.u64 %l0, s; mad.wide.u32 %l1, %t, 4, %l0; st.shared.u32 [%l1], %t; "
        "bar.warp.sync 0xffffffff;"
        "xor.b32 %r1, %t, 1; mad.wide.u32 %l1, %r1, 4, %l0; ld.shared.u32 %r2, [%l1]; mad.wide.u32 %at, %t, 4, "
        "%out;"
        "st.global.u32 [%at], %r2;";
    CHECK(run_snippet<std::uint32_t>({in_warp, "", 64}, 64)[40] == 41);
    // Threads that have exited are waited for by nobody.
    CHECK(run_snippet<std::uint32_t>({"setp.gt.u32 %p0, %t, 40; @%p0 bra END; bar.sync 0; mad.wide.u32 %at, %t, 4, "
                                      "%out; st.global.u32 [%at], 1;\nEND:",
                                      "", 64},
                                     64)[40] == 1);
}

// ---- complaints ------------------------------------------------------------------------------------------------------

TEST_CASE("ptx: accesses outside of memory, or not aligned, are found") {
    check_complaint({"ld.global.u32 %r0, [%in+1024];"}, "outside of the memory of the launch");
    check_complaint({"ld.global.u32 %r0, [%in+-4];"}, "outside of the memory of the launch");
    check_complaint({"st.global.u32 [%in], 1;"}, "may only read");
    check_complaint({"ld.global.u32 %r0, [%in+2];"}, "is not a multiple of 4 bytes");
    check_complaint({"add.u64 %in, %in, 8; ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%in];"},
                    "is not a multiple of 16 bytes");
    check_complaint({".shared .align 4 .b8 s[8]; mov.u64 %l0, s; st.shared.u32 [%l0+8], 1;"},
                    "outside of shared memory");
    check_complaint({".shared .align 4 .b8 s[8]; mov.u32 %r0, 0; st.shared.u32 [%r0], 1;"}, "outside of shared memory");
    check_complaint(
        {".shared .align 4 .b8 s[49152]; .shared .align 4 .b8 t[4];"},  // more only where a launch asks for it
        "a block has no 49156 bytes of shared memory");
    check_complaint({".shared .align 4 .b8 s[8]; mov.u64 %l0, s; st.global.u32 [%l0], 1;"}, "outside of the memory");
    check_complaint({".local .align 4 .b8 s[8]; mov.u64 %l0, s; st.local.u32 [%l0+8], 1;"}, "outside of local memory");
    check_complaint({"ld.param.u64 %l0, [pin+8];"}, "outside of the parameters");
    const std::string found =
        complaint({"add.u64 %at, %out, 4000; st.global.u32 [%at], %t;", "", 40, 2, 0, {Order::Forward}});
    CHECK(found.find("PTX, test, block (0, 0, 0), thread 0: `st.global.u32 [%at], %t;`: writes 4 bytes at ") == 0);
}

TEST_CASE("ptx: values that were never written are found where they matter") {
    check_complaint({"st.global.u32 [%out], %r5;"}, "what is stored comes from a register that was never written");
    check_complaint({"add.u32 %r6, %r5, 1; st.global.u32 [%out], %r6;"}, "a register that was never written");
    check_complaint({"setp.eq.u32 %p1, %r5, 0; @%p1 bra L;\nL:"},
                    "a predicate comes from a register that was never written");
    check_complaint({"mad.wide.u32 %at, %r5, 4, %out; st.global.u32 [%at], 1;"}, "an address comes from");
    check_complaint({".shared .align 4 .b8 s[8]; mov.u64 %l0, s; ld.shared.u32 %r0, [%l0]; st.global.u32 [%out], %r0;"},
                    "shared memory that was never written");
    check_complaint({".local .align 4 .b8 s[8]; mov.u64 %l0, s; ld.local.u32 %r0, [%l0]; st.global.u32 [%out], %r0;"},
                    "local memory that was never written");
    check_complaint({".shared .align 4 .b8 s[8]; mov.u64 %l0, s; st.shared.u8 [%l0+1], 1; ld.shared.u16 %h0, [%l0]; "
                     "st.global.u16 [%out], %h0;"},
                    "shared memory that was never written");
    check_complaint({"mov.u32 %r0, 0; div.u32 %r1, 5, %r0; st.global.u32 [%out], %r1;"}, "a division by zero");
    // Through memory, and into another thread.
    check_complaint(
        {".shared .align 4 .b8 s[128]; mov.u64 %l0, s; mad.wide.u32 %l1, %t, 4, %l0; st.shared.u32 [%l1], %r5; "
         "bar.sync 0;"
         "xor.b32 %r0, %t, 1; mad.wide.u32 %l1, %r0, 4, %l0; ld.shared.u32 %r1, [%l1]; st.global.u32 [%out], %r1;",
         "", 32},
        "a register that was never written");
    // What is not chosen does not matter.
    CHECK(
        complaint({"mov.u32 %r0, 1; setp.eq.u32 %p0, %r0, 1; selp.b32 %r1, %r0, %r5, %p0; st.global.u32 [%out], %r1;"})
            .empty());
    CHECK(complaint({"mov.pred %p1, 0; and.pred %p0, %p1, %p2; @%p0 bra L;\nL:"}).empty());
    CHECK(complaint({"mov.pred %p1, 1; or.pred %p0, %p1, %p2; @%p0 bra L;\nL:"}).empty());
    CHECK(complaint({"mov.u32 %r0, 0; and.b32 %r1, %r0, %r5; st.global.u32 [%out], %r1;"}).empty());
    CHECK(complaint({"mov.pred %p1, 1; setp.eq.or.u32 %p0, %r5, 1, %p1; @%p0 bra L;\nL:"}).empty());
    check_complaint({"mov.pred %p1, 1; and.pred %p0, %p1, %p2; @%p0 bra L;\nL:"}, "a predicate comes from");
}

TEST_CASE("ptx: races are found") {
    const std::string head = ".shared .align 4 .b8 s[512]; mov.u64 %l0, s; mad.wide.u32 %l1, %t, 4, %l0;";
    const std::string neighbour = "xor.b32 %r0, %t, 1; mad.wide.u32 %l2, %r0, 4, %l0; ld.shared.u32 %r1, [%l2];";
    check_complaint({head + "st.shared.u32 [%l1], 1;" + neighbour, "", 64}, "a race with thread");
    CHECK(complaint({head + "st.shared.u32 [%l1], 1; bar.sync 0;" + neighbour, "", 64}).empty());
    CHECK(complaint({head + "st.shared.u32 [%l1], 1; bar.warp.sync -1;" + neighbour, "", 64}).empty());
    // Another warp is not waited for.
    const std::string other_warp = "xor.b32 %r0, %t, 32; mad.wide.u32 %l2, %r0, 4, %l0; ld.shared.u32 %r1, [%l2];";
    check_complaint({head + "st.shared.u32 [%l1], 1; bar.warp.sync -1;" + other_warp, "", 64}, "a race with thread");
    // A loop whose second iteration writes what others still read.
    const std::string loop = "mov.u32 %r5, 0;\nL: st.shared.u32 [%l1], %r5; bar.sync 0;" + neighbour;
    const std::string again = "add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, 3; @%p0 bra L;";
    check_complaint({head + loop + again, "", 64}, "a race with thread");
    CHECK(complaint({head + loop + "bar.sync 0;" + again, "", 64}).empty());
    // Two writers; bytes of one word are apart.
    check_complaint({head + "st.shared.u32 [%l0], %t;", "", 2}, "a race with thread");
    check_complaint({head + "add.u64 %l2, %l0, 3; st.shared.u8 [%l2], 1;", "", 2}, "a race with thread");
    CHECK(complaint({head + "cvt.u64.u32 %l2, %t; add.u64 %l2, %l2, %l0; st.shared.u8 [%l2], 1;", "", 64}).empty());
    // Shuffles order nothing.
    check_complaint({head + "st.shared.u32 [%l1], 1; shfl.sync.idx.b32 %r3, %t, 0, 31, -1;" + neighbour, "", 32},
                    "a race");
    // Warps 0 and 1 know each other, warps 2 and 3, too; 0 and 2 do not.
    const std::string pairs = head + "st.shared.u32 [%l1], 1; shr.u32 %r6, %t, 6; bar.sync %r6, 64;";
    CHECK(complaint({pairs + other_warp, "", 128}).empty());
    check_complaint({pairs + "xor.b32 %r0, %t, 64; mad.wide.u32 %l2, %r0, 4, %l0; ld.shared.u32 %r1, [%l2];", "", 128},
                    "a race");
}

TEST_CASE("ptx: races in the memory of the device are found") {
    const std::string own = "mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %t;";
    const std::string neighbour = "xor.b32 %r0, %t, 1; mad.wide.u32 %at, %r0, 4, %out; ld.global.u32 %r1, [%at];";
    check_complaint({own + neighbour, "", 64}, "a race with thread");
    CHECK(complaint({own + "bar.sync 0;" + neighbour, "", 64}).empty());
    check_complaint({own, "", 64, 2}, "of another block");
    CHECK(complaint({"red.global.add.u32 [%out], 1;", "", 64, 2}).empty());
    CHECK(complaint({"mov.u32 %r0, %ctaid.x; mad.lo.u32 %r0, %r0, 64, %t; mad.wide.u32 %at, %r0, 4, %out; "
                     "st.global.u32 [%at], %t;"
                     "ld.global.u32 %r1, [%at]; ld.global.u32 %r2, [%in];",
                     "", 64, 2})
              .empty());
    check_complaint({"mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0; @%p0 ld.global.u32 %r1, [%out]; @!%p0 "
                     "st.global.u32 [%out], 1;",
                     "", 1, 2},
                    "of another block");
}

TEST_CASE("ptx: scratch memory of a block is watched, too") {
    const std::string text = entry_text(
        "mad.wide.u32 %at, %t, 4, %in; st.global.u32 [%at], %t; xor.b32 %r0, %t, 1;"
        "mad.wide.u32 %at, %r0, 4, %in; ld.global.u32 %r1, [%at];");
    std::vector<std::uint32_t> out(1), scratch(32);
    const std::uint64_t addresses[] = {reinterpret_cast<std::uint64_t>(out.data()),
                                       reinterpret_cast<std::uint64_t>(scratch.data())};
    const Launch launch{.entry = "test",
                        .threads = 32,
                        .parameters = {&addresses[0], &addresses[1]},
                        .memory = {range_of(out)},
                        .scratch = range_of(scratch)};
    CHECK_THROWS_WITH_AS(run(*load(text), launch), doctest::Contains("of the block's scratch memory"), Fault);
}

TEST_CASE("ptx: threads that do not meet are found") {
    check_complaint({"setp.lt.u32 %p0, %t, 5; @%p0 bra L; bar.sync 0;\nL: bar.sync 0;", "", 32},
                    "waits at another barrier");
    check_complaint({"setp.lt.u32 %p0, %t, 5; @%p0 bra L; bar.sync 1;\nL: bar.sync 0;", "", 32},
                    "a barrier where not all threads arrive");
    check_complaint({"setp.lt.u32 %p0, %t, 32; @%p0 bra L; bar.sync 1, 128;\nL:", "", 64},
                    "a barrier where not all threads arrive");
    check_complaint({"mov.u32 %r0, 33; bar.sync 1, %r0;", "", 64}, "no whole warps");
    check_complaint({"setp.lt.u32 %p0, %t, 5; @!%p0 shfl.sync.idx.b32 %r0, %t, 0, 31, -1; bar.sync 0;", "", 32},
                    "not all threads arrive");
    check_complaint({"setp.lt.u32 %p0, %t, 5; @!%p0 shfl.sync.idx.b32 %r0, %t, 0, 31, -1; @%p0 shfl.sync.idx.b32 "
                     "%r0, %t, 0, 31, -1;",
                     "", 32},
                    "no thread can go on");
    check_complaint({"shfl.sync.idx.b32 %r0, %t, 0, 31, 0xffff;", "", 32}, "do not include the thread's own");
    // A lane that is not there: fine, unless its value is used.
    const std::string early = "setp.eq.u32 %p0, %t, 3; @%p0 bra L; shfl.sync.idx.b32 %r0, %t, 3, 31, -1; ";
    check_complaint({early + "st.global.u32 [%out], %r0;\nL:", "", 32}, "a lane that is not there");
    CHECK(complaint({early + "\nL:", "", 32}).empty());
    check_complaint({"\nL: bra L;"}, "does not come to an end");
    check_complaint({"trap;"}, "traps");
}

TEST_CASE("ptx: text that is not right is refused") {
    const auto refused = [](const std::string& body) {
        try {
            load(entry_text(body));
        } catch (const std::runtime_error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    const auto contains = [](const std::string& all, const std::string& part) {
        return all.find(part) != std::string::npos;
    };
    CHECK(contains(refused("add.s32 %r0, %r1, %l1;"), "%l1 is .b64; needs .s32"));
    CHECK(contains(refused("add.rn.f32 %r0, %f1, 0;"), "needs a float"));
    CHECK(contains(refused("mov.f32 %f0, %x;"), "%x is not declared"));
    CHECK(contains(refused("add.f32 %f0, %f1, %f2;"), "says nothing about its rounding"));
    CHECK(contains(refused("add.rn.sat.f32 %f0, %f1, %f2;"), ".sat is not known here"));
    CHECK(contains(refused("bra NOWHERE;"), "there is no label NOWHERE"));
    CHECK(contains(refused("frobnicate.b32 %r0;"), "is not known"));
    CHECK(contains(refused("setp.lo.s32 %p0, %r1, 1;"), "unsigned"));
    CHECK(contains(refused(".reg .b32 %tid;"), "%tid is a special register"));
    CHECK(contains(refused("and.s32 %r0, %r1, 1;"), "bits"));
}
