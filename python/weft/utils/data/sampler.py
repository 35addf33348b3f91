"""Samplers: in which order the items of a data set come, and in which batches. Indices are numbers, so they are drawn on the CPU."""

from __future__ import annotations

from ... import _weft
from ..._random import Generator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any


class Sampler:
    """Something to iterate over that gives indices."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __class_getitem__(cls, item: Any) -> Any:  # Sampler[int], for readers
        return cls

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} has no __iter__()")


class SequentialSampler(Sampler):
    """0, 1, 2 …"""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler):
    """All indices in a random order, or `num_samples` of them; with `replacement`, each is drawn from all."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Generator | None = None) -> None:
        if num_samples is not None and num_samples < 1:
            raise ValueError(f"RandomSampler(): argument 'num_samples' must be at least 1, not {num_samples}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[Any]:
        count, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            return self._drawn(count, wanted)
        order: list[int] = []
        while len(order) < wanted and count:  # more samples than items: one permutation after the other
            order += _weft.randperm(count, generator=self.generator, device="cpu").tolist()
        return iter(order[:wanted])

    def _drawn(self, count: int, wanted: int) -> Iterator[Any]:
        for start in range(0, wanted, 4096):  # as they are needed: programs ask for 10**10, and stop when they have enough
            drawn = _weft.randint(0, count, (min(4096, wanted - start),), generator=self.generator, device="cpu")
            yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Some indices in a random order."""

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[Any]:
        return (self.indices[i] for i in _weft.randperm(len(self.indices), generator=self.generator, device="cpu").tolist())

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` indices, each as likely as its weight says."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Generator | None = None) -> None:
        if isinstance(num_samples, bool) or not isinstance(num_samples, int) or num_samples < 1:
            raise ValueError(f"WeightedRandomSampler(): argument 'num_samples' must be a positive int, not {num_samples!r}")
        self.weights = _weft.as_tensor(weights, dtype=_weft.float64, device="cpu")
        if self.weights.ndim != 1 or not bool((self.weights >= 0).all()) or not self.weights.sum().item() > 0:
            raise ValueError("WeightedRandomSampler(): argument 'weights' must be numbers that are not negative, and not all 0")
        if not replacement and num_samples > int((self.weights > 0).sum()):
            raise ValueError(f"WeightedRandomSampler(): there are not {num_samples} weights above 0 to draw without replacement")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[Any]:
        if self.replacement:  # where a uniform number falls among the running sums
            edges = self.weights.cumsum(0)
            drawn = _weft.rand(self.num_samples, 1, dtype=_weft.float64, generator=self.generator, device="cpu") * edges[-1]
            last = max(i for i, weight in enumerate(self.weights.tolist()) if weight > 0)  # for a product rounded up to the sum
            return iter((drawn >= edges).sum(1).clamp(max=last).tolist())
        # The first to come of exponential waiting times: the order of draws without replacement.
        chance = _weft.rand(len(self.weights), dtype=_weft.float64, generator=self.generator, device="cpu")
        waits = (-(1 - chance).log() / self.weights).tolist()
        return iter(sorted(range(len(waits)), key=waits.__getitem__)[: self.num_samples])

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler):
    """Lists of `batch_size` indices of another sampler."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
            raise ValueError(f"BatchSampler(): argument 'batch_size' must be a positive int, not {batch_size!r}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[Any]:
        batch = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler):
    """The part of a data set that one of several processes takes: each of them every `num_replicas`-th item of one order."""

    def __init__(self, dataset: Any, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True, seed: int = 0,
                 drop_last: bool = False) -> None:  # fmt: skip
        from ... import distributed

        count = distributed.get_world_size() if num_replicas is None else num_replicas
        place = distributed.get_rank() if rank is None else rank
        if not 0 <= place < count:
            raise ValueError(f"DistributedSampler(): argument 'rank' must be from 0 to {count - 1}, not {place}")
        self.dataset, self.num_replicas, self.rank, self.shuffle, self.seed = dataset, count, place, shuffle, seed
        self.drop_last, self.epoch = drop_last, 0
        self.num_samples = len(dataset) // count if drop_last else -(-len(dataset) // count)
        self.total_size = self.num_samples * count

    def __iter__(self) -> Iterator[Any]:
        size = len(self.dataset)
        generator = Generator().manual_seed(self.seed + self.epoch)
        order = _weft.randperm(size, generator=generator, device="cpu").tolist() if self.shuffle else list(range(size))
        while order and len(order) < self.total_size:  # every process takes as many items
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Another order for another epoch."""
        self.epoch = epoch
