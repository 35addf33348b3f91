"""Whether backward() looks for gradients that are no numbers; and Variable, a tensor under its older name."""

from __future__ import annotations

from .. import _weft
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from typing_extensions import Self

_plain, _plain_all = Tensor.backward, _weft._backward
_checks = False


def _checked(self: Tensor, *args: Any, **kwargs: Any) -> None:
    leaves = _weft._leaves([self])
    _plain(self, *args, **kwargs)
    _look_at(leaves)


def _checked_all(outputs: Any, *args: Any) -> None:
    leaves = _weft._leaves(outputs)
    _plain_all(outputs, *args)
    _look_at(leaves)


def _look_at(leaves: Any) -> None:
    for leaf in leaves:
        if leaf.grad is not None and bool(_weft.isnan(leaf.grad).any()):
            raise RuntimeError(
                f"backward(): the gradient of a leaf of shape {tuple(leaf.shape)} has NaN; weft.explain shows what it is computed from"
            )


def _set(mode: bool) -> bool:
    global _checks
    before, _checks = _checks, mode
    Tensor.backward = _checked if mode else _plain  # type: ignore[method-assign]
    _weft._backward = _checked_all if mode else _plain_all  # type: ignore[assignment]
    return before


class set_detect_anomaly:
    """Sets whether backward() raises where a gradient has NaN: at once, and until a `with` block of it ends. It reads each gradient then."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self.before = _set(bool(mode) and check_nan)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        _set(self.before)


class detect_anomaly(set_detect_anomaly):
    """A block in which backward() raises where a gradient has NaN."""

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self.before = _checks

    def __enter__(self) -> Self:
        self.before = _set(self.check_nan)
        return self


def is_anomaly_enabled() -> bool:
    """Whether backward() looks for NaN."""
    return _checks


class _Instances(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_Instances):
    """A tensor: Variable(x, requires_grad=True) is x, which collects its gradient."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        return data.detach().requires_grad_() if requires_grad else data
