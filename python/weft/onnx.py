"""weft.onnx: what programs ask about ONNX. Weft does not write its files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def is_in_onnx_export() -> bool:
    """False: nothing is exported."""
    return False


def export(*_: Any, **__: Any) -> NoReturn:
    """Raises: Weft does not write ONNX files."""
    raise NotImplementedError("onnx.export(): Weft does not write ONNX files")


def register_custom_op_symbolic(*_: Any, **__: Any) -> None:
    """Changes nothing: ops are not exported."""


def parse_args(*_: Any) -> Any:
    """Decorates what would write an op: hands the function back."""
    return lambda function: function
