// kernel/pass_transpose.cpp: the "transpose" pass: elementwise loops whose stores run along one axis in memory and some of whose loads
// run along another one. What only such loads feed is computed in lanes along *their* axis, block by block, and each block is transposed
// in registers. With j the innermost loop, along the stores, and i the one along the loads:
//
//   serial j0   a cache line of the output's                           outermost of the two: memory is read along whole rows
//     serial i0   by the edge of a block
//       blocks of the line (one, if a line is as long as a block)
//         rows j of a block, lanes along i:      block = value         vector loads
//         columns i of a block, lanes along j:   store                 whole lines
//
// What is left over at the ends runs as before.
#include "kernel/block_transpose.h"
#include "kernel/lower_special.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kLineBytes = 64;
constexpr std::size_t kMostTransposed = 4;  // each one is a block's worth of code

class ChooseTranspose {
public:
    ChooseTranspose(const Kernel& kernel, const Target& target) : kernel_(kernel), target_(target) {}

    std::optional<TransposeBlocks> operator()() {
        if (!find_nest() || !choose_loop()) return {};
        for (const Stmt& stmt : *leaf_) find_transposed(stmt.store()->value);
        if (chosen_.values.empty() || chosen_.values.size() > kMostTransposed) return {};
        return chosen_;
    }

private:
    // A perfect nest of independent loops around stores, the last of which run along the innermost loop.
    bool find_nest() {
        std::tie(loops_, leaf_) = perfect_nest(kernel_.body);
        if (loops_.size() < 2) return false;
        chosen_.along = loops_.back();
        std::size_t narrowest = kLineBytes;
        for (const Stmt& stmt : *leaf_) {
            const Store* store = stmt.store();
            if (!store || !plain(store->value) || !plain(store->index)) return false;
            const Buffer& buffer = kernel_.buffers[store->buffer];
            if (buffer.role != Buffer::Role::Output) continue;
            if (stride(store->index, chosen_.along) != 1) return false;
            narrowest = std::min(narrowest, size_of(buffer.dtype));
        }
        chosen_.edge = block_edge(target_, lanes_for(kernel_, *leaf_) == kMaxLanes ? 4 : 8);
        const std::int64_t in_line = kLineBytes / static_cast<std::int64_t>(narrowest) / chosen_.edge;
        chosen_.blocks =
            std::clamp<std::int64_t>(extent_of(chosen_.along) / chosen_.edge, 0, std::max<std::int64_t>(1, in_line));
        return chosen_.blocks > 0;
    }

    static bool plain(const NodeRef& root) {  // a failed check is reported in the order of the loops
        for (const ir::Node* node : ir::topological_order(std::span(&root, 1)))
            if (node->op == Op::Check) return false;
        return true;
    }

    std::optional<std::int64_t> stride(const NodeRef& index, const NodeRef& var) const {
        return ir::stride_of(*kernel_.interner, index, id_of(var));
    }

    // The loop along which most of those loads run that do not run along the innermost one.
    bool choose_loop() {
        const Uses uses = uses_of(*leaf_);
        int most = 0;
        for (const NodeRef& var : loops_) {
            if (var == chosen_.along || extent_of(var) < chosen_.edge) continue;
            int count = 0;
            for (const NodeRef& load : uses.loads)
                count += !runs_along(*load, chosen_.along) && stride(load->sources[0], var) == 1;
            if (count > most) most = count, chosen_.across = var;
        }
        return most > 0;
    }

    bool runs_along(const ir::Node& load, const NodeRef& var) const {
        const auto step = stride(load.sources[0], var);
        return step && (*step == 0 || *step == 1);
    }

    // Maximal expressions that are better computed in lanes across: all of their loads run along that loop, and not all along the
    // innermost one.
    struct Lanes {
        bool along = true, across = true;
    };

