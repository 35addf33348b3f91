// tensor/sorting.cpp: order, ranks and search. Sorting is a Custom function with two results; most of the rest reads its result.
#include "core/str.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "numerics/order.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>
#include <weft/sorting.h>
#include <weft/statistics.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace weft {
namespace {

using ir::CustomCall;
using ir::CustomFunction;
using ir::NodeRef;
using ir::Op;

// d(values): each element's gradient goes back to where it was. No position occurs twice.
ir::Grads scatter_back(const NodeRef& out, const NodeRef& g) {
    const NodeRef custom = out->sources[0], indices = ir::part(custom, 1);
    const NodeRef& x = custom->sources[0];
    ir::Grads grads(custom->sources.size());
    grads[0] = ir::scatter(Op::Where, ir::like(x, 0), indices, g, x->rank() - 1);
    return grads;
}

// (values, indices) of a function of rows along an axis: each row of `length` becomes one of `kept` elements. With `ranks`, i64 and of size
// 1 along the axis, the function gets one of them for each row.
using RunRows = std::function<void(const CustomCall& call, order::Rows rows)>;
ValuesAndIndices of_rows(const Checker& check, std::string name, std::string parameters, const Tensor& x, int axis,
                         std::int64_t kept, const RunRows& run, const Tensor& ranks = {}) {
    const int rank = std::max(x.rank(), 1);
    const int from = check.axis(axis, rank);
    const NodeRef node = x.rank() ? node_of(x) : ir::reshape(node_of(x), {1});
    Dims to_last, back = Dims::filled(static_cast<std::size_t>(rank));
    for (int d = 0; d < rank; ++d)
        if (d != from) to_last.push_back(d);
    to_last.push_back(from);
    for (int d = 0; d < rank; ++d) back[static_cast<std::size_t>(to_last[static_cast<std::size_t>(d)])] = d;
    const NodeRef rows = ir::permute(node, to_last);
    Shape shape = rows->shape;
    shape.back() = kept;
    CustomFunction function{.name = std::move(name), .parameters = std::move(parameters)};
    function.results = {{x.dtype(), shape}, {i64, shape}};
    function.run = [run](const CustomCall& call) {
        const Shape& shape = call.node.source().shape;
        if (numel(shape)) run(call, {numel(shape) / shape.back(), shape.back()});
    };
    function.gradient = scatter_back;
    std::vector<NodeRef> sources{rows};
    if (ranks.defined()) sources.push_back(ir::permute(node_of(ranks), to_last));
    const NodeRef custom = ir::custom(ir::shared(std::move(function)), sources);
    const auto result = [&](int part) {
        const NodeRef moved = ir::permute(ir::part(custom, part), back);
        return make_tensor(x.rank() ? moved : ir::reshape(moved, {}));
    };
    return {result(0), result(1)};
}

Tensor dropped(const Tensor& x, int axis, bool keepdim) { return keepdim || x.rank() == 0 ? x : x.squeeze(axis); }

// Of each row the element that has as many others before it as `ranks` says.
ValuesAndIndices nth(const Checker& check, const Tensor& rows, const Tensor& ranks, int axis, bool keepdim) {
    const ValuesAndIndices found = of_rows(check, "nth", "", rows, axis, 1, order::nth_rows, ranks.detach());
    return {dropped(found.values, axis, keepdim), dropped(found.indices, axis, keepdim)};
}

// A tensor with at least one axis, of which `axis` has elements.
Tensor row_tensor(const Checker& check, const Tensor& x, int axis) {
    const Tensor rows = x.rank() ? x : x.reshape({1});
    check.value(rows.size(check.axis(axis, rows.rank())) > 0, "there is nothing along axis ", axis);
    return rows;
}

ValuesAndIndices reshaped_like(const Tensor& x, const ValuesAndIndices& found) {
    if (x.rank()) return found;
    return {found.values.reshape({}), found.indices.reshape({})};
}

Tensor valid_count(const Tensor& x, int axis) { return sum(logical_not(isnan(x)), axis, true); }  // i64, axis kept

ValuesAndIndices middle(const Checker& check, const Tensor& x, int axis, bool keepdim, bool skip_nan) {
    const Tensor rows = row_tensor(check, x, axis);
    const std::int64_t n = rows.size(axis);
    const Tensor valid = valid_count(rows, axis);  // NaN comes last: what is before is valid
    const Tensor at = skip_nan ? floor_divide(clamp_min(valid - 1, 0), 2) : where(eq(valid, n), (n - 1) / 2, valid);
    return reshaped_like(x, nth(check, rows, at, axis, keepdim));
}

// `tensor` has the values of q, where those have gradients.
Tensor quantiles(std::string_view name, const Tensor& x, std::span<const double> q, bool single,
                 std::optional<int> axis, bool keepdim, Between between, bool skip_nan, const Tensor& tensor = {}) {
    const Checker check(name, {{"x", x}});
    check.dtype(x.dtype() == f32 || x.dtype() == f64, "x must be f32 or f64");
    for (const double each : q) check.value(each >= 0 && each <= 1, "q must lie in [0, 1], and holds ", each);
    const int at = axis ? check.axis(*axis, std::max(x.rank(), 1)) : 0;
    const Tensor rows = row_tensor(check, axis ? x : x.reshape({-1}), at);
    const std::int64_t n = rows.size(at);
    const Tensor sorted = sort(rows, at).values;
    const Tensor valid = valid_count(rows, at);
    const Tensor last = (skip_nan ? clamp_min(valid - 1, 0) : full_like(valid, n - 1)).to(f64);
    std::vector<Tensor> found;
    for (std::size_t i = 0; i < q.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        const Tensor position = tensor.defined() ? last * tensor.reshape({-1})[place].to(f64) : last * q[i],
                     low = floor(position), high = ceil(position);
        const auto element = [&](const Tensor& where) { return take_along_dim(sorted, where.to(i64), at); };
        Tensor value;
        switch (between) {
            case Between::Lower: value = element(low); break;
            case Between::Higher: value = element(high); break;
            case Between::Nearest: value = element(round(position)); break;
            case Between::Midpoint: value = element(low) + (element(high) - element(low)) * 0.5; break;
            case Between::Linear: {
                const Tensor below = element(low), above = element(high), weight = (position - low).to(x.dtype());
                // From the nearer end, so that equal elements give exactly themselves, and infinities no NaN where the weight is 0.
                const Tensor mixed =
                    where(lt(weight, 0.5), below + (above - below) * weight, above - (above - below) * (1 - weight));
                value = where(eq(weight, 0), below, mixed);
                break;
            }
        }
        if (!skip_nan) value = where(eq(valid, n), value, std::numeric_limits<double>::quiet_NaN());
        if (!axis && keepdim) value = value.reshape(Shape::filled(static_cast<std::size_t>(x.rank()), 1));
        found.push_back(axis || !keepdim ? dropped(value, at, keepdim && axis) : value);
        if (x.rank() == 0) found.back() = found.back().reshape({});
    }
    return single ? found.front() : stack(found);
}

// Do rows of x, one per slice along axis 0, differ from the one before? bool[n - 1].
Tensor changes(const Tensor& rows) {
    const Tensor differs = ne(rows.slice(0, {1, {}}), rows.slice(0, {0, -1}));
    return rows.rank() > 1 ? any(differs.reshape({rows.size(0) - 1, -1}), 1) : differs;
}

// What equal neighbours of `rows` (along axis 0) make: their values, which one each row belongs to, and how often.
struct Runs {
    Tensor starts, number, counts;
};
Runs runs_of(const Tensor& rows) {
    const std::int64_t n = rows.size(0);
    if (n == 0) return {zeros({0}, i64), zeros({0}, i64), zeros({0}, i64)};
    const Tensor begins = cat({ones({1}, DType::Bool), changes(rows.detach())});
    const Tensor starts = nonzero_by_axis(begins)[0];
    const Tensor ends = cat({starts.slice(0, {1, {}}), full({1}, n, i64)});
    return {starts, cumsum(begins, 0) - 1, ends - starts};
}

// The order of slices along axis 0 by their elements, the first element first: by sorting stably from the last one on.
Tensor order_of_slices(const Tensor& rows) {
    const Tensor flat = rows.reshape({rows.size(0), -1});
    Tensor order = arange(rows.size(0));
    for (std::int64_t column = flat.size(1); column-- > 0;)
        order = take(order, argsort(take(flat.slice(1, {column, column + 1}).squeeze(1), order)));
    return order;
}

Unique unique_of(const Checker& check, const Tensor& x, std::optional<int> axis, bool neighbours_only) {
    const bool slices = axis && x.rank() > 0;
    const int at = slices ? check.axis(*axis, x.rank()) : 0;
    const Tensor rows = slices ? moveaxis(x, at, 0) : x.reshape({-1});
    const std::int64_t n = rows.size(0);
    Tensor order = arange(n), sorted = rows;
    if (!neighbours_only && rows.rank() == 1) {
        const ValuesAndIndices found = sort(rows);
        sorted = found.values;
        order = found.indices;
        realize(std::vector{sorted, order});  // how many differ has to be known, and the rest would sort again
    } else if (!neighbours_only && numel(rows.shape()) > 0) {
        order = order_of_slices(rows.detach());
        sorted = index_select(rows, 0, order);
    }
    const Runs runs = runs_of(sorted);
    const Tensor values = n ? index_select(sorted, 0, runs.starts) : sorted;
    const Tensor inverse = n ? scatter(zeros({n}, i64), 0, order, runs.number) : order;
    Unique result{slices ? moveaxis(values, 0, at) : values, inverse, runs.counts,
                  n ? index_select(order, 0, runs.starts) : order};
    if (!slices) result.inverse = result.inverse.reshape(x.shape());
    return result;
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int axis, bool descending) {
    const Checker check("sort", {{"x", x}, {"axis", axis}});
    const std::int64_t kept = x.rank() ? x.size(check.axis(axis, x.rank())) : 1;
    return of_rows(
        check, "sort", descending ? "descending" : "", x, axis, kept,
        [descending](const CustomCall& call, order::Rows rows) { order::sort_rows(call, rows, descending); });
}

Tensor argsort(const Tensor& x, int axis, bool descending) { return sort(x.detach(), axis, descending).indices; }

ValuesAndIndices topk(const Tensor& x, std::int64_t k, int axis, bool largest) {
    const Checker check("topk", {{"x", x}, {"k", k}, {"axis", axis}});
    const std::int64_t length = x.rank() ? x.size(check.axis(axis, x.rank())) : 1;
    check.value(k >= 0 && k <= length, "k must lie between 0 and the size ", length, " of the axis");
    if (k > length / 8 || (x.rank() == 0)) {
        const ValuesAndIndices all = sort(x, axis, largest);
        if (x.rank() == 0 && k == 1) return all;
        const auto first = [&](const Tensor& t) { return (t.rank() ? t : t.reshape({1})).slice(axis, {0, k}).clone(); };
        return {first(all.values), first(all.indices)};
    }
    return of_rows(check, "topk", str(k, largest ? " largest" : " smallest"), x, axis, k,
                   [k, largest](const CustomCall& call, order::Rows rows) { order::top_rows(call, rows, k, largest); });
}

ValuesAndIndices kthvalue(const Tensor& x, std::int64_t k, int axis, bool keepdim) {
    const Checker check("kthvalue", {{"x", x}, {"k", k}, {"axis", axis}});
    const Tensor rows = row_tensor(check, x, axis);
    check.value(k >= 1 && k <= rows.size(axis), "k must lie between 1 and the size ", rows.size(axis), " of the axis");
    Shape one_each = rows.shape();
    one_each[static_cast<std::size_t>(check.axis(axis, rows.rank()))] = 1;
    return reshaped_like(x, nth(check, rows, full(one_each, k - 1, i64), axis, keepdim));
}

ValuesAndIndices median(const Tensor& x, int axis, bool keepdim) {
    return middle(Checker("median", {{"x", x}, {"axis", axis}}), x, axis, keepdim, false);
}

ValuesAndIndices nanmedian(const Tensor& x, int axis, bool keepdim) {
    return middle(Checker("nanmedian", {{"x", x}, {"axis", axis}}), x, axis, keepdim, true);
}

ValuesAndIndices mode(const Tensor& x, int axis, bool keepdim) {
    const Checker check("mode", {{"x", x}, {"axis", axis}});
    const Tensor rows = row_tensor(check, x, axis);
    const ValuesAndIndices found = of_rows(check, "mode", "", rows, axis, 1, order::mode_rows);
    return reshaped_like(x, {dropped(found.values, axis, keepdim), dropped(found.indices, axis, keepdim)});
}

Tensor quantile(const Tensor& x, std::span<const double> q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles("quantile", x, q, false, axis, keepdim, between, false);
}
Tensor quantile(const Tensor& x, double q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles("quantile", x, {&q, 1}, true, axis, keepdim, between, false);
}
Tensor nanquantile(const Tensor& x, std::span<const double> q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles("nanquantile", x, q, false, axis, keepdim, between, true);
}
Tensor nanquantile(const Tensor& x, double q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles("nanquantile", x, {&q, 1}, true, axis, keepdim, between, true);
}

namespace {

Tensor quantiles_at(const char* name, const Tensor& x, const Tensor& q, std::optional<int> axis, bool keepdim,
                    Between between, bool skip_nan) {
    const Checker check(name, {{"x", x}, {"q", q}});
    check.that(q.rank() <= 1, "q must be 0-d or 1-d");
    const std::vector<double> values = q.detach().to(f64).to_vector<double>();
    return quantiles(name, x, values, q.rank() == 0, axis, keepdim, between, skip_nan, q);
}

}  // namespace

Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles_at("quantile", x, q, axis, keepdim, between, false);
}
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int> axis, bool keepdim, Between between) {
    return quantiles_at("nanquantile", x, q, axis, keepdim, between, true);
}

Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right) {
    const Checker check("searchsorted", {{"sorted", sorted}, {"values", values}});
    check.that(sorted.rank() > 0, "sorted must have an axis");
    const bool shared = sorted.rank() == 1;
    bool alike = shared || sorted.rank() == values.rank();
    for (int d = 0; alike && !shared && d + 1 < sorted.rank(); ++d) alike = sorted.size(d) == values.size(d);
    check.that(alike, "sorted must be 1-d, or have the sizes of values but for the last one");
    const DType common = promote({sorted, values});
    const NodeRef sources[] = {ir::cast(node_of(sorted.detach()), common), ir::cast(node_of(values.detach()), common)};
    CustomFunction function{.name = "searchsorted", .parameters = right ? "right" : ""};
    function.results = {{i64, values.shape()}};
    function.run = [right](const CustomCall& call) {
        const Shape &rows = call.node.source(0).shape, &wanted = call.node.source(1).shape;
        const bool shared = rows.size() == 1;
        const std::int64_t per_row = shared ? numel(wanted) : wanted.back();
        if (numel(wanted)) order::search_rows(call, {rows.back(), per_row, right, shared});
    };
    return make_tensor(ir::custom(ir::shared(std::move(function)), sources));
}

Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool right) {
    const Checker check("bucketize", {{"values", values}, {"boundaries", boundaries}});
    check.that(boundaries.rank() == 1, "the boundaries must be 1-d");
    return searchsorted(boundaries, values, right);
}

