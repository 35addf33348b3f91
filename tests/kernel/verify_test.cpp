// tests/kernel/verify_test.cpp: kernels that break one rule each are refused, with a message that names the kernel, the pass, the buffer and
// the index; kernels that keep the rules by a hair are proven.
#include "backend/support.h"
#include "ir/address.h"
#include "ir/symbolic.h"
#include "kernel/nest.h"
#include "kernel/refusal.h"
#include "support/expression_eval.h"
#include "support/random.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <string>

using namespace weft;
using namespace weft::kernel;
using ir::NodeRef;
using ir::Op;
using test::has;
using test::Nest;
using test::refusal;

namespace {

Stmt loop(const NodeRef& var, LoopKind kind, Body body, NodeRef count = nullptr, bool independent = false) {
    return Loop{var, kind, std::move(body), independent, std::move(count)};
}

// out[store(i)] = in place, loaded at load(i), over i < 16; one more element on either side.
struct InPlace {
    Nest nest{"in_place"};
    NodeRef i = nest.k.new_var(16);
    int x = nest.output("x", f32, 18);
    NodeRef at(std::int64_t factor, std::int64_t constant) { return nest.affine({{i, factor}}, constant); }
    bool proven(const NodeRef& store, const NodeRef& load, LoopKind kind = LoopKind::Serial) {
        nest.k.body = Body{loop(i, kind, Body{Store{x, store, nest.k.load(x, load)}})};
        return unproven(nest.k).empty();
    }
    static std::vector<int> unproven(const Kernel& kernel) {
        const int first[] = {0};
        return verify_memory(kernel, "test", first);
    }
};

}  // namespace

TEST_CASE("what a kernel refers to exists") {
    Nest nest("structure");
    const int out = nest.output("out", f32, 64), in = nest.input("in", f32, 64);
    const NodeRef i = nest.k.new_var(4), l = nest.k.new_var(16), m = nest.k.new_var(16);
    const int own = nest.local("own", f32, 1, Buffer::MemoryType::Register, id_of(l));
    const NodeRef zero = nest.at(0), place = nest.affine({{i, 16}, {l, 1}});
    const auto with = [&](const NodeRef& lane, LoopKind kind) {
        nest.k.body =
            Body{loop(i, LoopKind::Serial,
                      Body{loop(lane, kind,
                                Body{Store{own, zero, nest.k.load(in, nest.affine({{i, 16}, {lane, 1}}))},
                                     Store{out, nest.affine({{i, 16}, {lane, 1}}), nest.k.load(own, zero)}})})};
        return refusal(nest.k);
    };
    CHECK(with(l, LoopKind::Vector).empty());
    CHECK(has(with(m, LoopKind::Vector), "b2 (own), private to the lanes of i1, is used outside of that loop"));
    CHECK(has(with(l, LoopKind::Serial), "is used outside of that loop"));
    nest.k.body = Body{Store{out, place, nest.k.load(in, zero)}};
    CHECK(has(refusal(nest.k), "unbound i"));
    nest.k.body = Body{Store{in, zero, nest.k.load(in, zero)}};
    CHECK(has(refusal(nest.k), "a store to the input in"));
    nest.k.body = Body{Store{7, zero, nest.k.load(in, zero)}};
    CHECK(has(refusal(nest.k), "a store to no buffer"));
    nest.k.body = Body{loop(i, LoopKind::Serial, {}), loop(i, LoopKind::Serial, {})};
    CHECK(has(refusal(nest.k), "two loops with one variable: i0"));
    nest.k.body = Body{loop(i, LoopKind::Serial, Body{loop(l, LoopKind::Parallel, {})})};
    CHECK(has(refusal(nest.k), "a parallel loop that is not outermost"));
}

