"""Small data sets, as tensors."""

import os
from collections import namedtuple

from . import _weft

Mnist = namedtuple("Mnist", ["train_images", "train_labels", "test_images", "test_labels"])


def mnist(folder="", url=""):
    """Handwritten digits: uint8 images [60000, 28, 28] and labels [60000], then 10,000 of each for tests.

    The files are looked for in `folder` (or $WEFT_DATA), ./data, the source tree's data folder and the cache, then at `url`
    (or $WEFT_DATA_URL).
    """
    source = os.path.join(os.path.dirname(__file__), "..", "..", "data")
    return Mnist(*_weft._load_mnist(os.fspath(folder), source if os.path.isdir(source) else "", url))