Tensor isin(const Tensor& elements, const Tensor& others, bool invert) {
    const Checker check("isin", {{"elements", elements}, {"others", others}});
    const std::int64_t n = numel(others.shape());
    if (n == 0) return full(elements.shape(), invert, DType::Bool);
    const DType common = promote({elements, others});
    const Tensor wanted = elements.detach().to(common), sorted = sort(others.detach().to(common).reshape({-1})).values;
    const Tensor found = eq(take(sorted, clamp_max(searchsorted(sorted, wanted), n - 1)), wanted);
    return invert ? logical_not(found) : found;
}

Tensor histc(const Tensor& x, std::int64_t bins, double low, double high) {
    const Checker check("histc", {{"x", x}, {"bins", bins}});
    check.dtype(is_float(x.dtype()), "x must hold floats");
    check.value(bins > 0, "there must be at least one bin");
    check.value(std::isfinite(low) && std::isfinite(high), "the limits must be finite");
    check.value(low <= high, "the lower limit ", low, " exceeds the upper one ", high);
    const Tensor flat = x.detach().reshape({-1});
    if (numel(x.shape()) == 0) return zeros({bins}, x.dtype());
    if (low == high) {
        low = min(flat).to(f64).item<double>();
        high = max(flat).to(f64).item<double>();
        check.value(std::isfinite(low) && std::isfinite(high), "the elements must be finite when no limits are given");
        if (low == high) low -= 1, high += 1;
    }
    const Tensor scaled = (flat.to(f64) - low) * (static_cast<double>(bins) / (high - low));
    const Tensor counted = logical_and(ge(flat, low), le(flat, high));
    const Tensor bin =
        where(counted, clamp(floor(scaled), 0, bins - 1), 0).to(i64);  // the upper limit is in the last bin
    return index_add(zeros({bins}, f64), 0, bin, counted.to(f64)).to(x.dtype());
}