TEST_CASE("every index is in its buffer") {
    Nest nest("bounds");
    const int out = nest.output("out", f32, 16), in = nest.input("in", f32, 20), which = nest.input("which", i64, 16);
    const int row = nest.local("row", f32, 4, Buffer::MemoryType::Scratch);
    const NodeRef i = nest.k.new_var(16), j = nest.k.new_var(8);
    Kernel& k = nest.k;
    const auto loads = [&](const NodeRef& at, const NodeRef& gate = nullptr) {
        k.body = Body{loop(i, LoopKind::Serial, Body{Store{out, i, k.load(in, at, gate)}})};
        return refusal(k);
    };
    CHECK(loads(nest.affine({{i, 1}}, 4)).empty());
    CHECK(has(loads(nest.affine({{i, 1}}, 5)), ", which is not proven to be below 20"));
    CHECK(has(loads(nest.affine({{i, 1}}, -1)), "a load of b1 (in) at"));
    k.body = Body{loop(i, LoopKind::Serial, Body{Store{out, nest.affine({{i, 1}}, 1), k.load(in, i)}})};
    CHECK(has(refusal(k), ", which is not proven to be below 16"));
    k.body = Body{loop(i, LoopKind::Serial, Body{Store{row, i, k.load(in, i)}})};
    CHECK(has(refusal(k), "a store to b3 (row) at i0"));

    const auto less = [&](const NodeRef& a, const NodeRef& b) { return k.binary(Op::CmpLt, a, b); };
    const auto both = [&](const NodeRef& a, const NodeRef& b) { return k.binary(Op::And, a, b); };
    const NodeRef twice = nest.affine({{i, 2}}, -3);
    CHECK(!loads(twice).empty());
    CHECK(!loads(twice, less(nest.at(1), i)).empty());  // one side only
    CHECK(loads(twice, both(less(nest.at(1), i), less(i, nest.at(11)))).empty());
    CHECK(loads(twice, both(less(nest.at(-1), twice), less(twice, nest.at(20)))).empty());
    CHECK(!loads(twice, both(less(nest.at(1), i), less(i, nest.at(13)))).empty());
    CHECK(loads(twice, both(k.binary(Op::Xor, less(i, nest.at(2)), k.constant(DType::Bool, true)),
                            k.binary(Op::CmpLe, i, nest.at(11))))
              .empty());

    const NodeRef data = k.load(which, i);  // anything
    CHECK(!loads(data).empty());
    CHECK(loads(nest.check(data, 0, 20, "index")).empty());
    CHECK(!loads(nest.check(data, 0, 21, "index")).empty());
    CHECK(loads(data, both(less(nest.at(-1), data), less(data, nest.at(20)))).empty());
    CHECK(!loads(data, less(data, nest.at(20))).empty());
    CHECK(loads(k.binary(Op::Max, nest.at(0), k.binary(Op::Min, data, nest.at(19)))).empty());
    const NodeRef wrapped = k.where(less(data, nest.at(0)), k.add(data, nest.at(20)), data);
    CHECK(!loads(wrapped).empty());
    CHECK(loads(wrapped, both(less(nest.at(-21), data), less(data, nest.at(20)))).empty());

    // (i // 4) * 5 + i % 4 is below 20; with 6 it is not.
    const NodeRef four = nest.at(4), quotient = k.binary(Op::IDiv, i, four), remainder = k.binary(Op::Mod, i, four);
    CHECK(loads(k.add(k.mul(quotient, nest.at(5)), remainder)).empty());
    CHECK(!loads(k.add(k.mul(quotient, nest.at(6)), remainder)).empty());

    // A count ends the loop before the end of the array does.
    const auto counted = [&](std::int64_t left) {
        const NodeRef count = k.binary(Op::Sub, nest.at(left), k.mul(i, nest.at(8)));
        k.body = Body{loop(i, LoopKind::Serial,
                           Body{loop(j, LoopKind::Serial,
                                     Body{Store{row, nest.at(0), k.load(in, nest.affine({{i, 8}, {j, 1}}))}}, count)})};
        return refusal(k);
    };
    CHECK(counted(20).empty());
    CHECK(!counted(21).empty());
}

