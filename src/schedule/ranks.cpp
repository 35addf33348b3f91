// schedule/ranks.cpp: see ranks.h.
#include "schedule/ranks.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "schedule/merges.h"

#include <limits>
#include <string_view>

namespace weft::schedule {

using namespace ir;

namespace {

constexpr std::int64_t kLongestRow = 512;  // an H200 counts in rows of so many elements; longer ones are merged …
constexpr std::int64_t kRun = 256;         // … from runs of so many
constexpr std::int64_t kMostFirst = 128;   // of long rows only the first ones of each run are looked at again
constexpr std::int64_t kLongestSorted = std::int64_t{1} << 30;  // 32 bits hold twice a place

// Integers in the order of the elements: negative floats reversed, -0 as 0, NaN above all.
template <class Bits>
NodeRef float_key(const NodeRef& x, DType type, Bits infinity) {
    const NodeRef bits = bitcast(x, type);
    const auto number = [&](Bits value) { return like(bits, Scalar(static_cast<std::int64_t>(value))); };
    const NodeRef most = number(std::numeric_limits<Bits>::max()), magnitude = binary(Op::And, bits, most);
    const NodeRef ordered = where(less(bits, number(0)), binary(Op::Xor, bits, most), bits);
    return where(less(number(infinity), magnitude), most, where(equal_to(magnitude, number(0)), number(0), ordered));
}

NodeRef key_of(const NodeRef& x) {
    switch (x->dtype) {
        case DType::F16:
        case DType::BF16: return key_of(cast(x, DType::F32));  // exact
        case DType::F32: return float_key<std::int32_t>(x, DType::I32, 0x7f800000);
        case DType::F64: return float_key<std::int64_t>(x, DType::I64, 0x7ff0000000000000);
        case DType::Bool: return cast(x, DType::I32);
        default: return x;
    }
}

// The opposite order; equal elements stay equal.
NodeRef reversed(const NodeRef& key) {
    const Word ones = is_signed_int(key->dtype) ? to_word(std::int64_t{-1}) : identity_word(Op::Min, key->dtype);
    return binary(Op::Xor, key, constant_word(key->dtype, ones, key->shape));
}

NodeRef spread(const NodeRef& value, const Shape& shape, const Shape& to) { return expand(reshape(value, shape), to); }

NodeRef numbers(std::int64_t count, std::size_t axis, const Shape& to) {
    Shape line = Shape::filled(to.size(), 1);
    line[axis] = count;
    return spread(iota(count), line, to);
}

// Where the elements of the rows' orders were: those at the places `wanted`, i64[..., kept], or the first `kept` ones. Counts.
NodeRef order_by_ranks(const NodeRef& key, std::int64_t kept, const NodeRef& wanted = nullptr) {
    const Shape& shape = key->shape;
    const std::int64_t length = shape.back();
    const std::size_t t = shape.size() - 1, j = t + 1;
    // Axes [..., t, j], then [..., r, t].
    Shape column = shape, row = shape, square = shape;
    column.push_back(1);
    row.back() = 1;
    row.push_back(length);
    square.push_back(length);
    const NodeRef mine = spread(key, column, square), other = spread(key, row, square);
    const NodeRef is_before =
        where(less(numbers(length, j, square), numbers(length, t, square)), less_equal(other, mine), less(other, mine));
    const NodeRef place = reduce(Op::Add, cast(is_before, DType::I32), {static_cast<std::int64_t>(j)});

    Shape wide = square, asked = shape;
    wide[t] = asked[t] = kept;
    asked.push_back(1);
    const NodeRef at = wanted ? spread(wanted, asked, wide) : numbers(kept, t, wide);
    const NodeRef here = equal_to(cast(spread(place, row, wide), DType::I64), at), from = numbers(length, j, wide);
    Shape result = shape;
    result.back() = kept;
    return reshape(reduce(Op::Add, where(here, from, like(from, 0)), {static_cast<std::int64_t>(j)}), result);
}

// The rows as runs of `run` elements: [..., runs, run]. What fills the last one up comes after everything else.
NodeRef in_runs(const NodeRef& key, std::int64_t run) {
    Shape shape = key->shape;
    const std::size_t last = shape.size() - 1;
    const std::int64_t length = shape[last], runs = ceil_div(length, run);
    NodeRef filled = key;
    if (length % run) {
        Dims none = Dims::filled(shape.size(), 0), after = none;
        after[last] = runs * run - length;
        const NodeRef padded = pad(key, none, after);
        const NodeRef there =
            less(numbers(runs * run, last, padded->shape), constant(DType::I64, length, padded->shape));
        filled = where(there, padded, constant(key->dtype, identity_word(Op::Min, key->dtype), padded->shape));
    }
    shape[last] = runs;
    shape.push_back(run);
    return reshape(length % run ? contiguous(filled) : key, shape);
}

// Places in runs as places in rows.
NodeRef in_rows(const NodeRef& order, std::int64_t run) {
    const std::size_t axis = order->shape.size() - 2;
    return order + numbers(order->shape[axis], axis, order->shape) * like(order, run);
}

NodeRef joined(const NodeRef& runs) {
    Shape shape = runs->shape;
    const std::int64_t run = shape.back();
    shape.pop_back();
    shape.back() *= run;
    return reshape(runs, shape);
}

int last_axis(const NodeRef& x) { return static_cast<int>(x->rank()) - 1; }

// Where the first `kept` elements of the rows' orders were.
NodeRef order_of(const NodeRef& key, std::int64_t kept) {
    const std::int64_t length = key->shape.back();
    if (length <= kLongestRow) return order_by_ranks(key, kept);
    if (kept <= kMostFirst) {  // what is among the first of a row is among the first of its run
        const NodeRef runs = in_runs(key, kLongestRow);
        // What fills up the last run may be among its first ones, but never among the row's.
        const NodeRef order = order_by_ranks(runs, kept), candidates = joined(in_rows(order, kLongestRow));
        const NodeRef keys = joined(gather(runs, order, last_axis(runs)));
        return gather(candidates, order_of(keys, kept), last_axis(candidates));
    }
    const NodeRef runs = in_runs(key, kRun), order = order_by_ranks(runs, kRun);
    const auto unfilled = [&](const NodeRef& x) {
        return shrink(joined(x), Dims::filled(key->shape.size(), 0), key->shape);
    };
    const NodeRef positions = unfilled(cast(in_rows(order, kRun), DType::I32)),
                  keys = unfilled(gather(runs, order, last_axis(runs)));
    const NodeRef merged = cast(merge_runs(keys, positions, kRun), DType::I64);
    Shape shape = key->shape;
    shape.back() = kept;
    return kept == length ? merged : shrink(merged, Dims::filled(shape.size(), 0), shape);
}

bool may_be_keyed(const NodeRef& rows) { return rows->shape.back() < kLongestSorted && numel(rows->shape) > 0; }

}  // namespace

NodeRef sorted_by_ranks(const Node& part, const Target& target) {
    if (target.processor != Processor::Gpu || part.op != Op::Part || part.source().op != Op::Custom) return nullptr;
    const Node& custom = part.source();
    const CustomFunction& function = *custom.as<CustomArg>().function;
    const bool all = function.name == "sort", some = function.name == "topk", one = function.name == "nth";
    if (!all && !some && !one) return nullptr;
    const NodeRef& x = custom.sources[0];
    if (!may_be_keyed(x) || numel(part.shape) == 0) return nullptr;
    const std::string_view parameters = function.parameters;
    const bool descending = all ? parameters == "descending" : some && parameters.ends_with("largest");
    const NodeRef key = contiguous(descending ? reversed(key_of(x)) : key_of(x));
    NodeRef index;
    if (!one) index = order_of(key, part.shape.back());
    else if (x->shape.back() <= kLongestRow) index = order_by_ranks(key, 1, custom.sources[1]);
    else index = gather(order_of(key, x->shape.back()), custom.sources[1], last_axis(x));
    return part.as<PartArg>().index == 1 ? index : gather(x, index, last_axis(x));
}

NodeRef searched_by_halves(const Node& custom, const Target& target) {
    if (target.processor != Processor::Gpu || custom.op != Op::Custom) return nullptr;
    const CustomFunction& function = *custom.as<CustomArg>().function;
    if (function.name != "searchsorted") return nullptr;
    const NodeRef &rows = custom.sources[0], &values = custom.sources[1];
    if (!may_be_keyed(rows) || numel(custom.shape) == 0) return nullptr;
    const bool right = function.parameters == "right", shared = rows->rank() == 1;
    const NodeRef sorted = contiguous(key_of(rows));
    NodeRef wanted = contiguous(key_of(values));
    if (shared) wanted = reshape(wanted, {numel(values->shape)});
    const NodeRef low = constant(DType::I32, 0, wanted->shape), high = like(low, rows->shape.back());
    const NodeRef found = first_not_before(low, high, rows->shape.back(), [&](const NodeRef& at) {
        const NodeRef there = gather(sorted, cast(at, DType::I64), last_axis(rows));
        return right ? less_equal(there, wanted) : less(there, wanted);
    });
    return reshape(cast(found, DType::I64), custom.shape);
}

}  // namespace weft::schedule