Tensor bincount(const Tensor& x, const Tensor& weights, std::int64_t minlength) {
    const Checker check("bincount", {{"x", x}, {"weights", weights, kOptional}});
    check.that(x.rank() == 1, "x must be 1-d");
    check.dtype(!is_float(x.dtype()) && !is_bool(x.dtype()), "x must hold integers");
    check.value(minlength >= 0, "minlength must not be negative");
    if (weights.defined()) check.that(weights.shape() == x.shape(), "there must be a weight for each element");
    const Tensor index = x.to(i64);
    std::int64_t length = minlength;
    if (x.size(0) > 0) {
        check.value(min(index).item<std::int64_t>() >= 0, "x must not hold negative numbers");
        length = std::max(length, max(index).item<std::int64_t>() + 1);
    }
    const DType result = !weights.defined() ? i64 : weights.dtype() == f32 ? f32 : f64;
    return index_add(zeros({length}, result), 0, index,
                     weights.defined() ? weights.to(result) : ones({x.size(0)}, i64));
}

Unique unique(const Tensor& x, std::optional<int> axis) {
    return unique_of(Checker("unique", {{"x", x}}), x, axis, false);
}

Unique unique_consecutive(const Tensor& x, std::optional<int> axis) {
    return unique_of(Checker("unique_consecutive", {{"x", x}}), x, axis, true);
}

}  // namespace weft
