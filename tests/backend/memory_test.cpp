// Loads, stores and locals of every form: `c` against `ref`, bit for bit, with guard bytes behind every buffer.
#include "backend/support.h"
#include "support/target.h"

namespace weft::test {
namespace {

constexpr DType kSome[] = {bool_, u8, i16, f16, i32, f32, f64, i64};

Memory numbers(DType t, std::int64_t count, int seed = 1) {
    Memory memory(t, count);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t x = (i * 37 + seed * 11) % 101 - 50;
        memory.set(i, is_bool(t) ? Word(x % 3 == 0) : cast_word(f32, t, to_word(static_cast<float>(x) / 4)));
    }
    return memory;
}

// Compares `c` and `x86` with `ref` on many kernels, with one start of the compiler.
class Batch {
public:
    void add(Nest nest, std::vector<Memory> memories, std::vector<Word> scalars = {}, std::int64_t chunk = 0) {
        kernel::verify(nest.k, "test");
        cases_.push_back({std::make_unique<Nest>(std::move(nest)), std::move(memories), std::move(scalars), chunk});
    }
    ~Batch() noexcept(false) {  // what a backend throws shall be seen
        std::vector<const Kernel*> kernels;
        for (const Case& c : cases_) kernels.push_back(&c.nest->k);
        const auto expected = backend::ref_backend().compile(kernels, testing::target_for("ref"));
        for (const Target& target : targets()) {
            const auto got = compile_for(target, kernels);
            for (std::size_t i = 0; i < cases_.size(); ++i) {
                const Case& c = cases_[i];
                const Result a = run_program(*expected[i], c.nest->k, c.memories, c.scalars);
                const Result b = run_program(*got[i], c.nest->k, c.memories, c.scalars, c.chunk);
                CAPTURE(target.backend);
                CAPTURE(target.cpu);
                CAPTURE(c.nest->k.name);
                CHECK(a.check.code == b.check.code);
                CHECK(a.check.value == b.check.value);
                for (std::size_t m = 0; m < a.memories.size(); ++m) {
                    CAPTURE(c.nest->k.buffers[m].name);
                    CHECK(a.memories[m] == b.memories[m]);
                }
            }
        }
    }

private:
    struct Case {
        std::unique_ptr<Nest> nest;
        std::vector<Memory> memories;
        std::vector<Word> scalars;
        std::int64_t chunk;
    };
    std::vector<Case> cases_;
};

void check_equal(Nest n, std::vector<Memory> memories) { Batch().add(std::move(n), std::move(memories)); }

NodeRef lane_parity(const Nest& n, const NodeRef& lane) {
    return n.k.binary(Op::CmpEq, n.k.binary(Op::Mod, lane, n.at(2)), n.at(0));
}

}  // namespace

TEST_CASE("vector loops of every extent, with broadcasts, strides, gathers and scatters") {
    Batch batch;
    for (const DType t : kSome)
        for (int e = 1; e <= 16; e += is_bool(t) || t == f16 ? 5 : 1) {
            Nest n(str("extent_", t, "_", e));
            const int x = n.input("x", t, 200), at = n.input("at", i32, 16);
            const NodeRef i = n.k.new_var(3), l = n.k.new_var(e);
            const NodeRef somewhere = n.k.cast(n.k.load(at, l), i64);
            const NodeRef values[] = {n.k.load(x, n.affine({{i, 7}})),
                                      n.k.load(x, n.affine({{i, 16}, {l, 1}}, 3)),
                                      n.k.load(x, n.affine({{i, 50}, {l, 4}})),
                                      n.k.load(x, n.affine({{i, 1}, {l, -3}}, 60)),
                                      n.k.load(x, somewhere),
                                      n.k.load(x, n.k.binary(Op::IDiv, n.affine({{l, 5}, {i, 1}}), n.at(3)))};
            Body body;
            std::vector<Memory> memories{numbers(t, 200), Memory(i32, 16)};
            for (int q = 0; q < 16; ++q) memories[1].set(q, to_word(q * 53 % 199));
            for (const NodeRef& value : values)
                for (const int stride : {1, 3}) {
                    const int out = n.output(str("out", memories.size()), t, 200);
                    memories.emplace_back(t, 200);
                    body.emplace_back(Store{out, n.affine({{i, 16 * stride}, {l, stride}}), value});
                }
            const int scattered = n.output("scattered", t, 200), last = n.output("last", t, 3);
            memories.emplace_back(t, 200);
            memories.emplace_back(t, 3);
            body.emplace_back(Store{scattered, somewhere, values[1]});
            body.emplace_back(Store{last, i, values[1]});
            n.k.body = {Nest::loop(i, LoopKind::Serial, {Nest::loop(l, LoopKind::Vector, std::move(body))})};
            batch.add(std::move(n), std::move(memories));
        }
}

