"""Looking inside a running program: weft.profile(), and the lines that weft.explain() shows."""

from __future__ import annotations

import os
import sys
import threading
import weakref

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

__all__ = ["explain", "inspection", "profile"]

_DATA, _REGION, _STEP = 4, 5, 6  # kinds of events: docs/profile-format.md


def _here() -> str:
    return os.path.dirname(_here.__code__.co_filename) + os.sep


_PACKAGE = _here()  # as code objects name it, however it was imported


class _Modules:
    """The path of the module whose forward() runs: "model.layers.1.attn". The outermost one is named as the caller's global variable is, or as
    its class."""

    def __init__(self) -> None:
        self.paths: dict[int, tuple[weakref.ref[Any], str]] = {}  # by id: a module may have no hash
        self.running = threading.local()

    def enter(self, module: Any) -> str:
        running = self.running.__dict__.setdefault("modules", [])
        root = running[0] if running else module
        path = self._known(module)
        if path is None:
            self._walk(root)
            path = self._known(module)
        if path is None:  # made on the way, and nobody's child
            path = f"{self._known(running[-1])}.{type(module).__name__}" if running else type(module).__name__
        running.append(module)
        return path

    def leave(self) -> None:
        self.running.modules.pop()

    def _known(self, module: Any) -> str | None:
        found = self.paths.get(id(module))
        return found[1] if found is not None and found[0]() is module else None

    def _walk(self, root: Any) -> None:
        name = self._known(root) or self._name(root)
        left, seen = [(name, root)], set()
        while left:
            path, module = left.pop()
            if id(module) in seen:
                continue
            seen.add(id(module))
            self.paths[id(module)] = (weakref.ref(module), path)
            left += [(f"{path}.{inner}", child) for inner, child in reversed(module._modules.items()) if child is not None]

    def _name(self, module: Any) -> str:
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
            frame = frame.f_back  # type: ignore[assignment]
        # Not f_locals of a function: before Python 3.13 that makes a copy, which keeps the function's tensors alive.
        for name, value in list(frame.f_globals.items()) if frame is not None else ():
            if value is module:
                return str(name)
        return type(module).__name__


class _Watch:
    """Lines and modules are recorded while one is open; they may be nested, and cost nothing otherwise."""

    open = 0
    calls: Any = None  # nn.Module.__call__ as it was
    lock = threading.Lock()

    def __init__(self) -> None:
        with _Watch.lock:
            self.inspection = _weft._Inspection()
            _Watch.open += 1
            if _Watch.open == 1:
                _weft._record_lines(True, _PACKAGE)
                _Watch._watch_modules()

    def close(self) -> None:
        with _Watch.lock:
            self.inspection = None  # type: ignore[assignment]
            _Watch.open -= 1
            if _Watch.open == 0:
                _weft._record_lines(False, _PACKAGE)
                _module_class().__call__ = _Watch.calls

    @staticmethod
    def _watch_modules() -> None:
        module_class = _module_class()
        call = _Watch.calls = module_class.__call__
        modules = _Modules()

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            path = modules.enter(self)
            before = _weft._enter_module(path)
            region = profile.active.region(path) if profile.active is not None else None
            if region is not None:
                region.__enter__()
            try:
                return call(self, *args, **kwargs)
            finally:
                if region is not None:
                    region.__exit__()
                modules.leave()
                _weft._leave_module(before)

        module_class.__call__ = watched


def _cell(file: str) -> tuple[str, str]:
    """What is on no disk: its name for people and its text, as far as Python knows them. A notebook's cell is "In[3]"."""
    import linecache

    name, shell = file, sys.modules.get("IPython")
    if shell is not None and (shell := shell.get_ipython()) is not None:
        name = (shell.compile.format_code_name(file) or (None, file))[1]
    return name, "".join(linecache.getlines(file))


def _module_class() -> Any:
    from .nn.module import Module

    return Module


