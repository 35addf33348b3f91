// The oracle itself: small nests with known answers, and what it refuses.
#include "backend/support.h"

namespace weft::test {

TEST_CASE("ref: a matrix product by loops") {
    Nest n("matmul");
    const int a = n.input("a", f32, 6), b = n.input("b", f32, 12), c = n.output("c", f32, 8);
    const NodeRef i = n.k.new_var(2), j = n.k.new_var(4), t = n.k.new_var(3);
    const int sum = n.local("sum", f32, 1, Buffer::MemoryType::Register);
    const NodeRef zero = n.at(0);
    const NodeRef product =
        n.k.fma(n.k.load(a, n.affine({{i, 3}, {t, 1}})), n.k.load(b, n.affine({{t, 4}, {j, 1}})), n.k.load(sum, zero));
    Body inner{Store{sum, zero, n.k.constant(f32, 0)}, Nest::loop(t, LoopKind::Serial, {Store{sum, zero, product}}),
               Store{c, n.affine({{i, 4}, {j, 1}}), n.k.load(sum, zero)}};
    n.k.body = {Nest::loop(i, LoopKind::Parallel, {Nest::loop(j, LoopKind::Serial, std::move(inner))})};
    const std::vector<Memory> memories{Memory::of<float>({1, 2, 3, 4, 5, 6}),
                                       Memory::of<float>({1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1}), Memory(f32, 8)};
    for (const int chunk : {0, 1}) {
        const Result result = run_on("ref", n.k, memories, {}, chunk);
        CHECK(result.memories[2].values<float>() == std::vector<float>{1, 2, 3, 6, 4, 5, 6, 15});
    }
}

TEST_CASE("ref: gates, checks, scalars, counts and private locals") {
    Nest n("mixed");
    const int x = n.input("x", i32, 4), y = n.output("y", i32, 8);
    const NodeRef i = n.k.new_var(8), j = n.k.new_var(5), limit = n.scalar(i64);
    const NodeRef inside = n.k.binary(Op::CmpLt, i, limit);
    const NodeRef at = n.check(n.k.cast(n.k.load(x, n.at(0)), i64), 0, 4, "an index");
    const int own = n.local("own", i32, 2, Buffer::MemoryType::Register, 0);
    const NodeRef grown = n.k.add(n.k.load(own, n.at(1)), n.k.constant(i32, 10));
    Loop again{j, LoopKind::Serial, {Store{own, n.at(1), grown}}};
    again.count = n.k.binary(Op::Sub, i, n.at(3));
    n.k.body = {Nest::loop(i, LoopKind::Vector,
                           {Store{own, n.at(1), n.k.add(n.k.load(x, i, inside), n.k.load(x, at))}, std::move(again),
                            Store{y, i, n.k.load(own, n.at(1))}})};
    const Result good = run_on("ref", n.k, {Memory::of<int>({1, 2, 3, 4}), Memory(i32, 8)}, {to_word(std::int64_t(4))});
    CHECK(good.memories[1].values<int>() == std::vector<int>{3, 4, 5, 6, 12, 22, 32, 42});
    CHECK(good.check.code == 0);
    const Result bad = run_on("ref", n.k, {Memory::of<int>({7, 2, 3, 4}), Memory(i32, 8)}, {to_word(std::int64_t(2))});
    CHECK(bad.memories[1].values<int>() == std::vector<int>{14, 9, 7, 7, 17, 27, 37, 47});
    CHECK(bad.check.code == 1);
    CHECK(bad.check.value == 7);
}

TEST_CASE("ref: an access beyond its buffer is an internal error that names it") {
    Nest n("wild");
    const int x = n.input("source", f32, 3), y = n.output("y", f32, 4);
    const NodeRef i = n.k.new_var(4);
    n.k.body = {Nest::loop(i, LoopKind::Serial, {Store{y, i, n.k.load(x, i)}})};
    CHECK_THROWS_WITH_AS(run_on("ref", n.k, {Memory(f32, 3), Memory(f32, 4)}),
                         "kernel wild reaches for source[3], which has 3 elements", InternalError);
}

TEST_CASE("find names the choices") {
    CHECK(backend::find("ref", CpuLevel::Baseline).name() == "ref");
    CHECK(backend::find("auto", CpuLevel::Baseline).name() == "c");
    CHECK_THROWS_WITH_AS(backend::find("fortran", CpuLevel::Baseline),
                         "there is no backend \"fortran\"; choose among \"auto\", \"x86\", \"c\", \"ref\"", ValueError);
}

}  // namespace weft::test
