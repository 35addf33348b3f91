"""Initial values, written into a tensor. Each function returns it."""

from __future__ import annotations

from .._weft.init import *  # noqa: F403
from .._weft.init import kaiming_normal_, kaiming_uniform_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._tensor import Tensor

he_uniform_, he_normal_ = kaiming_uniform_, kaiming_normal_  # the same under the author's other name


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs an output of a layer with these weights depends on, and how many outputs an input goes into."""
    if tensor.ndim < 2:
        raise ValueError(f"_calculate_fan_in_and_fan_out(): a tensor of {tensor.ndim} axes has no fan; two are needed")
    field = tensor[0][0].numel()
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    fans = _calculate_fan_in_and_fan_out(tensor)
    return fans[{"fan_in": 0, "fan_out": 1}[mode.lower()]]