def explain(what: Any, /, *args: Any, stage: str | None = None, **kwargs: Any) -> Any:
    """What computing a tensor would do: its kernels, a line each: what they compute, from which lines, what they cost. It is not computed.

    Of a function, it is called with the arguments that follow, and its lines are shown with the kernels. `stage` gives the text of one
    stage: "details", "graph", "schedule", "loops" or "source".

    >>> weft.explain(model, x)
    >>> print(weft.explain(y, stage="loops"))
    """
    from ._weft import Tensor

    if stage is not None and not isinstance(stage, str):
        raise TypeError(f"explain(): argument 'stage' must be a string, not {type(stage).__name__}")
    if not isinstance(what, Tensor):
        if not callable(what):
            raise TypeError(f"explain(): argument 'what' must be a Tensor, or a function that gives one, not {type(what).__name__}")
        if getattr(what, "_is_jit", False):  # its call would run it
            what = what.__wrapped__
        with inspection():
            result = what(*args, **kwargs)
            first = result[0] if isinstance(result, (tuple, list)) and result else result
            if not isinstance(first, Tensor):
                raise TypeError(f"explain(): the function must give a Tensor, not {type(result).__name__}")
            return explain(first, stage=stage)
    if args or kwargs:
        raise TypeError("explain(): arguments behind a Tensor mean nothing; a stage is stage=\"loops\", and a function is called with them")
    explanation = _weft._explain(what)
    return explanation if stage is None else explanation.text(stage)


def _table(explanation: Any) -> str:
    """What notebooks show."""
    from html import escape

    def row(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    def measured(kernel: Any) -> str:
        if not kernel.measured:
            return ""
        part = kernel.estimate / kernel.measured
        return f"{1e6 * kernel.measured:.1f} µs" + (f", {100 * part:.0f} % of the limit" if 0 < part <= 1 else ", in the caches" if part else "")

    rows = [
        row([kernel.name, " ".join(kernel.lines), f"{(kernel.reads + kernel.writes) / 1e6:.2f} MB", f"{2e-6 * kernel.multiply_adds:.1f}",
             f"{1e6 * kernel.estimate:.1f} µs" if kernel.estimate else "", measured(kernel)], "td")
        for kernel in explanation.kernels
    ]  # fmt: skip
    head = row(["kernel", "from", "memory", "MFLOP", "at least", "measured"], "th")
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


_weft.Explanation._repr_html_ = _table


class inspection:
    """While it is open, ops remember where they were called, so that explain() says which lines a kernel came from.

    >>> with weft.inspection():
    ...     print(weft.explain(model(x)))
    """

    def __enter__(self) -> Self:
        self._watch = _Watch()
        return self

    def __exit__(self, *_: object) -> None:
        self._watch.close()


class profile:
    """Records what the program does: which lines become which kernels, what they cost, and what memory is held.

    >>> with weft.profile() as p:
    ...     train()
    >>> print(p)
    >>> p.save("run.html")  # one file, opens in a browser; "run.json": the same as data
    """

    active: profile | None = None
    _whole = False  # of a program, by WEFT_PROFILE

    def __init__(self, title: str | None = None) -> None:
        if title is not None and not isinstance(title, str):
            raise TypeError(f"profile(): argument 'title' must be a string, not {type(title).__name__}; what runs inside `with weft.profile() as p:` is recorded")
        if title is not None and title.endswith((".html", ".json")):
            raise ValueError(f"profile({title!r}): this is the title; write the file with p.save({title!r}) when it has ended")
        self.title = title
        self._profile: Any = None
        self._undo: list[Callable[[], None]] = []

    def start(self) -> Self:
        """Begins; `with` does so."""
        if self._profile is not None:
            raise RuntimeError("profile: this one has been started already; make another one")
        if profile.active is not None and profile.active._whole:
            raise RuntimeError("profile: WEFT_PROFILE records the whole program already; unset it, or leave this profile out")
        self._profile = _weft._Profile(self.title or "")
        self._watch = _Watch()
        profile.active = self
        self._watch_loaders()
        self._watch_steps()
        return self

    def stop(self) -> None:
        """Ends; what was recorded stays."""
        if self._profile is None:
            raise RuntimeError("profile: it was never started; use it with `with`, or call start()")
        if profile.active is not self:
            return
        profile.active = None
        for undo in self._undo:
            undo()
        self._profile.stop()
        if self.title is None:  # only now: `python -m` sets it late
            program = getattr(sys, "argv", None) and os.path.basename(sys.argv[0])
            self._profile.set_title("notebook" if program == "ipykernel_launcher.py" else program or "interactive")
        self._watch.close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def region(self, name: str) -> _Region:
        """A part of the program with a name, on the timeline: `with p.region("evaluate"):`."""
        if not isinstance(name, str):
            raise TypeError(f"region(): argument 'name' must be a string, not {type(name).__name__}")
        return _Region(self._recorded(), name)

    def json(self) -> str:
        """What was recorded, as docs/profile-format.md says."""
        return str(self._recorded().json())

    def save(self, path: Any) -> None:
        """Writes "run.html", a page that opens in a browser without a network, or "run.json", the same as data."""
        recorded = self._recorded()
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"save(): argument 'path' must be a path, like \"run.html\", not {type(path).__name__}")
        _check_suffix(f"save({str(path)!r})", path)
        recorded.save(os.fspath(path))

    def _replace_file(self, path: str) -> None:
        """In one step: whoever looks at the file meanwhile sees the old or the new one."""
        base, suffix = os.path.splitext(path)
        fresh = f"{base}.{threading.get_ident()}{suffix}"
        self.save(fresh)
        os.replace(fresh, path)

    def __repr__(self) -> str:
        if self._profile is None:
            return "<profile that was not started>"
        if profile.active is self:
            return "<profile that is recording>"
        return str(self._profile.table()).rstrip("\n")

    def _recorded(self) -> Any:
        if self._profile is None:
            raise RuntimeError("profile: nothing was recorded; use it with `with`, or call start() and stop()")
        return self._profile

    def _replace(self, owner: Any, name: str, replacement: Any) -> None:
        before = vars(owner)[name]
        setattr(owner, name, replacement(getattr(owner, name)))
        self._undo.append(lambda: setattr(owner, name, before))

    def _watch_loaders(self) -> None:
        from .utils.data import DataLoader
        from .utils.data.dataloader import _Worker

        recorded = self._profile

        def loaded(outcome: Any) -> Any:
            def watched(load: Any, task: Any) -> Any:
                start = recorded.now()
                try:
                    return outcome(load, task)
                finally:
                    recorded.add(_DATA, "load a batch", start, recorded.now())

            return staticmethod(watched)

        def watched(iterate: Any) -> Any:
            def batches(loader: Any) -> Any:
                found = iter(iterate(loader))
                while True:
                    start = recorded.now()
                    try:
                        batch = next(found)
                    except StopIteration:
                        return
                    recorded.add(_DATA, "next batch", start, recorded.now())
                    yield batch

            return batches

        self._replace(DataLoader, "__iter__", watched)
        self._replace(_Worker, "_outcome", loaded)

    def _watch_steps(self) -> None:
        from .optim import Optimizer

        recorded = self._profile

        def began(optimizer: Any) -> Any:
            start = recorded.now()
            return lambda: recorded.add(_STEP, f"{type(optimizer).__name__}.step", start, recorded.now())

        self._replace(Optimizer, "_watch", lambda _: staticmethod(began))


