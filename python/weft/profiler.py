"""weft.profiler: torch.profiler's names over the clock. weft.explain says what a program's kernels do."""

from __future__ import annotations

import enum
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self


class ProfilerActivity(enum.Enum):
    """What is watched: the CPU."""

    CPU = 0
    CUDA = 1
    XPU = 2
    MTIA = 3
    HPU = 4


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **_: Any) -> Callable[[int], ProfilerAction]:
    """Which steps are watched: after `wait` and `warmup` steps, `active` of them, again and again or `repeat` times."""

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        cycle, place = divmod(step, wait + warmup + active)
        if step < 0 or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == wait + warmup + active - 1 else ProfilerAction.RECORD

    return action


class record_function:
    """Measures a named part of a program, as the profile shows it. Also a decorator."""

    _open: list[profile] = []

    def __init__(self, name: str, args: Any = None) -> None:
        self.name, self.start = name, 0.0

    def __enter__(self) -> Self:
        self.start = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        for each in record_function._open:
            each._add(self.name, self.start, time.perf_counter())
        if "weft._profile" in sys.modules:
            from ._profile import profile as whole

            if whole.active is not None:  # the same clock, in nanoseconds
                whole.active._profile.add(5, self.name, int(self.start * 1e9), int(time.perf_counter() * 1e9))

    def __call__(self, function: Any) -> Any:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return wrapped


class _Row:
    """All times of one name."""

    def __init__(self, name: str) -> None:
        self.key, self.count, self.cpu_time_total = name, 0, 0.0

    @property
    def cpu_time(self) -> float:
        return self.cpu_time_total / max(1, self.count)


class _Rows(list):  # type: ignore[type-arg]
    def total_average(self) -> _Row:
        total = _Row("total")
        total.count, total.cpu_time_total = sum(row.count for row in self), sum(row.cpu_time_total for row in self)
        return total

    def table(self, sort_by: Any = None, row_limit: int = 100, **_: Any) -> str:
        rows = sorted(self, key=lambda row: -row.cpu_time_total)[: row_limit if row_limit >= 0 else None]
        width = max([len(row.key) for row in rows] + [4])
        lines = [f"{'name':<{width}} {'calls':>7} {'total µs':>12} {'mean µs':>12}"]
        return "\n".join(lines + [f"{row.key:<{width}} {row.count:>7} {row.cpu_time_total:>12.1f} {row.cpu_time:>12.1f}" for row in rows])


class profile:
    """Measures the parts of a program that record_function() names, and the whole. Ops have no rows: they run fused, when values are read."""

    def __init__(self, *, activities: Any = None, schedule: Any = None, on_trace_ready: Any = None, record_shapes: bool = False,
                 profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False, with_modules: bool = False,
                 **_: Any) -> None:  # fmt: skip
        self.schedule, self.on_trace_ready, self.step_num = schedule or (lambda step: ProfilerAction.RECORD), on_trace_ready, 0
        self.times: list[tuple[str, float, float]] = []
        self.began = 0.0

    def _add(self, name: str, start: float, end: float) -> None:
        if self.schedule(self.step_num) in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self.times.append((name, start, end))

    def start(self) -> None:
        self.began = time.perf_counter()
        record_function._open.append(self)

    def stop(self) -> None:
        record_function._open.remove(self)
        self.times.append(("whole", self.began, time.perf_counter()))
        if self.on_trace_ready and not self.step_num:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Ends a step of the schedule."""
        if self.schedule(self.step_num) is ProfilerAction.RECORD_AND_SAVE and self.on_trace_ready:
            self.on_trace_ready(self)
            self.times = []
        self.step_num += 1

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def key_averages(self, *_: Any, **__: Any) -> _Rows:
        """The times by name; print(p.key_averages().table())."""
        rows: dict[str, _Row] = {}
        for name, start, end in self.times:
            row = rows.setdefault(name, _Row(name))
            row.count, row.cpu_time_total = row.count + 1, row.cpu_time_total + (end - start) * 1e6
        return _Rows(rows.values())

    def events(self) -> list[tuple[str, float, float]]:
        return list(self.times)

    def export_chrome_trace(self, path: str) -> None:
        """Writes the times for chrome://tracing."""
        import json
        from pathlib import Path

        events = [{"name": name, "ph": "X", "pid": 0, "tid": 0, "ts": start * 1e6, "dur": (end - start) * 1e6} for name, start, end in self.times]
        Path(path).write_text(json.dumps({"traceEvents": events}))


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable[[profile], None]:
    """Writes each trace into a folder."""

    def handle(p: profile) -> None:
        from pathlib import Path

        Path(dir_name).mkdir(parents=True, exist_ok=True)
        p.export_chrome_trace(str(Path(dir_name) / f"{worker_name or 'weft'}.{p.step_num}.pt.trace.json"))

    return handle
