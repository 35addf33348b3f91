"""Small data sets, as tensors. iris and digits come with the package; MNIST comes with the source tree; Fashion-MNIST you bring along.

Files are looked for in `folder` (or $WEFT_DATA), ./data, Weft's own data folder and the cache, then at `url` (or $WEFT_DATA_URL).
"""

from __future__ import annotations

import os
from collections import namedtuple

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Mnist(NamedTuple):
        train_images: _weft.Tensor
        train_labels: _weft.Tensor
        test_images: _weft.Tensor
        test_labels: _weft.Tensor

    class Iris(NamedTuple):
        features: _weft.Tensor
        labels: _weft.Tensor

    class Digits(NamedTuple):
        images: _weft.Tensor
        labels: _weft.Tensor

else:  # typing takes longer to import than the rest of this file
    Mnist = namedtuple("Mnist", ["train_images", "train_labels", "test_images", "test_labels"])
    Iris = namedtuple("Iris", ["features", "labels"])
    Digits = namedtuple("Digits", ["images", "labels"])

IRIS_CLASSES = ("setosa", "versicolor", "virginica")
IRIS_FEATURES = ("sepal length (cm)", "sepal width (cm)", "petal length (cm)", "petal width (cm)")
FASHION_CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


def _own_folder(name: str) -> str:
    """The package's data folder, or the source tree's (the package may lie in its build folder); "" where neither has this set."""
    folder = os.path.dirname(os.path.abspath(__file__))
    for _ in range(5):
        if os.path.isdir(os.path.join(folder, "data", name)):
            return os.path.join(folder, "data")
        folder = os.path.dirname(folder)
    return ""


def _load(name: str, folder: str | os.PathLike[str], url: str = "") -> list[_weft.Tensor]:
    return _weft._load_dataset(name, os.fspath(folder), _own_folder(name), url)


def mnist(folder: str | os.PathLike[str] = "", url: str = "") -> Mnist:
    """Handwritten digits: uint8 images [60000, 28, 28] and labels [60000], then 10,000 of each for tests."""
    return Mnist(*_load("mnist", folder, url))


def fashion_mnist(folder: str | os.PathLike[str] = "") -> Mnist:
    """Clothes in MNIST's layout; FASHION_CLASSES names the labels. Its four files must be in `folder`, or in fashion-mnist/ of one of the
    places: they are not shipped, and not downloaded."""
    return Mnist(*_load("fashion-mnist", folder))


def iris(folder: str | os.PathLike[str] = "") -> Iris:
    """Fisher's irises: float32 features [150, 4] (IRIS_FEATURES) and uint8 labels [150] (IRIS_CLASSES), class by class.

    By Ronald A. Fisher, 1936; public domain.
    """
    return Iris(*_load("iris", folder))


def digits(folder: str | os.PathLike[str] = "") -> Digits:
    """Small handwritten digits: uint8 images [1797, 8, 8] with pixels 0 to 16, and labels [1797].

    By Ethem Alpaydin and Cenk Kaynak, 1998 (UCI Machine Learning Repository), CC BY 4.0.
    """
    return Digits(*_load("digits", folder))
