"""Files of tensors: save(), load(), and what load() may build besides tensors, numbers, strings and containers.

Such a file is PyTorch's: a pickle and the memory of its tensors, in a zip archive. Pickle can call any function that a file names. Here C++
reads it (weft/io/objects.h) and calls nothing: calls are noted, and made below, and only those of containers, unless load() is told
otherwise: `weights_only=False` trusts the whole file, `add_safe_globals` and `safe_globals` one class or function.
"""

from __future__ import annotations

import os

from . import _weft
from ._types import Size, device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from os import PathLike
    from typing import IO, Any

    from ._weft import Tensor

    Global = Callable[..., Any] | tuple[Callable[..., Any], str]

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

_safe: dict[str, Any] = {}  # by the name that a file calls it


def save(
    obj: object,
    f: str | PathLike[str] | IO[bytes],
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
) -> None:
    """Writes tensors, state dicts and whatever else pickle knows to a file (a path or an open binary file), as torch.save() does:
    torch.load() opens it. Tensors that share memory share it in the file. A file that is there already stays as it is until the new one
    is whole.
    The other arguments are PyTorch's, and change nothing."""
    taker = _Taker()
    if isinstance(f, (str, os.PathLike)):
        _weft._write_file(obj, os.fspath(f), taker)
    elif hasattr(f, "write"):
        f.write(_weft._write_bytes(obj, taker))
    else:
        raise TypeError(f"save(): argument 'f' must be a path or an open binary file, not {type(f).__name__}")


def _weights_only(asked: bool | None, default: bool) -> bool:
    """What load() was told, by its argument and by PyTorch's two variables of the environment."""
    always, never = (os.getenv(f"TORCH_FORCE_{name}_LOAD", "").lower() in ("1", "y", "yes", "true") for name in ("WEIGHTS_ONLY", "NO_WEIGHTS_ONLY"))
    if always and never:
        raise RuntimeError("load(): TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD are both set; unset one of them")
    if asked is None:
        return always or (default and not never)
    return always or asked


