"""The parts of Tensor that are Python: properties made of other ops, pickling and copying."""

from __future__ import annotations

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

Tensor = _weft.Tensor


def _rebuild(values: bytes, dtype: _weft.dtype, requires_grad: bool, kind: Any, shape: tuple[int, ...], where: str = "cpu") -> Tensor:
    tensor = _from_bytes(values, dtype, shape)
    if where != "cpu":
        from .serialization import _saved_device

        tensor = tensor.to(_saved_device(where))
    if kind is not Tensor:
        special: Tensor = kind(tensor, requires_grad)
        return special
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


def _from_bytes(values: bytes, dtype: _weft.dtype, shape: tuple[int, ...]) -> Tensor:
    if not values:
        return _weft.zeros(shape, dtype=dtype, device="cpu")
    halves = dtype in _HALVES
    code: Any = "H" if halves else _CODES[dtype]
    tensor = _weft.tensor(memoryview(values).cast(code), device="cpu")
    return (tensor.view(dtype) if halves else tensor).reshape(shape)


_HALVES = (_weft.float16, _weft.bfloat16)  # memoryviews do not know them: their bits are stored
_CODES = {
    _weft.bool: "?", _weft.uint8: "B", _weft.uint16: "H", _weft.uint32: "I", _weft.uint64: "L",
    _weft.int8: "b", _weft.int16: "h", _weft.int32: "i", _weft.int64: "l", _weft.float32: "f", _weft.float64: "d",
}  # fmt: skip


def _reduce(self: Tensor, protocol: int | None = None) -> Any:
    value = self.detach().cpu().clone()
    values = memoryview(value.view(_weft.uint16) if self.dtype in _HALVES else value).tobytes()
    where = (str(self.device),) if self.is_cuda else ()
    return _rebuild, (values, self.dtype, self.requires_grad, type(self), tuple(self.shape), *where)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        known: Tensor = memo[id(self)]
        return known
    if not self.is_leaf:
        raise RuntimeError("deepcopy(): only leaves can be copied with their gradient; use clone() or detach()")
    copy = self.detach().clone()
    if type(self) is not Tensor:
        kind: Any = type(self)
        copy = kind(copy, self.requires_grad)
    elif self.requires_grad:
        copy.requires_grad_()
    if self.grad is not None and type(self) is Tensor:  # a copied Parameter starts without one, as in PyTorch
        copy.grad = self.grad.detach().clone()
    memo[id(self)] = copy
    return copy


def _transposed(self: Tensor) -> Tensor:
    """The axes in reverse order."""
    return self.permute(*range(self.ndim - 1, -1, -1))


def _array_wrap(self: Tensor, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """What a NumPy ufunc gives for a tensor: a tensor again, over the array that NumPy has made."""
    import numpy

    return _weft.from_numpy(numpy.asarray(array))


def _array_namespace(self: Tensor, *, api_version: str | None = None) -> Any:
    """The functions of the Python array API standard: weft.array_api."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"__array_namespace__(): version {api_version!r} of the standard is not known; 2024.12 is")
    from . import array_api

    return array_api


def _to_device(self: Tensor, device: Any, /, *, stream: Any = None) -> Tensor:
    """The tensor on another device; itself if it is there."""
    if stream is not None:
        raise ValueError("to_device(): there are no streams to choose from")
    return self.to(str(device))


def _complex(self: Tensor) -> complex:
    """The value of a tensor of one element, as a complex number. Runs the graph."""
    return complex(self.item())


def _register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Any], None]) -> _weft.RemovableHandle:
    """Calls `hook(tensor)` after each backward() that has added to the .grad of this leaf. Returns a handle with remove()."""
    import weakref

    this = weakref.ref(self)  # the hook gets the object that it was registered on, as a key of dicts, say

    def call(leaf: Tensor) -> None:
        tensor = this()
        hook(leaf if tensor is None else tensor)

    return _weft._register_post_accumulate_grad_hook(self, call if callable(hook) else hook)


def _to_sparse(self: Tensor, *args: Any, **kwargs: Any) -> Any:
    """The tensor with only the values stored that are not zero: a weft.sparse.SparseTensor."""
    from .sparse import _to_sparse

    return _to_sparse(self, *args, **kwargs)


def _to_dense(self: Tensor, *_: Any, **__: Any) -> Tensor:
    """The tensor itself."""
    return self


for _name, _value in {
    "to_sparse": _to_sparse,
    "to_sparse_coo": _to_sparse,
    "to_dense": _to_dense,
    "register_post_accumulate_grad_hook": _register_post_accumulate_grad_hook,
    "__array_wrap__": _array_wrap,
    "__array_namespace__": _array_namespace,
    "__complex__": _complex,
    "to_device": _to_device,
    "__reduce_ex__": _reduce,
    "__deepcopy__": _deepcopy,
    "T": property(_transposed),
    "mT": property(lambda self: self.transpose(-2, -1), doc="The last two axes exchanged."),
}.items():
    setattr(Tensor, _name, _value)
