// The PTX machine: copies that are under way, and barriers in shared memory. A program that waits too little is found.
#include "ptx_snippets.h"
#include "support/ptx_tensor_map.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

using weft::str;
using namespace weft::testing::ptx;

namespace {

std::vector<std::uint32_t> counting(std::size_t count) {
    std::vector<std::uint32_t> result(count);
    std::iota(result.begin(), result.end(), 0u);
    return result;
}

std::string without(std::string text, const std::string& part) {
    const std::size_t at = text.find(part);
    if (at == std::string::npos) throw std::runtime_error("there is no " + part);
    return text.erase(at, part.size());
}

}  // namespace

// ---- cp.async --------------------------------------------------------------------------------------------------------

namespace {

// Thread t copies element t, and reads the one of its neighbour.
const std::string kCopy =
    ".shared .align 16 .b8 s[512]; mov.u32 %r0, s; mad.lo.u32 %r1, %t, 4, %r0; mad.wide.u32 %at, %t, 4, %in;"
    "cp.async.ca.shared.global [%r1], [%at], 4; cp.async.commit_group; cp.async.wait_group 0; bar.sync 0;"
    "xor.b32 %r2, %t, 1; mad.lo.u32 %r1, %r2, 4, %r0; ld.shared.u32 %r3, [%r1];"
    "mad.wide.u32 %at, %t, 4, %out; st.global.u32 [%at], %r3;";

}  // namespace

TEST_CASE("ptx: cp.async arrives when its thread waits, and is seen by others after a barrier") {
    const auto out = run_snippet<std::uint32_t>({kCopy, "", 64}, 64, counting(64));
    CHECK(out[0] == 1);
    CHECK(out[63] == 62);
    check_complaint({without(kCopy, "cp.async.wait_group 0; "), "", 64}, "a copy that may not have arrived");
    check_complaint({without(kCopy, "cp.async.commit_group; "), "", 64}, "a copy that may not have arrived");
    const std::string found = complaint({without(kCopy, "bar.sync 0;"), "", 64});
    CHECK((found.find("a race") != std::string::npos || found.find("never written") != std::string::npos));
    const std::string all = "cp.async.wait_all; ";
    CHECK(complaint({without(without(kCopy, "cp.async.commit_group; "), "cp.async.wait_group 0; ")
                         .insert(kCopy.find("cp.async.commit"), all),
                     "", 64})
              .empty());
}

TEST_CASE("ptx: cp.async in groups, of 16 bytes, and shorter than it says") {
    const std::string head = ".shared .align 16 .b8 s[64]; mov.u32 %r0, s;";
    const std::string two =
        head +
        "cp.async.cg.shared.global [%r0], [%in], 16; cp.async.commit_group;"
        "cp.async.cg.shared.global [%r0+16], [%in+16], 16, 4; cp.async.commit_group; cp.async.wait_group 1;"
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r0]; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    CHECK(run_snippet<std::uint32_t>({two}, 4, counting(8)) == std::vector<std::uint32_t>{0, 1, 2, 3});
    const std::string second =
        "ld.shared.v4.u32 {%r1, %r2, %r3, %r4}, [%r0+16]; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};";
    check_complaint({two + second}, "a copy that may not have arrived");
    CHECK(run_snippet<std::uint32_t>({two + "cp.async.wait_group 0;" + second}, 4, counting(8)) ==
          std::vector<std::uint32_t>{4, 0, 0, 0});
    // An empty group counts, too.
    CHECK(run_snippet<std::uint32_t>({two + "cp.async.commit_group; cp.async.wait_group 1;" + second}, 4,
                                     counting(8)) == std::vector<std::uint32_t>{4, 0, 0, 0});
    // Nothing is read where nothing is valid.
    CHECK(run_snippet<std::uint32_t>({head + "add.u64 %at, %in, 4096; mov.u32 %r5, 0; cp.async.cg.shared.global [%r0], "
                                             "[%at], 16, %r5; cp.async.wait_all;"
                                             "ld.shared.u32 %r1, [%r0]; st.global.u32 [%out], %r1;"},
                                     1, counting(8))[0] == 0);
    check_complaint({head + "cp.async.cg.shared.global [%r0], [%in+8], 16;"}, "is not a multiple of 16");
    check_complaint({head + "cp.async.cg.shared.global [%r0+64], [%in], 16;"}, "outside of shared memory");
    check_complaint({head + "cp.async.cg.shared.global [%r0], [%in+2048], 16;"}, "outside of the memory of the launch");
    check_complaint({head + "cp.async.cg.shared.global [%r0], [%in], 16; st.shared.u32 [%r0+4], 1; cp.async.wait_all;"},
                    "something else was written");
    check_complaint({head + "cp.async.ca.shared.global [%r0], [%in], 4;", "", 2}, "a race with thread");
}

// ---- barriers in shared memory ---------------------------------------------------------------------------------------

