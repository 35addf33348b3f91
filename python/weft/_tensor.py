"""The parts of Tensor that are Python: properties made of other ops, pickling and copying."""

from . import _weft

Tensor = _weft.Tensor


def _rebuild(values, dtype, requires_grad, kind, shape):
    tensor = _weft.tensor(values, dtype=dtype).reshape(shape) if isinstance(values, list) else _from_bytes(values, dtype, shape)
    if kind is not Tensor:
        return kind(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad) if requires_grad else tensor


def _from_bytes(values, dtype, shape):
    if dtype is _weft.bfloat16:
        return _weft.as_tensor(memoryview(values).cast("f")).to(dtype).reshape(shape)
    code = _CODES[dtype]
    return _weft.tensor(memoryview(values).cast(code)).reshape(shape) if values else _weft.zeros(shape, dtype=dtype)


_CODES = {
    _weft.bool: "?", _weft.uint8: "B", _weft.uint16: "H", _weft.uint32: "I", _weft.uint64: "L",
    _weft.int8: "b", _weft.int16: "h", _weft.int32: "i", _weft.int64: "l", _weft.float32: "f", _weft.float64: "d",
}  # fmt: skip


def _reduce(self, protocol=None):
    value = self.detach()
    if self.dtype in (_weft.float16, _weft.bfloat16):  # memoryviews know no half floats; lists do
        values = value.float().flatten().tolist()
    else:
        values = memoryview(value.contiguous()).tobytes()
    return _rebuild, (values, self.dtype, self.requires_grad, type(self), tuple(self.shape))


def _deepcopy(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError("deepcopy(): only leaves can be copied with their gradient; use clone() or detach()")
    copy = self.detach().clone()
    if type(self) is not Tensor:
        copy = type(self)(copy, self.requires_grad)
    elif self.requires_grad:
        copy.requires_grad_()
    if self.grad is not None:
        copy.grad = self.grad.detach().clone()
    memo[id(self)] = copy
    return copy


def _transposed(self):
    """The axes in reverse order."""
    return self.permute(*range(self.ndim - 1, -1, -1))


def _uniform(self, from_=0.0, to=1.0):
    """Writes random numbers, uniform in [from, to)."""
    return self.copy_(_weft.rand(self.shape, dtype=self.dtype) * (to - from_) + from_)


def _normal(self, mean=0.0, std=1.0):
    """Writes random numbers of a normal distribution."""
    return self.copy_(_weft.randn(self.shape, dtype=self.dtype) * std + mean)


def _register_post_accumulate_grad_hook(self, hook):
    """Calls `hook(tensor)` after each backward() that has added to the .grad of this leaf. Returns a handle with remove()."""
    import weakref

    this = weakref.ref(self)  # the hook gets the object that it was registered on, as a key of dicts, say

    def call(leaf):
        tensor = this()
        hook(leaf if tensor is None else tensor)

    return _weft._register_post_accumulate_grad_hook(self, call if callable(hook) else hook)


Tensor.register_post_accumulate_grad_hook = _register_post_accumulate_grad_hook
Tensor.uniform_, Tensor.normal_ = _uniform, _normal
Tensor.__reduce_ex__ = _reduce
Tensor.__deepcopy__ = _deepcopy
Tensor.T = property(_transposed)
Tensor.mT = property(lambda self: self.transpose(-2, -1), doc="The last two axes exchanged.")
