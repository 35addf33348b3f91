// backend/cuda/write_pipeline.cpp: slices that are copied as boxes, ahead of the products. One thread of a warp of its own starts the copies, which the copy
// unit of compute capability 9.0 makes; the others multiply. Each place of a slice has two barriers in shared memory: one whose phase ends when its boxes
// are there, and one whose phase ends when all warps have multiplied them.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "kernel/box_copy.h"

#include <algorithm>

namespace weft::backend::cuda {

using kernel::BoxCopy;
using kernel::Loop;
using kernel::Stmt;

// The map of a box's array, as a parameter of the entry.
std::size_t Writer::map_of(const BoxCopy& box) {
    TensorMap map{.parameter = box.from,
                  .dtype = kernel_.buffers[static_cast<std::size_t>(box.from)].dtype,
                  .offset = box.offset,
                  .extents = box.extents,
                  .strides = {box.strides.begin() + 1, box.strides.end()},
                  .box = std::vector<std::int64_t>(box.corner.size(), 1)};
    map.box[0] = kernel::box_row(map.dtype);
    map.box[1] = box.rows;
    const auto found = std::ranges::find(maps_, map);
    if (found != maps_.end()) return static_cast<std::size_t>(found - maps_.begin());
    constexpr std::int64_t kMapAlignment = 16;  // of the array's address
    require_alignment(box.from, kMapAlignment);
    maps_.push_back(std::move(map));
    return maps_.size() - 1;
}

void Writer::write_box(const BoxCopy& box, const std::string& barrier) {
    const Home& home = homes_[static_cast<std::size_t>(box.to)];
    const auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[static_cast<std::size_t>(box.to)].dtype));
    const auto number = [&](const NodeRef& index) {
        return as_register(cut(value(*index), innermost()), "r", innermost());
    };
    std::string to = op("r", innermost(), "mad.lo.s32", number(box.first), str(size), home.base), corner;
    if (home.offset) to = op("r", innermost(), "add.s32", to, str(home.offset));
    for (const NodeRef& at : box.corner) corner += str(corner.empty() ? "" : ", ", number(at));
    line(str("cp.async.bulk.tensor.", box.corner.size(), "d.shared::cluster.global.mbarrier::complete_tx::bytes [", to,
             "], [%map", map_of(box), ", {", corner, "}], [", barrier, "]"));
}

// The barrier, of those that begin there, for the slice of an iteration.
std::string Writer::slot_of(const std::string& iteration, const std::string& barriers) {
    const std::string slot = op("r", innermost(), "rem.u32", iteration, str(pipeline_slices()));
    return op("r", innermost(), "mad.lo.s32", slot, std::string("8"), barriers);
}

// A place is used again after as many iterations as there are: its phases take turns. A barrier that nobody has arrived at yet is in the phase after an
// odd one.
void Writer::wait_for_phase(const std::string& barrier, const std::string& iteration, bool opposite) {
    std::string phase = op("r", innermost(), "div.u32", iteration, str(pipeline_slices()));
    if (opposite) phase = op("r", innermost(), "add.u32", phase, std::string("1"));
    phase = op("r", innermost(), "and.b32", phase, std::string("1"));
    const std::string again = label(), done = fresh("p");
    scopes_.back().text += again + ":\n";
    line(str("mbarrier.try_wait.parity.shared::cta.b64 ", done, ", [", barrier, "], ", phase));
    line(str("@!", done, " bra ", again));
}