// A window of 3 over rows of `width` elements with a border of 1, as tiles read it: x = 16 a + l counts elements, its row ends where x % width + k
// says so. Exactly `rows` rows of memory are read.
TEST_CASE("windows with a border are proven by a hair") {
    for (const std::int64_t width : {3, 5, 7, 12, 30})
        for (const std::int64_t missing : {0, 1}) {
            CAPTURE(width);
            const std::int64_t rows = 100 / width;
            Nest nest("window");
            Kernel& k = nest.k;
            const int in = nest.input("in", f32, rows * width - missing), out = nest.output("out", f32, 1024);
            const NodeRef a = k.new_var(8), l = k.new_var(16), w = k.new_var(3);
            const NodeRef x = nest.affine({{a, 16}, {l, 1}});
            const NodeRef column = k.add(k.binary(Op::Mod, nest.affine({{a, 16 % width}, {l, 1}}), nest.at(width)), w);
            const auto both = [&](const NodeRef& p, const NodeRef& q) { return k.binary(Op::And, p, q); };
            const auto less = [&](const NodeRef& p, const NodeRef& q) { return k.binary(Op::CmpLt, p, q); };
            const NodeRef gate = both(both(less(nest.at(width - 1), x), less(x, nest.at((rows + 1) * width))),
                                      both(less(nest.at(0), column), less(column, nest.at(width + 1))));
            const NodeRef at = nest.affine({{a, 16}, {l, 1}, {w, 1}}, -width - 1);
            Body store{Store{out, nest.affine({{a, 16}, {l, 1}, {w, 128}}), k.load(in, at, gate)}};
            k.body = Body{
                loop(a, LoopKind::Serial, Body{loop(l, LoopKind::Serial, Body{loop(w, LoopKind::Serial, store)})})};
            CHECK(refusal(k).empty() == (missing == 0));
        }
}

// A number that counts through rows of `row` elements comes as a block and a thread of `threads`: the count bounds the number, and the quotient is only
// a part of it. Which element of a row is loaded, as in a gather.
TEST_CASE("numbers that are cut into a variable and a quotient are proven by a hair") {
    for (const std::int64_t threads : {32, 64, 256})
        for (const std::int64_t row : {24, 40, 48})
            for (const std::int64_t missing : {0, 1}) {
                CAPTURE(threads);
                CAPTURE(row);
                const std::int64_t rows = 6, columns = 6, depth = 4, whole = threads / row;
                Nest nest("cut");
                Kernel& k = nest.k;
                const int in = nest.input("in", f32, rows * depth * columns - missing),
                          places = nest.input("places", i64, 8), out = nest.output("out", f32, 1024);
                const NodeRef block = k.new_var((rows * row + threads - 1) / threads), thread = k.new_var(threads);
                const NodeRef number = nest.affine({{block, threads}, {thread, 1}}),
                              part =
                                  k.binary(Op::IDiv, nest.affine({{block, threads % row}, {thread, 1}}), nest.at(row)),
                              counted = nest.affine({{block, threads % columns}, {thread, 1}}),
                              column = k.binary(Op::Mod, counted, nest.at(columns)),
                              line = k.add(k.mul(block, nest.at(threads / columns % 8)),
                                           k.binary(Op::IDiv, counted, nest.at(columns))),
                              place = k.load(places, k.binary(Op::Mod, line, nest.at(8))),
                              clamped = k.binary(Op::Max, nest.at(0), k.binary(Op::Min, nest.at(depth - 1), place));
                const NodeRef first =
                    k.add(k.mul(block, nest.at(whole * depth * columns)), k.mul(part, nest.at(depth * columns)));
                const NodeRef at = k.add(k.add(first, column), k.mul(clamped, nest.at(columns)));
                Body store{Store{out, number, k.load(in, at)}};
                const NodeRef left = k.binary(Op::Sub, nest.at(rows * row), number);
                Body guarded{Loop{k.new_var(1), LoopKind::Serial, store, false, left}};
                k.body = Body{loop(block, LoopKind::Serial, Body{loop(thread, LoopKind::Serial, guarded)})};
                CHECK(refusal(k).empty() == (missing == 0));
            }
}