def _check_suffix(where: str, path: Any) -> None:
    if not str(path).endswith((".html", ".json")):
        raise ValueError(f"{where}: a profile is written as .html or .json")


def profile_program(path: str) -> None:
    """Records from now on, and writes the file when the program ends. Its forked children write nothing, spawned ones have no such variable."""
    import atexit

    _check_suffix(f"WEFT_PROFILE={path}", path)
    del os.environ["WEFT_PROFILE"]
    path, process = os.path.abspath(path), os.getpid()
    if not os.access(os.path.dirname(path), os.W_OK):
        raise ValueError(f"WEFT_PROFILE={path}: there is no such folder, or nobody may write there")
    text = os.environ.pop("WEFT_PROFILE_EVERY", "0")
    try:
        every = float(text)
    except ValueError:
        every = -1.0
    if not 0 <= every < 1e6:
        raise ValueError(f"WEFT_PROFILE_EVERY={text}: must be a number of seconds, like 2")
    recorded = profile().start()
    recorded._whole = True
    ended = threading.Event()

    def save_so_far() -> None:
        while not ended.wait(every):
            recorded._replace_file(path)

    def save() -> None:
        if os.getpid() == process:
            ended.set()
            if writer.ident is not None:
                writer.join()
            recorded.stop()
            recorded._replace_file(path)
            print(f"weft: wrote the profile {path}", file=sys.stderr)

    writer = threading.Thread(target=save_so_far, name="weft profile", daemon=True)
    if every > 0:
        writer.start()
    atexit.register(save)


class _Region:
    def __init__(self, recorded: Any, name: str) -> None:
        self.recorded, self.name, self.start = recorded, name, 0

    def __enter__(self) -> Self:
        self.start = self.recorded.now()
        return self

    def __exit__(self, *_: object) -> None:
        self.recorded.add(_REGION, self.name, self.start, self.recorded.now())
