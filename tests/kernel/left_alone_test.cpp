// tests/kernel/left_alone_test.cpp: kernels by hand that a pass must leave as they are, because iterations depend on each other or share
// memory. Next to each one stands a kernel that differs in that only, and is changed.
#include "backend/support.h"
#include "kernel/nest.h"
#include "kernel/optimise.h"
#include "kernel/passes.h"
#include "kernel/verify.h"
#include "support/target.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace weft;
using namespace weft::kernel;
using ir::NodeRef;
using test::Nest;

namespace {

Stmt loop(const NodeRef& var, Body body, bool independent) {
    return Loop{var, LoopKind::Serial, std::move(body), independent, nullptr};
}

// Does the pass change the kernel? Either way, what it makes is proven and has the same bits.
using Choose = Decisions (*)(const Kernel&, const Target&);
using Apply = Kernel (*)(Kernel, const Decisions&);

bool changes(Choose choose, Apply apply, const Kernel& kernel) {
    const Decisions chosen = choose(kernel, testing::here());
    Kernel after = chosen.empty() ? kernel : apply(kernel, chosen);
    place_locals(after);
    verify(after, "test");
    CHECK_NOTHROW(verify_memory(after, "test"));
    std::vector<test::Memory> memories;
    for (int p = 0; p < kernel.parameters; ++p) {
        test::Memory memory(kernel.buffers[p].dtype, kernel.buffers[p].size);
        for (std::int64_t i = 0; i < memory.count(); ++i)
            memory.set(i, to_word(static_cast<float>((i * 7919 + p * 31) % 1021)));
        memories.push_back(std::move(memory));
    }
    const std::vector<test::Memory> expected = test::run_on("ref", kernel, memories).memories;
    for (const std::string backend : {"ref", "c", "x86"}) {
        if (backend == "x86" && !testing::have_x86()) continue;
        CAPTURE(backend);
        CHECK(test::run_on(backend, after, memories).memories == expected);
    }
    return print(after) != print(kernel);
}

// Each element is the sum of this row of the input, or of this one and all before.
Kernel sums(std::int64_t chunks, std::int64_t rows, std::int64_t length, bool running) {
    Nest nest("sums");
    Kernel& k = nest.k;
    const int out = nest.output("out", f32, chunks * rows), in = nest.input("in", f32, chunks * rows * length);
    const int sum = nest.local("sum", f32, 1, Buffer::MemoryType::Register);
    const int before = nest.local("before", f32, 1, Buffer::MemoryType::Register);
    const NodeRef p = k.new_var(chunks), i = k.new_var(rows), j = k.new_var(length), zero = nest.at(0);
    const NodeRef row = nest.affine({{p, rows}, {i, 1}});
    const NodeRef element = k.load(in, nest.affine({{p, rows * length}, {i, length}, {j, 1}}));
    Body body{Store{sum, zero, running ? k.load(before, zero) : k.constant(f32, 0)},
              loop(j, Body{Store{sum, zero, k.add(k.load(sum, zero), element)}}, false),
              Store{out, row, k.load(sum, zero)}};
    if (running) body.emplace_back(Store{before, zero, k.load(sum, zero)});
    Body inside{loop(i, std::move(body), !running)};
    if (running) inside.insert(inside.begin(), Store{before, zero, k.constant(f32, 0)});
    k.body = Body{Loop{p, LoopKind::Parallel, std::move(inside), true, nullptr}};
    return std::move(k);
}

// x[i + 1] = x[i] + 1 if it is `running`, else x[i] + 1 goes to another array.
Kernel counted(std::int64_t size, bool running) {
    Nest nest("counted");
    Kernel& k = nest.k;
    const int x = nest.output("x", f32, size + 1), y = running ? x : nest.input("y", f32, size);
    const NodeRef i = k.new_var(size);
    const Store store{x, nest.affine({{i, 1}}, 1), k.add(k.load(y, i), k.constant(f32, 1))};
    k.body = Body{loop(i, Body{store}, !running)};
    return std::move(k);
}

// Rows are reversed, through an array if there is one.
Kernel transposed(std::int64_t rows, std::int64_t length, bool array) {
    Nest nest("transposed");
    Kernel& k = nest.k;
    const int out = nest.output("out", f32, rows * length), in = nest.input("in", f32, rows * length);
    const NodeRef i = k.new_var(rows), j = k.new_var(length), l = k.new_var(length);
    const auto at = [&](const NodeRef& along) { return nest.affine({{i, length}, {along, 1}}); };
    const auto back = [&](const NodeRef& along) { return nest.affine({{along, -1}}, length - 1); };
    if (array) {
        const int row = nest.local("row", f32, length, Buffer::MemoryType::Scratch);
        k.body = Body{loop(i,
                           Body{loop(j, Body{Store{row, back(j), k.load(in, at(j))}}, true),
                                loop(l, Body{Store{out, at(l), k.load(row, l)}}, true)},
                           true)};
    } else {
        k.body = Body{loop(i, Body{loop(l, Body{Store{out, at(l), k.load(in, at(back(l)))}}, true)}, true)};
    }
    return std::move(k);
}

// Two arrays that are read across are multiplied; the elements of the first wait in a local.
Kernel product_across(std::int64_t rows, std::int64_t columns) {
    Nest nest("across");
    Kernel& k = nest.k;
    const int out = nest.output("out", f32, rows * columns), a = nest.input("a", f32, rows * columns),
              b = nest.input("b", f32, rows * columns);
    const int first = nest.local("first", f32, 1, Buffer::MemoryType::Register);
    const NodeRef i = k.new_var(rows), j = k.new_var(columns), zero = nest.at(0);
    const NodeRef across = nest.affine({{j, rows}, {i, 1}});
    Body body{Store{first, zero, k.load(a, across)},
              Store{out, nest.affine({{i, columns}, {j, 1}}), k.mul(k.load(first, zero), k.load(b, across))}};
    k.body = Body{loop(i, Body{loop(j, std::move(body), true)}, true)};
    return std::move(k);
}

}  // namespace

