"""Layers that pad, resize, cut and rearrange images, and tables, against PyTorch's: values, gradients, and how they print."""

import numpy as np
import pytest
import torch.nn as tnn
from helpers import check_module, floats, integers

from weft import nn

SHAPES = {1: (2, 3, 7), 2: (2, 3, 6, 7), 3: (1, 2, 4, 5, 6)}
PADS = [(f"{kind}Pad{d}d", d) for kind in ("Zero", "Reflection", "Replication", "Circular") for d in (1, 2, 3)]


def check(kind, inputs, *args, **settings):
    ours, theirs = getattr(nn, kind)(*args, **settings), getattr(tnn, kind)(*args, **settings)
    assert repr(ours) == repr(theirs)
    check_module(ours, theirs, *inputs)


@pytest.mark.parametrize("kind, spatial", PADS, ids=[kind for kind, _ in PADS])
def test_padding(kind, spatial):
    for widths in (2, (1, 0) * spatial, tuple(range(2 * spatial))[: 2 * spatial] if spatial == 1 else (0, 1) * spatial):
        check(kind, [floats(*SHAPES[spatial])], widths)


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_constant_padding(spatial):
    check(f"ConstantPad{spatial}d", [floats(*SHAPES[spatial])], 2, 3.5)
    check(f"ConstantPad{spatial}d", [floats(*SHAPES[spatial])], (1, 2) * spatial, 0.25)


@pytest.mark.parametrize("settings", [
    {"scale_factor": 2}, {"size": 5}, {"scale_factor": 1.5, "mode": "bilinear"}, {"size": (3, 9), "mode": "bilinear", "align_corners": True},
    {"scale_factor": 2, "mode": "bicubic"}, {"size": (4, 4), "mode": "bicubic", "align_corners": True}, {"size": 3, "mode": "area"},
    {"scale_factor": 0.7, "mode": "nearest-exact"}, {"scale_factor": (2, 3)},
    {"scale_factor": 1.3, "mode": "bilinear", "recompute_scale_factor": True},
], ids=str)  # fmt: skip
def test_upsample(settings):
    ours, theirs = nn.Upsample(**settings), tnn.Upsample(**settings)
    check_module(ours, theirs, floats(2, 3, 6, 7))


def test_upsampling_of_images():
    check("UpsamplingNearest2d", [floats(2, 3, 4, 5)], scale_factor=2)
    check("UpsamplingBilinear2d", [floats(2, 3, 4, 5)], size=(7, 9))


def test_pixels_channels_patches():
    check("PixelShuffle", [floats(2, 8, 3, 4)], 2)
    check("PixelUnshuffle", [floats(2, 2, 6, 4)], 2)
    check("ChannelShuffle", [floats(2, 6, 3, 4)], 3)
    check("Unfold", [floats(2, 3, 6, 7)], (2, 3), padding=1, stride=2)
    check("Fold", [floats(2, 12, 20)], (5, 6), (2, 2))


@pytest.mark.parametrize("settings", [{}, {"padding_idx": 1}, {"scale_grad_by_freq": True}, {"max_norm": 1.0}, {"max_norm": 0.7, "norm_type": 1.0}], ids=str)
def test_embedding_options(settings):
    check("Embedding", [integers(2, 5, high=6)], 6, 4, **settings)


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_embedding_bag(mode):
    check("EmbeddingBag", [integers(3, 5, high=9)], 9, 4, mode=mode)
    check("EmbeddingBag", [integers(8, high=9), np.array([0, 2, 2, 5])], 9, 4, mode=mode)
    check("EmbeddingBag", [integers(8, high=9), np.array([0, 2, 5, 8])], 9, 4, mode=mode, include_last_offset=True)
    check("EmbeddingBag", [integers(8, high=3), np.array([0, 2, 2, 5])], 9, 4, mode=mode, padding_idx=1)
