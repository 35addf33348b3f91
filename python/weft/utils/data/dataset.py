"""Data sets: things with a length and items, or things to iterate over."""

from __future__ import annotations

import bisect
import itertools
import math

from ... import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from ..._random import Generator


class Dataset:
    """Something with `len(data)` and `data[i]`. `a + b` is one after the other.

    >>> class Squares(Dataset):
    ...     def __len__(self):
    ...         return 10
    ...     def __getitem__(self, i):
    ...         return i, i * i
    """

    def __class_getitem__(cls, item: Any) -> Any:  # Dataset[tuple[Tensor, Tensor]], for readers
        return cls

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")

    def __add__(self, other: Dataset) -> ConcatDataset:
        return ConcatDataset([self, other])


class IterableDataset(Dataset):
    """Something with `iter(data)`: a stream. Where workers share it, `get_worker_info()` says which part is a worker's."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")

    def __add__(self, other: Dataset) -> ChainDataset:
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors of the same first size: item i is the tuple of their rows i. The rows of a batch are picked by the kernel that reads them."""

    def __init__(self, *tensors: _weft.Tensor) -> None:
        if not tensors or any(not t.ndim or len(t) != len(tensors[0]) for t in tensors):
            sizes = [len(t) if t.ndim else None for t in tensors]
            raise ValueError(f"TensorDataset(): the tensors have the first sizes {sizes}, which must be equal")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return len(self.tensors[0])


class StackDataset(Dataset):
    """Data sets of the same length, zipped: item i is the tuple (or the dict, by name) of their items i."""

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if bool(args) == bool(kwargs):
            raise ValueError("StackDataset(): the data sets must be given either by position or by name")
        self.datasets = args or kwargs
        parts = args or tuple(kwargs.values())
        if any(len(part) != len(parts[0]) for part in parts):
            raise ValueError(f"StackDataset(): the data sets have {[len(p) for p in parts]} items, which must be equal")
        self._length = len(parts[0])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: part[index] for name, part in self.datasets.items()}
        return tuple(part[index] for part in self.datasets)

    def __len__(self) -> int:
        return self._length


class Subset(Dataset):
    """The items of a data set at some indices."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset(): argument 'datasets' must have an element at least")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise ValueError("ConcatDataset(): a stream has no items to count; ChainDataset takes streams")
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __getitem__(self, index: Any) -> Any:
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"ConcatDataset: the index {index} is out of range for {len(self)} items")
        which = bisect.bisect_right(self.cumulative_sizes, at)
        return self.datasets[which][at - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


def random_split(dataset: Dataset, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Cuts a data set into parts of these lengths (or fractions that add up to 1), at random.

    >>> train, test = random_split(data, [0.8, 0.2], weft.Generator().manual_seed(0))
    """
    lengths = list(lengths)
    if any(length < 0 for length in lengths):
        raise ValueError(f"random_split(): the lengths {lengths} must not be negative")
    if math.isclose(sum(lengths), 1) and all(length <= 1 for length in lengths):
        sizes = [math.floor(len(dataset) * length) for length in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ValueError(f"random_split(): the lengths add up to {sum(lengths)}, the data set has {len(dataset)} items")
    order, parts, start = _weft.randperm(len(dataset), generator=generator, device="cpu").tolist(), [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[start : start + length]))
        start += length
    return parts
