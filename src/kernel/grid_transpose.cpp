// kernel/grid_transpose.cpp: see grid_transpose.h.
#include "kernel/grid_transpose.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kSide = 64, kThreadSide = 16,
                       kEach = kSide / kThreadSide;  // of a block's square, and of its threads
constexpr std::int64_t kShortest = 32;               // axes below are not worth it
constexpr std::int64_t kMostBytes = 40 << 10;        // of shared memory
constexpr std::int64_t kPitch = kSide + 1;           // so that neither way of access meets in a bank

class Squares {
public:
    Squares(Kernel& kernel, const GridSchedule& schedule, const Body& body)
        : kernel_(kernel), schedule_(schedule), body_(body) {
        for (const NodeRef& load : schedule.transposed) {
            squares_[load.get()] = kernel_.new_local("square", load->dtype, kSide * kPitch);
            kernel_.buffers.back().memory = Buffer::MemoryType::Shared;
        }
        along_ = schedule.loops.back();
        across_ =
            *std::ranges::find_if(schedule.loops, [&](const NodeRef& var) { return id_of(var) == schedule.across; });
    }

    Stmt operator()() {
        std::int64_t blocks = 1;
        for (const NodeRef& var : schedule_.loops)
            blocks *= is_side(var) ? ceil_div(extent_of(var), kSide) : extent_of(var);
        const NodeRef block = kernel_.new_var(blocks);
        NodeRef number = block;
        for (std::size_t v = schedule_.loops.size(); v-- > 0;) {
            const NodeRef& var = schedule_.loops[v];
            const NodeRef count = kernel_.index(is_side(var) ? ceil_div(extent_of(var), kSide) : extent_of(var));
            const NodeRef at = simplified(v ? kernel_.binary(ir::Op::Mod, number, count) : number);
            if (is_side(var))
                (var == along_ ? first_along_ : first_across_) = simplified(kernel_.mul(at, kernel_.index(kSide)));
            else with_.emplace_back(id_of(var), at);
            number = simplified(kernel_.binary(ir::Op::IDiv, number, count));
        }
        Body threads{all_threads([&](const NodeRef& y, const NodeRef& x) { return loaded(y, x); }),
                     all_threads([&](const NodeRef& y, const NodeRef& x) { return computed(y, x); })};
        return Loop{block, LoopKind::Block, std::move(threads), true, nullptr};
    }

private:
    bool is_side(const NodeRef& var) const { return var == along_ || var == across_; }
    NodeRef simplified(const NodeRef& index) const { return ir::simplify_index(*kernel_.interner, index); }
    NodeRef plus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.add(a, b)); }
    NodeRef times(const NodeRef& a, std::int64_t by) const { return simplified(kernel_.mul(a, kernel_.index(by))); }

    Stmt all_threads(const std::function<Body(const NodeRef&, const NodeRef&)>& f) {
        const NodeRef y = kernel_.new_var(kThreadSide), x = kernel_.new_var(kThreadSide);
        Body inner{Loop{x, LoopKind::Thread, f(y, x), true, nullptr}};
        return Loop{y, LoopKind::Thread, std::move(inner), true, nullptr};
    }

    // The places of a thread in a line of the square: neighbours, or as far apart as there are threads.
    NodeRef in_line(const NodeRef& x, std::int64_t z) const {
        return schedule_.neighbours ? plus(times(x, kEach), kernel_.index(z)) : plus(x, kernel_.index(z * kThreadSide));
    }
    NodeRef line(const NodeRef& y, std::int64_t k) const { return plus(y, kernel_.index(k * kThreadSide)); }

    Substitution at(const NodeRef& across, const NodeRef& along) const {
        Substitution with = with_;
        with.emplace_back(id_of(across_), across);
        with.emplace_back(id_of(along_), along);
        return with;
    }

    // If the place is inside of the axis; `whole` lines end at multiples of a thread's places.
    Body inside(Body body, const NodeRef& var, const NodeRef& place) {
        if (extent_of(var) % kSide == 0) return body;
        return when(kernel_, simplified(kernel_.binary(ir::Op::Sub, kernel_.index(extent_of(var)), place)),
                    std::move(body));
    }

    Body loaded(const NodeRef& y, const NodeRef& x) {
        Body all;
        for (std::int64_t k = 0; k < kEach; ++k) {
            const NodeRef along = plus(first_along_, line(y, k));
            Body row;
            for (const NodeRef& load : schedule_.transposed)
                for (std::int64_t z = 0; z < kEach; ++z) {
                    const NodeRef across = plus(first_across_, in_line(x, z));
                    const NodeRef to = plus(times(in_line(x, z), kPitch), line(y, k));
                    Body one{Store{squares_.at(load.get()), to, substitute(kernel_, load, at(across, along))}};
                    append(row, schedule_.neighbours ? std::move(one) : inside(std::move(one), across_, across));
                }
            if (schedule_.neighbours) row = inside(std::move(row), across_, plus(first_across_, in_line(x, 0)));
            append(all, inside(std::move(row), along_, along));
        }
        return all;
    }

    Body computed(const NodeRef& y, const NodeRef& x) {
        Body all;
        for (std::int64_t k = 0; k < kEach; ++k) {
            const NodeRef across = plus(first_across_, line(y, k));
            Body values;
            std::vector<Body> stores(body_.size());
            for (std::int64_t z = 0; z < kEach; ++z) {
                const NodeRef along = plus(first_along_, in_line(x, z));
                const NodeRef from = plus(times(line(y, k), kPitch), in_line(x, z));
                const Body statements = copy(kernel_, from_squares(from), at(across, along));
                for (std::size_t s = 0; s < statements.size(); ++s) {
                    if (!schedule_.neighbours) {
                        append(values, inside(Body{statements[s]}, along_, along));
                        continue;
                    }
                    const Store& store = *statements[s].store();
                    const int local = kernel_.new_local("value", store.value->dtype, 1);
                    values.emplace_back(Store{local, kernel_.index(0), store.value});
                    stores[s].emplace_back(Store{store.buffer, store.index, kernel_.load(local, kernel_.index(0))});
                }
            }
            for (Body& each : stores) append(values, std::move(each));
            if (schedule_.neighbours) values = inside(std::move(values), along_, plus(first_along_, in_line(x, 0)));
            append(all, inside(std::move(values), across_, across));
        }
        return all;
    }

    Body from_squares(const NodeRef& from) const {
        Body result;
        for (const Stmt& stmt : body_) {
            const Store& store = *stmt.store();
            const NodeRef roots[] = {store.index, store.value};
            const std::vector<NodeRef> moved =
                ir::rebuild(roots, [&](const ir::Node& node, const ir::Sources& sources) {
                    if (const auto found = squares_.find(&node); found != squares_.end())
                        return kernel_.load(found->second, from);
                    return sources == node.sources ? NodeRef(&node)
                                                   : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                });
            result.emplace_back(Store{store.buffer, moved[0], moved[1]});
        }
        return result;
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    const Body& body_;
    NodeRef along_, across_;              // the axis of the stores, and that of the loads
    NodeRef first_along_, first_across_;  // the corner of the block's square
    Substitution with_;                   // other loops, by the block
    std::map<const ir::Node*, int> squares_;
};

}  // namespace

