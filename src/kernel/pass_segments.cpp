// kernel/pass_segments.cpp: the "segments" pass: a vector of elements that crosses the end of a row (the pixels of an image, counted through)
// is a few pieces that are dense in memory each. They are loaded one by one, each under the mask of its lanes, instead of
// gathered: with x = e + lane, x // w and x % w are e // w + n and e % w + lane - n * w in the n-th piece.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/str.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>

namespace weft::kernel {
namespace {

using ir::Node;
using ir::Op;

constexpr std::int64_t kMostSegments = 4;  // a gather costs about as much as eight loads under masks

class Segments {
public:
    Segments(Kernel& kernel, const NodeRef& lane) : kernel_(kernel), lane_(lane), simplify_(*kernel.interner) {}

    NodeRef operator()(const NodeRef& root) {
        return ir::rebuild(std::span(&root, 1), [&](const Node& node, const ir::Sources& sources) {
            const NodeRef same = sources == node.sources
                                     ? NodeRef(&node)
                                     : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
            if (same->op != Op::Load || size_of(same->dtype) < 4) return same;
            const NodeRef pieces = in_pieces(*same);
            return pieces ? pieces : same;
        })[0];
    }

    bool any() const { return any_; }

private:
    // The one x of all x // w and x % w in which the lane counts; null if there is none, or more than one.
    struct Row {
        NodeRef x;
        std::int64_t width = 0;
    };
    bool find_row(std::span<const NodeRef> expressions, Row& row) const {
        for (const Node* node : ir::topological_order(expressions)) {
            if (node->op == Op::Load) return false;  // an index that is data
            if ((node->op != Op::IDiv && node->op != Op::Mod) || !ir::depends_on(NodeRef(node), id_of(lane_))) continue;
            const NodeRef &x = node->sources[0], &width = node->sources[1];
            if (width->op != Op::Const || (row.x && (row.x != x || row.width != number(width)))) return false;
            row = {x, number(width)};
        }
        return row.x && row.width > 1 && ir::stride_of(*kernel_.interner, row.x, id_of(lane_)) == 1;
    }
    static std::int64_t number(const NodeRef& constant) {
        return static_cast<std::int64_t>(constant->as<ir::ConstArg>().value);
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

    NodeRef in_pieces(const Node& load) {
        Row row;
        if (!find_row(load.sources, row) || is_dense(load.sources[0]) ||
            (load.sources.size() == 1 && is_near(load.sources[0])))
            return nullptr;
        const NodeRef width = kernel_.index(row.width);
        const NodeRef e = simplify_(substitute(kernel_, row.x, {{id_of(lane_), kernel_.index(0)}}));
        const NodeRef first = simplify_(kernel_.binary(Op::Mod, e, width)),
                      line = simplify_(kernel_.binary(Op::IDiv, e, width));
        const std::int64_t pieces = (ir::bounds(first).high + extent_of(lane_) - 1) / row.width + 1;
        if (pieces > kMostSegments) return nullptr;

        NodeRef result;
        for (std::int64_t n = pieces - 1; n >= 0; --n) {
            const auto end_of = [&](std::int64_t piece) {  // the first lane behind it
                return simplify_(kernel_.binary(Op::Sub, kernel_.index((piece + 1) * row.width), first));
            };
            const auto in_piece = [&](const NodeRef& expression) {
                const NodeRef here = ir::rebuild(
                    std::span(&expression, 1), [&](const Node& node, const ir::Sources& sources) -> NodeRef {
                        const bool ratio = node.op == Op::IDiv || node.op == Op::Mod;
                        if (ratio && node.sources[0] == row.x && node.sources[1] == width) {
                            if (node.op == Op::IDiv) return kernel_.add(line, kernel_.index(n));
                            return kernel_.add(kernel_.add(first, lane_), kernel_.index(-n * row.width));
                        }
                        return sources == node.sources
                                   ? NodeRef(&node)
                                   : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                    })[0];
                return simplify_(here);
            };
            const NodeRef index = in_piece(load.sources[0]);
            if (!ir::stride_of(*kernel_.interner, index, id_of(lane_))) return nullptr;
            NodeRef gate = load.sources.size() > 1 ? in_piece(load.sources[1]) : nullptr;
            const auto require = [&](const NodeRef& condition) {
                gate = simplify_(gate ? kernel_.binary(Op::And, gate, condition) : condition);
            };
            const NodeRef before_end = kernel_.binary(Op::CmpLt, lane_, end_of(n));
            if (n > 0) require(kernel_.binary(Op::CmpLe, end_of(n - 1), lane_));
            if (n + 1 < pieces) require(before_end);
            const NodeRef piece = kernel_.load(load.as<ir::LoadArg>().buffer, index, gate);
            result = result ? kernel_.where(simplify_(before_end), piece, result) : piece;
        }
        any_ = true;
        return result;
    }

    Kernel& kernel_;
    const NodeRef lane_;
    ir::IndexSimplifier simplify_;
    bool any_ = false;
};

bool rewrite(Kernel& kernel, Body& body, const NodeRef& lane) {
    bool any = false;
    for (Stmt& stmt : body) {
        if (Loop* loop = stmt.loop()) {
            any |= rewrite(kernel, loop->body, loop->kind == LoopKind::Vector ? loop->var : lane);
        } else if (lane && stmt.store()) {
            Segments segments(kernel, lane);
            stmt.store()->value = segments(stmt.store()->value);
            any |= segments.any();
        }
    }
    return any;
}

}  // namespace

Kernel load_segments(Kernel kernel, const Target&) {
    if (rewrite(kernel, kernel.body, nullptr)) kernel.schedule.push_back("rows in pieces");
    return kernel;
}

}  // namespace weft::kernel
