"""Functions under names of PyTorch's that are made of others: views as copies, parts replaced, and what real numbers make of complex functions."""

from __future__ import annotations

from . import _weft
from ._out import takes_out, takes_tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._types import layout as _layout

Tensor = _weft.Tensor

__all__ = [
    "adjoint", "alias_copy", "angle", "as_strided_copy", "as_strided_scatter", "conj", "conj_physical", "constant_pad_nd", "detach_copy",
    "diagonal_copy", "empty_permuted", "empty_strided", "expand_copy", "is_conj", "is_neg", "nonzero_static", "permute_copy", "real",
    "resolve_conj", "resolve_neg", "scalar_tensor", "select_copy", "slice_copy", "split_copy", "split_with_sizes_copy", "squeeze_copy",
    "t_copy", "transpose_copy", "unbind_copy", "unfold_copy", "unsafe_chunk", "unsafe_split", "unsafe_split_with_sizes", "unsqueeze_copy",
    "view_as_copy", "view_copy",
]  # fmt: skip


# ---- views as copies -------------------------------------------------------------------------------------------------


@takes_out
def expand_copy(input: Tensor, size: Sequence[int]) -> Tensor:
    """A copy of expand()."""
    return input.expand(size).clone()


@takes_out
def view_copy(input: Tensor, size: Sequence[int] | _weft.dtype) -> Tensor:
    """A copy of view()."""
    return input.view(size).clone()


@takes_out
def view_as_copy(input: Tensor, other: Tensor) -> Tensor:
    """A copy of view_as()."""
    return input.reshape(other.shape).clone()


@takes_out
def permute_copy(input: Tensor, dims: Sequence[int]) -> Tensor:
    """A copy of permute()."""
    return input.permute(dims).clone()


