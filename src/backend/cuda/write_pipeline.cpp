// backend/cuda/write_pipeline.cpp: the threads of a block take two roles (backend/cuda/pipeline.h). Barriers in shared memory count arrivals, a phase for
// each time that a slice is filled or emptied:
//
//     multiplying warps                                        copying warps
//       slices s                                                 slices s
//         wait: s % n is full                                      wait: s % n is empty
//         start the products of s                                  start the copies of s
//         wait for the products of s - 1                           s % n is full when they have landed
//         (s - 1) % n is empty
//
// Those who copy wait for no copy: the last one to land arrives at the barrier. Where threads store what they have loaded (halves one by one), they
// arrive themselves.
#include "backend/cuda/writer.h"
#include "kernel/nest.h"

#include <algorithm>

namespace weft::backend::cuda {

using kernel::Body;
using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

namespace {

bool multiplies(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) {
        return stmt.loop() && (stmt.loop()->product || multiplies(stmt.loop()->body));
    });
}

// What the copying threads store, if that is slices of shared memory alone, and all of equal number; else 0.
std::int64_t slices_stored(const kernel::Kernel& kernel, const Loop& copies) {
    std::int64_t slices = -1;
    kernel::for_each_store(copies.body, [&](const Store& store, std::span<const Loop* const>) {
        const Buffer& to = kernel.buffers[static_cast<std::size_t>(store.buffer)];
        const std::int64_t these = to.memory == Buffer::MemoryType::Shared && to.late == 0 ? to.slices : 0;
        slices = slices < 0 || slices == these ? these : 0;
    });
    return std::max<std::int64_t>(slices, 0);
}

}  // namespace

std::optional<Pipeline> pipeline_of(const kernel::Kernel& kernel, const Body& block) {
    std::optional<Pipeline> found;
    for (const Stmt& stmt : block) {
        const Loop* const loop = stmt.loop();
        if (!loop || loop->kind != LoopKind::Serial || loop->count || loop->body.size() != 2) continue;
        const Loop *const copies = loop->body[0].loop(), *const products = loop->body[1].loop();
        if (!copies || !products || copies->kind != LoopKind::Thread || products->kind != LoopKind::Thread ||
            copies->extent() % kWarp || multiplies(copies->body) || !multiplies(products->body))
            continue;
        const std::int64_t slices = slices_stored(kernel, *copies);
        if (slices < 2 || found) return {};
        found = Pipeline{loop, copies, products, slices};
    }
    return found;
}

void Writer::write_pipeline(const Loop& loop) {
    const Pipeline& pipeline = *pipeline_;
    const std::int64_t n = pipeline.slices, slices = loop.extent(), copying = pipeline.copies->extent(),
                       multiplying = threads_ - copying;
    const std::vector<const Loop*> products = thread_nest(*pipeline.products), copies{pipeline.copies};

    const std::string full = op("r", innermost(), "mov.u32", std::string("pipeline")),
                      empty = op("r", innermost(), "add.u32", full, str(8 * n)),
                      lane = op("r", innermost(), "and.b32", std::string("%thread"), str(kWarp - 1)),
                      speaks = op("p", innermost(), "setp.eq.u32", lane, std::string("0")),  // for its warp
        number = op("r", innermost(), "sub.u32", std::string("%thread"), str(multiplying));
    number_threads(products, "%thread");
    number_threads(copies, number);
    forget(stored_in(loop.body));

    const auto barrier = [&](const std::string& barriers, const std::string& slice) {
        return op("r", innermost(), "mad.lo.u32", op("r", innermost(), "rem.u32", slice, str(n)), std::string("8"),
                  barriers);
    };
    // Phases of the barriers of slices that are full begin with the first slice; all slices are empty before.
    const auto wait = [&](const std::string& barriers, const std::string& s, bool passes_at_first) {
        std::string parity =
            op("r", innermost(), "and.b32", op("r", innermost(), "div.u32", s, str(n)), std::string("1"));
        if (passes_at_first) parity = op("r", innermost(), "xor.b32", parity, std::string("1"));
        const std::string at = barrier(barriers, s), done = fresh("p"), again = label();
        scopes_.back().text += again + ":\n";
        line(str("mbarrier.try_wait.parity.shared.b64 ", done, ", [", at, "], ", parity));
        line(str("@!", done, " bra ", again));
    };
    const auto arrive = [&](const std::string& at, const std::string& arrives) {
        line(str("@", arrives, " mbarrier.arrive.shared.b64 ", fresh("l"), ", [", at, "]"));
    };
    // What is hoisted out of the loops stands before both roles: the second one may use it, too.
    const auto for_slices = [&](const auto& body) {
        const std::string s = fresh("r"), more = fresh("p"), head = label();
        vars_[loop.id()] = {s, true};
        scopes_.emplace_back();
        placement_.enter(loop, true);
        body(s);
        line(str("add.s32 ", s, ", ", s, ", 1"));
        line(str("setp.lt.s32 ", more, ", ", s, ", ", slices));
        line(str("@", more, " bra ", head));
        placement_.leave();
        const std::string text = std::move(scopes_.back().text);
        scopes_.pop_back();
        return str("    mov.b32 ", s, ", 0;\n", head, ":\n", text);
    };

    const std::string multiply = for_slices([&](const std::string& s) {
        wait(full, s, false);
        line("fence.proxy.async.shared::cta");  // threads have written what tensor cores read
        const std::string text = inside_threads(products);
        scopes_.back().text += text;
        const std::string before = op("r", innermost(), "sub.u32", s, std::string("1")), arrives = fresh("p");
        line(str("setp.ge.and.u32 ", arrives, ", ", s, ", 1, ", speaks));
        arrive(barrier(empty, before), arrives);
    });
    bool is_async = false;
    const std::string fill = for_slices([&](const std::string& s) {
        wait(empty, s, true);
        stores_ = false;
        const std::string text = inside_threads(copies);
        scopes_.back().text += text;
        is_async = !stores_;
        const std::string at = barrier(full, s);
        if (is_async) return line(str("cp.async.mbarrier.arrive.noinc.shared.b64 [", at, "]"));
        line("cp.async.wait_all");
        line("bar.warp.sync 0xffffffff");
        arrive(at, speaks);
    });

    const std::string others = fresh("p"), copy = label(), end = label();
    line(str("setp.ne.u32 ", others, ", %thread, 0"));
    for (std::int64_t slice = 0; slice < n; ++slice) {
        line(str("@!", others, " mbarrier.init.shared.b64 [", full, "+", 8 * slice, "], ",
                 is_async ? copying : copying / kWarp));
        line(str("@!", others, " mbarrier.init.shared.b64 [", empty, "+", 8 * slice, "], ", multiplying / kWarp));
    }
    line("bar.sync 0");
    const std::string is_copying = op("p", innermost(), "setp.ge.u32", std::string("%thread"), str(multiplying));
    line(str("@", is_copying, " bra ", copy));
    scopes_.back().text += multiply;
    line(str("bra ", end));
    scopes_.back().text += copy + ":\n" + fill + end + ":\n";
    products_ = true;
}

}  // namespace weft::backend::cuda
