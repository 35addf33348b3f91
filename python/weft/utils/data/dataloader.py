"""The loader: batches of a data set, made here or by worker threads.

Workers are threads, not processes: tensors need no copy to another process, and the GIL is free while kernels run or files are read.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque

from ... import _weft
from ..._tensor import Tensor
from ..._trees import mapped, tensors_in
from .dataset import Dataset, IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from ..._random import Generator


def default_convert(data: Any) -> Any:
    """Arrays as tensors, also inside of tuples, lists and dicts; all else as it is."""
    if isinstance(data, Tensor) or isinstance(data, (str, bytes)):
        return data
    if hasattr(data, "__array__") and hasattr(data, "dtype"):
        return _weft.tensor(data)
    if isinstance(data, dict):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (tuple, list)):
        return [default_convert(value) for value in data]
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of items as one batch: tensors, arrays and numbers are stacked, tuples, lists and dicts item by item."""
    first = batch[0]
    if isinstance(first, Tensor):
        return _weft.stack(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if hasattr(first, "__array__") and hasattr(first, "dtype"):  # NumPy's arrays and numbers
        return _weft.stack([_weft.tensor(item) for item in batch])
    if isinstance(first, float):
        return _weft.tensor(batch, dtype=_weft.float64)
    if isinstance(first, int):
        return _weft.tensor(batch)
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, (tuple, list)):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError(f"default_collate(): the items of a batch have {sorted({len(i) for i in batch})} elements, which must be equal")
        columns = [default_collate(column) for column in zip(*batch)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise TypeError(f"default_collate(): an item is a {type(first).__name__}; it takes tensors, arrays, numbers, strings, tuples, lists and dicts")


class WorkerInfo:
    """What a worker is: its id, how many there are, the data set, and a seed that differs from worker to worker."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Dataset) -> None:
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset


_this_thread = threading.local()


def get_worker_info() -> WorkerInfo | None:
    """In a worker: what it is. Elsewhere None."""
    return getattr(_this_thread, "worker", None)


def _computed(value: Any) -> Any:
    """The same, in memory: each item by itself, so that a plan knows its sizes alone and not those of all items of a batch."""
    if pending := tensors_in(value):
        _weft.realize(*pending)
    return value


def _items(made: Any) -> Any:
    """What `__getitems__` made, in memory: mostly a list of items."""
    return [_computed(item) for item in made] if type(made) is list else _computed(made)


_running: set[_Worker] = set()


def _stop_all() -> None:
    """Before Python ends: a thread that is inside Weft then would be ended there, and the process with it."""
    running = list(_running)
    for worker in running:
        worker.stop()
    for worker in running:
        worker.thread.join(5)


class _Worker:
    """A thread with a queue of tasks. A task's result is an outcome: (what it returned, None) or (None, what it raised)."""

    def __init__(self, info: WorkerInfo, start: Any) -> None:
        import queue  # late: not every program has workers

        self.tasks, self.outcomes = queue.SimpleQueue(), queue.SimpleQueue()
        self.info, self.start, self.stopped = info, start, False
        self.thread = threading.Thread(target=self._run, name=f"weft-loader-{info.id}", daemon=True)
        if not _running:
            import atexit

            atexit.unregister(_stop_all)
            atexit.register(_stop_all)
        _running.add(self)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._work()
        finally:
            _running.discard(self)

    def _work(self) -> None:
        _this_thread.worker = self.info
        try:
            load, failed = self.start(self.info), None
        except BaseException as error:
            load, failed = None, error
        self.start = None  # it holds the loader, whose end stops workers that persist
        while (task := self.tasks.get()) is not None and not self.stopped:
            self.outcomes.put((None, failed) if failed is not None else self._outcome(load, task[0]))

    @staticmethod
    def _outcome(load: Any, task: Any) -> Any:  # a function of its own: a worker that waits must not hold its last batch
        try:
            return load(task), None
        except BaseException as error:
            return None, error

    def result(self, timeout: float) -> Any:
        import queue

        try:
            batch, error = self.outcomes.get(timeout=timeout or None)
        except queue.Empty:
            raise RuntimeError(f"DataLoader: worker {self.info.id} took longer than timeout={timeout} seconds") from None
        if error is not None:
            raise error
        return batch

    def stop(self) -> None:  # after the task at hand: nobody asks for the others
        self.stopped = True
        self.tasks.put(None)


class DataLoader:
    """Batches of a data set, in order or shuffled. `num_workers` threads prepare batches ahead.

    >>> for images, labels in DataLoader(TensorDataset(x, y), batch_size=128, shuffle=True):
    ...     …

    With a `generator` the order is the same whatever else is random in the program. With `pin_memory` batches of the CPU are in page-locked
    memory where there is a GPU, which copies them while the program goes on.
    """

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Iterable[Any] | None = None,
                 batch_sampler: Iterable[Any] | None = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
                 pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
                 worker_init_fn: Callable[[int], Any] | None = None, multiprocessing_context: Any = None,
                 generator: Generator | None = None, *, prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError(f"DataLoader(): argument 'num_workers' must not be negative, but is {num_workers}")
        if timeout < 0:
            raise ValueError(f"DataLoader(): argument 'timeout' must not be negative, but is {timeout}")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError("DataLoader(): argument 'prefetch_factor' needs num_workers above 0")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise ValueError(f"DataLoader(): argument 'prefetch_factor' must be at least 1, not {prefetch_factor}")
        if num_workers == 0 and persistent_workers:
            raise ValueError("DataLoader(): persistent_workers=True needs num_workers above 0")
        if sampler is not None and shuffle:
            raise ValueError("DataLoader(): a sampler and shuffle=True exclude each other")
        if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
            raise ValueError("DataLoader(): batch_sampler excludes batch_size, shuffle, sampler and drop_last")
        if batch_size is None and drop_last:
            raise ValueError("DataLoader(): drop_last=True needs a batch_size")
        if batch_size is not None and (isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1):
            raise ValueError(f"DataLoader(): argument 'batch_size' must be a positive int or None, not {batch_size!r}")
        stream = isinstance(dataset, IterableDataset)
        if stream and (shuffle or sampler is not None or batch_sampler is not None):
            raise ValueError("DataLoader(): an IterableDataset has its own order: no shuffle, sampler or batch_sampler")
        self._whole = sampler is None and batch_sampler is None and not stream  # the order is ours
        if sampler is None and not stream:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        elif batch_size is not None and not stream:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self._batched = stream and batch_size is not None or batch_sampler is not None
        self.dataset, self.batch_size, self.drop_last, self.sampler, self.batch_sampler = dataset, batch_size, drop_last, sampler, batch_sampler
        self.num_workers, self.timeout, self.worker_init_fn, self.generator = num_workers, timeout, worker_init_fn, generator
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.pin_memory = persistent_workers, pin_memory
        self._own_collate = collate_fn is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._workers: list[_Worker] = []

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __len__(self) -> int:
        if isinstance(self.dataset, IterableDataset):
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches()
        return map(_pinned, batches) if self.pin_memory and not _weft._cuda_problem() else batches

    def _batches(self) -> Iterator[Any]:
        table = None if self._own_collate or not self._batched else _table(self.dataset)
        if table is not None:
            return self._rows(*table)
        if self.num_workers:
            return self._from_workers()
        return self._here()

    def _rows(self, tensors: tuple[Tensor, ...], chosen: Tensor | None) -> Iterator[Any]:
        """Batches of tensors: slices, or rows picked by a part of one permutation; nothing is copied before a kernel reads it."""
        if not self._whole:
            for batch in self.batch_sampler:
                rows = _weft.tensor(list(batch), dtype=_weft.int64, device="cpu")
                rows = rows if chosen is None else chosen[rows]
                yield [tensor[index] for tensor, index in zip(tensors, _beside(tensors, rows))]
            return
        order = chosen
        if isinstance(self.sampler, RandomSampler):
            order = _weft.randperm(len(self.dataset), generator=self.generator, device="cpu")
            order = order if chosen is None else chosen[order].realize()
        orders = [None] * len(tensors) if order is None else _beside(tensors, order)
        for i in range(len(self)):
            part = slice(i * self.batch_size, min((i + 1) * self.batch_size, len(self.dataset)))
            yield [tensor[part if index is None else index[part]] for tensor, index in zip(tensors, orders)]

    def _tasks(self) -> Iterator[Any]:
        """What is loaded one by one: lists of indices, or indices; for streams None, once for each batch."""
        if isinstance(self.dataset, IterableDataset):
            return itertools.repeat(None)
        return iter(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def _loader(self, info: WorkerInfo | None) -> Callable[[Any], Any]:
        """The function that makes a batch of a task. What it hands out is memory, also where a worker's graph would run in who waits for it."""
        if info is not None and self.worker_init_fn is not None:
            self.worker_init_fn(info.id)
        dataset, collate = self.dataset, self.collate_fn
        if isinstance(dataset, IterableDataset):
            items = iter(dataset)

            def load(_: Any) -> Any:
                if self.batch_size is None:
                    item = next(items, _END)
                    return _END if item is _END else _computed(collate(_computed(item)))
                batch = [_computed(item) for item in itertools.islice(items, self.batch_size)]
                return _END if not batch or len(batch) < self.batch_size and self.drop_last else _computed(collate(batch))

            return load
        if not self._batched:
            return lambda index: _computed(collate(_computed(dataset[index])))
        if hasattr(dataset, "__getitems__"):
            return lambda batch: _computed(collate(_items(dataset.__getitems__(batch))))
        return lambda batch: _computed(collate([_computed(dataset[index]) for index in batch]))

    def _here(self) -> Iterator[Any]:
        load = self._loader(None)
        for task in self._tasks():
            batch = load(task)
            if batch is _END:
                return
            yield batch

    def _from_workers(self) -> Iterator[Any]:
        """Task i goes to worker i modulo their number, and its result is taken in that order."""
        workers = self._workers
        if not workers:
            seed = int(_weft.randint(0, 2**31, (), generator=self.generator, device="cpu"))
            workers = [_Worker(WorkerInfo(i, self.num_workers, seed + i, self.dataset), self._loader) for i in range(self.num_workers)]
            if self.persistent_workers and not isinstance(self.dataset, IterableDataset):
                self._workers = workers
        pending: deque[_Worker] = deque()
        try:
            tasks, active = self._tasks(), deque(workers)  # the first of these gets the next task
            more = True
            while more or pending:
                while more and active and len(pending) < self.prefetch_factor * self.num_workers:
                    task = next(tasks, _END)
                    more = task is not _END
                    if more:
                        active[0].tasks.put((task,))
                        pending.append(active[0])
                        active.rotate(-1)
                if not pending:
                    return
                worker = pending.popleft()
                batch = worker.result(self.timeout)
                if batch is not _END:
                    yield batch
                elif worker in active:  # this worker's part of a stream is at its end
                    active.remove(worker)
        finally:
            if workers is self._workers:
                for worker in pending:  # what was asked for and not taken
                    worker.outcomes.get()
            else:
                for worker in workers:
                    worker.stop()

    def __del__(self) -> None:
        for worker in getattr(self, "_workers", ()):
            worker.stop()


def _pinned(batch: Any) -> Any:
    """A batch whose tensors of the CPU are in page-locked memory."""
    if not isinstance(batch, (Tensor, dict, list, tuple)) and hasattr(batch, "pin_memory"):
        return batch.pin_memory()  # a class of the program
    return mapped(batch, lambda tensor: tensor.pin_memory() if tensor.is_cpu else tensor)


class _End:
    """The end of a stream."""


_END = _End()


def _beside(tensors: tuple[Tensor, ...], index: Tensor) -> list[Tensor]:
    """An index on the CPU, for each tensor on that tensor's device; copied once to each device."""
    moved = {device: index.to(device) for device in {tensor.device for tensor in tensors}}
    return [moved[tensor.device] for tensor in tensors]


def _table(dataset: Any) -> tuple[tuple[Tensor, ...], Tensor | None] | None:
    """The tensors behind a TensorDataset, and behind Subsets of one the rows chosen (None: all); None for other data sets."""
    if type(dataset) is TensorDataset:
        return dataset.tensors, None
    if type(dataset) is not Subset or (inner := _table(dataset.dataset)) is None:
        return None
    indices = dataset.indices.tolist() if isinstance(dataset.indices, Tensor) else list(dataset.indices)
    chosen = _weft.tensor(indices, dtype=_weft.int64, device="cpu")
    return inner[0], chosen if inner[1] is None else inner[1][chosen].realize()
