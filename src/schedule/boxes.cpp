// schedule/boxes.cpp: where boxes lie is known when the graph is; an element of a box needs no other box.
#include "schedule/boxes.h"

#include "ir/build.h"

#include <algorithm>
#include <vector>

namespace weft::schedule {
namespace {

using namespace ir;

constexpr std::size_t kFewestBoxes = 2;
constexpr std::size_t kMostBoxes = 4096;

struct Box {
    Dims starts;
    Shape sizes;

    bool apart(const Box& other) const {
        for (std::size_t d = 0; d < sizes.size(); ++d)
            if (starts[d] + sizes[d] <= other.starts[d] || other.starts[d] + other.sizes[d] <= starts[d]) return true;
        return false;
    }
    bool within(const Box& other) const {
        for (std::size_t d = 0; d < sizes.size(); ++d)
            if (starts[d] < other.starts[d] || starts[d] + sizes[d] > other.starts[d] + other.sizes[d]) return false;
        return true;
    }
    Box relative_to(const Box& other) const {
        Box result = *this;
        for (std::size_t d = 0; d < sizes.size(); ++d) result.starts[d] -= other.starts[d];
        return result;
    }
};

// Of a Pad or an Insert: the source that has a box of its own, and that box.
const NodeRef& boxed(const Node& node) { return node.sources.back(); }
Box box_of(const Node& node) { return {node.as<BoxArg>().starts, boxed(node)->shape}; }

bool is_zero(const NodeRef& x) {
    const Node* constant = constant_value(x);
    return constant && constant->as<ConstArg>().value == 0;
}

bool is_term_itself(const NodeRef& x) { return x->op == Op::Add && is_zero(x->sources[1]); }

// A term of a sum that is 0 elsewhere: a sum that starts at 0 is never -0. Nor are such terms, concatenated or seen in another order.
bool is_term(NodeRef x) {
    if (!is_float(x->dtype)) return true;
    for (std::size_t i = 0; i < kMostBoxes; ++i) {
        if (x->op == Op::Insert) {
            if (!is_term_itself(boxed(*x))) return false;
        } else if (x->op != Op::Reshape && x->op != Op::Permute) {
            return is_term_itself(x) || is_zero(x);
        }
        x = x->sources[0];
    }
    return false;
}
NodeRef as_term(const NodeRef& x) { return is_term(x) ? x : x + like(x, 0); }

// The boxes of Inserts of such terms into zeros; none if there is anything else.
std::vector<Box> boxes_in_zeros(const NodeRef& x) {
    std::vector<Box> boxes;
    const Node* node = x.get();
    for (; node->op == Op::Insert; node = &node->source()) {
        if (!is_term(boxed(*node)) || boxes.size() == kMostBoxes) return {};
        boxes.push_back(box_of(*node));
    }
    return is_zero(NodeRef(node)) ? boxes : std::vector<Box>();
}

bool apart_from_all(const Box& box, const std::vector<Box>& others) {
    return std::all_of(others.begin(), others.end(), [&](const Box& other) { return box.apart(other); });
}

NodeRef with_term(const NodeRef& base, const Node& pad) {
    return insert(base, as_term(boxed(pad)), pad.as<BoxArg>().starts);
}

}  // namespace

NodeRef shrink_of_boxes(const Match& match) {
    Box box{match.root->as<BoxArg>().starts, match.root->shape};
    NodeRef x = match.root->sources[0];
    std::vector<Dims> orders;  // of the Permutes on the way, outermost first
    bool found = false;
    for (;;) {
        if (x->op == Op::Permute) {
            Box inside = box;
            const Dims& axes = x->as<AxesArg>().axes;
            for (std::size_t d = 0; d < axes.size(); ++d) {
                inside.starts[axes[d]] = box.starts[d];
                inside.sizes[axes[d]] = box.sizes[d];
            }
            orders.push_back(axes);
            box = std::move(inside);
            x = x->sources[0];
            continue;
        }
        // An Insert into memory may be written in place, at a place that is known only when it runs.
        if (x->op != Op::Pad && (x->op != Op::Insert || x->source().op == Op::Param)) break;
        const Box own = box_of(*x);
        if (box.within(own)) {
            box = box.relative_to(own);
            x = boxed(*x);
        } else if (!box.apart(own)) break;
        else if (x->op == Op::Insert) x = x->sources[0];
        else {
            x = constant(x->dtype, 0, box.sizes);
            box.starts = Dims::filled(box.sizes.size(), 0);
        }
        found = true;
    }
    if (!found) return nullptr;
    NodeRef result = shrink(x, box.starts, box.sizes);
    for (auto axes = orders.rbegin(); axes != orders.rend(); ++axes) result = permute(result, *axes);
    return result;
}

NodeRef sum_of_boxes(const Match& match) {
    for (const int last : {1, 0}) {  // one more box for those that were found before
        const NodeRef &chain = match.root->sources[1 - last], &pad = match.root->sources[last];
        if (chain->op != Op::Insert || pad->op != Op::Pad) continue;
        const std::vector<Box> boxes = boxes_in_zeros(chain);
        if (!boxes.empty() && apart_from_all(box_of(*pad), boxes)) return with_term(chain, *pad);
    }
    std::vector<const Node*> pads, stack{match.root.get()};
    while (!stack.empty()) {
        const Node* node = stack.back();
        stack.pop_back();
        if (node->op == Op::Add && pads.size() + stack.size() < kFewestBoxes) {
            stack.push_back(node->sources[1].get());
            stack.push_back(node->sources[0].get());
        } else if (node->op == Op::Pad) pads.push_back(node);
        else return nullptr;
    }
    if (pads.size() < kFewestBoxes) return nullptr;
    std::vector<Box> boxes;
    NodeRef sum = like(match.root, 0);
    for (const Node* pad : pads) {
        if (!apart_from_all(box_of(*pad), boxes)) return nullptr;
        boxes.push_back(box_of(*pad));
        sum = with_term(sum, *pad);
    }
    return sum;
}

std::vector<Part> concatenated_parts(const Node& insert) {
    std::vector<Part> parts;
    int axis = -1;
    std::int64_t covered = 0;
    for (const Node* node = &insert; node->op == Op::Insert && parts.size() < kMostBoxes; node = &node->source()) {
        const NodeRef& value = boxed(*node);
        for (std::size_t d = 0; d < insert.shape.size(); ++d)
            if (value->shape[d] != insert.shape[d]) {
                if (axis >= 0 && axis != static_cast<int>(d)) return {};
                axis = static_cast<int>(d);
            }
        if (axis < 0 || numel(value->shape) == 0) return {};
        parts.push_back({value, node->as<BoxArg>().starts});
        covered += value->shape[axis];
        if (covered >= insert.shape[axis]) break;
    }
    if (parts.empty() || covered != insert.shape[axis]) return {};
    std::sort(parts.begin(), parts.end(),
              [&](const Part& a, const Part& b) { return a.starts[axis] < b.starts[axis]; });
    std::int64_t end = 0;
    for (const Part& part : parts) {
        if (part.starts[axis] != end) return {};
        end += part.value->shape[axis];
    }
    return parts;
}

std::int64_t run_length(const Part& part, const Shape& whole) {
    std::int64_t run = 1;
    for (std::size_t d = whole.size(); d-- > 0;) {
        run *= part.value->shape[d];
        if (part.value->shape[d] != whole[d]) break;
    }
    return run;
}

}  // namespace weft::schedule
