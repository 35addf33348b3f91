// weft/nn.h: layers that hold parameters, and how to put them together. The arithmetic is in weft/functional.h.
// Parameters have the names, shapes and initial values of PyTorch's.
//
//     struct Net : nn::Module {
//         nn::Linear hidden{784, 128}, out{128, 10};
//         Net() { child("hidden", hidden), child("out", out); }
//         Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
//     };
//     Net net;
//     optim::Adam adam(net.parameters());
//
// Parameters are made on default_device(). Where a layer has settings they may name another device; for any module a DeviceScope
// around its constructor does:
//
//     nn::Conv2d conv(3, 16, 3, {.device = "cuda"});
//     const DeviceScope scope("cuda");
//     nn::Linear out(128, 10);
#pragma once

#include <weft/nn/activations.h>
#include <weft/nn/attention.h>
#include <weft/nn/convolution.h>
#include <weft/nn/images.h>
#include <weft/nn/linear.h>
#include <weft/nn/module.h>
#include <weft/nn/norm.h>
#include <weft/nn/recurrent.h>
