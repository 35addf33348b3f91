// The PTX machine: tensor cores. Numbers are small integers: every order of adding them is exact.
#include "ptx_snippets.h"
#include "support/ptx_arithmetic.h"
#include "support/ptx_tensor_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

using weft::str;
using namespace weft::testing::ptx;

namespace {

float small_number(std::size_t i) {
    return static_cast<float>((i * 2654435761u >> 7) % 3) - 1;
}  // sums of 200 are bf16

// [rows, columns], as bf16, f16 or f32.
struct Matrix {
    std::size_t rows, columns;
    std::string type;
    std::vector<std::uint64_t> memory;  // aligned to 128 bytes in it

    Matrix(std::size_t r, std::size_t c, std::string t)
        : rows(r), columns(c), type(std::move(t)), memory(r * c * size() / 8 + 32) {}
    std::size_t size() const { return type == "f32" ? 4 : 2; }
    std::byte* data() {
        return reinterpret_cast<std::byte*>((reinterpret_cast<std::uint64_t>(memory.data()) + 127) / 128 * 128);
    }
    Range range(bool writable) { return {reinterpret_cast<std::uint64_t>(data()), rows * columns * size(), writable}; }
    void set(std::size_t r, std::size_t c, float x) {
        const std::uint32_t bits = type == "bf16"  ? to_bfloat(x)
                                   : type == "f16" ? to_half(x)
                                                   : std::bit_cast<std::uint32_t>(x);
        std::memcpy(data() + (r * columns + c) * size(), &bits, size());
    }
    float get(std::size_t r, std::size_t c) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, data() + (r * columns + c) * size(), size());
        if (type == "bf16") return from_bfloat(static_cast<std::uint16_t>(bits));
        return type == "f16" ? from_half(static_cast<std::uint16_t>(bits)) : std::bit_cast<float>(bits);
    }
    void fill(std::size_t seed) {
        for (std::size_t i = 0; i < rows * columns; ++i) set(i / columns, i % columns, small_number(i + seed));
    }
};

}  // namespace

// ---- one warp --------------------------------------------------------------------------------------------------------

TEST_CASE("ptx: ldmatrix and stmatrix, straight and transposed") {
    // 16 rows of 16 b16 numbers, in shared memory row by row: four matrices.
    const std::string head =
        ".shared .align 16 .b8 s[1024]; mov.u32 %r0, s; mad.lo.u32 %r1, %t, 16, %r0; mad.wide.u32 %at, %t, 16, %in;"
        "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%at]; st.shared.v4.u32 [%r1], {%r2, %r3, %r4, %r5}; bar.sync 0;"
        // Lane l: row l % 16, half l / 16.
        "and.b32 %r6, %t, 15; shr.u32 %r7, %t, 4; mad.lo.u32 %r8, %r6, 32, %r0; mad.lo.u32 %r8, %r7, 16, %r8;";
    const std::string tail = "mad.wide.u32 %at, %t, 16, %out; st.global.v4.u32 [%at], {%r9, %r10, %r11, %r12};";
    std::vector<std::uint16_t> in(256);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i);
    const std::string load = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r9, %r10, %r11, %r12}, [%r8];";
    auto out = run_snippet<std::uint16_t>({head + load + tail, "", 32}, 256, in);
    const auto at = [&](std::size_t lane, std::size_t matrix, std::size_t part) {
        return out[lane * 8 + matrix * 2 + part];
    };
    CHECK(at(0, 0, 0) == 0);
    CHECK(at(6, 0, 1) == 1 * 16 + 5);   // row 1, columns 4 and 5
    CHECK(at(6, 1, 0) == 9 * 16 + 4);   // the matrix below
    CHECK(at(6, 2, 0) == 1 * 16 + 12);  // the matrix on the right
    const std::string transposed = "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r9, %r10, %r11, %r12}, [%r8];";
    out = run_snippet<std::uint16_t>({head + transposed + tail, "", 32}, 256, in);
    CHECK(at(6, 0, 0) == 4 * 16 + 1);
    CHECK(at(6, 0, 1) == 5 * 16 + 1);
    // There and back.
    const std::string back =
        "bar.sync 0; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r8+512], {%r9, %r10, %r11, %r12}; bar.sync 0;"
        "ld.shared.v4.u32 {%r9, %r10, %r11, %r12}, [%r1+512];";
    CHECK(run_snippet<std::uint16_t>({head + load + back + tail, "", 32}, 256, in) == in);
    std::string two = back;
    two.replace(two.find("m8n8.x4"), 7, "m8n8.x4.trans");
    CHECK(run_snippet<std::uint16_t>({head + transposed + two + tail, "", 32}, 256, in) == in);
    CHECK(complaint({head + load, "", 16}).find("needs all 32 lanes") != std::string::npos);
    CHECK(complaint({head + "add.u32 %r8, %r8, 8;" + load, "", 32}).find("is not a multiple of 16") !=
          std::string::npos);
}

