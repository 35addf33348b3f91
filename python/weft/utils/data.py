"""Data sets, and loaders that make batches of them."""

import collections
import math

from .. import _weft
from .._tensor import Tensor


class Dataset:
    """Something with `len(data)` and `data[i]`."""

    def __getitem__(self, index):
        raise NotImplementedError(f"{type(self).__name__} has no __getitem__()")


class TensorDataset(Dataset):
    """Tensors of the same first size: item i is the tuple of their rows i. Batches of it are picked in one kernel."""

    def __init__(self, *tensors):
        if not tensors or any(len(tensor) != len(tensors[0]) for tensor in tensors):
            raise ValueError(f"TensorDataset(): the tensors have the first sizes {[len(t) for t in tensors]}, which must be equal")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self):
        return len(self.tensors[0])


class Subset(Dataset):
    """The items of a data set at some indices."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Data sets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)

    def __getitem__(self, index):
        index = index + len(self) if index < 0 else index
        for dataset in self.datasets:
            if index < len(dataset):
                return dataset[index]
            index -= len(dataset)
        raise IndexError("ConcatDataset: the index is out of range")

    def __len__(self):
        return sum(map(len, self.datasets))


def random_split(dataset, lengths):
    """Cuts a data set into parts of these lengths (or fractions that add up to 1), at random."""
    lengths = list(lengths)
    if math.isclose(sum(lengths), 1) and all(0 <= length <= 1 for length in lengths):
        sizes = [math.floor(len(dataset) * length) for length in lengths]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        lengths = sizes
    if sum(lengths) != len(dataset):
        raise ValueError(f"random_split(): the lengths add up to {sum(lengths)}, the data set has {len(dataset)} items")
    order, parts, start = _weft.randperm(len(dataset)).tolist(), [], 0
    for length in lengths:
        parts.append(Subset(dataset, order[start : start + length]))
        start += length
    return parts


def default_collate(batch):
    """A list of items as one batch: tensors, arrays and numbers are stacked, tuples and dicts item by item."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _weft.stack(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(list(column)) for column in zip(*batch)))
    if isinstance(first, (tuple, list)):
        return [default_collate(list(column)) for column in zip(*batch)]
    return _weft.tensor(batch)


class DataLoader:
    """Batches of a data set, in order or shuffled. `num_workers` threads prepare batches ahead.

    >>> for images, labels in DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True):
    ...     …
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, sampler=None, batch_sampler=None, num_workers=0, collate_fn=None,
                 pin_memory=False, drop_last=False):  # fmt: skip
        if batch_size is not None and batch_size < 1:
            raise ValueError(f"DataLoader(): argument 'batch_size' must be at least 1, not {batch_size}")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader(): a sampler and shuffle=True exclude each other")
        self.dataset, self.batch_size, self.shuffle, self.drop_last = dataset, batch_size, shuffle, drop_last
        self.sampler, self.batch_sampler, self.num_workers, self.collate_fn = sampler, batch_sampler, num_workers, collate_fn

    def __len__(self):
        if self.batch_sampler is not None:
            return len(self.batch_sampler)
        count = len(self.dataset) if self.sampler is None else len(self.sampler)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self):
        plain = self.sampler is None and self.batch_sampler is None and self.collate_fn is None and self.batch_size is not None
        return self._rows() if plain and type(self.dataset) is TensorDataset else self._items()

    def _rows(self):
        """Batches of a TensorDataset: slices, or rows picked by a part of one permutation; nothing is copied before a kernel reads it."""
        order = _weft.randperm(len(self.dataset)) if self.shuffle else None
        for i in range(len(self)):
            part = slice(i * self.batch_size, (i + 1) * self.batch_size)
            yield list(self.dataset[part if order is None else order[part]])

    def _batches(self):
        if self.batch_sampler is not None:
            yield from self.batch_sampler
            return
        if self.sampler is not None:
            order = self.sampler
        else:
            order = _weft.randperm(len(self.dataset)).tolist() if self.shuffle else range(len(self.dataset))
        if self.batch_size is None:
            yield from order
            return
        batch = []
        for index in order:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def _load(self, batch):
        if not isinstance(batch, (list, tuple)):  # batch_size=None: single items
            return self.dataset[batch] if self.collate_fn is None else self.collate_fn(self.dataset[batch])
        return (self.collate_fn or default_collate)([self.dataset[index] for index in batch])

    def _items(self):
        if not self.num_workers:
            yield from map(self._load, self._batches())
            return
        from concurrent.futures import ThreadPoolExecutor  # late: it takes half as long to import as all of Weft

        with ThreadPoolExecutor(self.num_workers) as pool:
            ahead = collections.deque()
            try:
                for batch in self._batches():
                    ahead.append(pool.submit(self._load, batch))
                    if len(ahead) > 2 * self.num_workers:
                        yield ahead.popleft().result()
                while ahead:
                    yield ahead.popleft().result()
            finally:
                for future in ahead:
                    future.cancel()
