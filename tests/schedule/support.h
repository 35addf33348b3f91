// tests/schedule/support.h: graphs of a few nodes, and plans for them.
#pragma once

#include "ir/build.h"
#include "pipeline/pipeline.h"
#include "schedule/plan.h"
#include "schedule/verify_plan.h"
#include "support/random_leaves.h"

#include <weft/error.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace weft::test {

using ir::NodeRef;
using schedule::Captured;
using schedule::Plan;
using schedule::PlanValue;
using Where = PlanValue::Where;

inline NodeRef leaf(const Shape& shape, DType dtype = f32) {
    return testing::words_leaf(dtype, shape, std::vector<Word>(numel(shape), 0));
}
inline NodeRef matmul(const NodeRef& a, const NodeRef& b) {
    const std::int64_t m = a->shape[0], k = a->shape[1], n = b->shape[1];
    const Shape domain{m, k, n};
    const NodeRef left = ir::expand(ir::reshape(a, {m, k, 1}), domain),
                  right = ir::expand(ir::reshape(b, {1, k, n}), domain);
    return ir::reshape(ir::reduce(ir::Op::Add, ir::product(left, right), {1}), {m, n});
}

// A plan, and what it is verified with.
struct Case {
    std::vector<NodeRef> asked;
    Captured captured;
    Plan plan;

    explicit Case(std::vector<NodeRef> nodes, bool donatable = true)
        : asked(std::move(nodes)),
          captured(schedule::capture(asked, [donatable](const ir::Storage&) { return donatable; })) {
        plan = pipeline::make_plan(captured, {}, Target(), {.donate = true});
    }
    std::vector<NodeRef> roots() const {
        std::vector<NodeRef> result;
        for (const ir::Node* node : captured.outputs) result.emplace_back(node);
        return result;
    }
    // The plan with a change; empty: it was accepted.
    std::string refusal(const std::function<void(Plan&)>& change = [](Plan&) {}) const {
        Plan changed = plan;
        change(changed);
        try {
            verify_plan(changed, captured, roots());
        } catch (const InternalError& error) {
            return error.what();
        }
        return "";
    }
    int find(Where where, int skip = 0) const {
        for (int v = 0; v < static_cast<int>(plan.values.size()); ++v)
            if (plan.values[v].where == where && skip-- == 0) return v;
        return -1;
    }
    // Is anything stored in the memory of this leaf?
    bool donates(const NodeRef& leaf) const {
        return std::any_of(plan.values.begin(), plan.values.end(), [&](const PlanValue& value) {
            return value.where == Where::Donated &&
                   captured.leaf(value.leaf).storage == leaf->as<ir::BufferArg>().storage;
        });
    }
    bool donates() const { return find(Where::Donated) >= 0; }
    // … and is it a part of that memory, while the rest stays as it is?
    bool writes_box() const {
        return std::any_of(plan.values.begin(), plan.values.end(),
                           [](const PlanValue& value) { return value.first_constant >= 0; });
    }
};

}  // namespace weft::test