TEST_CASE("ptx: mma.sync") {
    // Registers straight from memory: lane l has row l / 4 of A and column l / 4 of B.
    const auto product = [](const std::string& type) {
        const std::string shape = type == "tf32" ? "m16n8k8" : "m16n8k16";
        return str(
            "shr.u32 %r0, %t, 2; and.b32 %r1, %t, 3; mad.lo.u32 %r2, %r0, 8, %r1; mad.wide.u32 %at, %r2, 4, "
            "%in;"  // row, pair
            "ld.global.b32 %r3, [%at]; ld.global.b32 %r4, [%at+256]; ld.global.b32 %r5, [%at+16]; "
            "ld.global.b32 %r6, [%at+272];"
            "ld.global.b32 %r7, [%at+512]; ld.global.b32 %r8, [%at+528];"
            "mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;"
            "mma.sync.aligned.",
            shape, ".row.col.f32.", type, ".", type,
            ".f32 {%f0, %f1, %f2, %f3}, {%r3, %r4, %r5, %r6}, {%r7, %r8}, {%f0, %f1, %f2, %f3};"
            "mad.lo.u32 %r2, %r0, 8, %r1; add.u32 %r2, %r2, %r1; mad.wide.u32 %at, %r2, 4, %out;"
            "st.global.v2.f32 [%at], {%f0, %f1}; st.global.v2.f32 [%at+256], {%f2, %f3};");
    };
    for (const std::string type : {"bf16", "f16", "tf32"}) {
        CAPTURE(type);
        const std::size_t k_count = type == "tf32" ? 8 : 16;
        const std::string stored = type == "tf32" ? "f32" : type;
        Matrix a(16, k_count, stored), b(8, k_count, stored);  // B by columns
        a.fill(1), b.fill(2);
        std::vector<std::byte> in(768);
        std::memcpy(in.data(), a.data(), 512);
        std::memcpy(in.data() + 512, b.data(), 256);
        const auto out = run_snippet<float>({product(type), "", 32}, 128, in);
        for (std::size_t m = 0; m < 16; ++m)
            for (std::size_t n = 0; n < 8; ++n) {
                float sum = 1;
                for (std::size_t k = 0; k < k_count; ++k) sum += a.get(m, k) * b.get(n, k);
                CHECK(out[m * 8 + n] == sum);
            }
    }
}

// ---- a warpgroup -----------------------------------------------------------------------------------------------------

