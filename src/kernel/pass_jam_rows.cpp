// kernel/pass_jam_rows.cpp: the "jam_rows" pass, unroll-and-jam of rows: a loop over rows, each of which waits for sums of its own (softmax, layer norm), takes two rows
// at a time, statement by statement. The fold of one row's sums, a chain of dependent instructions, then runs beside the other's. Long rows
// that are only added up (a sum of everything, a matrix times a vector) are two streams of memory so.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace weft::kernel {
namespace {

constexpr std::int64_t kRows = 2;
// Iterations of a row's longest loop. Measured: of longer rows that are read several times, two find less in the first cache, and what
// computes more than an addition per load has no time to wait for a second stream.
constexpr std::int64_t kLongRow = 32;
constexpr std::int64_t kMostScratch =
    2048;                                 // bytes of arrays per row: both rows and their arrays stay in the first cache
constexpr std::int64_t kMostNodes = 256;  // expression nodes of a row: the code doubles

// What one row consists of.
struct Row {
    std::int64_t iterations = 0, nodes = 0;  // of its longest loop nest; of all its expressions
    bool sums = false;                       // a loop carries something from iteration to iteration
    bool counted = false;
    std::vector<int> locals;
};

void describe(const Kernel& kernel, const Body& body, std::int64_t iterations, Row& row) {
    row.iterations = std::max(row.iterations, iterations);
    for (const Stmt& stmt : body) {
        if (const Loop* loop = stmt.loop()) {
            const bool serial = loop->kind == LoopKind::Serial;
            row.sums |= serial && !loop->independent;
            row.counted |= loop->count != nullptr;
            describe(kernel, loop->body, serial ? iterations * loop->extent() : iterations, row);
            continue;
        }
        if (stmt.prefetch()) continue;
        const Store& store = *stmt.store();
        row.nodes += static_cast<std::int64_t>(ir::topological_order(std::span(&store.value, 1)).size());
        if (kernel.buffers[store.buffer].role == Buffer::Role::Local &&
            std::find(row.locals.begin(), row.locals.end(), store.buffer) == row.locals.end())
            row.locals.push_back(store.buffer);
    }
}

class ChooseRows {
public:
    ChooseRows(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}

    bool worth_it(const Loop& loop) const {
        if (loop.kind != LoopKind::Serial || !loop.independent || loop.count || loop.body.size() < 2) return false;
        if (loop.extent() % kRows != 0) return false;
        Row row;
        describe(kernel_, loop.body, 1, row);
        if (!row.sums || row.counted || row.nodes > kMostNodes) return false;
        if (row.iterations > kLongRow && !is_one_stream(loop)) return false;
        // The accumulators of a loop, for both rows, must leave registers for everything else.
        const std::int64_t registers = std::int64_t{target_.registers} * target_.register_bytes;
        std::int64_t held = 0, scratch = 0;
        for (const int b : row.locals) {
            const Buffer& local = kernel_.buffers[b];
            const std::int64_t bytes = local.size * static_cast<std::int64_t>(size_of(local.dtype));
            if (local.memory == Buffer::MemoryType::Register) held = std::max(held, bytes);
            else scratch += bytes;
        }
        return kRows * held <= registers / 4 && scratch <= kMostScratch;
    }

private:
    // Is a row one array's, of which each element is loaded once and added?
    bool is_one_stream(const Loop& loop) const {
        bool one = true;
        int array = -1;
        std::vector<std::pair<int, NodeRef>> starts;  // no loop starts to read where another one has started
        for (const Stmt& stmt : loop.body) {
            if (!stmt.loop()) continue;
            Substitution first;
            collect_first(stmt, first);
            const std::size_t before = starts.size();
            for_each_store(stmt.loop()->body, [&](const Store& store, std::span<const Loop* const>) {
                Uses uses;
                collect_uses(store.value, uses);
                for (const NodeRef& load : uses.loads) {
                    const int b = load->as<ir::LoadArg>().buffer;
                    if (kernel_.buffers[b].role == Buffer::Role::Local) continue;
                    one &= adds_loads(*store.value);
                    if (ir::depends_on(load->sources[0], loop.id())) one &= array < 0 || array == b, array = b;
                    const std::pair start(b, substitute(kernel_, load->sources[0], first));
                    const auto end = starts.begin() + static_cast<std::ptrdiff_t>(before);
                    one &= std::find(starts.begin(), end, start) == end;
                    starts.push_back(start);
                }
            });
        }
        return one;
    }

