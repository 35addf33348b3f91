// tensor/graph_mode.h: what decides, besides its arguments, which graph an op records.
#pragma once

#include <weft/dtype.h>

namespace weft {

// Equal calls under equal modes record equal graphs: jit compares them.
struct GraphMode {
    bool grad_enabled = true;
    DType default_dtype = DType::F32;
    bool plain_convolution = false;  // WEFT_CONV=plain: no sums in pairs, see tensor/correlate.cpp
    bool tf32 = false;               // factors of products on a GPU are rounded (set_tf32_products)
    friend bool operator==(const GraphMode&, const GraphMode&) = default;
};
GraphMode graph_mode();  // of this thread, now

}  // namespace weft
