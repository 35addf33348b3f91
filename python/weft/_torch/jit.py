"""torch.jit: there is nothing to script or trace, since every program is compiled. Functions and modules are handed back as they are."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final as Final

ScriptModule = ScriptFunction = SimpleNamespace  # nothing is an instance of them


def script(obj: Any, *_: Any, **__: Any) -> Any:
    return obj


def trace(func: Any, example_inputs: Any = None, *_: Any, **__: Any) -> Any:
    return func


def _decorator(function: Any = None, **_: Any) -> Any:
    return function if callable(function) else lambda wrapped: wrapped


ignore = unused = export = interface = script_if_tracing = _script_if_tracing = script_method = _decorator
freeze = optimize_for_inference = script


def is_scripting() -> bool:
    return False


def is_tracing() -> bool:
    return False


def annotate(the_type: Any, the_value: Any) -> Any:
    return the_value


def isinstance(obj: Any, target_type: Any) -> bool:  # noqa: A001
    import builtins

    return builtins.isinstance(obj, target_type)


def fork(func: Any, *args: Any, **kwargs: Any) -> Any:
    return func(*args, **kwargs)


def wait(future: Any) -> Any:
    return future


def _overload(function: Any) -> Any:
    return function


_overload_method = _overload


def is_scriptable(*_: Any) -> bool:
    return False
