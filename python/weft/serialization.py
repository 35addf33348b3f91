"""Files of tensors: save(), load(), and what load() may build besides tensors, numbers, strings and containers.

Pickle can call any function that a file names. load() calls none but those that rebuild tensors and containers, unless it is told
otherwise: `weights_only=False` trusts the whole file, `add_safe_globals` and `safe_globals` one class or function.
"""

from __future__ import annotations

import os

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import IO, Any

    Global = Callable[..., Any] | tuple[Callable[..., Any], str]

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_safe: dict[str, Any] = {}  # by the name that a file calls it


def save(obj: object, f: str | PathLike[str] | IO[bytes]) -> None:
    """Writes tensors, state dicts and whatever else pickle knows to a file (a path or an open binary file)."""
    import pickle

    if not isinstance(f, (str, os.PathLike)):
        pickle.dump(obj, f, protocol=5)
        return
    with open(f, "wb") as file:
        pickle.dump(obj, file, protocol=5)


def load(
    f: str | PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
) -> Any:
    """Reads what save() wrote: tensors, numbers, strings and containers of them. A file that asks for more is refused, unless it is
    trusted: `weights_only=False` runs whatever code the file holds. With a `pickle_module` of your own that is the default.
    Tensors live on the CPU whatever `map_location` says; `mmap` is not needed."""
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("load(): weights_only=True cannot vouch for a pickle_module of your own; leave one of them out")
    if not isinstance(f, (str, os.PathLike)):
        return _unpickle(f, pickle_module, weights_only)
    with open(f, "rb") as file:
        return _unpickle(file, pickle_module, weights_only)


def add_safe_globals(safe_globals: Sequence[Global]) -> None:
    """Allows load() to build these classes and to call these functions: only what does no harm with any arguments.

    >>> weft.serialization.add_safe_globals([Settings])
    """
    _safe.update(_by_name(safe_globals, "add_safe_globals"))


def get_safe_globals() -> list[Any]:
    """What add_safe_globals() has allowed."""
    return list(_safe.values())


def clear_safe_globals() -> None:
    """Takes back all that add_safe_globals() has allowed."""
    _safe.clear()


class safe_globals:
    """Allows load() to build these classes and to call these functions inside a `with` block."""

    def __init__(self, safe_globals: Sequence[Global]) -> None:
        self._added = _by_name(safe_globals, "safe_globals")

    def __enter__(self) -> None:
        self._before = dict(_safe)
        _safe.update(self._added)

    def __exit__(self, *error: object) -> None:
        _safe.clear()
        _safe.update(self._before)


def _by_name(entries: Sequence[Global], function: str) -> dict[str, Any]:
    if not isinstance(entries, (list, tuple, set, frozenset)):
        raise TypeError(f"{function}(): argument 'safe_globals' must be a list of classes and functions, not {entries!r}")
    found = {}
    for entry in entries:
        value, name = entry if isinstance(entry, tuple) and len(entry) == 2 else (entry, None)
        if not callable(value) or not isinstance(name, (str, type(None))) or (name is None and not hasattr(value, "__qualname__")):
            raise TypeError(f"{function}(): argument 'safe_globals' takes classes, functions and pairs of one with a name, not {entry!r}")
        found[name or f"{value.__module__}.{value.__qualname__}"] = value
    return found


def _own_globals() -> dict[str, Any]:
    """What load() always allows, by name."""
    from collections import Counter, OrderedDict, defaultdict

    from ._tensor import Tensor, _rebuild
    from ._types import Size, device
    from .nn.parameter import Parameter

    kinds = (Tensor, Parameter, Size, device, OrderedDict, Counter, defaultdict, _rebuild, set, frozenset, bytearray, complex, slice)
    found = {f"{kind.__module__}.{kind.__qualname__}": kind for kind in kinds}
    return found | {f"weft._weft.{name}": value for name, value in vars(_weft).items() if isinstance(value, _weft.dtype)}


def _unpickle(file: IO[bytes], module: Any, weights_only: bool) -> Any:
    import pickle
    from collections import OrderedDict

    if not weights_only:
        return (module or pickle).load(file)
    own = _own_globals()

    # The one in Python, since the one in C would set attributes of anything that a file names, functions and classes included.
    base: Any = pickle._Unpickler

    class Unpickler(base):  # type: ignore[misc]
        dispatch = dict(base.dispatch)

        def find_class(self, module: str, name: str) -> Any:
            place = f"{module}.{name}"
            if place in own or place in _safe:
                return own.get(place, _safe.get(place))
            short = name if module == "builtins" else place
            raise pickle.UnpicklingError(
                f"load(): the file asks for {place}, but only tensors, numbers, strings and containers of them are loaded. If you trust "
                f"that class or function, allow it with weft.serialization.add_safe_globals([{short}]); if you trust the whole file, code "
                "included, pass weights_only=False"
            )

        def load_build(self) -> None:
            target = self.stack[-2]
            if not isinstance(target, (OrderedDict, *(kind for kind in _safe.values() if isinstance(kind, type)))):
                raise pickle.UnpicklingError(
                    f"load(): the file sets attributes of a {type(target).__name__}, which save() never writes; pass weights_only=False if "
                    "you trust it"
                )
            super().load_build()

        dispatch[pickle.BUILD[0]] = load_build

    for extension in (pickle.EXT1, pickle.EXT2, pickle.EXT4):  # names of a table of the process, which may be anything
        del Unpickler.dispatch[extension[0]]
    start = file.tell() if file.seekable() else None
    try:
        return Unpickler(file).load()
    except (OSError, MemoryError):
        raise
    except Exception as error:
        if str(error).startswith("load()"):
            raise
        raise pickle.UnpicklingError(f"load(): {_what_else(file, start)} ({type(error).__name__}: {error})") from error


def _what_else(file: IO[bytes], start: int | None) -> str:
    """What a file is that save() did not write."""
    if start is not None:
        file.seek(start)
        first = file.read(4)
        if not first:
            return "the file is empty"
        if first == b"PK\3\4":
            return "the file is a zip archive, such as torch.save() and numpy.savez() write; save() of Weft did not write it"
    return "the file is damaged, or save() did not write it"
