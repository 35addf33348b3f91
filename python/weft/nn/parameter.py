"""Parameter: a tensor that a Module registers by itself."""

from __future__ import annotations

from .._types import makes_on_device
from .. import _weft
from .._tensor import Tensor
from .._weft import zeros

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Parameter(Tensor):
    """A leaf that is trained. `Parameter(data)` has the values of `data`.

    >>> self.weight = nn.Parameter(weft.randn(3, 3))
    """

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        if data is not None and not isinstance(data, Tensor):
            raise TypeError(f"Parameter(): argument 'data' must be a Tensor, not {type(data).__name__}; weft.tensor makes one")
        super().__init__(zeros(0) if data is None else data.detach())
        if requires_grad:
            self.requires_grad_()

    def __repr__(self) -> str:
        return "Parameter containing:\n" + Tensor.__repr__(self)


class _Uninitialized:
    """No values and no shape yet: a lazy layer makes the tensor when it sees its first input."""

    dtype: _weft.dtype
    requires_grad: bool

    def _refuse(self) -> Any:
        raise ValueError(f"this {type(self).__name__} has no values yet: call its module once, with an input, before it is used")

    shape = property(_refuse)
    is_leaf = property(_refuse)  # an optimiser asks

    def size(self, dim: Any = None) -> Any:
        return self._refuse()

    def detach(self) -> Any:
        return self

    def to(self, device: Any, dtype: Any = None) -> Any:
        return type(self)(self.requires_grad, device, dtype or self.dtype)  # type: ignore[call-arg]

    def __deepcopy__(self, memo: Any) -> Any:
        memo[id(self)] = twin = self.to(None)
        return twin

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, None, self.dtype)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):  # type: ignore[misc]
    """The parameter of a lazy layer that has seen no input."""

    @makes_on_device
    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        Parameter.__init__(self, zeros(0, dtype=dtype), requires_grad)


class UninitializedBuffer(_Uninitialized, Tensor):  # type: ignore[misc]
    """The buffer of a lazy layer that has seen no input."""

    @makes_on_device
    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None) -> None:
        Tensor.__init__(self, zeros(0, dtype=dtype))
