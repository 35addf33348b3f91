"""Layers that learn the size of their input from the first one they see, and are ordinary layers from then on."""

from __future__ import annotations

from .._types import makes_on_device
from .. import _weft
from ._start import empty, filled
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .parameter import UninitializedBuffer, UninitializedParameter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LazyModuleMixin:
    """What the lazy layers share. `cls_to_become` is the class after the first call; `_complete(size)` makes the parameters."""

    cls_to_become: Any = None
    _modules: Any
    _parameters: Any
    _buffers: Any

    def _put_off(self, parameters: Any, buffers: Any = (), dtype: Any = None) -> None:
        for name in parameters:
            if self._parameters[name] is not None:
                self._parameters[name] = UninitializedParameter(dtype=dtype)
        for name in buffers:
            if self._buffers[name] is not None:
                self._buffers[name] = UninitializedBuffer(dtype=dtype)

    def has_uninitialized_params(self) -> bool:
        """Whether no input has been seen yet."""
        values = [*self._parameters.values(), *self._buffers.values()]
        return any(isinstance(value, (UninitializedParameter, UninitializedBuffer)) for value in values)

    def _dtype_of(self, name: str) -> Any:
        return (self._parameters.get(name) if name in self._parameters else self._buffers[name]).dtype

    def _size_of(self, input: Any) -> int:
        raise NotImplementedError

    def _complete(self, size: int) -> None:
        raise NotImplementedError

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        """Makes the parameters for inputs such as this one."""
        if self.has_uninitialized_params():
            self._complete(self._size_of(input))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not args:
            raise TypeError(f"{type(self).__name__}: the first call needs the input by position, to learn its size")
        self.initialize_parameters(*args, **kwargs)
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)

    def _expect(self, state_dict: Any, prefix: str) -> None:
        """Before a state is loaded: takes the size from it."""
        given = state_dict.get(prefix + self._sized_by) if self.has_uninitialized_params() else None
        if given is not None and not isinstance(given, (UninitializedParameter, UninitializedBuffer)):
            self._complete(self._size_in(tuple(given.shape)))
            self.__class__ = self.cls_to_become

    _sized_by = "weight"

    def _size_in(self, shape: Any) -> int:
        raise NotImplementedError


class LazyLinear(LazyModuleMixin, Linear):
    """Linear whose in_features is the last size of the first input."""

    cls_to_become = Linear

    @makes_on_device
    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        Linear.__init__(self, 0, out_features, bias, dtype=dtype)
        self._put_off(("weight", "bias"), dtype=dtype)

    def _size_of(self, input: Any) -> int:
        return int(input.shape[-1])

    def _size_in(self, shape: Any) -> int:
        return int(shape[1])

    def _complete(self, size: int) -> None:
        dtype = self._dtype_of("weight")
        self.in_features = size
        self.weight = empty(self.out_features, size, dtype=dtype)
        self.register_parameter("bias", empty(self.out_features, dtype=dtype, wanted=self.bias is not None))
        self.reset_parameters()


class _LazyConv(LazyModuleMixin):
    """The number of input channels comes from the first input."""

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **kwargs: Any) -> None:
        self.cls_to_become.__init__(self, 0, out_channels, kernel_size, *args, **kwargs)
        self._put_off(("weight", "bias"), dtype=kwargs.get("dtype"))

    def _size_of(self, input: Any) -> int:
        kind, axes = type(self).__name__, self._axes  # type: ignore[attr-defined]
        if input.ndim not in (axes + 1, axes + 2):
            raise RuntimeError(f"{kind}: the input must have {axes + 1} or {axes + 2} axes, not {input.ndim}")
        return int(input.shape[input.ndim - axes - 1])

    def _size_in(self, shape: Any) -> int:
        layer: Any = self
        return int(shape[0] if layer._transposed else shape[1] * layer.groups)

    def _complete(self, size: int) -> None:
        layer: Any = self
        if size % layer.groups:
            raise ValueError(f"{type(self).__name__}: {size} channels must be divisible by {layer.groups} groups")
        dtype = self._dtype_of("weight")
        layer.in_channels = size
        first, second = (size, layer.out_channels) if layer._transposed else (layer.out_channels, size)
        layer.weight = empty(first, second // layer.groups, *layer.kernel_size, dtype=dtype)
        layer.register_parameter("bias", empty(layer.out_channels, dtype=dtype, wanted=layer.bias is not None))
        layer.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d whose in_channels comes from the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d whose in_channels comes from the first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d whose in_channels comes from the first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d whose in_channels comes from the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d whose in_channels comes from the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d whose in_channels comes from the first input."""

    cls_to_become = ConvTranspose3d


class _LazyNorm(LazyModuleMixin):
    """The number of channels comes from the first input."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.cls_to_become.__init__(self, 0, *args, **kwargs)
        self._put_off(("weight", "bias"), ("running_mean", "running_var"), dtype=kwargs.get("dtype"))

    @property
    def _sized_by(self) -> str:  # type: ignore[override]
        return "weight" if self._parameters["weight"] is not None else "running_mean"

    def _size_of(self, input: Any) -> int:
        layer: Any = self
        layer._check(input)
        alone = isinstance(self, (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)) and input.ndim == layer.ranks[0]
        return int(input.shape[0 if alone else 1])

    def _size_in(self, shape: Any) -> int:
        return int(shape[0])

    def _complete(self, size: int) -> None:
        layer: Any = self
        layer.num_features = size
        for name, value in (("weight", 1), ("bias", 0)):
            if self._parameters[name] is not None:
                self._parameters[name] = filled((size,), value, self._dtype_of(name))
        for name, make in (("running_mean", _weft.zeros), ("running_var", _weft.ones)):
            if self._buffers[name] is not None:
                self._buffers[name] = make(size, dtype=self._dtype_of(name)).clone()

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        super().initialize_parameters(input, *args, **kwargs)
        layer: Any = self
        if not layer.num_features:  # nothing to make, but a number to know
            layer.num_features = self._size_of(input)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """BatchNorm1d whose num_features comes from the first input."""

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """BatchNorm2d whose num_features comes from the first input."""

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """BatchNorm3d whose num_features comes from the first input."""

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """InstanceNorm1d whose num_features comes from the first input."""

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """InstanceNorm2d whose num_features comes from the first input."""

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """InstanceNorm3d whose num_features comes from the first input."""

    cls_to_become = InstanceNorm3d