    void find_transposed(const NodeRef& root) {
        for (const ir::Node* node : ir::topological_order(std::span(&root, 1))) {
            Lanes lanes;
            for (const NodeRef& source : node->sources) {
                lanes.along &= lanes_.at(source.get()).along;
                lanes.across &= lanes_.at(source.get()).across;
            }
            if (node->op == Op::Load) {
                lanes.along &= runs_along(*node, chosen_.along);
                lanes.across &= runs_along(*node, chosen_.across) &&
                                kernel_.buffers[node->as<ir::LoadArg>().buffer].role == Buffer::Role::Input;
            }
            lanes_[node] = lanes;
        }
        std::vector<NodeRef> pending{root};
        while (!pending.empty()) {
            const NodeRef node = pending.back();
            pending.pop_back();
            const Lanes lanes = lanes_.at(node.get());
            if (lanes.along || !visited_.insert(node.get()).second) continue;
            if (lanes.across) chosen_.values.push_back(node);
            else if (node->op != Op::Load)
                for (const NodeRef& source : node->sources) pending.push_back(source);
        }
    }

    const Kernel& kernel_;
    const Target& target_;
    std::vector<NodeRef> loops_;  // of the nest, outermost first
    const Body* leaf_ = nullptr;
    TransposeBlocks chosen_;
    std::unordered_map<const ir::Node*, Lanes> lanes_;
    std::unordered_set<const ir::Node*> visited_;
};

class BlockLoops {
public:
    BlockLoops(Kernel& kernel, const TransposeBlocks& chosen)
        : kernel_(kernel),
          along_(chosen.along),
          across_(chosen.across),
          edge_(chosen.edge),
          blocks_(chosen.blocks),
          transposed_(chosen.values) {
        const Body* body = nullptr;
        std::tie(loops_, body) = perfect_nest(kernel_.body);
        leaf_ = *body;
    }

    Body operator()() {
        const std::int64_t length = blocks_ * edge_, whole = extent_of(along_) / length,
                           left = extent_of(along_) % length;
        const std::int64_t columns = extent_of(across_), done = columns / edge_ * edge_;
        const NodeRef line = kernel_.new_var(whole + (left > 0)), i0 = kernel_.new_var(columns / edge_);
        const NodeRef start = kernel_.mul(line, kernel_.index(length));
        Body lines{serial(i0, block_body(start, i0), false)};
        if (done < columns) append(lines, tail(start, length, done, columns - done));
        if (left > 0) {  // the last line is shorter: a condition is a loop that runs once or not at all
            const NodeRef before = kernel_.binary(Op::Sub, kernel_.index(whole), line);
            const NodeRef last = kernel_.binary(Op::Sub, line, kernel_.index(whole - 1));
            Body both{serial(kernel_.new_var(1), std::move(lines), false, before)};
            both.emplace_back(
                serial(kernel_.new_var(1), tail(kernel_.index(whole * length), left, 0, columns), false, last));
            lines = std::move(both);
        }
        Body body{serial(line, std::move(lines), true)};
        std::erase_if(loops_, [&](const NodeRef& var) { return var == along_ || var == across_; });
        return nested(loops_, std::move(body), true);
    }

private:
    NodeRef simple(const NodeRef& e) const { return ir::simplify_index(*kernel_.interner, e); }
    NodeRef plus(const NodeRef& base, std::int64_t factor, const NodeRef& offset) const {
        return simple(kernel_.add(kernel_.mul(base, kernel_.index(factor)), offset));
    }

    static Loop serial(const NodeRef& var, Body body, bool independent, NodeRef count = nullptr) {
        return Loop{var, LoopKind::Serial, std::move(body), independent, std::move(count)};
    }

    // The leaf for columns [first, first + columns) of the line that starts at `start`, or of a shorter one, as it was.
    Body tail(const NodeRef& start, std::int64_t length, std::int64_t first, std::int64_t columns) {
        const NodeRef j = kernel_.new_var(length), i = kernel_.new_var(columns);
        Body body = substitute(kernel_, leaf_,
                               {{id_of(along_), simple(kernel_.add(start, j))},
                                {id_of(across_), simple(kernel_.add(i, kernel_.index(first)))}});
        return nested({i, j}, std::move(body), true);
    }