@takes_out
def transpose_copy(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """A copy of transpose()."""
    return input.transpose(dim0, dim1).clone()


@takes_out
def t_copy(input: Tensor) -> Tensor:
    """A copy of t()."""
    return input.t().clone()


@takes_out
def squeeze_copy(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """A copy of squeeze()."""
    return (input.squeeze() if dim is None else input.squeeze(dim)).clone()


@takes_out
def unsqueeze_copy(input: Tensor, dim: int) -> Tensor:
    """A copy of unsqueeze()."""
    return input.unsqueeze(dim).clone()


@takes_out
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of diagonal()."""
    return input.diagonal(offset, dim1, dim2).clone()


@takes_out
def select_copy(input: Tensor, dim: int, index: int) -> Tensor:
    """A copy of select()."""
    return input.select(dim, index).clone()


@takes_out
def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy of every `step`-th slice from `start` to `end` along an axis."""
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(f"slice_copy(): axis {dim} is out of range for {input.ndim} axes")
    index = [slice(None)] * (dim % input.ndim) + [slice(start, end, step)]
    return input[tuple(index)].clone()


@takes_out
def unfold_copy(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A copy of unfold()."""
    return input.unfold(dimension, size, step).clone()


@takes_out
def as_strided_copy(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A copy of as_strided()."""
    return _weft.as_strided(input, size, stride, storage_offset or 0).clone()


@takes_out
def alias_copy(input: Tensor) -> Tensor:
    """A copy."""
    return input.clone()


@takes_out
def detach_copy(input: Tensor) -> Tensor:
    """A copy of detach()."""
    return input.detach().clone()


@takes_out
def unbind_copy(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Copies of what unbind() gives."""
    return tuple(part.clone() for part in input.unbind(dim))


@takes_out
def split_copy(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Copies of what split() gives."""
    return tuple(part.clone() for part in input.split(split_size, dim))


@takes_out
def split_with_sizes_copy(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Copies of what split_with_sizes() gives."""
    return tuple(part.clone() for part in _weft.split_with_sizes(input, split_sizes, dim))


@takes_tensor
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """chunk(). No part is unsafe to write here."""
    return tuple(input.chunk(chunks, dim))


@takes_tensor
def unsafe_split(input: Tensor, split_size: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """split(). No part is unsafe to write here."""
    return tuple(input.split(split_size, dim))


@takes_tensor
def unsafe_split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """split_with_sizes(). No part is unsafe to write here."""
    return tuple(_weft.split_with_sizes(input, split_sizes, dim))


# ---- tensors by strides ----------------------------------------------------------------------------------------------


@takes_out
def as_strided_scatter(input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A copy with `src` where as_strided() with the same arguments would read."""
    places = _weft.as_strided(_weft.arange(input.numel(), device=input.device).reshape(input.shape), size, stride, storage_offset or 0)
    if tuple(src.shape) != tuple(places.shape):
        raise _weft.ShapeError(f"as_strided_scatter(): src must have the part's shape {list(places.shape)}, not {list(src.shape)}")
    return _weft.put(input, places, src.to(input.dtype))


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: _weft.dtype | None = None, layout: _layout | None = None, device: Any = None,
    requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Zeros: nothing is ever uninitialised, and strides are Weft's business."""
    if len(size) != len(stride):
        raise ValueError(f"empty_strided(): there are {len(size)} sizes, but {len(stride)} strides")
    return _weft.zeros(size, dtype=dtype, device=device, requires_grad=requires_grad)


def empty_permuted(
    size: Sequence[int], physical_layout: Sequence[int], *, dtype: _weft.dtype | None = None, layout: _layout | None = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Zeros: nothing is ever uninitialised, and order in memory is Weft's business."""
    if sorted(physical_layout) != list(range(len(size))):
        raise ValueError(f"empty_permuted(): argument 'physical_layout' must have each of {len(size)} axes once, not {list(physical_layout)}")
    return _weft.zeros(size, dtype=dtype, device=device, requires_grad=requires_grad)


def scalar_tensor(
    s: float, *, dtype: _weft.dtype | None = None, layout: _layout | None = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A 0-d tensor of a number, of the default float type unless another is given."""
    return _weft.full((), s, dtype=_weft.get_default_dtype() if dtype is None else dtype, device=device, requires_grad=requires_grad)


def _new_empty_strided(self: Tensor, size: Sequence[int], stride: Sequence[int], **how: Any) -> Tensor:
    """empty_strided() of this tensor's type."""
    return empty_strided(size, stride, **{"dtype": self.dtype, **how})


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: float = 0) -> Tensor:
    """A number around the tensor: nn.functional.pad(input, pad, value=value)."""
    return _weft.functional.pad(input, pad, "constant", value)


@takes_out
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` positions of elements that are not 0, a row each; rows of `fill_value` where there are fewer. Runs the graph."""
    if not isinstance(size, int):
        raise TypeError(f"nonzero_static(): argument 'size' must be an int, not {type(size).__name__}")
    if size < 0:
        raise ValueError(f"nonzero_static(): argument 'size' must not be negative, and is {size}")
    found = _weft.nonzero(input)[:size]
    missing = size - found.shape[0]
    return _weft.cat([found, found.new_full((missing, input.ndim), fill_value)]) if missing else found


# ---- complex functions of real numbers -------------------------------------------------------------------------------


@takes_tensor
def conj(input: Tensor) -> Tensor:
    """The tensor itself: real numbers are their conjugates."""
    return input


@takes_out
def conj_physical(input: Tensor) -> Tensor:
    """A copy: real numbers are their conjugates."""
    return input.clone()


@takes_tensor
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: nothing is conjugated later."""
    return input


@takes_tensor
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: nothing is negated later."""
    return input


@takes_tensor
def real(input: Tensor) -> Tensor:
    """The tensor itself: its numbers are real."""
    return input


@takes_out
def angle(input: Tensor) -> Tensor:
    """The angle of real numbers in the complex plane: 0, or pi for negative ones; NaN of NaN."""
    x = input if input.is_floating_point() else input.to(_weft.get_default_dtype())
    turned = x.new_full((), 3.141592653589793)
    return _weft.where(_weft.isnan(x), x, _weft.where(x < 0, turned, 0.0))


@takes_tensor
def adjoint(input: Tensor) -> Tensor:
    """The last two axes exchanged."""
    if input.ndim < 2:
        raise _weft.ShapeError(f"adjoint(): a tensor of {input.ndim} axes has no last two to exchange")
    return input.transpose(-2, -1)


@takes_tensor
def is_conj(input: Tensor) -> bool:
    """False: nothing is conjugated later."""
    return False


@takes_tensor
def is_neg(input: Tensor) -> bool:
    """False: nothing is negated later."""
    return False


def _hermitian(self: Tensor) -> Tensor:
    """A matrix transposed."""
    if self.ndim not in (0, 2):
        raise _weft.ShapeError(f"H(): a matrix is needed, not a tensor of the shape {list(self.shape)}; mH exchanges the last two axes")
    return self.t()


_methods: dict[str, Callable[..., Any]] = {
    "adjoint": adjoint, "angle": angle, "as_strided_scatter": as_strided_scatter, "conj": conj, "conj_physical": conj_physical,
    "is_conj": is_conj, "is_neg": is_neg, "new_empty_strided": _new_empty_strided, "nonzero_static": nonzero_static,
    "resolve_conj": resolve_conj, "resolve_neg": resolve_neg, "unsafe_chunk": unsafe_chunk, "unsafe_split": unsafe_split,
    "unsafe_split_with_sizes": unsafe_split_with_sizes,
}  # fmt: skip
for _name, _value in _methods.items():
    setattr(Tensor, _name, _value)
setattr(Tensor, "H", property(_hermitian))  # noqa: B010
setattr(Tensor, "mH", property(adjoint))  # noqa: B010
setattr(Tensor, "real", property(real))  # noqa: B010
