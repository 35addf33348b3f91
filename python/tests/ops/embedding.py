"""Bags of embeddings."""

import numpy as np

from .registry import FLOATS, Error, Sample, floats, integers, op

# ---- bags ------------------------------------------------------------------------------------------------------------


def embedding_bag(index, weight, offsets=None, mode="mean", per_sample_weights=None, include_last_offset=False, padding_idx=None):
    if index.ndim == 2:
        bags, factors = [*index], per_sample_weights
    else:
        ends = [*offsets[1:], len(index)] if not include_last_offset else offsets[1:]
        starts = offsets if not include_last_offset else offsets[:-1]
        bags = [index[a:b] for a, b in zip(starts, ends)]
        factors = None if per_sample_weights is None else [per_sample_weights[a:b] for a, b in zip(starts, ends)]
    result = np.zeros((len(bags), weight.shape[1]))
    for i, bag in enumerate(bags):
        keep = np.array([row != padding_idx for row in bag], bool)
        rows = weight[bag] if factors is None else weight[bag] * factors[i][:, None]
        if keep.any():
            result[i] = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode](rows[keep], 0)
    return result


def bags():
    w = floats(7, 3)
    for mode in ("sum", "mean", "max"):
        yield Sample(integers(4, 5, high=7), w, mode=mode)
        yield Sample(integers(9, high=7), w, np.array([0, 3, 3, 8]), mode=mode)
        yield Sample(integers(9, high=7), w, np.array([0, 3, 3, 9]), mode=mode, include_last_offset=True)
        behind = "takes what lies behind the last offset too" if mode != "sum" else None
        yield Sample(integers(9, high=7), w, np.array([0, 3, 5]), mode=mode, include_last_offset=True).unlike_torch(behind)
        yield Sample(integers(4, 5, high=3), w, mode=mode, padding_idx=1)
        yield Sample(integers(9, high=3), w, np.array([0, 1, 2, 6]), mode=mode, padding_idx=2)
        for dtype in FLOATS:
            yield Sample(integers(9, high=7), floats(7, 3, dtype=dtype), np.array([0, 4]), mode=mode)
        yield Sample(integers(0), w, np.array([0, 0]), mode=mode)
        yield Sample(integers(67, high=7), floats(3, 7).T[::-1], np.array([0, 50]), mode=mode)
    yield Sample(integers(4, 5, high=7), w, mode="sum", per_sample_weights=floats(4, 5))
    yield Sample(integers(6, high=7), w, np.array([0, 2, 2]), mode="sum", per_sample_weights=floats(6))


def bag_gradients():
    w = floats(4, 2, dtype="float64")
    for mode in ("sum", "mean", "max"):
        yield Sample(np.array([0, 3, 1, 2]), w, np.array([0, 1, 1]), mode=mode)
        yield Sample(np.array([[0, 3], [1, 2]]), w, mode=mode)
    yield Sample(np.array([[0, 3], [1, 1]]), w, mode="sum", per_sample_weights=floats(2, 2, dtype="float64"))


op(
    "embedding_bag", "F", bags, embedding_bag, result=lambda s: s.args[1].dtype.name if type(s.args[1]) is np.ndarray else "bfloat16", gradients=bag_gradients, torch_tolerance={"float32": (2e-6, 2e-5)}, reason="means of up to 50 rows",
    errors=[
        Error(ValueError, "offsets", integers(4, high=3), floats(3, 2)), Error(ValueError, "offsets", integers(2, 2, high=3), floats(3, 2), integers(2)), Error(ValueError, "'mode'", integers(2, 2, high=3), floats(3, 2), mode="min"),
        Error(ValueError, "for sums", integers(2, 2, high=3), floats(3, 2), per_sample_weights=floats(2, 2)), Error(RuntimeError, "weight", integers(2, 2), floats(3)), Error(TypeError, "integer", floats(2, 2), floats(3, 2)),
    ],
)  # fmt: skip


def tables():
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        yield Sample(integers(5, high=4), floats(4, 3, dtype=dtype))
    yield Sample(integers(2, 3, high=4), floats(4, 3), padding_idx=1)
    yield Sample(integers(2, 3, high=4, dtype="int32"), floats(4, 67))
    yield Sample(integers(high=4), floats(4, 3))
    yield Sample(integers(0, high=4), floats(4, 3))
    yield Sample(integers(3, 2, high=4).T, floats(3, 4).T)
    yield Sample(integers(5, high=4)[::-1], floats(4, 3)[::-1])
    yield Sample(integers(4, high=3), floats(3, 2, dtype="float64"))


op(
    "embedding",
    "F",
    tables,
    lambda index, weight, padding_idx=None: weight[index],
    result=lambda s: "bfloat16" if type(s.args[1]) is not np.ndarray else s.args[1].dtype.name,
    errors=[Error(TypeError, "ind", floats(3), floats(4, 3)), Error(RuntimeError, "weight", integers(3), floats(4))],
)