namespace {

struct Gemm {
    std::string type = "bf16";  // or f16, tf32
    bool transposed = false;    // B is [k][n]
};

// C = A B in tiles of 64 by 64, one for each block: warpgroup 0 has a thread that loads two stages ahead, warpgroup 1 multiplies. A barrier of a stage says that it is
// full, the one behind it that it is empty. bf16 and f16 are stored as a box, out of shared memory; tf32 stores f32.
std::string gemm_text(const Gemm& gemm, std::size_t k_tiles, std::size_t columns) {
    const bool wide = gemm.type == "tf32";
    const int k_tile = wide ? 32 : 64;
    constexpr int kStage = 16384, kBarriers = 2 * kStage, kResult = kBarriers + 1024;
    std::string sums;
    for (int r = 0; r < 32; ++r) sums += str(r ? ", " : "", "%f", r);
    std::ostringstream out;
    out << ".version 8.1\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
           ".visible .entry gemm(.param .align 64 .b8 pa[128], .param .align 64 .b8 pb[128], .param .align 64 .b8 "
           "pc[128], .param .u64 pout)\n"
           ".maxntid 256, 1, 1\n{\n"
           ".reg .pred %p<8>; .reg .b32 %t, %s, %row, %column, %stage, %phase, %k, %full, %base, %other, %lane, %at, "
           "%r<64>; .reg .b64 %a, %b, %c, %l<16>; .reg .f32 %f<32>;\n"
           "mov.u32 %t, %tid.x; mov.u32 %s, dyn; mov.u32 %row, %ctaid.x; shl.b32 %row, %row, 6; mov.u32 %column, "
           "%ctaid.y; shl.b32 %column, %column, 6;\n"
           "mov.b64 %a, pa; cvta.param.u64 %a, %a; mov.b64 %b, pb; cvta.param.u64 %b, %b; mov.b64 %c, pc; "
           "cvta.param.u64 %c, %c;\n"
           "setp.ne.u32 %p0, %t, 0; @%p0 bra READY;\n";
    for (int stage = 0; stage < 2; ++stage)
        for (int which = 0; which < 2; ++which)
            out << "mbarrier.init.shared::cta.b64 [%s+" << kBarriers + 16 * stage + 8 * which << "], 1;\n";
    out << "fence.mbarrier_init.release.cluster;\n"
           "READY:\nbar.sync 0;\n"
           "mov.u32 %stage, 0; mov.u32 %phase, 0; mov.u32 %k, 0; setp.ge.u32 %p1, %t, 128; @%p1 bra MULTIPLY;\n"
           "setmaxnreg.dec.sync.aligned.u32 40;\n@%p0 bra END;\n"
        << "LOAD: mad.lo.u32 %base, %stage, " << kStage
        << ", %s; mad.lo.u32 %full, %stage, 16, %s; add.u32 %full, %full, " << kBarriers
        << "; xor.b32 %other, %phase, 1;\n"
        << "EMPTY:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%full+8], %other;\n@!%p2 bra EMPTY;\n"
        << "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%full], " << kStage << ";\n";
    const std::string copy = "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes";
    out << copy << " [%base], [%a, {%k, %row}], [%full];\n"
        << copy << " [%base+8192], [%b, " << (gemm.transposed ? "{%column, %k}" : "{%k, %column}") << "], [%full];\n";
    const std::string advance =
        "add.u32 %stage, %stage, 1; setp.eq.u32 %p3, %stage, 2; @%p3 mov.u32 %stage, 0; @%p3 xor.b32 %phase, %phase, "
        "1;\n";
    out << advance << "add.u32 %k, %k, " << k_tile << "; setp.lt.u32 %p4, %k, " << k_tile * k_tiles
        << "; @%p4 bra LOAD; bra END;\n";
    // Multiplies: a tile is four instructions along k.
    out << "MULTIPLY: setmaxnreg.inc.sync.aligned.u32 232;\nsetp.eq.u32 %p5, %t, 128;\n"
        << "STEP: mad.lo.u32 %base, %stage, " << kStage
        << ", %s; mad.lo.u32 %full, %stage, 16, %s; add.u32 %full, %full, " << kBarriers << ";\n"
        << "FULL:\nmbarrier.try_wait.parity.shared::cta.b64 %p2, [%full], %phase;\n@!%p2 bra FULL;\n"
        << "shr.u32 %r0, %base, 4; cvt.u64.u32 %l0, %r0; or.b64 %l0, %l0, 0x4000004000010000;\n"  // 128-byte swizzle, 1024 bytes to the next 8 rows
        << "add.u32 %r1, %base, 8192; shr.u32 %r1, %r1, 4; cvt.u64.u32 %l1, %r1; or.b64 %l1, %l1, "
        << (gemm.transposed ? "0x4000004002000000" : "0x4000004000010000") << ";\n"
        << "setp.ne.u32 %p6, %k, 0;\nwgmma.fence.sync.aligned;\n";
    for (int q = 0; q < 4; ++q) {
        if (q)
            out << "add.s64 %l2, %l0, " << 2 * q << "; add.s64 %l3, %l1, " << (gemm.transposed ? 128 : 2) * q
                << "; setp.eq.u32 %p6, %t, %t;\n";
        out << "wgmma.mma_async.sync.aligned.m64n64k" << (wide ? 8 : 16) << ".f32." << gemm.type << "." << gemm.type
            << " {" << sums << "}, " << (q ? "%l2, %l3" : "%l0, %l1") << ", %p6, 1, 1"
            << (wide              ? ""
                : gemm.transposed ? ", 0, 1"
                                  : ", 0, 0")
            << ";\n";
    }
    out << "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n@%p5 mbarrier.arrive.shared::cta.b64 "
           "_, [%full+8];\n"
        << advance << "add.u32 %k, %k, " << k_tile << "; setp.lt.u32 %p4, %k, " << k_tile * k_tiles
        << "; @%p4 bra STEP;\n"
        << "and.b32 %lane, %t, 31; shr.u32 %r2, %t, 5; and.b32 %r2, %r2, 3;\n";
    if (wide) {
        out << "ld.param.u64 %l4, [pout]; cvta.to.global.u64 %l4, %l4; shr.u32 %r3, %lane, 2; mad.lo.u32 %r3, %r2, 16, "
               "%r3; add.u32 %r3, %r3, %row; and.b32 %r4, %lane, 3;\n"
            << "mad.lo.u32 %r4, %r4, 2, %column; mad.lo.u32 %r3, %r3, " << columns
            << ", %r4; mad.wide.u32 %l4, %r3, 4, %l4;\n";
        for (int j = 0; j < 8; ++j)
            for (int h = 0; h < 2; ++h)
                out << "st.global.v2.f32 [%l4+" << 4 * (8 * h * static_cast<int>(columns) + 8 * j) << "], {%f"
                    << 4 * j + 2 * h << ", %f" << 4 * j + 2 * h + 1 << "};\n";
    } else {
        out << "add.u32 %at, %s, " << kResult
            << "; and.b32 %r3, %lane, 15; mad.lo.u32 %r3, %r2, 16, %r3; mad.lo.u32 %r3, %r3, 128, %at; and.b32 %r4, "
               "%lane, 7; shr.u32 %r5, %lane, 4;\n";
        for (int q = 0; q < 4; ++q) {
            for (int k = 0; k < 4; ++k)
                out << "cvt.rn." << gemm.type << "x2.f32 %r" << 10 + k << ", %f" << 8 * q + 2 * k + 1 << ", %f"
                    << 8 * q + 2 * k << ";\n";
            out << "add.u32 %r6, %r5, " << 2 * q << "; xor.b32 %r6, %r6, %r4; mad.lo.u32 %r6, %r6, 16, %r3;\n"
                << "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r10, %r11, %r12, %r13};\n";
        }
        out << "fence.proxy.async.shared::cta;\nbar.sync 1, 128;\n"
            << "@%p5 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%c, {%column, %row}], [%at];\n@%p5 "
               "cp.async.bulk.commit_group;\n@%p5 cp.async.bulk.wait_group.read 0;\n";
    }
    out << "END: ret;\n}\n";
    return out.str();
}

// The complaint, or that values are wrong; empty where all is well.
std::string run_gemm(const std::string& text, const Gemm& gemm, std::size_t m, std::size_t n, std::size_t k,
                     Order order) {
    const std::string stored = gemm.type == "tf32" ? "f32" : gemm.type;
    Matrix a(m, k, stored), b(gemm.transposed ? k : n, gemm.transposed ? n : k, stored), c(m, n, stored);
    a.fill(1), b.fill(2);
    const auto map_of = [&](Matrix& x, std::uint32_t inner, std::byte* map) {
        const std::uint64_t dims[] = {x.columns, x.rows}, strides[] = {x.columns * x.size()};
        const std::uint32_t box[] = {inner, 64}, ones[] = {1, 1};
        REQUIRE(encode_tiled(map,
                             stored == "f32"   ? 7
                             : stored == "f16" ? 6
                                               : 9,
                             2, x.data(), dims, strides, box, ones, 0, 3, 0, 0) == 0);
    };
    alignas(64) std::byte maps[3][128];
    const std::uint32_t inner = stored == "f32" ? 32 : 64;
    map_of(a, inner, maps[0]), map_of(b, inner, maps[1]), map_of(c, inner, maps[2]);
    const std::uint64_t out = reinterpret_cast<std::uint64_t>(c.data());
    try {
        run(*load(text), {.entry = "gemm",
                          .blocks = {static_cast<std::int64_t>(m + 63) / 64, static_cast<std::int64_t>(n + 63) / 64, 1},
                          .threads = 256,
                          .parameters = {maps[0], maps[1], maps[2], &out},
                          .memory = {a.range(false), b.range(false), c.range(true)},
                          .shared_bytes = 2 * 16384 + 1024 + 8192,
                          .order = order});
    } catch (const Fault& fault) {
        return fault.what();
    }
    for (std::size_t i = 0; i < m; ++i)
        for (std::size_t j = 0; j < n; ++j) {
            float sum = 0;
            for (std::size_t q = 0; q < k; ++q) sum += a.get(i, q) * (gemm.transposed ? b.get(q, j) : b.get(j, q));
            if (c.get(i, j) != sum) return str("element ", i, ", ", j, " is ", c.get(i, j), " instead of ", sum);
        }
    return {};
}

}  // namespace

