"""torch.types: names for annotations."""

from __future__ import annotations

import builtins
import os
from typing import Any, Union

from .. import Size, Tensor, device, dtype

_int, _float, _bool = builtins.int, builtins.float, builtins.bool
_dtype, _device, _size = dtype, device, Union[Size, "list[int]", "tuple[int, ...]"]
Number = Union[int, float, bool]
Device = Union[device, str, int, None]
FileLike = Any
PathLike = os.PathLike
Storage = Any
_TensorOrTensors = Union[Tensor, "tuple[Tensor, ...]"]
