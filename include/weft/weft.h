// weft/weft.h: all of Weft in one include, in order of dependency.
#pragma once

#include <weft/autograd.h>
#include <weft/creation.h>
#include <weft/ctc_loss.h>
#include <weft/data.h>
#include <weft/data_loader.h>
#include <weft/debug.h>
#include <weft/dtype.h>
#include <weft/error.h>
#include <weft/functional.h>
#include <weft/init.h>
#include <weft/jit.h>
#include <weft/linalg.h>
#include <weft/loss.h>
#include <weft/lr_scheduler.h>
#include <weft/margin_loss.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/products.h>
#include <weft/random.h>
#include <weft/sampling.h>
#include <weft/selection.h>
#include <weft/shape.h>
#include <weft/sorting.h>
#include <weft/tensor.h>
