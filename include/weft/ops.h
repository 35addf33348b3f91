// weft/ops.h: every op as a free function: the headers of all topics, each of which declares its own. An op checks shapes and types at
// the call, and throws an error that opens with the call as it was made; the arithmetic is recorded and runs later. Types promote as in
// PyTorch, shapes broadcast.
#pragma once

#include <weft/arithmetic.h>
#include <weft/creation.h>
#include <weft/elementwise.h>
#include <weft/functional.h>
#include <weft/images.h>
#include <weft/indexing.h>
#include <weft/linalg.h>
#include <weft/movement.h>
#include <weft/products.h>
#include <weft/random.h>
#include <weft/reduction.h>
#include <weft/scatter.h>
#include <weft/sorting.h>
#include <weft/special.h>
#include <weft/statistics.h>
#include <weft/tensor.h>