// Whatever is claimed to be in bounds is, by trying all iterations.
TEST_CASE("no proof of a wrong bound") {
    testing::Rng rng(7);
    int proven = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        CAPTURE(trial);
        Nest nest("random");
        Kernel& k = nest.k;
        const std::vector<std::int64_t> sizes{rng.within(1, 5), rng.within(1, 9), rng.within(1, 4)};
        std::vector<NodeRef> vars;
        for (const std::int64_t size : sizes) vars.push_back(k.new_var(size));
        const auto sum = [&] {
            NodeRef total = nest.at(rng.within(-3, 3));
            for (const NodeRef& var : vars)
                if (rng.chance(0.7)) total = k.add(total, k.mul(var, nest.at(rng.within(-3, 8))));
            return total;
        };
        const auto term = [&] {
            NodeRef x = sum();
            const double kind = rng.unit();
            if (kind < 0.3) x = k.binary(Op::Mod, x, nest.at(rng.within(2, 7)));
            else if (kind < 0.6) x = k.binary(Op::IDiv, x, nest.at(rng.within(2, 7)));
            else if (kind < 0.7) x = k.binary(rng.chance(0.5) ? Op::Min : Op::Max, x, sum());
            return x;
        };
        NodeRef gate = k.binary(Op::CmpLt, term(), term());
        for (int more = static_cast<int>(rng.below(4)); more > 0; --more)
            gate = k.binary(Op::And, gate, k.binary(rng.chance(0.3) ? Op::CmpEq : Op::CmpLt, term(), term()));
        const NodeRef at = k.add(k.mul(term(), nest.at(rng.within(1, 6))), term());
        const test::ExpressionProgram holds(gate, vars), index(at, vars);
        std::int64_t least = 0, most = 0;
        for (std::int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
            const Word values[] = {to_word(i % sizes[0]), to_word(i / sizes[0] % sizes[1]),
                                   to_word(i / sizes[0] / sizes[1])};
            if (!holds.run_by_table(values)) continue;
            const auto element = static_cast<std::int64_t>(index.run_by_table(values));
            least = std::min(least, element);
            most = std::max(most, element);
        }
        const std::int64_t size = std::max<std::int64_t>(1, most + rng.within(0, 1));
        const int in = nest.input("in", f32, size), out = nest.output("out", f32, 1);
        Body body{Store{out, nest.at(0), k.load(in, at, gate)}};
        for (const NodeRef& var : vars) body = Body{loop(var, LoopKind::Serial, std::move(body))};
        k.body = std::move(body);
        const bool claimed = refusal(k).empty();
        proven += claimed;
        if (claimed) CHECK((least >= 0 && most < size));
    }
    CHECK(proven > 50);
}

