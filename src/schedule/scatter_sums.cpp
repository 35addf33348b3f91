// schedule/scatter_sums.cpp: see scatter_sums.h.
#include "schedule/scatter_sums.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/rewrite.h"

namespace weft::schedule {

using namespace ir;

namespace {

// What an H200 takes: a thread that adds to memory; one that looks at an index and waits for the value; and all of its threads, for each of such looks.
constexpr double kAddSeconds = 2.5e-7, kStepSeconds = 1e-7, kLookSeconds = 1.6e-12;

bool is_all_zero(const NodeRef& base) {
    const Node* const zero = constant_value(base);
    return zero && zero->as<ConstArg>().value == 0;
}

// Computed once, not by each thread that looks at it; without the axes along which it is the same.
NodeRef stored(const NodeRef& value) {
    if (value->op == Op::Expand) return expand(stored(value->sources[0]), value->shape);
    return value->op == Op::Param || constant_value(value) ? value : contiguous(value);
}

// An index is checked once, too. It is below the rows: 32 bits hold it.
NodeRef stored_index(const NodeRef& index) {
    if (index->op == Op::Expand) return expand(stored_index(index->sources[0]), index->shape);
    return contiguous(cast(index, DType::I32));
}

}  // namespace

NodeRef sum_of_scatter(const Node& scatter, const Target& target) {
    if (scatter.op != Op::Scatter) return nullptr;
    const auto& arg = scatter.as<IndexArg>();
    const NodeRef &base = scatter.sources[0], &index = scatter.sources[1], &value = scatter.sources[2];
    const auto axis = static_cast<std::size_t>(arg.axis);
    const std::int64_t rows = base->shape[axis], terms = index->shape[axis];
    if (arg.mode != Op::Add || !is_all_zero(base) || rows < 2 || rows > INT32_MAX || terms < 2 || is_half(base->dtype))
        return nullptr;
    const bool in_order = is_float(value->dtype);  // integers may be added in any order
    const auto results = static_cast<double>(numel(base->shape)), steps = static_cast<double>(terms);
    const double columns = results / static_cast<double>(rows),
                 added = steps * kAddSeconds * std::max(1.0, columns / static_cast<double>(target.most_threads())),
                 looked = steps * std::max(in_order ? kStepSeconds : 0, results * kLookSeconds);
    if (looked >= added) return nullptr;

    Shape line = Shape::filled(base->shape.size() + 1, 1), terms_of;
    line[axis + 1] = rows;
    for (std::size_t d = 0; d < base->shape.size(); ++d) {
        terms_of.push_back(index->shape[d]);
        if (d == axis) terms_of.push_back(1);
    }
    Shape domain = terms_of;
    domain[axis + 1] = rows;
    const auto spread = [&](const NodeRef& x) { return expand(reshape(x, terms_of), domain); };
    const NodeRef here =
        equal_to(spread(stored_index(index)), expand(reshape(cast(iota(rows), DType::I32), line), domain));
    const NodeRef nothing =
        in_order ? constant(value->dtype, Scalar(-0.0), domain) : constant(value->dtype, Scalar(0), domain);
    const SumOrder sequence{.kind = SumOrder::Kind::Sequence};
    const NodeRef terms_there = where(here, spread(stored(value)), nothing);
    return reshape(ir::reduce(Op::Add, terms_there, {arg.axis}, in_order ? &sequence : nullptr), base->shape);
}

}  // namespace weft::schedule