std::optional<GridSchedule> choose_transpose_schedule(const Kernel& kernel, const Body& body,
                                                      const std::vector<NodeRef>& loops) {
    if (loops.size() < 2 || extent_of(loops.back()) < kShortest) return {};
    std::map<int, std::vector<NodeRef>> across;  // loads, by the loop that they run along
    std::set<int> stored;
    Uses uses;
    for (const Stmt& stmt : body) {
        if (!stmt.store()) return {};
        collect_uses(stmt.store()->value, uses);
        stored.insert(stmt.store()->buffer);
    }
    const auto stride = [&](const NodeRef& load, const NodeRef& var) {
        return ir::stride_of(*kernel.interner, load->sources[0], id_of(var));
    };
    for (const NodeRef& load : uses.loads) {
        const auto along = stride(load, loops.back());
        if (load->sources.size() > 1 || stored.contains(load->as<ir::LoadArg>().buffer) || !along || *along == 0 ||
            *along == 1)
            continue;
        for (const NodeRef& var : loops)
            if (extent_of(var) >= kShortest && stride(load, var) == 1) across[id_of(var)].push_back(load);
    }
    const auto most = std::ranges::max_element(across, {}, [](const auto& entry) { return entry.second.size(); });
    if (most == across.end()) return {};
    GridSchedule chosen{.loops = loops, .threads = kThreadSide * kThreadSide, .across = most->first};
    std::int64_t bytes = 0;
    for (const NodeRef& load : most->second) {
        bytes += kSide * kPitch * static_cast<std::int64_t>(size_of(load->dtype));
        if (bytes <= kMostBytes && std::ranges::find(chosen.transposed, load) == chosen.transposed.end())
            chosen.transposed.push_back(load);
    }
    const NodeRef& other =
        *std::ranges::find_if(loops, [&](const NodeRef& var) { return id_of(var) == chosen.across; });
    chosen.neighbours = extent_of(loops.back()) % kEach == 0 && extent_of(other) % kEach == 0;
    return chosen;
}

Stmt transposes_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body) {
    return Squares(kernel, schedule, body)();
}

}  // namespace weft::kernel