TEST_CASE("lanes at known distances near each other: strides, repeats, axes reversed") {
    Batch batch;
    for (const DType t : kSome)
        for (const int e : {2, 3, 7, 8, 9, 12, 15, 16}) {
            Nest n(str("near_", t, "_", e));
            const NodeRef i = n.k.new_var(3), l = n.k.new_var(e);
            const auto div = [&](int by) { return n.k.binary(Op::IDiv, l, n.at(by)); };
            const auto mod = [&](int by) { return n.k.binary(Op::Mod, l, n.at(by)); };
            const NodeRef near[] = {n.affine({{l, 2}}),
                                    n.affine({{l, 3}}),
                                    n.affine({{l, 4}}),
                                    n.affine({{l, -1}}),
                                    n.affine({{l, -4}}),
                                    div(2),
                                    n.affine({{div(2), 4}, {mod(2), 1}}),
                                    n.affine({{div(3), 7}, {mod(3), -2}}),
                                    n.affine({{mod(5), 3}}),
                                    n.affine({{div(8), 40}, {mod(8), 1}})};
            Body body;
            std::vector<Memory> memories;
            for (const NodeRef& index : near) {  // each buffer ends with the last element that is read
                std::int64_t low = 0, high = 0;
                for (std::int64_t q = 0; q < e; ++q) {
                    const NodeRef at = kernel::substitute(n.k, index, {{l->as<ir::LoopArg>().id, n.at(q)}});
                    const auto x = static_cast<std::int64_t>(at->as<ir::ConstArg>().value);
                    low = std::min(low, x), high = std::max(high, x);
                }
                const std::int64_t size = 2 * 5 + high - low + 1;
                const int x = n.input(str("x", memories.size()), t, size);
                memories.push_back(numbers(t, size));
                const int out = n.output(str("out", memories.size()), t, 3 * e);
                memories.emplace_back(t, 3 * e);
                const NodeRef at = n.k.add(n.affine({{i, 5}}, -low), index);
                body.emplace_back(Store{out, n.affine({{i, e}, {l, 1}}), n.k.load(x, at)});
            }
            n.k.body = {Nest::loop(i, LoopKind::Serial, {Nest::loop(l, LoopKind::Vector, std::move(body))})};
            batch.add(std::move(n), std::move(memories));
        }
}

TEST_CASE("gates, of scalars and of lanes, keep their loads inside the buffer") {
    Batch batch;
    for (const DType t : kSome)
        for (const int e : {5, 8, 16}) {
            Nest n(str("gates_", t, "_", e));
            const std::int64_t size = 40;
            const int x = n.input("x", t, size), out = n.output("out", t, 6 * 6 * 16);
            const NodeRef i = n.k.new_var(6), l = n.k.new_var(e), zero = n.at(0), end = n.at(size);
            const auto inside = [&](const NodeRef& at) {
                return n.k.binary(Op::And, n.k.binary(Op::CmpLe, zero, at), n.k.binary(Op::CmpLt, at, end));
            };
            const NodeRef shifted = n.affine({{i, 11}, {l, 1}}, -9), strided = n.affine({{i, 11}, {l, 3}}, -9);
            const NodeRef twisted =
                n.k.binary(Op::Sub, n.k.binary(Op::IDiv, n.affine({{l, 7}, {i, 20}}), n.at(2)), n.at(9));
            const NodeRef row = n.k.binary(Op::CmpLt, i, n.at(2)), fixed = n.affine({{i, 9}}, 0);
            const NodeRef values[] = {
                n.k.load(x, shifted, inside(shifted)),
                n.k.load(x, strided, inside(strided)),
                n.k.load(x, twisted, inside(twisted)),
                n.k.load(x, n.affine({{i, 18}, {l, 1}}), row),
                n.k.load(x, n.affine({{i, 45}}),
                         n.k.binary(Op::And, lane_parity(n, l), n.k.binary(Op::CmpLt, i, n.at(1)))),
                n.k.load(x, n.affine({{i, 9}}), n.k.binary(Op::CmpLt, fixed, end))};
            Body body;
            for (int v = 0; v < 6; ++v) body.emplace_back(Store{out, n.affine({{i, 96}, {l, 1}}, v * 16), values[v]});
            n.k.body = {Nest::loop(i, LoopKind::Serial, {Nest::loop(l, LoopKind::Vector, std::move(body))})};
            batch.add(std::move(n), {numbers(t, size), Memory(t, 6 * 6 * 16)});
        }
}