    static bool adds_loads(const ir::Node& value) {
        return (value.op == ir::Op::Add || value.op == ir::Op::Fma) &&
               std::all_of(value.sources.begin(), value.sources.end(),
                           [](const NodeRef& source) { return source->op == ir::Op::Load; });
    }

    void collect_first(const Stmt& stmt, Substitution& first) const {  // iteration 0 of all loops
        if (const Loop* loop = stmt.loop()) {
            first.emplace_back(loop->id(), kernel_.index(0));
            for (const Stmt& inner : loop->body) collect_first(inner, first);
        }
    }

    const Kernel& kernel_;
    const Target& target_;
};

class JammedRows {
public:
    JammedRows(Kernel& kernel, const Loop& rows, std::int64_t count) : kernel_(kernel), row_(rows.var), count_(count) {
        Row row;
        describe(kernel, rows.body, 1, row);
        for (const int b : row.locals) {
            sizes_.emplace(b, kernel_.buffers[b].size);
            kernel_.buffers[b].size *= count_;
        }
        pair_ = kernel_.new_var(rows.extent() / count_);
    }

    Body operator()(const Loop& rows) { return Body{Loop{pair_, LoopKind::Serial, both(rows.body), true, nullptr}}; }

private:
    // Each statement for both rows; loops over a row's elements stay one loop. The second row is half of all rows away: what is read and
    // written runs on from row to row then, in two streams that prefetching follows. Of two neighbours it follows one.
    Body both(const Body& body) {
        Body result;
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop(); loop && loop->kind == LoopKind::Serial) {
                result.emplace_back(Loop{loop->var, loop->kind, both(loop->body), loop->independent, nullptr});
                continue;
            }
            const NodeRef which = kernel_.new_var(count_);
            const NodeRef row = kernel_.add(kernel_.mul(which, kernel_.index(extent_of(pair_))), pair_);
            result.emplace_back(Loop{which, LoopKind::Unrolled,
                                     substitute(kernel_, own(Body{stmt}, which), {{id_of(row_), row}}), true, nullptr});
        }
        return result;
    }

    // With locals of its own: those of the second row lie behind those of the first.
    Body own(const Body& body, const NodeRef& which) {
        Body result;
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) {
                result.emplace_back(loop->with(own(loop->body, which)));
                continue;
            }
            if (const Prefetch* prefetch = stmt.prefetch()) {
                result.emplace_back(Prefetch{own(prefetch->load, which)});
                continue;
            }
            const Store& store = *stmt.store();
            result.emplace_back(
                Store{store.buffer, moved(store.buffer, own(store.index, which), which), own(store.value, which)});
        }
        return result;
    }

    NodeRef own(const NodeRef& root, const NodeRef& which) {
        return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == ir::Op::Load && sizes_.contains(node.as<ir::LoadArg>().buffer)) {
                const int b = node.as<ir::LoadArg>().buffer;
                return kernel_.load(b, moved(b, sources[0], which), sources.size() > 1 ? sources[1] : nullptr);
            }
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    NodeRef moved(int buffer, const NodeRef& index, const NodeRef& which) const {
        const auto size = sizes_.find(buffer);
        if (size == sizes_.end()) return index;
        return kernel_.add(index, kernel_.mul(which, kernel_.index(size->second)));
    }

    Kernel& kernel_;
    const NodeRef row_;
    const std::int64_t count_;
    NodeRef pair_;
    std::unordered_map<int, std::int64_t> sizes_;  // of the row's locals, before there were two
};

}  // namespace

Decisions choose_jammed_rows(const Kernel& kernel, const Target& target) {
    if (kernel.body.size() != 1 || !kernel.body[0].loop() || kernel.body[0].loop()->kind != LoopKind::Parallel)
        return {};  // too small to be worth a larger program
    const ChooseRows choose(kernel, target);
    return decide_for_loops(kernel.body, [&](const Loop& loop) -> std::optional<JamRows> {
        if (!choose.worth_it(loop)) return {};
        return JamRows{loop.id(), kRows};
    });
}

Kernel jam_rows(Kernel kernel, const Decisions& chosen) {
    kernel.body = replace_chosen<JamRows>(kernel.body, chosen, [&](const Loop& loop, const JamRows& jam) {
        return JammedRows(kernel, loop, jam.rows)(loop);
    });
    return kernel;
}

}  // namespace weft::kernel