TEST_CASE("iterations that run at once do not meet") {
    Nest nest("races");
    const int out = nest.output("out", f32, 64), in = nest.input("in", f32, 64);
    const int one = nest.local("one", f32, 1, Buffer::MemoryType::Register);
    const int many = nest.local("many", f32, 16, Buffer::MemoryType::Scratch);
    Kernel& k = nest.k;
    const NodeRef p = k.new_var(4), q = k.new_var(16), l = k.new_var(16), zero = nest.at(0);
    const auto chunks = [&](std::int64_t step) {
        const NodeRef at = nest.affine({{p, step}, {q, 1}});
        k.body =
            Body{loop(p, LoopKind::Parallel, Body{loop(q, LoopKind::Serial, Body{Store{out, at, k.load(in, at)}})})};
        return refusal(k);
    };
    CHECK(chunks(16).empty());
    CHECK(has(chunks(15), "two iterations of the parallel loop i0 may meet in b0 (out): one stores at"));
    const NodeRef at = nest.affine({{p, 16}, {q, 1}}), next = nest.affine({{p, 16}, {q, -1}}, 15);
    k.body =
        Body{loop(p, LoopKind::Parallel, Body{loop(q, LoopKind::Serial, Body{Store{out, at, k.load(out, next)}})})};
    CHECK(refusal(k).empty());
    const NodeRef across = nest.affine({{p, -16}, {q, 1}}, 48);
    k.body =
        Body{loop(p, LoopKind::Parallel, Body{loop(q, LoopKind::Serial, Body{Store{out, at, k.load(out, across)}})})};
    CHECK(has(refusal(k), ", another one loads at"));

    const auto lanes = [&](int local, const NodeRef& place) {
        k.body = Body{
            loop(l, LoopKind::Vector, Body{Store{local, place, k.load(in, l)}, Store{out, l, k.load(local, place)}})};
        return refusal(k);
    };
    CHECK(lanes(many, l).empty());
    CHECK(has(lanes(one, zero), "two iterations of the vector loop i2 may meet in b2 (one)"));
    const NodeRef half = k.binary(Op::IDiv, l, nest.at(2));
    CHECK(!lanes(many, half).empty());

    const auto independent = [&](bool marked) {  // a running sum
        k.body =
            Body{Store{one, zero, k.constant(f32, 0)},
                 loop(q, LoopKind::Serial,
                      Body{Store{one, zero, k.add(k.load(one, zero), k.load(in, q))}, Store{out, q, k.load(one, zero)}},
                      nullptr, marked)};
        return refusal(k);
    };
    CHECK(independent(false).empty());
    CHECK(has(independent(true), "two iterations of the serial loop i1 (independent) may meet in b2 (one)"));
}

// Whatever is claimed to be apart is, by trying all iterations: columns that are counted through and stored by rows, in chunks of which the
// last one is shorter, as tiles do it; two images, one or two stores.
TEST_CASE("no proof that iterations are apart that meet") {
    testing::Rng rng(11);
    int proven = 0, met = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        CAPTURE(trial);
        Nest nest("random");
        Kernel& k = nest.k;
        const std::int64_t chunks = rng.within(2, 5), inside = rng.within(1, 4), lanes = rng.within(2, 6),
                           width = rng.within(2, 9);
        const std::int64_t step = inside * lanes - (rng.chance(0.2) ? 1 : 0),
                           columns = (chunks - 1) * step + rng.within(1, step);
        const std::int64_t row = rng.chance(0.8) ? width * rng.within(1, 2) : rng.within(1, 9),
                           rows = (columns - 1) / width + 1;
        // Below the columns: each stands for `part` elements. Between columns and rows: channels.
        const std::int64_t part = rng.chance(0.4) ? rng.within(2, 3) : 1,
                           channels = rng.chance(0.4) ? rng.within(2, 3) : 1;
        const std::int64_t column_size = part - (rng.chance(0.1) ? 1 : 0) + (part == 1),
                           channel = width * column_size - (rng.chance(0.1) ? 1 : 0);
        const std::int64_t row_size = row * column_size * channels + (rng.chance(0.1) ? -1 : 0);
        const std::int64_t image = row_size * rows + (rng.chance(0.2) ? -1 : 0);
        const int out = nest.output("out", f32, 65536);
        const NodeRef p = k.new_var(chunks), n = k.new_var(2), a = k.new_var(inside), l = k.new_var(lanes);
        const NodeRef column = nest.affine({{p, step}, {a, lanes}, {l, 1}}), by = nest.at(width);
        const NodeRef c = k.new_var(channels), z = k.new_var(part);
        NodeRef at = k.add(k.mul(k.binary(Op::IDiv, column, by), nest.at(row_size)),
                           k.mul(k.binary(Op::Mod, column, by), nest.at(column_size)));
        at = k.add(at, nest.affine({{n, image}, {c, channel}, {z, 1}}));
        if (rng.chance(0.7)) at = ir::simplify_index(*k.interner, at);
        Body stores{Store{out, at, k.constant(f32, 0)}};
        if (rng.chance(0.3))
            stores.emplace_back(Store{out, k.add(at, nest.at(rng.within(1, 200))), k.constant(f32, 1)});
        const NodeRef left = k.binary(Op::Sub, nest.at(columns), nest.affine({{p, step}, {a, lanes}}));
        const bool cut = rng.chance(0.8);
        const Body inner{loop(c, LoopKind::Serial, Body{loop(z, LoopKind::Serial, stores)})};
        k.body = Body{loop(
            p, LoopKind::Parallel,
            Body{loop(n, LoopKind::Serial,
                      Body{loop(a, LoopKind::Serial, Body{loop(l, LoopKind::Serial, inner, cut ? left : nullptr)})})})};
        std::vector<std::int64_t> owner(131072, -1);
        bool meet = false;
        const std::vector<NodeRef> vars{p, n, a, l, c, z};
        for (const Stmt& stmt : stores) {
            const test::ExpressionProgram index(stmt.store()->index, vars);
            for (std::int64_t i = 0; i < chunks * 2 * inside * lanes * channels * part; ++i) {
                const std::int64_t pi = i % chunks, ai = i / chunks / 2 % inside, li = i / chunks / 2 / inside % lanes,
                                   more = i / chunks / 2 / inside / lanes;
                if (cut && pi * step + ai * lanes + li >= columns) continue;
                const Word values[] = {to_word(pi), to_word(i / chunks % 2),  to_word(ai),
                                       to_word(li), to_word(more % channels), to_word(more / channels)};
                std::int64_t& first = owner[static_cast<std::size_t>(index.run_by_table(values))];
                meet = meet || (first >= 0 && first != pi);
                first = pi;
            }
        }
        const bool claimed = refusal(k).empty();
        proven += claimed;
        met += meet;
        CHECK(!(claimed && meet));
    }
    CHECK(proven > 500);
    CHECK(met > 200);
}