TEST_CASE("a register tile: 8 x 48 accumulators, unrolled, with a vector loop inside") {
    for (const int rows : {8, 3}) {
        constexpr std::int64_t kK = 20, kN = 96;
        Nest n(str("tile_", rows));
        const int a = n.input("a", f32, rows * 2 * kK), b = n.input("b", f32, kK * kN),
                  c = n.output("c", f32, rows * 2 * kN);
        const int acc = n.local("acc", f32, rows * 48, Buffer::MemoryType::Register);
        const NodeRef i = n.k.new_var(2), j = n.k.new_var(kN / 48), t = n.k.new_var(kK);
        const auto tile = [&](auto make) {
            const NodeRef r = n.k.new_var(rows), v = n.k.new_var(3), l = n.k.new_var(16);
            const NodeRef at = n.affine({{r, 48}, {v, 16}, {l, 1}});
            return Nest::loop(
                r, LoopKind::Unrolled,
                {Nest::loop(v, LoopKind::Unrolled, {Nest::loop(l, LoopKind::Vector, make(r, v, l, at))})});
        };
        Body inner;
        inner.push_back(tile([&](auto&, auto&, auto&, const NodeRef& at) {
            return Body{Store{acc, at, n.k.constant(f32, 0)}};
        }));
        Stmt steps = tile([&](const NodeRef& r, const NodeRef& v, const NodeRef& l, const NodeRef& at) {
            const NodeRef left = n.k.load(a, n.affine({{i, rows * kK}, {r, kK}, {t, 1}}));
            const NodeRef right = n.k.load(b, n.affine({{t, kN}, {j, 48}, {v, 16}, {l, 1}}));
            return Body{Store{acc, at, n.k.fma(left, right, n.k.load(acc, at))}};
        });
        inner.push_back(Nest::loop(t, LoopKind::Serial, {std::move(steps)}));
        inner.push_back(tile([&](const NodeRef& r, const NodeRef& v, const NodeRef& l, const NodeRef& at) {
            return Body{Store{c, n.affine({{i, rows * kN}, {r, kN}, {j, 48}, {v, 16}, {l, 1}}), n.k.load(acc, at)}};
        }));
        n.k.body = {Nest::loop(i, LoopKind::Parallel, {Nest::loop(j, LoopKind::Serial, std::move(inner))})};
        const std::vector<Memory> memories{numbers(f32, rows * 2 * kK, 3), numbers(f32, kK * kN, 5),
                                           Memory(f32, rows * 2 * kN)};
        Batch batch;
        batch.add(n, memories);
        batch.add(n, memories, {}, 1);
        const std::string machine = compile_one(backend::c_backend(), n.k)->machine();
        if (machine.find("zmm") != std::string::npos) {  // with AVX-512, a row of the tile is three fused instructions
            std::size_t fused = 0;
            for (std::size_t at = 0; (at = machine.find("vfmadd", at)) != std::string::npos; ++at) ++fused;
            CHECK(fused >= static_cast<std::size_t>(rows) * 3);
        }
    }
}

