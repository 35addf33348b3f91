"""Layers hold parameters; the arithmetic is in weft.nn.functional. Parameters start as PyTorch's do."""

import math

from .. import _weft
from . import functional as F
from . import init
from .module import Module
from .parameter import Parameter


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def _uniform(shape, fan, dtype):
    bound = 1 / math.sqrt(fan) if fan > 0 else 0
    return Parameter(init.uniform_(_weft.zeros(shape, dtype=dtype), -bound, bound))


class Identity(Module):
    """x itself; takes any arguments, for the place of another layer."""

    def __init__(self, *args, **kwargs):
        super().__init__()

    def forward(self, input):
        return input


class Linear(Module):
    """x times weight transposed, plus bias: (…, in) → (…, out)."""

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _uniform((out_features, in_features), in_features, dtype)
        self.register_parameter("bias", _uniform((out_features,), in_features, dtype) if bias else None)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Bilinear(Module):
    """x1ᵀ W x2 + bias for each output: (…, in1), (…, in2) → (…, out)."""

    def __init__(self, in1_features, in2_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.weight = _uniform((out_features, in1_features, in2_features), in1_features, dtype)
        self.register_parameter("bias", _uniform((out_features,), in1_features, dtype) if bias else None)

    def forward(self, input1, input2):
        products = (input1.unsqueeze(-2).unsqueeze(-1) * self.weight).sum(-2)  # (…, out, in2)
        result = (products * input2.unsqueeze(-2)).sum(-1)
        return result if self.bias is None else result + self.bias


class _Conv(Module):
    def __init__(self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode, dtype):
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(f"{type(self).__name__}: {in_channels} and {out_channels} channels must be divisible by {groups} groups")
        if padding_mode != "zeros":
            raise ValueError(f"{type(self).__name__}: padding_mode must be 'zeros', not '{padding_mode}'")
        if padding == "valid":
            padding = 0
        elif padding == "same":
            if any(s != 1 for s in stride):
                raise ValueError(f"{type(self).__name__}: padding='same' needs a stride of 1")
            if any(d * (k - 1) % 2 for d, k in zip(dilation, kernel_size)):
                raise ValueError(f"{type(self).__name__}: padding='same' needs odd kernel sizes")
            padding = tuple(d * (k - 1) // 2 for d, k in zip(dilation, kernel_size))
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel_size
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        fan = in_channels // groups * math.prod(kernel_size)
        self.weight = _uniform((out_channels, in_channels // groups, *kernel_size), fan, dtype)
        self.register_parameter("bias", _uniform((out_channels,), fan, dtype) if bias else None)

    def extra_repr(self):
        return f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"


class Conv2d(_Conv):
    """Slides filters over images: (n, in, h, w) → (n, out, h', w')."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        padding = padding if isinstance(padding, str) else _pair(padding)
        super().__init__(in_channels, out_channels, _pair(kernel_size), _pair(stride), padding, _pair(dilation), groups, bias,
                         padding_mode, dtype)  # fmt: skip

    def forward(self, input):
        return F.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class Conv1d(_Conv):
    """Slides filters over sequences: (n, in, l) → (n, out, l')."""

    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        def single(value):
            return value if isinstance(value, str) else (value,) if isinstance(value, int) else tuple(value)

        super().__init__(in_channels, out_channels, single(kernel_size), single(stride), single(padding), single(dilation), groups,
                         bias, padding_mode, dtype)  # fmt: skip

    def forward(self, input):
        return F.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


class MaxPool2d(Module):
    """The largest element of each window."""

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def forward(self, input):
        return F.max_pool2d(input, self.kernel_size, self.stride, self.padding)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride or self.kernel_size}, padding={self.padding}"


class AvgPool2d(Module):
    """The mean of each window."""

    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def forward(self, input):
        return F.avg_pool2d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride or self.kernel_size}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """The mean of windows that divide an image into so many parts."""

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def forward(self, input):
        return F.adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _BatchNorm(Module):
    ranks = ()

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, device=None, dtype=None):
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.register_parameter("weight", Parameter(_weft.ones(num_features, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(_weft.zeros(num_features, dtype=dtype)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", _weft.zeros(num_features, dtype=dtype).contiguous() if tracked else None)
        self.register_buffer("running_var", _weft.ones(num_features, dtype=dtype).contiguous() if tracked else None)
        self.register_buffer("num_batches_tracked", _weft.tensor(0) if tracked else None)

    def forward(self, input):
        if input.ndim not in self.ranks:
            raise ValueError(f"{type(self).__name__}: the input has {input.ndim} axes, not {' or '.join(map(str, self.ranks))}")
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked += 1
        batch = self.training or self.running_mean is None
        return F.batch_norm(input, self.running_mean, self.running_var, self.weight, self.bias, batch, self.momentum, self.eps)

    def extra_repr(self):
        return f"{self.num_features}, eps={self.eps}, momentum={self.momentum}"


class BatchNorm1d(_BatchNorm):
    """Each channel with mean 0 and variance 1 over the batch; in eval() by the running ones. (n, c) or (n, c, l)."""

    ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    """The same for images: (n, c, h, w)."""

    ranks = (4,)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, times weight plus bias."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        affine = elementwise_affine
        self.register_parameter("weight", Parameter(_weft.ones(self.normalized_shape, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(_weft.zeros(self.normalized_shape, dtype=dtype)) if affine and bias else None)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """x / sqrt(mean(x²) + eps) * weight over the last axes."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.eps = eps
        weight = Parameter(_weft.ones(self.normalized_shape, dtype=dtype)) if elementwise_affine else None
        self.register_parameter("weight", weight)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}"


class GroupNorm(Module):
    """Groups of channels, each with mean 0 and variance 1."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None):
        super().__init__()
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        self.register_parameter("weight", Parameter(_weft.ones(num_channels, dtype=dtype)) if affine else None)
        self.register_parameter("bias", Parameter(_weft.zeros(num_channels, dtype=dtype)) if affine else None)

    def forward(self, input):
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}"


class Dropout(Module):
    """In training each element is 0 with probability p, and the others are scaled by 1 / (1 - p)."""

    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"Dropout: p must be between 0 and 1, not {p}")
        self.p = p

    def forward(self, input):
        return F.dropout(input, self.p, self.training)

    def extra_repr(self):
        return f"p={self.p}"


class Embedding(Module):
    """Rows of a table, by index: (…) → (…, embedding_dim)."""

    def __init__(self, num_embeddings, embedding_dim, device=None, dtype=None):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(init.normal_(_weft.zeros(num_embeddings, embedding_dim, dtype=dtype)))

    def forward(self, input):
        return F.embedding(input, self.weight)

    def extra_repr(self):
        return f"{self.num_embeddings}, {self.embedding_dim}"


class Flatten(Module):
    """Joins axes, all but the first unless told otherwise."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Splits one axis into several."""

    def __init__(self, dim, unflattened_size):
        super().__init__()
        self.dim, self.unflattened_size = dim, tuple(unflattened_size)

    def forward(self, input):
        dim = self.dim % input.ndim
        return input.reshape(*input.shape[:dim], *self.unflattened_size, *input.shape[dim + 1 :])
