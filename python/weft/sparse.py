"""weft.sparse: matrices of few values, as lists of coordinates (COO): adjacency matrices of graphs, and their products with gradients."""

from __future__ import annotations

from . import _weft
from ._tensor import Tensor
from ._types import Size, makes_on_device, sparse_coo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["SparseTensor", "addmm", "mm", "softmax", "log_softmax", "spmm", "sum"]


class SparseTensor:
    """A tensor of which only some values are stored: `indices` has their coordinates, a column each, and `values` the values.

    The first axes are sparse; values may have axes of their own after them, which are dense. Values at the same place are added.
    """

    is_sparse, layout = True, sparse_coo
    __array_priority__ = 1000  # so that NumPy leaves `array @ sparse` to us

    def __init__(self, indices: Tensor, values: Tensor, size: Any, is_coalesced: bool = False) -> None:
        self._i, self._v, self._size, self._is_coalesced = indices, values, Size(size), is_coalesced

    # ---- what it is ----
    shape = property(lambda self: self._size)
    dtype = property(lambda self: self._v.dtype)
    device = property(lambda self: self._v.device)
    requires_grad = property(lambda self: self._v.requires_grad)
    grad = property(lambda self: None if self._v.grad is None else SparseTensor(self._i, self._v.grad, self._size, self._is_coalesced))
    ndim = property(lambda self: len(self._size))
    is_cuda = property(lambda self: False)

    def size(self, dim: int | None = None) -> Any:
        """The sizes, or one of them."""
        return self._size if dim is None else self._size[dim]

    def dim(self) -> int:
        """The number of axes."""
        return len(self._size)

    def numel(self) -> int:
        """The number of elements, stored or not."""
        return self._size.numel()

    def sparse_dim(self) -> int:
        """The number of sparse axes."""
        return int(self._i.shape[0])

    def dense_dim(self) -> int:
        """The number of dense axes."""
        return len(self._size) - self.sparse_dim()

    def _nnz(self) -> int:
        return int(self._i.shape[1])

    def is_coalesced(self) -> bool:
        """Whether the coordinates are in order, each once."""
        return self._is_coalesced

    def _indices(self) -> Tensor:
        return self._i

    def _values(self) -> Tensor:
        return self._v

    def indices(self) -> Tensor:
        """The coordinates of a coalesced tensor."""
        return self._of_coalesced("indices")._i

    def values(self) -> Tensor:
        """The values of a coalesced tensor."""
        return self._of_coalesced("values")._v

    def _of_coalesced(self, name: str) -> SparseTensor:
        if not self._is_coalesced:
            raise RuntimeError(f"{name}(): the tensor is not coalesced; call coalesce() first")
        return self

    def __len__(self) -> int:
        return int(self._size[0])

    def __repr__(self) -> str:
        return f"tensor(indices={self._i},\n       values={self._v},\n       size={tuple(self._size)}, nnz={self._nnz()}, layout=weft.sparse_coo)"

    # ---- the same values in another form ----
    def _places(self) -> Tensor:
        """The place of each value among all elements of the sparse axes."""
        place = self._i.new_zeros(self._nnz())
        for axis in range(self.sparse_dim()):
            place = place * self._size[axis] + self._i[axis]
        return place

    def coalesce(self) -> SparseTensor:
        """The same tensor with its coordinates in order and each once: values at the same place are added."""
        if self._is_coalesced:
            return self
        if self._nnz() == 0:
            return SparseTensor(self._i, self._v, self._size, True)
        places, inverse = _weft.unique(self._places(), return_inverse=True)
        values = self._v.new_zeros((places.shape[0], *self._v.shape[1:])).index_add(0, inverse, self._v)
        rows = []
        for axis in reversed(range(self.sparse_dim())):
            rows.append(places % self._size[axis])
            places = places // self._size[axis]
        return SparseTensor(_weft.stack(rows[::-1]), values, self._size, True)

    def to_dense(self, dtype: Any = None, **_: Any) -> Tensor:
        """All elements."""
        count, dense = Size(self._size[: self.sparse_dim()]).numel(), self._size[self.sparse_dim() :]
        flat = self._v.new_zeros((count, *dense)).index_add(0, self._places(), self._v)
        flat = flat.reshape(tuple(self._size))
        return flat if dtype is None else flat.to(dtype)

    def to_sparse(self, *_: Any, **__: Any) -> SparseTensor:
        """The tensor itself."""
        return self

    def _with(self, values: Tensor) -> SparseTensor:
        return SparseTensor(self._i, values, self._size, self._is_coalesced)

    def to(self, *args: Any, **kwargs: Any) -> SparseTensor:
        """The same values in another type, or on another device."""
        values = self._v.to(*args, **kwargs)
        return self if values is self._v else SparseTensor(self._i.to(values.device), values, self._size, self._is_coalesced)

    def detach(self) -> SparseTensor:
        """The same values without their history."""
        return self._with(self._v.detach())

    def clone(self, **_: Any) -> SparseTensor:
        """A copy."""
        return SparseTensor(self._i.clone(), self._v.clone(), self._size, self._is_coalesced)

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Collects a gradient of the values."""
        self._v.requires_grad_(requires_grad)
        return self

    def cpu(self) -> SparseTensor:
        """The same values on the CPU."""
        return self.to("cpu")

    def float(self) -> SparseTensor:
        """The same values as float32."""
        return self.to(_weft.float32)

    def double(self) -> SparseTensor:
        """The same values as float64."""
        return self.to(_weft.float64)

    def transpose(self, dim0: int, dim1: int) -> SparseTensor:
        """Two sparse axes exchanged."""
        axes, size = list(range(self.sparse_dim())), list(self._size)
        dim0, dim1 = dim0 % self.ndim, dim1 % self.ndim
        if max(dim0, dim1) >= self.sparse_dim():
            raise RuntimeError("transpose(): only sparse axes can be exchanged")
        axes[dim0], axes[dim1] = axes[dim1], axes[dim0]
        size[dim0], size[dim1] = size[dim1], size[dim0]
        return SparseTensor(self._i[_weft.tensor(axes, device=self._i.device)], self._v, size)

    def t(self) -> SparseTensor:
        """The transposed matrix."""
        return self.transpose(0, 1)

    T = property(t)

    def backward(self, *args: Any, **kwargs: Any) -> None:
        self._v.backward(*args, **kwargs)

    # ---- arithmetic ----
    def __matmul__(self, other: Any) -> Any:
        return mm(self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        product: Tensor = mm(self.t(), other.t())
        return product.t()

    matmul = mm = __matmul__

    def __mul__(self, other: Any) -> SparseTensor:
        if isinstance(other, SparseTensor):
            raise NotImplementedError("mul(): a sparse tensor times a sparse one is not supported; one of them can be made dense with to_dense()")
        if isinstance(other, Tensor) and other.ndim:
            other = other.expand(self._size)[tuple(self._i[axis] for axis in range(self.sparse_dim()))]
        return self._with(self._v * other)

    __rmul__ = mul = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with(self._v / other)

    div = __truediv__

    def __neg__(self) -> SparseTensor:
        return self._with(-self._v)

    neg = __neg__

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseTensor):
            if other._size != self._size:
                raise RuntimeError(f"add(): the shapes {tuple(self._size)} and {tuple(other._size)} differ")
            return SparseTensor(_weft.cat([self._i, other._i], 1), _weft.cat([self._v, other._v]), self._size)
        return self.to_dense() + other

    __radd__ = add = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    sub = __sub__

    def sum(self, dim: Any = None, dtype: Any = None) -> Tensor:
        """The sum of all values, or along axes, as a dense tensor."""
        total: Tensor = self._v.sum() if dim is None else self.to_dense().sum(dim)
        return total if dtype is None else total.to(dtype)

    def abs(self) -> SparseTensor:
        """The absolute values."""
        return self.coalesce()._map(_weft.abs)

    def sqrt(self) -> SparseTensor:
        """The square roots."""
        return self.coalesce()._map(_weft.sqrt)

    def pow(self, exponent: Any) -> SparseTensor:
        """Powers of the values."""
        return self.coalesce()._map(lambda v: v**exponent)

    def _map(self, function: Callable[[Tensor], Tensor]) -> SparseTensor:
        return self._with(function(self._v))

    @staticmethod
    def __weft_function__(name: str, args: Any, kwargs: Any) -> Any:
        """What a function of dense tensors does that is given a sparse one: weft.mm(sparse, dense)."""
        known: dict[str, Any] = {"mm": mm, "matmul": mm, "mv": mm, "addmm": addmm, "softmax": softmax, "log_softmax": log_softmax, "sum": sum}
        if name in known:
            return known[name](*args, **kwargs)
        if name in ("add", "sub", "mul", "div", "neg", "abs", "sqrt", "pow", "t", "transpose", "clone", "detach", "numel") and isinstance(args[0], SparseTensor):
            return getattr(args[0], name)(*args[1:], **kwargs)
        raise TypeError(f"{name}(): sparse tensors are not supported here; to_dense() gives all elements")

    def __reduce__(self) -> Any:
        return SparseTensor, (self._i, self._v, tuple(self._size), self._is_coalesced)


@makes_on_device
def sparse_coo_tensor(indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, pin_memory: bool = False,
                      requires_grad: bool = False, check_invariants: Any = None, is_coalesced: Any = None) -> SparseTensor:  # fmt: skip
    """A sparse tensor of coordinates, a column each, and their values. Without `size` it is as large as the coordinates need."""
    if values is None:  # sparse_coo_tensor(size): nothing is stored
        size = tuple(indices)
        return SparseTensor(_weft.zeros(len(size), 0, dtype=_weft.int64), _weft.zeros(0, dtype=dtype), size, True)
    stored = _weft.as_tensor(values, dtype=dtype)
    places = _weft.as_tensor(indices).to(stored.device, _weft.int64)
    if places.ndim != 2 or stored.ndim < 1 or places.shape[1] != stored.shape[0]:
        raise RuntimeError(
            f"sparse_coo_tensor(): indices of shape {tuple(places.shape)} do not fit values of shape {tuple(stored.shape)}; each value needs a column"
        )
    if size is None:
        size = (*((places.max(1).values + 1).tolist() if places.shape[1] else [0] * places.shape[0]), *stored.shape[1:])
    size = tuple(size)
    if len(size) != places.shape[0] + stored.ndim - 1:
        raise RuntimeError(
            f"sparse_coo_tensor(): a size of {len(size)} axes does not fit {places.shape[0]} sparse axes and {stored.ndim - 1} dense ones"
        )
    if places.shape[1]:
        for axis, (low, high) in enumerate(zip(places.min(1).values.tolist(), places.max(1).values.tolist())):
            if low < 0 or high >= size[axis]:
                raise RuntimeError(f"sparse_coo_tensor(): index {low if low < 0 else high} is outside axis {axis}, whose size is {size[axis]}")
    if requires_grad:
        stored = stored.detach().requires_grad_()
    return SparseTensor(places, stored, size, bool(is_coalesced))


def _to_sparse(self: Tensor, sparse_dim: int | None = None, **_: Any) -> SparseTensor:
    """The tensor with only the values stored that are not zero."""
    axes = self.ndim if sparse_dim is None else sparse_dim
    rest = tuple(range(axes, self.ndim))
    places = (self != 0 if not rest else (self != 0).any(rest)).nonzero().t()
    return SparseTensor(places, self[tuple(places[axis] for axis in range(axes))], self.shape, True)


def mm(mat1: Any, mat2: Any) -> Any:
    """A sparse matrix times a dense one, or times a vector; or a sparse one, as a sparse result."""
    if not isinstance(mat1, SparseTensor):
        return mat1 @ mat2 if not isinstance(mat2, SparseTensor) else mat2.__rmatmul__(mat1)
    if mat1.ndim != 2 or mat1.sparse_dim() != 2 or mat2.ndim not in (1, 2) or mat2.shape[0] != mat1.shape[1]:
        raise RuntimeError(f"mm(): the shapes {tuple(mat1.shape)} and {tuple(mat2.shape)} do not fit a product of matrices")
    if isinstance(mat2, SparseTensor):
        dense: Tensor = mm(mat1, mat2.to_dense())
        return _to_sparse(dense)
    values = mat1._v if mat2.ndim == 1 else mat1._v.unsqueeze(1)
    terms = values * mat2[mat1._i[1]]
    return terms.new_zeros((mat1.shape[0], *mat2.shape[1:])).index_add(0, mat1._i[0], terms)


spmm = mm


def addmm(mat: Tensor, mat1: Any, mat2: Tensor, *, beta: float = 1.0, alpha: float = 1.0) -> Tensor:
    """beta * mat + alpha * (mat1 @ mat2), with a sparse mat1."""
    result: Tensor = beta * mat + alpha * mm(mat1, mat2)
    return result


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:  # noqa: A001
    """The sum of all values, or along axes."""
    return input.sum(dim, dtype)


def _along_rows(input: SparseTensor, dim: int, log: bool) -> SparseTensor:
    whole = input.coalesce()
    if whole.ndim != 2 or whole.sparse_dim() != 2:
        raise RuntimeError("softmax(): only sparse matrices are supported")
    axis = 1 - dim % 2  # of the coordinate that stays
    group, count = whole._i[axis], whole.shape[axis]
    top = whole._v.new_full((count,), float("-inf")).scatter_reduce(0, group, whole._v, "amax")
    moved = whole._v - top.detach()[group]
    total = whole._v.new_zeros(count).index_add(0, group, moved.exp())[group]
    return whole._with(moved - total.log() if log else moved.exp() / total)


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """softmax of the stored values along an axis: what is not stored counts as minus infinity."""
    return _along_rows(input if dtype is None else input.to(dtype), dim, False)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithm of softmax()."""
    return _along_rows(input if dtype is None else input.to(dtype), dim, True)


def FloatTensor(indices: Any, values: Any, size: Any = None) -> SparseTensor:
    """sparse_coo_tensor() under an older name."""
    return sparse_coo_tensor(indices, values, size, dtype=_weft.float32)


_weft._set_overriding_type(SparseTensor)