// As tiles of a batch are stored: each store under a count of its own, which bounds the same sum of variables.
TEST_CASE("no proof that iterations are apart whose stores have counts of their own") {
    testing::Rng rng(12);
    int proven = 0, met = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        CAPTURE(trial);
        Nest nest("random");
        Kernel& k = nest.k;
        const std::int64_t batches = rng.within(2, 3), tiles = rng.within(2, 4), threads = rng.within(2, 5),
                           each = rng.within(1, 3), rows = rng.within(1, 3);
        const std::int64_t step = threads * each - (rng.chance(0.1) ? 1 : 0),
                           columns = (tiles - 1) * step + rng.within(1, step);
        const std::int64_t row = columns + (rng.chance(0.15) ? -1 : rng.within(0, 1)),
                           batch = rows * row + (rng.chance(0.15) ? -1 : 0);
        const int out = nest.output("out", f32, 4096);
        const NodeRef b = k.new_var(batches), c = k.new_var(tiles), x = k.new_var(threads);
        std::vector<std::int64_t> owner(4096, -1);
        bool meet = false;
        Body stores;
        for (std::int64_t s = 0; s < rows * each; ++s) {
            const std::int64_t r = s / each, z = s % each, less = rng.chance(0.02) ? 1 : 0;
            const NodeRef column = nest.affine({{c, step}, {x, each}}, z - less);
            const NodeRef at = nest.affine({{b, batch}, {c, step}, {x, each}}, r * row + z);
            stores.push_back(loop(k.new_var(1), LoopKind::Serial, Body{Store{out, at, k.constant(f32, 0)}},
                                  k.binary(Op::Sub, nest.at(columns), column)));
            for (std::int64_t i = 0; i < batches * tiles * threads; ++i) {
                const std::int64_t in_row = i / threads % tiles * step + i % threads * each + z;
                if (in_row - less >= columns) continue;
                std::int64_t& first = owner[static_cast<std::size_t>(i / threads / tiles * batch + r * row + in_row)];
                meet = meet || (first >= 0 && first != i);
                first = i;
            }
        }
        k.body =
            Body{loop(b, LoopKind::Block, Body{loop(c, LoopKind::Block, Body{loop(x, LoopKind::Thread, stores)})})};
        const bool claimed = refusal(k).empty();
        proven += claimed;
        met += meet;
        CHECK(!(claimed && meet));
    }
    CHECK(proven > 500);
    CHECK(met > 200);
}