    Body block_body(const NodeRef& start, const NodeRef& i0) {
        const NodeRef g = kernel_.new_var(blocks_);
        const NodeRef first = simple(kernel_.add(start, kernel_.mul(g, kernel_.index(edge_))));
        const auto element = [&](const NodeRef& j, const NodeRef& i) {
            return Substitution{{id_of(along_), simple(kernel_.add(first, j))}, {id_of(across_), plus(i0, edge_, i)}};
        };
        // All but the last of the transposed values wait in scratch: registers hold one block.
        Body body;
        std::unordered_map<const ir::Node*, std::pair<NodeRef, NodeRef>>
            replaced;  // value -> its load, the load's index
        for (const NodeRef& value : transposed_) {
            BlockTranspose block(kernel_, value->dtype, edge_);
            append(body, block.fill(edge_, edge_, [&](const NodeRef& r, const NodeRef& l) {
                return substitute(kernel_, value, element(r, l));
            }));
            if (value == transposed_.back()) {
                append(body, block.use(edge_, edge_, [&](const NodeRef& c, const NodeRef& l) {
                    return stores(element(l, c), c, l, replaced, block.at(c, l));
                }));
            } else {
                const int columns = kernel_.new_local("columns", value->dtype, std::int64_t{edge_} * edge_);
                append(body, block.use(edge_, edge_, [&](const NodeRef& c, const NodeRef& l) {
                    return Body{Store{columns, plus(c, edge_, l), block.at(c, l)}};
                }));
                const NodeRef at = kernel_.new_var(std::int64_t{edge_} * edge_);
                replaced.emplace(value.get(), std::pair{kernel_.load(columns, at), at});
            }
        }
        return Body{Loop{g, LoopKind::Unrolled, std::move(body), false, nullptr}};
    }

    // The leaf at an element, with its transposed values read from where they are now.
    Body stores(const Substitution& element, const NodeRef& c, const NodeRef& l,
                const std::unordered_map<const ir::Node*, std::pair<NodeRef, NodeRef>>& replaced, const NodeRef& last) {
        Substitution with = element;
        for (const auto& [value, where] : replaced) with.emplace_back(id_of(where.second), plus(c, edge_, l));
        Body body;
        for (const Stmt& stmt : leaf_) {
            const Store& store = *stmt.store();
            const NodeRef value =
                ir::rebuild(std::span(&store.value, 1), [&](const ir::Node& node, const ir::Sources& sources) {
                    if (transposed_.back().get() == &node) return last;
                    if (const auto found = replaced.find(&node); found != replaced.end()) return found->second.first;
                    return sources == node.sources ? NodeRef(&node)
                                                   : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                })[0];
            body.emplace_back(
                Store{store.buffer, simple(substitute(kernel_, store.index, with)), substitute(kernel_, value, with)});
        }
        return lane_private(kernel_, body, id_of(l));
    }

    Kernel& kernel_;
    const NodeRef along_, across_;  // j and i
    const int edge_;
    const std::int64_t blocks_;  // in a line
    const std::vector<NodeRef> transposed_;
    std::vector<NodeRef> loops_;  // of the nest, outermost first
    Body leaf_;
};

}  // namespace

Decisions choose_transposes(const Kernel& kernel, const Target& target) {
    Decisions chosen;
    if (std::optional<TransposeBlocks> blocks = ChooseTranspose(kernel, target)())
        chosen.emplace_back(std::move(*blocks));
    return chosen;
}

Kernel transpose_blocks(Kernel kernel, const Decisions& chosen) {
    kernel.body = BlockLoops(kernel, std::get<TransposeBlocks>(chosen[0]))();
    return kernel;
}

}  // namespace weft::kernel
