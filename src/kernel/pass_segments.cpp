// kernel/pass_segments.cpp: the "segments" pass: a vector of elements that crosses the end of a row (the pixels of an image, counted through)
// is a few pieces that are dense in memory each. They are loaded one by one, each under the mask of its lanes, instead of
// gathered: with x = e + lane, x // w and x % w are e // w + n and e % w + lane - n * w in the n-th piece.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

namespace weft::kernel {
namespace {

using ir::Node;
using ir::Op;

constexpr std::int64_t kMostSegments = 4;  // a gather costs about as much as eight loads under masks

std::int64_t number(const NodeRef& constant) { return static_cast<std::int64_t>(constant->as<ir::ConstArg>().value); }

// A load in pieces: with the first lane at `first` of row `line`, an expression of it in one of them.
class Pieces {
public:
    Pieces(const Kernel& kernel, const SegmentLoad& load)
        : kernel_(kernel), load_(load), simplify_(*kernel.interner), width_(kernel.index(load.row)) {
        const NodeRef e = simplify_(substitute(kernel, load.position, {{id_of(load.lane), kernel.index(0)}}));
        first_ = simplify_(kernel.binary(Op::Mod, e, width_));
        line_ = simplify_(kernel.binary(Op::IDiv, e, width_));
    }

    std::int64_t count() const { return (ir::bounds(first_).high + extent_of(load_.lane) - 1) / load_.row + 1; }

    NodeRef in_piece(const NodeRef& expression, std::int64_t n) {
        const NodeRef here =
            ir::rebuild(std::span(&expression, 1), [&](const Node& node, const ir::Sources& sources) -> NodeRef {
                const bool ratio = node.op == Op::IDiv || node.op == Op::Mod;
                if (ratio && node.sources[0] == load_.position && node.sources[1] == width_) {
                    if (node.op == Op::IDiv) return kernel_.add(line_, kernel_.index(n));
                    return kernel_.add(kernel_.add(first_, load_.lane), kernel_.index(-n * load_.row));
                }
                return sources == node.sources ? NodeRef(&node)
                                               : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
            })[0];
        return simplify_(here);
    }

    NodeRef load() {
        const ir::Sources& from = load_.load->sources;
        NodeRef result;
        for (std::int64_t n = load_.pieces - 1; n >= 0; --n) {
            const NodeRef index = in_piece(from[0], n);
            NodeRef gate = from.size() > 1 ? in_piece(from[1], n) : nullptr;
            const auto require = [&](const NodeRef& condition) {
                gate = simplify_(gate ? kernel_.binary(Op::And, gate, condition) : condition);
            };
            const NodeRef before_end = kernel_.binary(Op::CmpLt, load_.lane, end_of(n));
            if (n > 0) require(kernel_.binary(Op::CmpLe, end_of(n - 1), load_.lane));
            if (n + 1 < load_.pieces) require(before_end);
            const NodeRef piece = kernel_.load(load_.load->as<ir::LoadArg>().buffer, index, gate);
            result = result ? kernel_.where(simplify_(before_end), piece, result) : piece;
        }
        return result;
    }

private:
    NodeRef end_of(std::int64_t piece) {  // the first lane behind it
        return simplify_(kernel_.binary(Op::Sub, kernel_.index((piece + 1) * load_.row), first_));
    }

    const Kernel& kernel_;
    const SegmentLoad& load_;
    ir::IndexSimplifier simplify_;
    const NodeRef width_;
    NodeRef first_, line_;
};

class ChooseSegments {
public:
    ChooseSegments(const Kernel& kernel, const NodeRef& lane)
        : kernel_(kernel), lane_(lane), simplify_(*kernel.interner) {}

