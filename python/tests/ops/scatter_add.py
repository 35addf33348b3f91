"""scatter, and sums at indices."""

import numpy as np

from .indexing import KINDS
from .registry import Error, Sample, floats, integers, op


def unique(*shape, high, seed=0):
    """Indices along axis 1 without repeats."""
    rng = np.random.default_rng(seed)
    return np.stack([rng.permutation(high)[: shape[1]] for _ in range(shape[0])])


def scatters(repeats=False):
    def samples():
        for dtype in KINDS:
            if not (repeats and dtype == "bool"):
                yield Sample(floats(3, 5, dtype=dtype), 1, unique(3, 4, high=5), floats(3, 4, dtype=dtype, seed=1))
        yield Sample(floats(3, 5), -1, unique(2, 3, high=5), floats(2, 3, seed=1))
        yield Sample(floats(5, 3), 0, unique(3, 4, high=5).T, floats(4, 3, seed=1))
        yield Sample(floats(5, 3).T, 1, unique(3, 4, high=5)[:, ::-1], floats(4, 3, seed=1).T)
        yield Sample(floats(67), 0, np.random.default_rng(0).permutation(67), floats(67, seed=1))
        yield Sample(floats(5), 0, integers(0), floats(0))
        yield Sample(floats(2, 4, dtype="float64"), 1, unique(2, 3, high=4), floats(2, 3, dtype="float64", seed=1))
        if repeats:
            yield Sample(floats(3, 4), 1, integers(3, 9, high=4), floats(3, 9, seed=1))
            yield Sample(floats(3), 0, np.array([1, 1, 1]), floats(3, seed=1))
            yield Sample(floats(3, dtype="float64"), 0, np.array([1, 1, 2]), floats(3, dtype="float64", seed=1))
        else:
            yield Sample(floats(3, 5), 1, unique(3, 4, high=5), 2.5)

    return samples


def scattered(add):
    def oracle(x, dim, index, src):
        result, src = x.copy(), np.broadcast_to(src, index.shape) if np.ndim(src) == 0 else src
        places = list(np.indices(index.shape))
        places[dim % x.ndim] = index
        part = np.asarray(src)[tuple(slice(n) for n in index.shape)]
        if add:
            np.add.at(result, tuple(places), part)
        else:
            result[tuple(places)] = part
        return result

    return oracle


BAD_SCATTER = [
    Error(IndexError, "out of range", floats(3), 1, integers(2), floats(2)),
    Error(TypeError, "index", floats(3), 0, floats(2), floats(2)),
    Error(RuntimeError, "source", floats(3), 0, integers(3), floats(2)),
]
op("scatter", "weft Tensor Tensor_", scatters(), scattered(False), result="same", errors=BAD_SCATTER)
op("scatter_add", "weft Tensor Tensor_", scatters(True), scattered(True), result="same", errors=BAD_SCATTER)


def additions():
    for dtype in KINDS:
        if dtype != "bool":
            yield Sample(floats(3, 5, dtype=dtype), 1, integers(4, high=5), floats(3, 4, dtype=dtype, seed=1))
    yield Sample(floats(5, 3), 0, integers(7, high=5), floats(7, 3, seed=1))
    yield Sample(floats(5, 3).T, -1, np.array([4, 4]), floats(2, 3, seed=1).T)
    yield Sample(floats(67), 0, integers(99, high=67), floats(99, seed=1))
    yield Sample(floats(3, 2), 0, integers(0), floats(0, 2))
    yield Sample(floats(2, 3, dtype="float64"), 1, np.array([0, 2, 2]), floats(2, 3, dtype="float64", seed=1))


def index_add(x, dim, index, source):
    result = x.copy()
    np.add.at(np.moveaxis(result, dim, 0), index, np.moveaxis(source, dim, 0))
    return result


op(
    "index_add",
    "weft Tensor Tensor_",
    additions,
    index_add,
    result="same",
    errors=[
        Error(IndexError, "out of range", floats(3), 1, integers(2), floats(2)),
        Error(RuntimeError, "index_add", floats(3), 0, integers(3), floats(2)),
    ],
)