namespace {

// Warp 1 writes, and warp 0 reads what it wrote; twice, so that it is told when it may write again.
const std::string kHandOver =
    ".shared .align 8 .b8 s[144]; mov.u32 %r0, s; and.b32 %r1, %t, 31; mad.lo.u32 %r1, %r1, 4, %r0;\n"
    "setp.eq.u32 %p0, %t, 0; @!%p0 bra READY;\n"
    "mbarrier.init.shared::cta.b64 [%r0+128], 32; mbarrier.init.shared::cta.b64 [%r0+136], 32;\n"
    "READY: bar.sync 0; mov.u32 %r5, 0; setp.lt.u32 %p1, %t, 32; @%p1 bra READ;\n"
    "WRITE: xor.b32 %r6, %r5, 1;\n"
    "EMPTY: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0+136], %r6; @!%p2 bra EMPTY;\n"
    "mad.lo.u32 %r7, %r5, 100, %t; st.shared.u32 [%r1], %r7;\n"
    "mbarrier.arrive.shared::cta.b64 _, [%r0+128];\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 2; @%p3 bra WRITE; ret;\n"
    "READ:\n"
    "FULL: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0+128], %r5; @!%p2 bra FULL;\n"
    "ld.shared.u32 %r7, [%r1];\n"
    "mbarrier.arrive.shared::cta.b64 %l0, [%r0+136];\n"
    "mad.lo.u32 %r8, %r5, 32, %t; mad.wide.u32 %at, %r8, 4, %out; st.global.u32 [%at], %r7;\n"
    "add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, 2; @%p3 bra READ;";

}  // namespace

TEST_CASE("ptx: mbarriers order two warps") {
    const auto out = run_snippet<std::uint32_t>({kHandOver, "", 64}, 64);
    CHECK(out[5] == 37);
    CHECK(out[37] == 137);
    std::string early = kHandOver;  // the reader does not wait
    early.replace(early.find("mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0+128], %r5;"), 61,
                  "setp.eq.u32 %p2, %r0, %r0;");
    const std::string found = complaint({early, "", 64});
    CHECK((found.find("a race") != std::string::npos || found.find("never written") != std::string::npos));
    check_complaint({without(kHandOver, "mbarrier.arrive.shared::cta.b64 _, [%r0+128];"), "", 64},
                    "no thread can go on");
    // Who says too early that it has read makes the writer overwrite it.
    const std::string arrive = "mbarrier.arrive.shared::cta.b64 %l0, [%r0+136];\n",
                      load = "ld.shared.u32 %r7, [%r1];\n";
    std::string swapped = kHandOver;
    swapped.replace(swapped.find(load + arrive), load.size() + arrive.size(), arrive + load);
    check_complaint({swapped, "", 64}, "a race with thread");
    check_complaint({without(kHandOver, "bar.sync 0;"), "", 64, 1, 0, {Order::Forward}}, "which made the barrier");
    check_complaint({".shared .align 8 .b8 s[8]; mov.u32 %r0, s; mbarrier.arrive.shared::cta.b64 _, [%r0];"},
                    "there is no barrier");
    check_complaint(
        {".shared .align 8 .b8 s[8]; mov.u32 %r0, s; mbarrier.init.shared::cta.b64 [%r0], 1; ld.shared.u32 %r1, [%r0];"
         "st.global.u32 [%out], %r1;"},
        "the inside of a barrier");
    check_complaint({".shared .align 8 .b8 s[8]; mov.u32 %r0, s; mbarrier.init.shared::cta.b64 [%r0], 1; "
                     "mbarrier.inval.shared::cta.b64 [%r0];"
                     "mbarrier.arrive.shared::cta.b64 _, [%r0];"},
                    "there is no barrier");
    check_complaint({".shared .align 8 .b8 s[8]; mov.u32 %r0, s; mbarrier.init.shared::cta.b64 [%r0], 1; "
                     "mbarrier.arrive.shared::cta.b64 _, [%r0], 2;"},
                    "more arrive than");
    // A phase by its number.
    CHECK(complaint({".shared .align 8 .b8 s[8]; mov.u32 %r0, s; mbarrier.init.shared::cta.b64 [%r0], 1; "
                     "mbarrier.arrive.shared::cta.b64 %l0, [%r0];"
                     "mbarrier.try_wait.shared::cta.b64 %p0, [%r0], %l0; @%p0 bra END; trap;\nEND:"})
              .empty());
}

// ---- bulk copies -----------------------------------------------------------------------------------------------------

namespace {

// One thread has 128 bytes copied in; all add 1; one thread has them copied out.
const std::string kBulk =
    ".shared .align 16 .b8 s[144]; mov.u32 %r0, s; mad.lo.u32 %r1, %t, 4, %r0; setp.eq.u32 %p0, %t, 0;\n"
    "@%p0 mbarrier.init.shared::cta.b64 [%r0+128], 1;\n"
    "@%p0 fence.mbarrier_init.release.cluster;\n"
    "bar.sync 0;\n"
    "@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0+128], 128;\n"
    "@%p0 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r0], [%in], 128, [%r0+128];\n"
    "L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0+128], 0; @!%p1 bra L;\n"
    "ld.shared.u32 %r2, [%r1]; add.u32 %r2, %r2, 1; st.shared.u32 [%r1], %r2;\n"
    "fence.proxy.async.shared::cta;\n"
    "bar.sync 0; // written\n"
    "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%out], [%r0], 128;\n"
    "@%p0 cp.async.bulk.commit_group;\n"
    "@%p0 cp.async.bulk.wait_group.read 0;\n";

}  // namespace