// As the rows and columns of a tile are stored that ends inside the output: numbers of blocks and threads are taken apart, and a count bounds each of the two.
TEST_CASE("no proof that iterations are apart whose counts bound quotients and remainders") {
    testing::Rng rng(13);
    int proven = 0, met = 0;
    for (int trial = 0; trial < 1500; ++trial) {
        CAPTURE(trial);
        Nest nest("random");
        Kernel& k = nest.k;
        const std::int64_t down = rng.within(1, 3), across = rng.within(1, 3), high = rng.within(1, 3),
                           wide = rng.within(1, 3), each = rng.within(1, 2), times = rng.within(1, 2),
                           parts = rng.within(1, 2);
        const std::int64_t tile_rows = high * times * parts - (rng.chance(0.1) ? 1 : 0),
                           tile_columns = wide * each - (rng.chance(0.1) ? 1 : 0);
        if (tile_rows < 1 || tile_columns < 1) continue;
        const std::int64_t rows = (down - 1) * tile_rows + rng.within(1, tile_rows),
                           columns = (across - 1) * tile_columns + rng.within(1, tile_columns);
        const std::int64_t pitch = columns + (rng.chance(0.15) ? -1 : rng.within(0, 1)),
                           by = std::max<std::int64_t>(1, across - (rng.chance(0.1) ? 1 : 0)),
                           less_rows = rng.chance(0.1) ? 1 : 0, less_columns = rng.chance(0.1) ? 1 : 0;
        const int out = nest.output("out", f32, 4096);
        const NodeRef b = k.new_var(down * across), t = k.new_var(high * wide);
        const auto part = [&](Op op, const NodeRef& x, std::int64_t of) { return k.binary(op, x, nest.at(of)); };
        const auto simple = [&](const NodeRef& x) { return ir::simplify_index(*k.interner, x); };
        const bool simplified = rng.chance(0.5), one_loop = rng.chance(0.5);
        std::vector<std::int64_t> owner(4096, -1);
        bool meet = false;
        Body stores;
        NodeRef q = k.new_var(times);
        for (std::int64_t s = 0; s < each * parts; ++s) {
            const std::int64_t z = s % each, first_row = s / each * high * times;
            if (s > 0 && !one_loop) q = k.new_var(times);
            const NodeRef row = nest.affine(
                {{part(Op::IDiv, b, across), tile_rows}, {q, high}, {part(Op::IDiv, t, wide), 1}}, first_row);
            const NodeRef column =
                nest.affine({{part(Op::Mod, b, by), tile_columns}, {part(Op::Mod, t, wide), each}}, z);
            NodeRef at = nest.affine({{row, pitch}, {column, 1}}),
                    below = k.binary(Op::Sub, nest.at(rows + less_rows), row),
                    left = k.binary(Op::Sub, nest.at(columns + less_columns), column);
            if (simplified) at = simple(at), below = simple(below), left = simple(left);
            Body inside{loop(k.new_var(1), LoopKind::Serial, Body{Store{out, at, k.constant(f32, 0)}}, left)};
            inside = Body{loop(k.new_var(1), LoopKind::Serial, std::move(inside), below)};
            if (one_loop) stores.push_back(std::move(inside[0]));
            else stores.push_back(loop(q, LoopKind::Serial, std::move(inside)));
            for (std::int64_t i = 0; i < down * across * high * wide * times; ++i) {
                const std::int64_t ti = i % (high * wide), bi = i / (high * wide) % (down * across),
                                   qi = i / (high * wide * down * across);
                const std::int64_t in_row = bi / across * tile_rows + qi * high + ti / wide + first_row,
                                   in_column = bi % by * tile_columns + ti % wide * each + z;
                if (in_row >= rows + less_rows || in_column >= columns + less_columns) continue;
                std::int64_t& first = owner[static_cast<std::size_t>(in_row * pitch + in_column)];
                const std::int64_t who = bi * high * wide + ti;
                meet = meet || (first >= 0 && first != who);
                first = who;
            }
        }
        if (one_loop) stores = Body{loop(q, LoopKind::Serial, std::move(stores))};
        k.body = Body{loop(b, LoopKind::Block, Body{loop(t, LoopKind::Thread, std::move(stores))})};
        const bool claimed = refusal(k).empty();
        proven += claimed;
        met += meet;
        CHECK(!(claimed && meet));
    }
    CHECK(proven > 400);
    CHECK(met > 200);
}

