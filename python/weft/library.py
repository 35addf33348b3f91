"""weft.library: ops that a program registers. They run as the Python functions that they are."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _decorator(*args: Any, **_: Any) -> Any:
    function = next((arg for arg in args if callable(arg)), None)
    return function if function is not None else lambda function: function


register_fake = impl_abstract = register_kernel = register_vmap = register_autocast = impl = triton_op = _decorator


_custom: dict[str, _CustomOp] = {}  # the ops of this program, by name


def register_autograd(op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None) -> None:
    """Keeps nothing for the ops of extensions, which are not called. For one of this program it raises: its derivative would be lost."""
    found = op if isinstance(op, _CustomOp) else _custom.get(str(op))
    if found is not None:
        found.register_autograd(backward)


class _CustomOp:
    """A function with the methods that a registered op has."""

    def __init__(self, name: str, function: Any) -> None:
        self._name, self._function, self.__doc__ = name, function, function.__doc__
        _custom[name] = self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    register_fake = register_kernel = register_vmap = staticmethod(_decorator)

    def register_autograd(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError(
            f"library.custom_op(): the derivative of {self._name} is not supported; write a weft.autograd.Function, or use ops, which have derivatives"
        )


def custom_op(name: str, fn: Any = None, /, *, mutates_args: Any = (), device_types: Any = None, schema: Any = None) -> Any:
    """A Python function as an op: it is called as it is."""
    return _CustomOp(name, fn) if fn is not None else lambda function: _CustomOp(name, function)


class Library:
    """A name space for ops: what is registered in it is called as the Python function that it is."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        self.ns, self.kind = ns, kind

    def define(self, schema: str, *_: Any, **__: Any) -> str:
        return schema.split("(")[0]

    impl = fallback = staticmethod(_decorator)
