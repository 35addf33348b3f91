// tests/semantics/order_test.cpp: the lines on order and search.
#include "tests/semantics/lines.h"

#include <weft/sorting.h>

using namespace weft;
using namespace weft::testing;

LINE("S191: sort is stable, NaN last, zeros equal, subnormals ordered") {
    const Tensor x = floats({kNan, 0.0, -0.0, 1, kNan, -kInf});
    line.ints(argsort(x), {5, 1, 2, 3, 0, 4});
    line.ints(argsort(x, 0, true), {0, 4, 3, 1, 2, 5});
    line.is(sort(x).values, {-kInf, 0.0, -0.0, 1, kNan, kNan});
    line.ints(argsort(floats({3e-45, 1e-45, 0})), {2, 1, 0});
}

LINE("S192: topk and kthvalue: NaN is the largest, equal ones in order") {
    const Tensor x =
        floats({3, kNan, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    line.ints(topk(x, 3).indices, {1, 0, 2});
    line.ints(topk(x, 2, 0, false).indices, {4, 5});
    line.is(kthvalue(x, 32).values, {kNan});
    CHECK_THROWS_AS(topk(x, 33), ValueError);
    CHECK_THROWS_AS(kthvalue(x, 0), ValueError);
}

LINE("S193: median: the lower middle, NaN wins") {
    line.is(median(floats({4, 1, 3, 2}), 0).values, {2});
    line.is(median(floats({4, kNan, 3}), 0).values, {kNan});
    line.is(nanmedian(floats({4, kNan, 3}), 0).values, {3});
    line.is(nanmedian(floats({kNan}), 0).values, {kNan});
    CHECK_THROWS_AS(median(zeros({0}), 0), ValueError);
}

LINE("S194: mode: the smallest of the most frequent, its last position") {
    line.is(mode(floats({5, 2, 5, 2})).values, {2});
    line.ints(mode(floats({5, 2, 5, 2})).indices, {3});
    line.is(mode(floats({kNan, 2, kNan})).values, {kNan});
}

LINE("S195: quantile: modes, NaN, infinities") {
    const Tensor x = floats({0, 10, 20, 30});
    line.is(quantile(x, 0.5), {15});
    line.is(quantile(x, 0.5, 0, false, Between::Lower), {10});
    line.is(quantile(x, 0.5, 0, false, Between::Higher), {20});
    line.is(quantile(x, 0.5, 0, false, Between::Nearest), {20});
    line.is(quantile(x, 0.1, 0, false, Between::Midpoint), {5});
    line.is(quantile(floats({1, kNan}), 0.0), {kNan});
    line.is(nanquantile(floats({1, kNan}), 1.0), {1});
    line.is(quantile(floats({1, 2, kInf}), 0.5), {2});
}

LINE("S196: unique: every NaN, one zero") {
    line.is(unique(floats({kNan, 0.0, -0.0, kNan})).values, {0, kNan, kNan});
    line.ints(unique(floats({kNan, 0.0, -0.0, kNan})).counts, {2, 1, 1});
}

LINE("S197: searchsorted: NaN last, the common type") {
    line.ints(searchsorted(floats({1, 2, kNan}), floats({kNan, kInf})), {2, 2});
    line.ints(searchsorted(floats({1, 2, kNan}), floats({kNan}), true), {3});
    line.ints(searchsorted(tensor({1, 2}), floats({1.5})), {1});
}

LINE("S198: isin: NaN and nothing") {
    line.ints(isin(floats({kNan, 1}), floats({kNan, 1})), {0, 1});
    line.ints(isin(floats({1}), zeros({0})), {0});
}

LINE("S199: bincount and histc: limits") {
    line.ints(bincount(tensor({0, 2, 2})), {1, 0, 2});
    line.is(histc(floats({0, 3, 3, 9, kNan, -1}), 3, 0, 3), {1, 0, 2});
    CHECK_THROWS_AS(bincount(tensor({-1})), ValueError);
}