    std::optional<SegmentLoad> operator()(const NodeRef& load) {
        if (load->op != Op::Load || size_of(load->dtype) < 4) return {};
        SegmentLoad found{.lane = lane_, .load = load};
        if (!find_row(load->sources, found) || is_dense(load->sources[0]) ||
            (load->sources.size() == 1 && is_near(load->sources[0])))
            return {};
        Pieces pieces(kernel_, found);
        found.pieces = pieces.count();
        if (found.pieces > kMostSegments) return {};
        for (std::int64_t n = 0; n < found.pieces; ++n)
            if (!ir::stride_of(*kernel_.interner, pieces.in_piece(load->sources[0], n), id_of(lane_))) return {};
        return found;
    }

private:
    // The one x of all x // w and x % w in which the lane counts; null if there is none, or more than one.
    bool find_row(std::span<const NodeRef> expressions, SegmentLoad& found) const {
        for (const Node* node : ir::topological_order(expressions)) {
            if (node->op == Op::Load) return false;  // an index that is data
            if ((node->op != Op::IDiv && node->op != Op::Mod) || !ir::depends_on(NodeRef(node), id_of(lane_))) continue;
            const NodeRef &x = node->sources[0], &width = node->sources[1];
            if (width->op != Op::Const || (found.position && (found.position != x || found.row != number(width))))
                return false;
            found.position = x, found.row = number(width);
        }
        return found.position && found.row > 1 && ir::stride_of(*kernel_.interner, found.position, id_of(lane_)) == 1;
    }
    // Only the gate minds the ends of the rows: one load under a mask.
    bool is_dense(const NodeRef& index) const { return ir::stride_of(*kernel_.interner, index, id_of(lane_)) == 1; }

    // Are the lanes at known distances within a few vectors? Then a backend may load these and permute them.
    bool is_near(const NodeRef& index) {
        const auto at = [&](std::int64_t l) { return substitute(kernel_, index, {{id_of(lane_), kernel_.index(l)}}); };
        const NodeRef start = at(0);
        for (std::int64_t l = 1; l < extent_of(lane_); ++l) {
            const NodeRef distance = simplify_(kernel_.binary(Op::Sub, at(l), start));
            if (distance->op != Op::Const || std::abs(number(distance)) >= kMostSegments * kMaxLanes) return false;
        }
        return true;
    }

    const Kernel& kernel_;
    const NodeRef lane_;
    ir::IndexSimplifier simplify_;
};

void choose(const Kernel& kernel, const Body& body, const NodeRef& lane, Decisions& chosen) {
    for (const Stmt& stmt : body) {
        if (const Loop* loop = stmt.loop()) {
            choose(kernel, loop->body, loop->kind == LoopKind::Vector ? loop->var : lane, chosen);
        } else if (lane && stmt.store()) {
            ChooseSegments segments(kernel, lane);
            for (const Node* node : ir::topological_order(std::span(&stmt.store()->value, 1)))
                if (std::optional<SegmentLoad> found = segments(NodeRef(node))) chosen.emplace_back(std::move(*found));
        }
    }
}

void rewrite(Kernel& kernel, Body& body, const std::unordered_map<const Node*, NodeRef>& in_pieces) {
    for (Stmt& stmt : body) {
        if (Loop* loop = stmt.loop()) rewrite(kernel, loop->body, in_pieces);
        else if (Store* store = stmt.store())
            store->value =
                ir::rebuild(std::span(&store->value, 1), [&](const Node& node, const ir::Sources& sources) -> NodeRef {
                    if (const auto found = in_pieces.find(&node); found != in_pieces.end()) return found->second;
                    return sources == node.sources ? NodeRef(&node)
                                                   : kernel.interner->make(node.op, node.dtype, {}, sources, node.arg);
                })[0];
    }
}

}  // namespace

Decisions choose_segments(const Kernel& kernel, const Target&) {
    Decisions chosen;
    choose(kernel, kernel.body, nullptr, chosen);
    return chosen;
}

Kernel load_segments(Kernel kernel, const Decisions& chosen) {
    std::unordered_map<const Node*, NodeRef> in_pieces;
    for (const Decision& decision : chosen) {
        const SegmentLoad& one = std::get<SegmentLoad>(decision);
        if (!in_pieces.contains(one.load.get())) in_pieces.emplace(one.load.get(), Pieces(kernel, one).load());
    }
    rewrite(kernel, kernel.body, in_pieces);
    return kernel;
}

}  // namespace weft::kernel
