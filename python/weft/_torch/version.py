"""The version of PyTorch whose names and meanings Weft follows."""

from __future__ import annotations

import re

from .. import __version__ as _weft_version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _numbers(version: Any) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.split("+")[0]))) if isinstance(version, str) else tuple(version)


class TorchVersion(str):
    """A version that is compared by its numbers, with another one or with a tuple: torch.__version__ >= (2, 0)."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (str, tuple, list)) and _numbers(str(self))[: len(_numbers(other))] == _numbers(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return _numbers(str(self)) < _numbers(other)

    def __le__(self, other: Any) -> bool:
        return bool(self < other or self == other)

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not (self < other)

    __hash__ = str.__hash__


__version__ = TorchVersion(f"2.13.0+weft.{_weft_version}")
cuda = hip = xpu = None
debug = False
git_version = "Unknown"
