"""Parameter: a tensor that a Module registers by itself."""

from __future__ import annotations

from .._tensor import Tensor
from .._weft import zeros


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
