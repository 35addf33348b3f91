// schedule/merges.cpp: see merges.h.
#include "schedule/merges.h"

#include "ir/build.h"

#include <utility>

namespace weft::schedule {

using namespace ir;

namespace {

NodeRef element(const NodeRef& row, const NodeRef& at) {
    return gather(row, cast(at, DType::I64), static_cast<int>(row->rank()) - 1);
}

NodeRef least(const NodeRef& a, const NodeRef& b) { return binary(Op::Min, a, b); }
NodeRef both(const NodeRef& a, const NodeRef& b) { return binary(Op::And, a, b); }

}  // namespace

NodeRef first_not_before(NodeRef low, NodeRef high, std::int64_t widest,
                         const std::function<NodeRef(const NodeRef& at)>& is_before) {
    const NodeRef one = like(low, 1);
    for (std::int64_t left = widest; left > 0; left /= 2) {
        const NodeRef middle = binary(Op::Shr, low + high - one, one);
        const NodeRef before = both(less(low, high), is_before(middle));
        high = where(before, high, binary(Op::Max, middle, low));
        low = where(before, middle + one, low);
    }
    return low;
}

NodeRef merge_runs(NodeRef key, NodeRef position, std::int64_t run) {
    const Shape shape = key->shape;
    const std::int64_t length = shape.back();
    std::int64_t levels = 0, widest = run;
    for (std::int64_t merged = run; merged < length; merged *= 2, ++levels) widest = merged;
    // How long the runs are is loaded, so that all levels are one kernel.
    Shape line = Shape::filled(shape.size(), 1);
    const NodeRef lengths =
        contiguous(cast(binary(Op::Shl, constant(DType::I64, run, {levels}), iota(levels)), DType::I32));
    line.back() = length;
    const NodeRef place = expand(reshape(cast(iota(length), DType::I32), line), shape);
    const NodeRef zero = like(place, 0), all = like(place, length);
    for (std::int64_t level = 0; level < levels; ++level) {
        const NodeRef longest = expand(reshape(shrink(lengths, {level}, {1}), Shape::filled(shape.size(), 1)), shape);
        // Opens the kernel, which everything that is computed from it joins.
        const NodeRef start = contiguous(both(place, -(longest + longest))), number = place - start;
        const NodeRef first = least(longest, all - start),
                      second = least(longest, binary(Op::Max, zero, all - start - longest));
        // The place in the row of the first run's element i, and of the second's that comes next after i of the first.
        const NodeRef behind = start + first + number;
        const NodeRef taken = first_not_before(
            binary(Op::Max, zero, number - second), least(number, first), widest, [&](const NodeRef& i) {
                return less_equal(element(key, start + i), element(key, behind - i - like(i, 1)));
            });
        const NodeRef a = start + taken, b = behind - taken;
        const NodeRef none_of_second = less_equal(second, number - taken);
        const NodeRef of_first =
            both(less(taken, first), binary(Op::Or, none_of_second, less_equal(element(key, a), element(key, b))));
        const NodeRef from = where(of_first, a, b);
        position = element(position, from);
        if (level + 1 < levels) key = element(key, from);
    }
    return position;
}

}  // namespace weft::schedule
