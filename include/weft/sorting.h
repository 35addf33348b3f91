// weft/sorting.h: order, ranks and search. NaN counts as larger than every number, equal elements keep their order, and -0 equals 0.
// Values carry gradients; indices are i64.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace WEFT_API weft {

struct ValuesAndIndices {
    Tensor values, indices;
};

// Along an axis in ascending (or descending) order, and where each element was.
//
//     sort(tensor({3, 1, 2}));          // values 1 2 3, indices 1 2 0
ValuesAndIndices sort(const Tensor& x, int axis = -1, bool descending = false);
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

// The k largest (smallest) elements along an axis, the first one first; of equal ones those that come first.
//
//     topk(tensor({3, 1, 2}), 2);       // values 3 2, indices 0 2
ValuesAndIndices topk(const Tensor& x, std::int64_t k, int axis = -1, bool largest = true);
ValuesAndIndices kthvalue(const Tensor& x, std::int64_t k, int axis = -1,
                          bool keepdim = false);  // the k-th smallest, from 1

// The middle element along an axis, the lower one of two. median of a row with NaN is NaN; nanmedian leaves NaN out.
ValuesAndIndices median(const Tensor& x, int axis, bool keepdim = false);
ValuesAndIndices nanmedian(const Tensor& x, int axis, bool keepdim = false);
ValuesAndIndices mode(const Tensor& x, int axis = -1,
                      bool keepdim = false);  // the most frequent, of several the smallest

// What this fraction of the elements does not exceed. Between two elements: a point on the line between them, one of them, or their mean.
// The result has an axis for q in front, unless that is a single number. Without an axis: of all elements.
//
//     quantile(x, 0.5, 0);  quantile(x, {{0.25, 0.75}}, -1, false, Between::Lower);
enum class Between : std::uint8_t { Linear, Lower, Higher, Nearest, Midpoint };
Tensor quantile(const Tensor& x, std::span<const double> q, std::optional<int> axis = {}, bool keepdim = false,
                Between between = Between::Linear);
Tensor quantile(const Tensor& x, double q, std::optional<int> axis = {}, bool keepdim = false,
                Between between = Between::Linear);
Tensor nanquantile(const Tensor& x, std::span<const double> q, std::optional<int> axis = {}, bool keepdim = false,
                   Between between = Between::Linear);
Tensor nanquantile(const Tensor& x, double q, std::optional<int> axis = {}, bool keepdim = false,
                   Between between = Between::Linear);

// The same at fractions that are a 0-d or 1-d tensor, which gets a gradient. Reads them: runs the graph.
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int> axis = {}, bool keepdim = false,
                Between between = Between::Linear);
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int> axis = {}, bool keepdim = false,
                   Between between = Between::Linear);

// Where each value would be inserted into a sorted row to keep it sorted: before equal elements, or (right) after them. `sorted` is
// 1-d, or has the values' axes but for the last size. bucketize is the same, with the values first.
//
//     searchsorted(tensor({1, 3, 5}), tensor({3, 4}));     // 1 2
Tensor searchsorted(const Tensor& sorted, const Tensor& values, bool right = false);
Tensor bucketize(const Tensor& values, const Tensor& boundaries, bool right = false);

// Whether each element is among the others; bool, of the elements' shape. NaN is among nothing.
Tensor isin(const Tensor& elements, const Tensor& others, bool invert = false);

// How many elements fall into each of `bins` equal parts of [low, high]; those outside are not counted. low == high: the
// least and the largest element.
Tensor histc(const Tensor& x, std::int64_t bins = 100, double low = 0, double high = 0);

// ---- results whose size depends on values: these run the graph at the call -------------------------------------------

// How often each of 0, 1, 2 … occurs in a 1-d tensor of integers, or the sums of their weights.
Tensor bincount(const Tensor& x, const Tensor& weights = {}, std::int64_t minlength = 0);

// The different elements in ascending order (each NaN is one), or the different slices along an axis; for each element
// which of them it is, how often each occurs, and where each occurs first. The consecutive form only joins equal neighbours.
struct Unique {
    Tensor values, inverse, counts, first;
};
Unique unique(const Tensor& x, std::optional<int> axis = {});
Unique unique_consecutive(const Tensor& x, std::optional<int> axis = {});

}  // namespace weft