TEST_CASE("ptx: bulk copies into and out of shared memory") {
    const auto out = run_snippet<std::uint32_t>({kBulk, "", 32}, 32, counting(32));
    CHECK(out[0] == 1);
    CHECK(out[31] == 32);
    const auto needs = [](const std::string& line, const std::string& what) {
        check_complaint({without(kBulk, line), "", 32}, what);
    };
    needs("@%p0 fence.mbarrier_init.release.cluster;", "there is no fence.mbarrier_init");
    needs("@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0+128], 128;", "no thread can go on");
    needs("fence.proxy.async.shared::cta;", "without fence.proxy.async");
    needs("bar.sync 0; // written", "a race with");
    needs("@%p0 cp.async.bulk.commit_group;", "has not waited for this copy");
    needs("@%p0 cp.async.bulk.wait_group.read 0;", "has not waited for this copy");
    std::string early = kBulk;
    early.replace(early.find("L: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0+128], 0; @!%p1 bra L;"), 75, "");
    check_complaint({early, "", 32}, "a race with a bulk copy");
    check_complaint({kBulk + "st.shared.u32 [%r1], 0; bar.sync 0;", "", 32},
                    "a race with");  // others have not waited for the reads
    CHECK(complaint({kBulk + "bar.sync 0; st.shared.u32 [%r1], 0;", "", 32}).empty());
}

TEST_CASE("ptx: boxes of a tensor: what is outside is zero, and is not written") {
    // A box of 8 rows of 64 bf16 out of 5 rows of 72, from column 32: swizzled; and back to a tensor of another place.
    const std::string text =
        ".version 8.1\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dyn[];\n"
        ".visible .entry test(.param .align 64 .b8 from[128], .param .align 64 .b8 to[128], .param .u64 raw)\n{\n"
        ".reg .b64 %from, %to, %raw; .reg .b32 %s, %r<4>; .reg .pred %p;\n"
        "mov.b64 %from, from; cvta.param.u64 %from, %from; mov.b64 %to, to; cvta.param.u64 %to, %to; mov.u32 %s, dyn;\n"
        "mbarrier.init.shared::cta.b64 [%s+1024], 1; fence.mbarrier_init.release.cluster; mov.u32 %r0, 32; mov.u32 "
        "%r1, -1;\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%s+1024], 1024;\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%from, {%r0, %r1}], "
        "[%s+1024];\n"
        "L: mbarrier.try_wait.parity.shared::cta.b64 %p, [%s+1024], 0; @!%p bra L;\n"
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%to, {%r0, %r1}], [%s]; cp.async.bulk.commit_group;\n"
        "ld.param.u64 %raw, [raw]; ld.shared.u32 %r2, [%s+144]; st.global.u32 [%raw], %r2; cp.async.bulk.wait_group "
        "0;\nret;\n}\n";
    constexpr std::uint64_t kRows = 5, kColumns = 72;
    alignas(16) std::array<std::uint16_t, kRows * kColumns> in{}, out{};
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint16_t>(i + 1);
    std::uint32_t raw = 0;
    std::uint64_t raw_at = reinterpret_cast<std::uint64_t>(&raw);
    alignas(64) std::byte from[128], to[128];
    const std::uint64_t dims[] = {kColumns, kRows}, strides[] = {2 * kColumns};
    const std::uint32_t box[] = {64, 8}, ones[] = {1, 1};
    REQUIRE(encode_tiled(from, 9, 2, in.data(), dims, strides, box, ones, 0, 3, 0, 0) == 0);
    REQUIRE(encode_tiled(to, 9, 2, out.data(), dims, strides, box, ones, 0, 3, 0, 0) == 0);
    const Launch launch{.entry = "test",
                        .parameters = {from, to, &raw_at},
                        .memory = {{reinterpret_cast<std::uint64_t>(in.data()), sizeof in, false},
                                   {reinterpret_cast<std::uint64_t>(out.data()), sizeof out},
                                   {raw_at, 4}},
                        .shared_bytes = 2048};
    run(*load(text), launch);
    CHECK(raw ==
          (1u | 2u << 16) + 32 * 0x10001);  // row 1 of the box is row 0 of the tensor; its pieces 0 and 1 are exchanged
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(out[i] == (i % kColumns >= 32 ? in[i] : 0));
    // What the driver refuses.
    const std::uint32_t wide[] = {128, 8};
    const std::uint64_t odd[] = {2 * kColumns + 2};
    CHECK(encode_tiled(from, 9, 2, in.data(), dims, strides, wide, ones, 0, 3, 0, 0) != 0);
    CHECK(encode_tiled(from, 9, 2, in.data(), dims, odd, box, ones, 0, 3, 0, 0) != 0);
    CHECK(encode_tiled(from, 9, 2, in.data() + 1, dims, strides, box, ones, 0, 3, 0, 0) != 0);
}