def load(
    f: str | PathLike[str] | IO[bytes],
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Reads what save() or torch.save() wrote: tensors, numbers, strings and containers of them. A file that asks for more is refused,
    unless it is trusted: `weights_only=False` runs whatever code the file holds. With a `pickle_module` of your own that is the default,
    and with TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 in the environment; TORCH_FORCE_WEIGHTS_ONLY_LOAD=1 never trusts a file.
    Tensors live where they were saved if that is a GPU that is here, otherwise on the CPU; or where `map_location` says: a device, a dict from
    saved to new devices, or a function of a tensor and its saved device that gives the tensor where it shall be. With `mmap=True` they read the file's memory where it lies, without a copy."""
    weights_only = _weights_only(weights_only, pickle_module is None)
    if weights_only and pickle_module is not None:
        raise RuntimeError("load(): weights_only=True cannot vouch for a pickle_module of your own; leave one of them out")
    if isinstance(map_location, (str, device)):
        _weft._check_device("load", map_location)
    maker = _Maker(not weights_only, map_location)
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        if pickle_module is not None and _is_pickle(path):
            with open(path, "rb") as file:
                return pickle_module.load(file)
        return _placed(_reading(maker, lambda: _weft._read_file(path, bool(mmap), maker.allowed(), maker)), map_location)
    if not hasattr(f, "read"):
        raise TypeError(f"load(): argument 'f' must be a path or an open binary file, not {type(f).__name__}")
    start = f.tell() if f.seekable() else None
    data = f.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError("load(): argument 'f' is open as text; open it as open(path, 'rb')")
    if pickle_module is not None and data[:4] != b"PK\3\4":
        return pickle_module.loads(data)
    found, taken = _reading(maker, lambda: _weft._read_bytes(data, maker.allowed(), maker))
    if start is not None:
        f.seek(start + taken)  # several objects may lie in one file, one after the other
    return _placed(found, map_location)


def _placed(found: Any, location: Any) -> Any:
    """What was read, with its tensors on another device than the CPU if load() was asked for one."""
    from .nn.module import Module

    if not isinstance(location, (str, device)) or device(location).type == "cpu":
        return found
    if isinstance(found, (_weft.Tensor, Module)):
        return found.to(location)  # where it is already, unless a class of the program has made it
    if isinstance(found, dict):
        for key, value in found.items():
            found[key] = _placed(value, location)
    elif isinstance(found, list):
        found[:] = [_placed(value, location) for value in found]
    elif type(found) is tuple:
        return tuple(_placed(value, location) for value in found)
    return found


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


def _is_pickle(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(4) != b"PK\3\4"


def _reading(maker: _Maker, read: Callable[[], Any]) -> Any:
    """What read() gives; what is wrong with the file is an UnpicklingError."""
    import pickle

    try:
        return read()
    except OSError as error:
        if error.errno is not None:  # the system refused
            raise
        raise pickle.UnpicklingError(str(error)) from None
    except (MemoryError, KeyboardInterrupt, pickle.UnpicklingError):
        raise
    except Exception as error:
        if maker.trusted:  # what the program's own classes raise
            raise
        reason = f"{type(error).__name__}: {error}"
        raise pickle.UnpicklingError(f"load(): the file is damaged, or save() did not write it ({reason})") from error


def _own_globals() -> dict[str, Any]:
    """What load() always allows, by the names that files of PyTorch and of Weft have for it."""
    from collections import Counter, OrderedDict, defaultdict

    from ._tensor import Tensor, _rebuild
    from .nn.parameter import Parameter

    plain: tuple[Any, ...] = (set, frozenset, bytearray, complex, slice, list, dict, int, float, str, tuple, bool)
    found: dict[str, Any] = {f"builtins.{kind.__name__}": kind for kind in plain}
    found |= {f"collections.{kind.__name__}": kind for kind in (OrderedDict, Counter, defaultdict)}
    found |= {"weft._types.Size": Size, "torch.Size": Size, "weft._types.device": device, "torch.device": _any_device}
    found |= {"weft.Tensor": Tensor, "weft._weft.Tensor": Tensor, "torch.Tensor": Tensor, "weft._tensor._rebuild": _rebuild}
    found |= {"weft.nn.parameter.Parameter": Parameter, "torch.nn.parameter.Parameter": Parameter, "torch.nn.Parameter": Parameter}
    for name, value in vars(_weft).items():
        if isinstance(value, _weft.dtype):
            found[f"weft._weft.{name}"] = found[f"torch.{name}"] = value
    return found


def _saved_device(name: str) -> str:
    """The device that a tensor was saved from, if it is a GPU that is here; else the CPU."""
    kind, _, index = name.partition(":")
    here = kind == "cuda" and (index or "0").isdecimal() and int(index or 0) < _weft._cuda_device_count() and not _weft._cuda_problem()
    return name if here else "cpu"


def _there(tensor: Tensor, where: Any) -> Tensor:
    if tensor.device == device(where):
        return tensor
    return tensor.detach().to(where).requires_grad_(tensor.requires_grad)


def _any_device(*names: Any) -> device:
    """The CPU, whatever device a file names: its tensors live there."""
    return device("cpu")


class _Maker:
    """Makes the objects of a file: what C++ asks for, one call, change and global at a time."""

    def __init__(self, trusted: bool, location: Any = None) -> None:
        self.trusted, self._location = trusted, location
        self._own = _own_globals()
        self._safe = dict(_safe)
        self._classes: tuple[type, ...] = tuple(kind for kind in self._safe.values() if isinstance(kind, type))

    def allowed(self) -> Any:
        return True if self.trusted else list(self._safe)

    def find(self, module: str, name: str) -> Any:
        place = f"{module}.{name}"
        if place in self._own:
            return self._own[place]
        if place in self._safe:
            return self._safe[place]
        return _imported(module, name)

    def call(self, callee: Any, arguments: tuple[Any, ...], names: dict[str, Any] | None, makes: bool) -> Any:
        if makes:
            return callee.__new__(callee, *arguments, **(names or {}))
        return callee(*arguments)

    def append(self, target: Any, item: Any) -> None:
        target.add(item) if hasattr(target, "add") else target.append(item)

    def set_state(self, callee: Any, target: Any, state: Any) -> None:
        from collections import OrderedDict

        if type(target) is OrderedDict and isinstance(state, dict):
            vars(target).update(state)
            return
        if not self.trusted and not isinstance(target, self._classes):
            import pickle

            raise pickle.UnpicklingError(
                f"load(): the file sets attributes of a {type(target).__name__}, which save() never writes; pass weights_only=False if "
                "you trust it"
            )
        if hasattr(target, "__setstate__"):
            target.__setstate__(state)
            return
        slots = None
        if isinstance(state, tuple) and len(state) == 2:
            state, slots = state
        if state:
            vars(target).update(state)
        for name, value in (slots or {}).items():
            setattr(target, name, value)

    def placed(self, tensor: Tensor, saved: str) -> Tensor:
        """A tensor of a file, which is read to the CPU, on its device."""
        wanted: Any = self._location
        if callable(wanted) and not isinstance(wanted, device):
            wanted = wanted(tensor.detach(), saved or "cpu")
            wanted = wanted if wanted is None else wanted.device
        elif isinstance(wanted, dict):
            wanted = wanted.get(saved, None)
        return _there(tensor, _saved_device(saved) if wanted is None else wanted)

    def parameter(self, tensor: Tensor) -> Any:
        from .nn.parameter import Parameter

        return Parameter(tensor.detach(), tensor.requires_grad)


def _imported(module: str, name: str) -> Any:
    """What a trusted file names."""
    import importlib
    import pickle

    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise pickle.UnpicklingError(f"load(): the file asks for {module}.{name}, which is not there ({error})") from error
    return found


class _Taker:
    """Says what objects are made of that are no plain data: a global, a parameter, or a call with what is done to its result."""

    def __init__(self) -> None:
        from .nn.parameter import Parameter

        self._parameter = Parameter
        self._names: dict[Any, str] = {
            Size: "torch\nSize", device: "torch\ndevice", _weft.Tensor: "torch\nTensor", Parameter: "torch.nn.parameter\nParameter",
        }  # fmt: skip

    def take(self, value: Any) -> Any:
        kind = type(value)
        if kind is self._parameter:
            return None
        if isinstance(value, _weft.dtype):
            return f"torch\n{str(value).rpartition('.')[2]}"
        if kind is Size:
            return Size, (tuple(value),), None, None, None, False
        if kind is device:
            return device, ("cpu",), None, None, None, False
        return self._reduced(value)

    def _reduced(self, value: Any) -> Any:
        import copyreg
        import pickle
        from types import BuiltinFunctionType, FunctionType

        if isinstance(value, type) and value in self._names:
            return self._names[value]
        reduce = copyreg.dispatch_table.get(type(value))
        if reduce is None and isinstance(value, (type, FunctionType)):
            return self._global(value, value.__qualname__)
        if reduce is None and isinstance(value, BuiltinFunctionType) and isinstance(value.__self__, (type(os), type(None))):
            return self._global(value, value.__qualname__)
        try:
            parts: Any = reduce(value) if reduce else value.__reduce_ex__(2)
        except TypeError as error:
            raise pickle.PicklingError(f"save(): a {type(value).__name__} cannot be saved ({error})") from error
        if isinstance(parts, str):
            return self._global(value, parts)
        callee, arguments, *rest = parts
        state, listed, mapped, *more = [*rest, None, None, None][:4]
        if any(part is not None for part in more):
            kind = type(value).__name__
            raise pickle.PicklingError(f"save(): a {kind} has a function that sets its state, which the format does not have")
        makes = getattr(callee, "__name__", "") == "__newobj__"
        if makes:
            callee, *arguments = arguments
        return callee, tuple(arguments), state, listed, mapped, makes

    def _global(self, value: Any, name: str) -> str:
        import pickle

        module = getattr(value, "__module__", None) or pickle.whichmodule(value, name)  # type: ignore[attr-defined]
        try:
            known = _imported(module, name)
        except pickle.UnpicklingError:
            known = None
        if known is not value:
            raise pickle.PicklingError(
                f"save(): {value!r} cannot be saved, since it is not found as {module}.{name}; define it at the top of a module, or save "
                "a state_dict() instead"
            )
        return f"{module}\n{name}"
