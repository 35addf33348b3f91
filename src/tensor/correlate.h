// tensor/correlate.h: sums of products over sliding windows, which convolutions and their transposes are made of.
#pragma once

#include "tensor/nodes.h"

namespace weft {

// seen [n, groups, in, spatial…, window…] and w [groups, out, in, window…] to [n, groups * out, spatial…].
ir::NodeRef sum_windows(const ir::NodeRef& seen, const ir::NodeRef& w, int spatial);

struct Windows {
    Dims stride, dilation, before, after;  // per spatial axis; zeros before and after it
};

// The same of x [n, groups, in, spatial…] with zeros around its spatial axes, seen through windows of w's sizes.
ir::NodeRef correlate(const ir::NodeRef& x, const ir::NodeRef& w, const Windows& windows);

// The same by fewer products, whether it pays or not: f32, a last window of 3, steps of 1, zeros on fewer places than the window has.
ir::NodeRef correlate_pairs(const ir::NodeRef& x, const ir::NodeRef& w, const Windows& windows);

}  // namespace weft
