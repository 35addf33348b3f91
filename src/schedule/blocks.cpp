// schedule/blocks.cpp: which values are computed in blocks of rows, and the graph of a block: a slice of the result, pushed through all ops down
// to what is small or in memory.
#include "schedule/blocks.h"

#include "ir/build.h"
#include "ir/walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {
namespace {

using namespace ir;

constexpr std::int64_t kSaving = 4;    // the result is so many times smaller
constexpr std::size_t kLongest = 256;  // ops from the large value to the result
constexpr int kDeepest = 64;           // ops that a slice is pushed through elsewhere

// The axis of a source that an axis of the node runs along; none: there is no such axis, or the op is not looked through.
std::optional<int> source_axis(const Node& node, int axis) {
    const Node& source = node.source();
    switch (node.op) {
        case Op::Contiguous: return axis;
        case Op::Permute: return static_cast<int>(node.as<AxesArg>().axes[static_cast<std::size_t>(axis)]);
        case Op::Expand:
            if (source.rank() != node.rank() || source.shape[axis] != node.shape[axis]) return {};
            return axis;
        case Op::Reduce: {
            const Dims& summed = node.as<ReduceArg>().axes;
            if (std::find(summed.begin(), summed.end(), axis) != summed.end()) return {};
            return axis;
        }
        case Op::Reshape: {
            std::int64_t before = 1, across = 1;
            for (int d = 0; d < axis; ++d) before *= node.shape[d];
            for (int d = 0; d < source.rank(); ++d) {
                if (across == before && source.shape[d] == node.shape[axis]) return d;
                across *= source.shape[d];
            }
            return {};
        }
        default: return is_elementwise(node.op) ? std::optional(axis) : std::nullopt;
    }
}

class Chooser {
public:
    Chooser(std::span<const NodeRef> roots, const BlockLimits& limits)
        : limits_(limits), order_(topological_order(roots)) {
        for (const Node* node : order_)
            for (const NodeRef& source : node->sources) ++uses_[source.get()];
        for (const NodeRef& root : roots) ++uses_[root.get()];  // by whoever asked for it
    }

    std::vector<BlockSchedule> run() const {
        std::vector<BlockSchedule> all;
        std::unordered_set<const Node*> taken;
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const Node& node = *order_[i];
            if (node.op != Op::Reduce || numel(node.shape) <= limits_.whole || taken.contains(&node)) continue;
            const std::vector<const Node*> between = until_small(i);
            if (between.empty()) continue;
            if (const std::optional<BlockSchedule> found = best_axis(between)) {
                all.push_back(*found);
                taken.insert(between.begin(), between.end());
            }
        }
        return all;
    }

private:
    // From a large value on, what depends on it, up to the first small one that all ways lead through.
    std::vector<const Node*> until_small(std::size_t large) const {
        std::vector<const Node*> found{order_[large]};
        std::unordered_set<const Node*> inside{order_[large]};
        std::int64_t open = uses_.at(order_[large]);  // reads of these that were not met yet
        for (std::size_t i = large + 1; i < order_.size() && found.size() < kLongest; ++i) {
            const Node& node = *order_[i];
            const std::int64_t read =
                std::count_if(node.sources.begin(), node.sources.end(),
                              [&](const NodeRef& source) { return inside.contains(source.get()); });
            if (read == 0) continue;
            found.push_back(&node);
            inside.insert(&node);
            open -= read;
            if (open == 0 && numel(node.shape) * kSaving <= numel(order_[large]->shape)) return found;
            const auto uses = uses_.find(&node);
            open += uses == uses_.end() ? 0 : uses->second;
        }
        return {};
    }

    // Whether a slice of the result along this axis needs the same slice of all the others.
    static bool cuts_all(std::span<const Node* const> between, int axis) {
        std::unordered_map<const Node*, int> axis_of{{between.back(), axis}};
        const std::unordered_set<const Node*> inside(between.begin(), between.end());
        for (std::size_t i = between.size(); i-- > 1;) {
            const Node& node = *between[i];
            const std::optional<int> below = source_axis(node, axis_of.at(&node));
            if (!below) return false;
            for (const NodeRef& source : node.sources)
                if (inside.contains(source.get()))
                    if (const auto [entry, first] = axis_of.emplace(source.get(), *below);
                        !first && entry->second != *below)
                        return false;
        }
        return source_axis(*between[0], axis_of.at(between[0])).has_value();
    }