TEST_CASE("a sum in lanes: whole steps, a short last vector, and a fold by halves") {
    Batch batch;
    for (const DType t : {f32, f64, i32})
        for (const Buffer::MemoryType memory : {Buffer::MemoryType::Register, Buffer::MemoryType::Scratch})
            for (const int remainder : {0, 1, 7, 15}) {
                const int lanes = t == f64 ? 8 : 16, length = 3 * lanes + remainder % lanes, left = remainder % lanes;
                Nest n(str("fold_", t, "_", remainder, "_", static_cast<int>(memory)));
                const int x = n.input("x", t, length), out = n.output("out", t, 1);
                const int acc = n.local("acc", t, lanes, memory), fold = n.local("fold", t, lanes, memory);
                const NodeRef l0 = n.k.new_var(lanes), q = n.k.new_var(3), l = n.k.new_var(lanes),
                              tail = n.k.new_var(std::max(left, 1));
                Body body{Nest::loop(l0, LoopKind::Vector, {Store{acc, l0, n.k.constant(t, 0)}})};
                body.push_back(Nest::loop(
                    q, LoopKind::Serial,
                    {Nest::loop(
                        l, LoopKind::Vector,
                        {Store{acc, l, n.k.add(n.k.load(acc, l), n.k.load(x, n.affine({{q, lanes}, {l, 1}})))}})}));
                if (left)
                    body.push_back(Nest::loop(
                        tail, LoopKind::Vector,
                        {Store{acc, tail,
                               n.k.add(n.k.load(acc, tail), n.k.load(x, n.affine({{tail, 1}}, 3 * lanes)))}}));
                const NodeRef l2 = n.k.new_var(lanes);
                body.push_back(Nest::loop(l2, LoopKind::Vector, {Store{fold, l2, n.k.load(acc, l2)}}));
                for (int half = lanes / 2; half >= 1; half /= 2) {
                    const NodeRef h = n.k.new_var(half);
                    const NodeRef sum = n.k.add(n.k.load(fold, h), n.k.load(fold, n.affine({{h, 1}}, half)));
                    body.push_back(Nest::loop(h, LoopKind::Vector, {Store{fold, h, sum}}));
                }
                body.emplace_back(Store{out, n.at(0), n.k.load(fold, n.at(0))});
                n.k.body = std::move(body);
                batch.add(std::move(n), {numbers(t, length), Memory(t, 1)});
            }
}

TEST_CASE("locals private to each lane, with serial loops inside the vector loop") {
    Batch batch;
    for (const DType t : kSome) {
        Nest n(str("private_", t));
        const int x = n.input("x", t, 160), out = n.output("out", t, 3 * 32);
        const NodeRef i = n.k.new_var(3), l = n.k.new_var(11), q = n.k.new_var(5), r = n.k.new_var(4),
                      u = n.k.new_var(2);
        const int own = n.local("own", t, 1, Buffer::MemoryType::Register, 1),
                  pair = n.local("pair", t, 2, Buffer::MemoryType::Register, 1);
        const int row = n.local("row", t, 4, Buffer::MemoryType::Register, 1);
        const NodeRef zero = n.at(0), in = n.k.load(x, n.affine({{q, 31}, {l, 2}, {i, 1}}));
        Body body{Store{own, zero, n.k.load(x, l)}};
        body.push_back(Nest::loop(u, LoopKind::Unrolled, {Store{pair, u, n.k.load(x, n.affine({{u, 20}, {l, 1}}))}}));
        const auto both = [&](const NodeRef& a, const NodeRef& b) {
            return is_half(t) ? n.k.cast(n.k.add(n.k.cast(a, f32), n.k.cast(b, f32)), t)
                              : n.k.binary(is_bool(t) ? Op::Xor : Op::Add, a, b);
        };
        body.push_back(Nest::loop(q, LoopKind::Serial,
                                  {Store{own, zero, both(n.k.load(own, zero), in)},
                                   Store{pair, n.at(1), both(n.k.load(pair, zero), n.k.load(own, zero))}}));
        body.push_back(
            Nest::loop(r, LoopKind::Serial,
                       {Store{row, r, both(n.k.load(pair, n.at(1)), n.k.load(x, n.affine({{r, 3}, {l, 1}})))}}));
        const NodeRef picked = n.k.load(row, n.k.binary(Op::Mod, n.k.add(l, i), n.at(4)));
        body.emplace_back(Store{out, n.affine({{i, 32}, {l, 1}}), both(n.k.load(own, zero), n.k.load(row, n.at(2)))});
        body.emplace_back(Store{out, n.affine({{i, 32}, {l, 1}}, 16), picked});
        n.k.body = {Nest::loop(i, LoopKind::Parallel, {Nest::loop(l, LoopKind::Vector, std::move(body))})};
        batch.add(std::move(n), {numbers(t, 160), Memory(t, 96)}, {}, 2);
    }
}

