"""Older names of PyTorch's that scripts still use: tensor types such as FloatTensor, Tensor.new, default devices, and loops over elements."""

from __future__ import annotations

from . import _weft
from ._types import Size, device_of_type, on_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .storage import TypedStorage, UntypedStorage

Tensor = _weft.Tensor

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor", "is_inference", "is_storage", "set_default_tensor_type",
]  # fmt: skip


def _made(name: str, dtype: _weft.dtype, args: tuple[Any, ...]) -> Tensor:
    """A tensor of sizes (zeros), of data, or the tensor itself."""
    if all(isinstance(each, int) and not isinstance(each, bool) for each in args):
        return _weft.zeros(args if args else (0,), dtype=dtype)
    if len(args) > 1:
        raise TypeError(f"{name}() takes sizes, or data in one argument")
    (data,) = args
    if isinstance(data, (bool, float)):
        raise TypeError(f"{name}() takes sizes, which are ints, or data in a list; weft.tensor({data}) has one number")
    if isinstance(data, Size):
        return _weft.zeros(data, dtype=dtype)
    if isinstance(data, Tensor):
        if data.dtype is not dtype:
            raise TypeError(f"{name}(): the tensor is {data.dtype!r}; use .to({dtype!r})")
        return data.view(data.shape)
    return _weft.tensor(data, dtype=dtype)


class _TensorType(type):
    """A type of tensors by their elements: called, it makes one; isinstance() asks for the element type."""

    dtype: _weft.dtype
    is_cuda = False

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        with on_device(cls.__name__, device):
            return _made(cls.__name__, cls.dtype, args)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype


def _type(name: str, dtype: _weft.dtype) -> Any:
    doc = f"Tensors of {dtype!r}: {name}(2, 3) is zeros, {name}([1, 2]) has these values."
    return _TensorType(name, (), {"dtype": dtype, "__module__": "weft", "__doc__": doc})


FloatTensor, DoubleTensor = _type("FloatTensor", _weft.float32), _type("DoubleTensor", _weft.float64)
HalfTensor, BFloat16Tensor = _type("HalfTensor", _weft.float16), _type("BFloat16Tensor", _weft.bfloat16)
ByteTensor, CharTensor = _type("ByteTensor", _weft.uint8), _type("CharTensor", _weft.int8)
ShortTensor, IntTensor = _type("ShortTensor", _weft.int16), _type("IntTensor", _weft.int32)
LongTensor, BoolTensor = _type("LongTensor", _weft.int64), _type("BoolTensor", _weft.bool)


# ---- settings --------------------------------------------------------------------------------------------------------


