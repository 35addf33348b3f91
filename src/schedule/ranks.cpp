// schedule/ranks.cpp: see ranks.h.
#include "schedule/ranks.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/custom.h"

#include <limits>
#include <string_view>

namespace weft::schedule {

using namespace ir;

namespace {

constexpr std::int64_t kLongestRow = 512, kMostComparisons = std::int64_t{1} << 34;

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

bool ends_with_largest(std::string_view parameters) { return parameters.ends_with("largest"); }

}  // namespace

NodeRef sorted_by_ranks(const Node& part, const Target& target) {
    if (target.processor != Processor::Gpu || part.op != Op::Part || part.source().op != Op::Custom) return nullptr;
    const Node& custom = part.source();
    const CustomFunction& function = *custom.as<CustomArg>().function;
    const bool all = function.name == "sort", some = function.name == "topk", one = function.name == "nth";
    if (!all && !some && !one) return nullptr;
    const NodeRef& x = custom.sources[0];
    const auto last = static_cast<std::int64_t>(x->shape.size()) - 1;
    const std::int64_t length = x->shape.back();
    if (length < 2 || length > kLongestRow || numel(x->shape) == 0 || numel(x->shape) > kMostComparisons / length ||
        numel(part.shape) == 0)
        return nullptr;
    const bool descending = all ? function.parameters == "descending" : some && ends_with_largest(function.parameters);

    // Axes [..., t, j], then [..., r, t].
    Shape column = x->shape, row = x->shape, square = x->shape;
    column.push_back(1);
    row.back() = 1;
    row.push_back(length);
    square.push_back(length);
    const auto spread = [](const NodeRef& value, const Shape& shape, const Shape& to) {
        return expand(reshape(value, shape), to);
    };
    const auto numbers = [&](std::int64_t count, std::size_t axis, const Shape& to) {
        Shape line = Shape::filled(to.size(), 1);
        line[axis] = count;
        return spread(iota(count), line, to);
    };
    const NodeRef key = contiguous(key_of(x)), mine = spread(key, column, square), other = spread(key, row, square);
    const NodeRef &low = descending ? mine : other, &high = descending ? other : mine;
    const auto t = static_cast<std::size_t>(last), j = t + 1;
    const NodeRef is_before =
        where(less(numbers(length, j, square), numbers(length, t, square)), less_equal(low, high), less(low, high));
    const NodeRef place = reduce(Op::Add, cast(is_before, DType::I32), {last + 1});

    const std::int64_t kept = part.shape.back();
    Shape wide = square;
    wide[t] = kept;
    Shape asked = wide;
    asked.back() = 1;
    const NodeRef wanted = one ? expand(reshape(custom.sources[1], asked), wide) : numbers(kept, t, wide);
    const NodeRef here = equal_to(cast(spread(place, row, wide), DType::I64), wanted), from = numbers(length, j, wide);
    const NodeRef index = reshape(reduce(Op::Add, where(here, from, like(from, 0)), {last + 1}), part.shape);
    return part.as<PartArg>().index == 1 ? index : gather(x, index, static_cast<int>(last));
}

}  // namespace weft::schedule