TEST_CASE("lanes that count differently run one after the other") {
    Nest n("ragged");
    const int x = n.input("x", f32, 200), out = n.output("out", f32, 16);
    const NodeRef p = n.k.new_var(2), l = n.k.new_var(9), q = n.k.new_var(12);
    const int own = n.local("own", f32, 1, Buffer::MemoryType::Register, 1);
    const NodeRef zero = n.at(0), sum = n.k.add(n.k.load(own, zero), n.k.load(x, n.affine({{l, 10}, {q, 1}, {p, 3}})));
    const NodeRef start = n.k.where(n.k.binary(Op::CmpEq, p, zero), n.k.constant(f32, 0), n.k.load(own, zero));
    Loop inner{q, LoopKind::Serial, {Store{own, zero, sum}}};
    inner.count = n.k.binary(Op::Sub, n.k.mul(l, n.at(2)), n.at(4));
    const NodeRef l2 = n.k.new_var(9);
    n.k.body = {
        Nest::loop(p, LoopKind::Serial,
                   {Nest::loop(l, LoopKind::Vector,
                               {Store{own, zero, start}, std::move(inner), Store{out, l, n.k.load(own, zero)}})})};
    check_equal(n, {numbers(f32, 200), Memory(f32, 16)});
}

TEST_CASE("a vector loop whose lanes count differently in one of its unrolled copies") {
    Nest n("uneven_copies");
    const int x = n.input("x", f32, 64), out = n.output("out", f32, 64);
    const NodeRef u = n.k.new_var(2), l = n.k.new_var(8), q = n.k.new_var(6);
    const NodeRef at = n.affine({{u, 8}, {l, 1}});
    Loop inner{q, LoopKind::Serial, {Store{out, at, n.k.add(n.k.load(out, at), n.k.load(x, n.k.add(at, q)))}}};
    inner.count = n.k.mul(u, l);  // 0 in the first copy
    n.k.body = {Nest::loop(u, LoopKind::Unrolled, {Nest::loop(l, LoopKind::Vector, {std::move(inner)})})};
    check_equal(n, {numbers(f32, 64), numbers(f32, 64, 2)});
}

TEST_CASE("a loop that may not run touches nothing when it does not") {
    Nest n("maybe");
    const int x = n.input("x", f32, 4), at = n.input("at", i64, 8), out = n.output("out", f32, 8);
    const NodeRef i = n.k.new_var(8), once = n.k.new_var(1), many = n.k.new_var(3);
    const NodeRef index = n.k.load(at, i);
    const NodeRef good =
        n.k.binary(Op::And, n.k.binary(Op::CmpLe, n.at(0), index), n.k.binary(Op::CmpLt, index, n.at(4)));
    Loop taken{once, LoopKind::Serial, {Store{out, i, n.k.load(x, n.check(index, 0, 4, "never reached"))}}};
    taken.count = n.k.cast(good, i64);
    Loop rest{many, LoopKind::Serial, {Store{out, i, n.k.add(n.k.load(out, i), n.k.constant(f32, 1))}}};
    rest.count = index;
    n.k.body = {
        Nest::loop(i, LoopKind::Serial, {Store{out, i, n.k.constant(f32, -1)}, std::move(taken), std::move(rest)})};
    const std::int64_t big = std::int64_t(1) << 40;
    check_equal(n, {numbers(f32, 4), Memory::of<std::int64_t>({3, -1, big, 2, 4, 0, -big, 1}), Memory(f32, 8)});
}