def set_default_tensor_type(t: Any) -> None:
    """set_default_dtype() by a tensor type: weft.DoubleTensor, or 'torch.DoubleTensor'."""
    named = {name: kind for name, kind in globals().items() if isinstance(kind, _TensorType)}
    kind = named.get(t.rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(kind, _TensorType) or not kind.dtype.is_floating_point:
        raise TypeError(f"set_default_tensor_type(): argument 't' must be a type of float tensors, such as weft.FloatTensor, not {t!r}")
    _weft.set_default_dtype(kind.dtype)


def is_inference(input: Tensor) -> bool:
    """False: tensors that inference_mode() gives are ordinary ones."""
    return False


def is_storage(obj: object) -> bool:
    """Whether an object is what Tensor.untyped_storage() or Tensor.storage() gives."""
    return getattr(type(obj), "__module__", "") == "weft.storage"


# ---- methods ---------------------------------------------------------------------------------------------------------


def _new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's type: of sizes (zeros), or of data."""
    with on_device("new", self.device if device is None else device):
        return _made("new", self.dtype, args)


def _check_callable(name: str, function: object) -> None:
    if not callable(function):
        raise TypeError(f"{name}(): argument 'callable' must be a function, not {type(function).__name__}")


def _filled(self: Tensor, values: list[Any]) -> Tensor:
    self.copy_(_weft.tensor(values, dtype=self.dtype, device=self.device).reshape(self.shape) if values else self)
    return self


def _apply(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Each element replaced by what a Python function makes of it, in place: slow. Runs the graph."""
    _check_callable("apply_", callable)
    return _filled(self, [callable(value) for value in self.detach().flatten().tolist()])


def _map(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Each element replaced by what a Python function makes of it and of another tensor's, in place: slow. Runs the graph."""
    _check_callable("map_", callable)
    if not isinstance(tensor, Tensor):
        raise TypeError(f"map_(): argument 'tensor' must be a Tensor, not {type(tensor).__name__}")
    others = tensor.detach().expand(self.shape).flatten().tolist()
    return _filled(self, [callable(a, b) for a, b in zip(self.detach().flatten().tolist(), others)])


def _cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a device of the type cuda: to("cuda")."""
    return self.to(device_of_type("cuda", "cuda", device))


def _pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """The values in page-locked memory of the CPU, which a GPU reads while the program goes on; without a GPU the tensor itself. Runs the graph."""
    if _weft._cuda_problem():
        return self
    return _weft._cuda_pinned(self, device_of_type("pin_memory", "cuda", device))


def _is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the values are in page-locked memory. Runs the graph."""
    return _weft._cuda_is_pinned(self)


def _record_stream(self: Tensor, stream: Any) -> None:
    """Nothing to do: memory is used again in the order of the stream."""


_shared: dict[int, Any] = {}  # by id, weak references to the tensors whose memory other processes share: == compares elements


def _is_shared(self: Tensor) -> bool:
    """Whether share_memory_() was called: other processes see what is written into the tensor."""
    return id(self) in _shared


def _share_memory(self: Tensor) -> Tensor:
    """Moves the values into memory that processes forked later share: what one of them writes in place, all see. Views that were made before
    keep the old memory. Runs the graph."""
    if _is_shared(self) or not self.numel():
        return self
    if not self.is_leaf:
        raise RuntimeError("share_memory_(): a result of an op cannot be moved; use detach().clone().share_memory_()")
    if not self.is_cpu:
        raise RuntimeError(f"share_memory_(): the tensor is on {self.device}, and processes share memory of the CPU only; use cpu() first")
    if self.dtype is _weft.bfloat16:
        raise TypeError("share_memory_(): bfloat16 cannot be shared; convert it with float()")
    import mmap
    import weakref

    from ._functions import _BUFFER_CODES

    code: Any = _BUFFER_CODES[self.dtype]
    memory = _weft.from_numpy(memoryview(mmap.mmap(-1, self.nbytes)).cast(code)).view(self.shape)
    memory.copy_(self.detach())
    wanted, grad = self.requires_grad, self.grad
    self.requires_grad_(False).set_(memory).requires_grad_(wanted)
    if grad is not None:
        self.grad = grad
    key = id(self)
    _shared[key] = weakref.ref(self, lambda _: _shared.pop(key, None))
    return self


def _untyped_storage(self: Tensor) -> UntypedStorage:
    """The bytes of the values: data_ptr() and nbytes()."""
    from .storage import UntypedStorage

    return UntypedStorage(self)


def _storage(self: Tensor) -> TypedStorage:
    """The values in row-major order, as elements."""
    from .storage import TypedStorage

    return TypedStorage(self)


for _name, _value in {
    "new": _new, "apply_": _apply, "map_": _map, "cuda": _cuda, "pin_memory": _pin_memory, "is_pinned": _is_pinned, "record_stream": _record_stream, "is_shared": _is_shared, "share_memory_": _share_memory,
    "is_inference": is_inference, "untyped_storage": _untyped_storage, "storage": _storage,
    "__rdiv__": lambda self, other: other / self, "layout": property(lambda self: _strided(), doc="How elements are stored: weft.strided."),
}.items():  # fmt: skip
    setattr(Tensor, _name, _value)


def _strided() -> Any:
    from ._types import strided

    return strided