TEST_CASE("a loop that carries something is not cut into chunks") {
    CHECK(changes(choose_chunks, split_for_threads, counted(1 << 18, false)));
    CHECK_FALSE(changes(choose_chunks, split_for_threads, counted(1 << 18, true)));
}

TEST_CASE("a loop that carries something does not run in lanes") {
    for (const std::int64_t size : {7, 16, 100}) {
        CAPTURE(size);
        CHECK(changes(choose_vectors, widen_loops, counted(size, false)));
        CHECK_FALSE(changes(choose_vectors, widen_loops, counted(size, true)));
    }
}

TEST_CASE("lanes do not share an array") {
    CHECK(changes(choose_vectors, widen_loops, transposed(64, 4, false)));
    CHECK(changes(choose_vectors, widen_loops, transposed(64, 4, true)));
    // Lanes run over short rows; but an array has no lane of its own: there they run along it.
    const auto widened = [](const Kernel& kernel) {
        return widen_loops(kernel, choose_vectors(kernel, testing::here()));
    };
    const auto outermost = [](const Kernel& kernel) { return kernel.body.at(0).loop()->extent(); };
    CHECK(outermost(widened(transposed(64, 4, false))) == 64 / 16);
    CHECK(outermost(widened(transposed(64, 4, true))) == 64);
}

TEST_CASE("rows that depend on each other are not taken two at a time") {
    for (const std::int64_t length : {8, 30}) {
        CAPTURE(length);
        CHECK(changes(choose_jammed_rows, jam_rows, sums(4, 16, length, false)));
        CHECK_FALSE(changes(choose_jammed_rows, jam_rows, sums(4, 16, length, true)));
    }
}

TEST_CASE("what an element stores first is not loaded for a whole block before") {
    for (const auto& [rows, columns] : {std::pair{64, 64}, {40, 70}}) {
        CAPTURE(rows);
        CHECK(changes(choose_transposes, transpose_blocks, product_across(rows, columns)));
    }
}