TEST_CASE("values are read again after a store, and only then") {
    Nest n("stores");
    const int x = n.output("x", f32, 16), y = n.output("y", f32, 64);
    const int keep = n.local("keep", f32, 4, Buffer::MemoryType::Scratch);
    const NodeRef i = n.k.new_var(4), j = n.k.new_var(4), zero = n.at(0);
    const NodeRef head = n.k.load(x, zero), kept = n.k.load(keep, i);
    n.k.body = {
        Nest::loop(i, LoopKind::Serial,
                   {Store{keep, i, n.k.mul(head, n.k.constant(f32, 3))}, Store{x, zero, n.k.add(kept, n.k.load(x, i))},
                    Store{y, n.affine({{i, 16}}), n.k.add(head, kept)},
                    Nest::loop(j, LoopKind::Serial,
                               {Store{x, j, n.k.add(n.k.load(x, j), head)},
                                Store{y, n.affine({{i, 16}, {j, 1}}, 1), n.k.mul(head, kept)}}),
                    Store{y, n.affine({{i, 16}}, 9), head}})};
    check_equal(n, {numbers(f32, 16), numbers(f32, 64)});
}

TEST_CASE("locals that share scratch one after the other") {
    Nest n("overlay");
    const int x = n.input("x", f32, 64), out = n.output("out", f32, 64);
    const int first = n.local("first", f32, 64, Buffer::MemoryType::Scratch),
              second = n.local("second", f32, 64, Buffer::MemoryType::Scratch);
    n.k.buffers[second].scratch_offset = n.k.buffers[first].scratch_offset;
    Body body;
    const auto step = [&](int to, int from, float by) {
        const NodeRef i = n.k.new_var(4), l = n.k.new_var(16), at = n.affine({{i, 16}, {l, 1}});
        body.push_back(Nest::loop(
            i, LoopKind::Serial,
            {Nest::loop(l, LoopKind::Vector, {Store{to, at, n.k.mul(n.k.load(from, at), n.k.constant(f32, by))}})}));
    };
    step(first, x, 2);
    step(out, first, 3);
    step(second, x, 5);
    step(out, second, 7);
    n.k.body = std::move(body);
    check_equal(n, {numbers(f32, 64), Memory(f32, 64)});
}

TEST_CASE("checks record the first failure of used lanes and pass a harmless value on") {
    Batch batch;
    for (const DType t : {i64, i32, u8})
        for (const int e : {1, 6, 16}) {
            Nest n(str("check_", t, "_", e));
            const int at = n.input("at", t, 48), x = n.input("x", f32, 10), out = n.output("out", f32, 48);
            const NodeRef i = n.k.new_var(3), l = n.k.new_var(e), index = n.affine({{i, 16}, {l, 1}});
            n.check(n.at(0), 0, 1, "another check");
            const NodeRef checked = n.check(n.k.load(at, index), 2, 10, "an index");
            n.k.body = {Nest::loop(i, LoopKind::Serial,
                                   {Nest::loop(l, e == 1 ? LoopKind::Serial : LoopKind::Vector,
                                               {Store{out, index, n.k.load(x, n.k.cast(checked, i64))}})})};
            std::vector<Memory> memories{Memory(t, 48), numbers(f32, 10), Memory(f32, 48)};
            for (int q = 0; q < 48; ++q) memories[0].set(q, to_word(std::int64_t(2 + q % 8)));
            batch.add(n, memories);
            memories[0].set(15, to_word(std::int64_t(99)));  // a lane in use only if e is 16
            memories[0].set(16 + e - 1, to_word(std::int64_t(1)));
            memories[0].set(32, to_word(std::int64_t(120)));
            CHECK(run_on("ref", n.k, memories).check.code == 2);
            batch.add(std::move(n), std::move(memories));
        }
}

TEST_CASE("run-time scalars of every dtype") {
    Batch batch;
    for (const DType t : {bool_, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64}) {
        Nest n(str("scalar_", t));
        const int out = n.output("out", t, 16), first = n.output("first", t, 1);
        const NodeRef value = n.scalar(t), l = n.k.new_var(13);
        n.k.body = {Nest::loop(l, LoopKind::Vector, {Store{out, l, value}}), Store{first, n.at(0), value}};
        batch.add(std::move(n), {Memory(t, 16), Memory(t, 1)},
                  {is_bool(t) ? Word(1) : cast_word(f32, t, to_word(-2.5f))});
    }
}

