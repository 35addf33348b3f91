"""weft.multiprocessing: Python's multiprocessing. A tensor that is sent to another process is copied."""

from __future__ import annotations

from multiprocessing import *  # noqa: F403
from multiprocessing import context as context, reduction as reduction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def _call(fn: Callable[..., Any], index: int, args: tuple[Any, ...]) -> None:
    fn(index, *args)


class ProcessContext:
    """The processes that spawn() has started with join=False."""

    def __init__(self, processes: Any) -> None:
        self.processes = processes

    def pids(self) -> list[int]:
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Waits for all; one that fails ends the others."""
        for process in self.processes:
            process.join(timeout)
        failed = [process for process in self.processes if process.exitcode not in (0, None)]
        for process in self.processes if failed else ():
            process.terminate()
        if failed:
            raise RuntimeError(f"spawn(): process {self.processes.index(failed[0])} ended with exit code {failed[0].exitcode}")
        return all(process.exitcode == 0 for process in self.processes)


def spawn(fn: Callable[..., Any], args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False,
          start_method: str = "spawn") -> ProcessContext | None:  # fmt: skip
    """Calls fn(i, *args) in nprocs processes of their own."""
    import multiprocessing

    made: Any = multiprocessing.get_context(start_method)
    processes = [made.Process(target=_call, args=(fn, i, args), daemon=daemon) for i in range(nprocs)]
    for process in processes:
        process.start()
    started = ProcessContext(processes)
    if not join:
        return started
    started.join()
    return None


start_processes = spawn


def get_sharing_strategy() -> str:
    """How tensors reach other processes: as copies."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Changes nothing: tensors reach other processes as copies."""


def get_all_sharing_strategies() -> set[str]:
    return {"file_descriptor", "file_system"}