TEST_CASE("ptx: a product by wgmma, with copies of boxes and barriers in shared memory") {
    for (const Order order : {Order::Forward, Order::Backward, Order::Shuffled}) {
        for (const std::string type : {"bf16", "f16"})
            for (const bool transposed : {false, true})  // sizes that are no multiples of a tile
                CHECK(run_gemm(gemm_text({type, transposed}, 3, 72), {type, transposed}, 100, 72, 136, order) == "");
        CHECK(run_gemm(gemm_text({"tf32"}, 3, 128), {"tf32"}, 128, 128, 96, order) == "");
    }
}

// Whatever waits or orders is taken out, one line at a time.
TEST_CASE("ptx: every barrier, wait and fence of the product is needed") {
    const std::string text = gemm_text({"bf16", true}, 3, 64);
    REQUIRE(run_gemm(text, {"bf16", true}, 64, 64, 192, Order::Forward) == "");
    std::istringstream lines(text);
    std::size_t at = 0, tried = 0;
    for (std::string line; std::getline(lines, line); at += line.size() + 1) {
        const bool orders = line.find("bar") != std::string::npos || line.find("fence") != std::string::npos ||
                            line.find("_group") != std::string::npos;
        if (!orders || line.find("cp.async.bulk.tensor") != std::string::npos || line[0] == '.') continue;
        std::string changed = text;
        changed.replace(at, line.size(), line.find("try_wait") != std::string::npos ? "setp.eq.u32 %p2, %t, %t;" : "");
        CAPTURE(line);
        CHECK(run_gemm(changed, {"bf16", true}, 64, 64, 192, Order::Forward) != "");
        ++tried;
    }
    CHECK(tried == 17);
}