TEST_CASE("streamed outputs, aligned or not") {
    Batch batch;
    for (const DType t : {f32, i32, f64}) {
        Nest n(str("stream_", t));
        const int lanes = t == f64 ? 8 : 16;
        const int x = n.input("x", t, 256), out = n.output("out", t, 256);
        n.k.buffers[out].stream = true;
        const NodeRef i = n.k.new_var(9), l = n.k.new_var(lanes), at = n.affine({{i, lanes}, {l, 1}}, 3);
        n.k.body = {
            Nest::loop(i, LoopKind::Parallel, {Nest::loop(l, LoopKind::Vector, {Store{out, at, n.k.load(x, at)}})})};
        batch.add(std::move(n), {numbers(t, 256), Memory(t, 256)}, {}, 4);
    }
}

TEST_CASE("empty loops do nothing") {
    Nest n("empty");
    const int x = n.input("x", f32, 1), out = n.output("out", f32, 4);
    const NodeRef i = n.k.new_var(0), j = n.k.new_var(4);
    n.k.body = {
        Nest::loop(i, LoopKind::Serial, {Nest::loop(j, LoopKind::Vector, {Store{out, j, n.k.load(x, n.at(5))}})})};
    check_equal(n, {numbers(f32, 1), numbers(f32, 4)});
}

TEST_CASE("stores past the cache: whole lines, parts of lines, and addresses that are not aligned") {
    Batch batch;
    for (const DType t : kSome)
        for (const std::int64_t offset : {0, 1, 16}) {
            if (is_bool(t)) continue;
            Nest n(str("stream_", t, "_", offset));
            const std::int64_t size = 16 * 9 + 5;
            const int x = n.input("x", t, size), y = n.output("y", t, size + offset);
            n.k.buffers[y].stream = true;
            const NodeRef i = n.k.new_var(9), l = n.k.new_var(16), tail = n.k.new_var(5);
            const auto stores = [&](const NodeRef& at) {
                return Body{Store{y, n.affine({{at, 1}}, offset), n.k.load(x, at)}};
            };
            const NodeRef whole = n.affine({{i, 16}, {l, 1}}), last = n.affine({{tail, 1}}, 16 * 9);
            n.k.body = {Nest::loop(i, LoopKind::Serial, {Nest::loop(l, LoopKind::Vector, stores(whole))}),
                        Nest::loop(tail, LoopKind::Vector, stores(last))};
            batch.add(std::move(n), {numbers(t, size), numbers(t, size + offset, 7)});
        }
}

TEST_CASE("a block in registers is stored by rows and read by columns, iteration after iteration") {
    Batch batch;
    for (const DType t : kSome)
        for (const std::int64_t edge : {4, 8, 16}) {
            Nest n(str("block_", t, "_", edge));
            const std::int64_t iterations = 3, size = iterations * edge * edge;
            const int x = n.input("x", t, size), y = n.output("y", t, size);
            const int block = n.local("block", t, edge * edge, Buffer::MemoryType::Register);
            const NodeRef iteration = n.k.new_var(iterations), r = n.k.new_var(edge), c = n.k.new_var(edge);
            const NodeRef in = n.k.new_var(edge), out = n.k.new_var(edge);
            const NodeRef from = n.affine({{iteration, edge * edge}, {r, edge}, {in, 1}});
            const NodeRef to = n.affine({{iteration, edge * edge}, {c, edge}, {out, 1}});
            const Store row{block, n.affine({{r, edge}, {in, 1}}), n.k.load(x, from)};
            const Store column{y, to, n.k.load(block, n.affine({{c, 1}, {out, edge}}))};
            n.k.body = {Nest::loop(iteration, LoopKind::Serial,
                                   {Nest::loop(r, LoopKind::Unrolled, {Nest::loop(in, LoopKind::Vector, {row})}),
                                    Nest::loop(c, LoopKind::Unrolled, {Nest::loop(out, LoopKind::Vector, {column})})})};
            batch.add(std::move(n), {numbers(t, size), numbers(t, size, 7)});
        }
}

}  // namespace weft::test