    std::optional<BlockSchedule> best_axis(std::span<const Node* const> between) const {
        const Node &large = *between.front(), &result = *between.back();
        std::optional<BlockSchedule> best;
        for (int axis = 0; axis < result.rank(); ++axis) {
            const std::int64_t extent = result.shape[axis];
            if (extent <= limits_.fewest_rows || (best && extent < result.shape[best->axis])) continue;
            const std::int64_t of_a_row = numel(large.shape) / extent;
            const std::int64_t rows =
                std::max(limits_.fewest_rows, limits_.block / of_a_row / limits_.fewest_rows * limits_.fewest_rows);
            if (rows < extent && cuts_all(between, axis)) best = BlockSchedule{&large, &result, axis, rows};
        }
        return best;
    }

    const BlockLimits limits_;
    const std::vector<const Node*> order_;
    std::unordered_map<const Node*, std::int64_t> uses_;
};

// A slice of a value, as the same ops on slices.
class Slicer {
public:
    Slicer(const std::unordered_set<const Node*>& inside, std::int64_t begin, std::int64_t rows)
        : inside_(inside), begin_(begin), rows_(rows) {}

    NodeRef slice(const NodeRef& x, int axis, int depth = 0) {
        NodeRef& made = made_[{x.get(), axis}];
        if (!made) made = sliced(x, axis, depth);
        return made;
    }

private:
    NodeRef sliced(const NodeRef& x, int axis, int depth) {
        const bool through = inside_.contains(x.get()) || (x->op != Op::Reduce && depth < kDeepest);
        Shape shape = x->shape;
        shape[axis] = rows_;
        if (through && x->op == Op::Expand && x->source().rank() == x->rank() && x->source().shape[axis] == 1)
            return expand(x->sources[0], shape);
        const std::optional<int> below = through && !x->sources.empty() ? source_axis(*x, axis) : std::nullopt;
        if (!below) {
            Dims starts = Dims::filled(shape.size(), 0);
            starts[axis] = begin_;
            return shrink(x, starts, shape);
        }
        Sources sources;
        for (const NodeRef& source : x->sources) sources.push_back(slice(source, *below, depth + 1));
        return graph().make(x->op, x->dtype, shape, std::move(sources), x->arg);
    }

    const std::unordered_set<const Node*>& inside_;
    const std::int64_t begin_, rows_;
    std::map<std::pair<const Node*, int>, NodeRef> made_;
};

NodeRef joined_blocks(const NodeRef& result, const BlockSchedule& schedule,
                      const std::unordered_set<const Node*>& inside) {
    NodeRef joined = constant(result->dtype, Scalar(0), result->shape);  // never seen
    Dims starts = Dims::filled(result->shape.size(), 0);
    for (std::int64_t begin = 0; begin < result->shape[schedule.axis]; begin += schedule.rows) {
        const std::int64_t rows = std::min(schedule.rows, result->shape[schedule.axis] - begin);
        starts[schedule.axis] = begin;
        joined = insert(joined, Slicer(inside, begin, rows).slice(result, schedule.axis), starts);
    }
    return joined;
}

}  // namespace

std::vector<BlockSchedule> choose_blocks(std::span<const NodeRef> roots, const BlockLimits& limits) {
    const std::vector<const Node*> order = topological_order(roots);
    const bool any = std::any_of(order.begin(), order.end(), [&](const Node* node) {
        return node->op == Op::Reduce && numel(node->shape) > limits.whole;
    });
    return any ? Chooser(roots, limits).run() : std::vector<BlockSchedule>();
}

std::vector<NodeRef> in_blocks(std::span<const NodeRef> roots, std::span<const BlockSchedule> blocks) {
    std::unordered_map<const Node*, const BlockSchedule*> of_result;
    std::unordered_set<const Node*> large, inside;  // of the old graph; of the new one: what depends on something large
    for (const BlockSchedule& each : blocks) {
        of_result.emplace(each.result, &each);
        large.insert(each.large);
    }
    return rebuild(roots, [&](const Node& node, const Sources& sources) {
        const NodeRef made = graph().make(node.op, node.dtype, node.shape, sources, node.arg, node.device);
        const bool depends = std::any_of(sources.begin(), sources.end(),
                                         [&](const NodeRef& source) { return inside.contains(source.get()); });
        if (depends || large.contains(&node)) inside.insert(made.get());
        const auto found = of_result.find(&node);
        if (found == of_result.end()) return made;
        const NodeRef joined = joined_blocks(made, *found->second, inside);
        inside.erase(made.get());  // what follows reads the blocks, and depends on nothing large
        return joined;
    });
}

}  // namespace weft::schedule