TEST_CASE("what is donated is loaded before it is stored to") {
    InPlace t;
    CHECK(t.proven(t.at(1, 1), t.at(1, 1)));
    CHECK(t.proven(t.at(1, 1), t.at(1, 2)));          // the next element: it is stored to later
    CHECK_FALSE(t.proven(t.at(1, 1), t.at(1, 0)));    // the one before: it has been stored to
    CHECK_FALSE(t.proven(t.at(1, 1), t.at(-1, 16)));  // backwards
    CHECK_FALSE(t.proven(t.at(1, 1), t.nest.at(1)));
    CHECK(t.proven(t.at(1, 1), t.nest.at(17)));

    Nest nest("two_statements");
    const int x = nest.output("x", f32, 16), y = nest.output("y", f32, 16);
    const NodeRef i = nest.k.new_var(16);
    const Store write{x, i, nest.k.constant(f32, 0)}, read{y, i, nest.k.load(x, i)};
    nest.k.body = Body{loop(i, LoopKind::Serial, Body{read, write})};
    CHECK(InPlace::unproven(nest.k).empty());
    nest.k.body = Body{loop(i, LoopKind::Serial, Body{write, read})};
    CHECK(InPlace::unproven(nest.k) == std::vector<int>{x});
    CHECK(verify_memory(nest.k, "test").empty());  // it means the new value
}

TEST_CASE("addresses as mixed radix numbers") {
    using ir::Difference;
    const auto zeros = [](Difference d) { return ir::when_zero(std::move(d)); };
    Difference d;  // 100 a + 10 b + c, digits below 10: zero only if all are
    d.add(100, -9, 9, 0);
    d.add(10, -9, 9, 1);
    d.add(1, -9, 9, 2);
    ir::Zero zero = zeros(d);
    CHECK(!zero.never);
    for (const int tag : {0, 1, 2}) CHECK(zero.contains(tag));
    d.terms[2].high = 10;  // 10 b + c = 0 for b = -1 and c = 10
    d.terms[0].factor = 200;
    zero = zeros(d);
    CHECK(zero.contains(0));
    CHECK(!zero.contains(1));
    CHECK(!zero.contains(2));
    d.terms[2].high = 9;
    d.constant = 1;
    CHECK(!zeros(d).contains(2));
    Difference odd;  // 2 a - 4 b + 1
    odd.add(2, -100, 100, 0);
    odd.add(-4, -100, 100, 1);
    odd.constant = 1;
    CHECK(zeros(odd).never);
    Difference apart;  // a + 20 for a in -10 .. 10
    apart.add(1, -10, 10, 0);
    apart.constant = 20;
    CHECK(zeros(apart).never);
    Difference lanes;  // 16 a + 16 b + l
    lanes.add(16, -100, 100, 0);
    lanes.add(16, -50, 50, 1);
    lanes.add(1, -15, 15, 2);
    zero = zeros(lanes);
    CHECK(zero.contains(2));
    CHECK(!zero.contains(0));
    Difference huge;  // no overflow
    huge.add(INT64_MAX, INT64_MIN, INT64_MAX, 0);
    huge.add(INT64_MAX, INT64_MIN, INT64_MAX, 1);
    CHECK(!zeros(huge).never);
}