void Writer::write_pipeline(const Loop& loop) {
    const std::int64_t multiply = threads_ - kWarp, slices = pipeline_slices();
    const std::string filled = op("r", innermost(), "add.s32", std::string("%shared"), str(barriers_at_)),
                      emptied = op("r", innermost(), "add.s32", filled, str(8 * slices));
    const std::string start = label(), done = label(), multiplies = label();
    std::int64_t box_bytes = 0;
    for (const Stmt& stmt : kernel::copies_of(loop)) {
        const BoxCopy& box = *stmt.loop()->box;
        const DType t = kernel_.buffers[static_cast<std::size_t>(box.to)].dtype;
        box_bytes += box.rows * kernel::box_row(t) * static_cast<std::int64_t>(size_of(t));
    }
    // Both texts first: what they hoist stands before them.
    const auto iterations = [&](const std::string& s, const auto& body) {
        vars_[loop.id()] = {s, true};
        scopes_.emplace_back();
        placement_.enter(loop, false);
        body();
        placement_.leave();
        std::string text = std::move(scopes_.back().text);
        scopes_.pop_back();
        const std::string head = label(), more = fresh("p");
        return str("    mov.b32 ", s, ", 0;\n", head, ":\n", text, "    add.s32 ", s, ", ", s, ", 1;\n    setp.lt.s32 ",
                   more, ", ", s, ", ", loop.extent(), ";\n    @", more, " bra ", head, ";\n");
    };
    const std::string copied = fresh("r"), multiplied = fresh("r"), first_lane = fresh("p");
    const std::string copies = iterations(copied, [&] {
        wait_for_phase(slot_of(copied, emptied), copied, true);
        const std::string barrier = slot_of(copied, filled);
        line(str("mbarrier.arrive.expect_tx.shared::cta.b64 _, [", barrier, "], ", box_bytes));
        for (const Stmt& stmt : kernel::copies_of(loop)) write_box(*stmt.loop()->box, barrier);
    });
    const Loop* nest = &kernel::threads_of(loop);
    while (!nest->body[0].loop()->product) nest = nest->body[0].loop();
    const std::string products = iterations(multiplied, [&] {
        wait_for_phase(slot_of(multiplied, filled), multiplied, false);
        for (const Stmt& stmt : nest->body) write_product(*stmt.loop());
        line("wgmma.wait_group.sync.aligned 1");  // the slice before this one
        const std::string before = op("r", innermost(), "add.s32", multiplied, str(slices - 1)), is = fresh("p");
        line(str("setp.ne.and.s32 ", is, ", ", multiplied, ", 0, ", first_lane));
        line(str("@", is, " mbarrier.arrive.shared::cta.b64 _, [", slot_of(before, emptied), "]"));
    });
    const std::string is_first = fresh("p"), is_copier = fresh("p"), multiplier = fresh("p"),
                      lane = op("r", innermost(), "and.b32", std::string("%thread"), str(kWarp - 1));
    line(str("setp.eq.u32 ", first_lane, ", ", lane, ", 0"));
    line(str("setp.ne.u32 ", is_first, ", %thread, 0"));
    line(str("@", is_first, " bra ", start));
    for (std::int64_t s = 0; s < slices; ++s) {
        line(str("mbarrier.init.shared::cta.b64 [", filled, "+", 8 * s, "], 1"));
        line(str("mbarrier.init.shared::cta.b64 [", emptied, "+", 8 * s, "], ", multiply / kWarp));
    }
    line("fence.mbarrier_init.release.cluster");
    scopes_.back().text += start + ":\n";
    line("bar.sync 0");
    line(str("setp.lt.u32 ", multiplier, ", %thread, ", multiply));
    line(str("@", multiplier, " bra ", multiplies));
    line(str("setp.ne.u32 ", is_copier, ", %thread, ", multiply));
    line(str("@", is_copier, " bra ", done));
    scopes_.back().text += copies;
    line(str("bra ", done));
    scopes_.back().text += multiplies + ":\n" + products;
    line("wgmma.wait_group.sync.aligned 0");
    scopes_.back().text += done + ":\n";
    forget(stored_in(loop.body));
}

// Without a copy unit: each thread copies elements with its number, when all products have been added.
void Writer::write_copies(const Loop& loop) {
    line("wgmma.wait_group.sync.aligned 0");
    line("bar.sync 0");
    forget(stored_in(loop.body));
    const std::string var = fresh("r"), more = fresh("p"), head = label(), end = label();
    vars_[loop.id()] = {var, true};
    const std::string text = inside(loop, true, loop.body);
    line(str("mov.b32 ", var, ", %thread"));
    line(str("setp.ge.s32 ", more, ", ", var, ", ", loop.extent()));
    line(str("@", more, " bra ", end));
    scopes_.back().text += head + ":\n" + text;
    line(str("add.s32 ", var, ", ", var, ", ", threads_));
    line(str("setp.lt.s32 ", more, ", ", var, ", ", loop.extent()));
    line(str("@", more, " bra ", head));
    scopes_.back().text += end + ":\n";
    line("fence.proxy.async.shared::cta");
    line("bar.sync 0");
}

}  // namespace weft::backend::cuda
