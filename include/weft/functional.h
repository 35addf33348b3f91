// weft/functional.h: what neural networks are made of, as functions: the headers of these topics. f16 and bf16 are computed in f32
// inside and rounded once.
#pragma once

#include <weft/activations.h>
#include <weft/attention.h>
#include <weft/convolution.h>
#include <weft/embedding.h>
#include <weft/loss.h>
#include <weft/norm.h>
#include <weft/pooling.h>
#include <weft/products.h>
#include <weft/recurrent.h>
