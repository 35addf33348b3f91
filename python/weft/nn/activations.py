"""Activations as modules."""

from __future__ import annotations

from .._types import makes_on_device
from . import functional as F
from ._start import filled
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._tensor import Tensor


def _activation(name: str, function: Any, doc: Any, *required: Any, inplace: bool = False, **defaults: Any) -> Any:
    """A module that calls `function(input, **settings)`; its constructor takes the settings, and has them as attributes."""
    keys = [*required, *defaults] + ["inplace"] * inplace
    values = {**defaults, **({"inplace": False} if inplace else {})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        Module.__init__(self)
        unknown = [key for key in kwargs if key not in keys] or list(args[len(keys) :])
        if unknown:
            raise TypeError(f"{name}() takes {', '.join(keys) or 'no arguments'}, not {unknown[0]!r}")
        settings = {**values, **dict(zip(keys, args)), **kwargs}
        missing = [key for key in required if key not in settings]
        if missing:
            raise TypeError(f"{name}() needs {', '.join(missing)}")
        for key in keys:
            setattr(self, key, settings[key])

    def forward(self, input: Tensor) -> Tensor:
        return function(input, **{key: getattr(self, key) for key in keys})

    def extra_repr(self) -> str:
        return ", ".join(f"{key}={getattr(self, key)!r}" for key in keys if key != "inplace" or self.inplace)

    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc, "__module__": "weft.nn"}
    return type(name, (Module,), body)


ReLU = _activation("ReLU", F.relu, "max(x, 0).", inplace=True)
ReLU6 = _activation("ReLU6", F.relu6, "x within 0 and 6.", inplace=True)
LeakyReLU = _activation(
    "LeakyReLU", F.leaky_relu, "x, or slope * x where x is negative.", negative_slope=0.01, inplace=True
)
ELU = _activation("ELU", F.elu, "x, or alpha * (exp(x) - 1) where x is negative.", alpha=1.0, inplace=True)
CELU = _activation("CELU", F.celu, "x, or alpha * (exp(x / alpha) - 1) where x is negative.", alpha=1.0, inplace=True)
SELU = _activation("SELU", F.selu, "A scaled ELU that keeps mean and variance.", inplace=True)
Threshold = _activation(
    "Threshold", F.threshold, "x above the threshold, else the value.", "threshold", "value", inplace=True
)
SiLU = _activation("SiLU", F.silu, "x * sigmoid(x).", inplace=True)
Mish = _activation("Mish", F.mish, "x * tanh(softplus(x)).", inplace=True)
GELU = _activation("GELU", F.gelu, "x times the normal distribution function of x.", approximate="none")
Softplus = _activation("Softplus", F.softplus, "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
Hardswish = _activation("Hardswish", F.hardswish, "x * hardsigmoid(x).", inplace=True)
Sigmoid = _activation("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)).")
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, "log(sigmoid(x)), without overflow.")
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, "A sigmoid of three lines.", inplace=True)
Tanh = _activation("Tanh", F.tanh, "The hyperbolic tangent.")
Hardtanh = _activation("Hardtanh", F.hardtanh, "x within limits.", min_val=-1.0, max_val=1.0, inplace=True)
Softsign = _activation("Softsign", F.softsign, "x / (1 + |x|).")
GLU = _activation("GLU", F.glu, "The first half of an axis times the sigmoid of the second half.", dim=-1)
Tanhshrink = _activation("Tanhshrink", F.tanhshrink, "x - tanh(x).")
Hardshrink = _activation("Hardshrink", F.hardshrink, "0 within the limits, else x.", lambd=0.5)
Softshrink = _activation("Softshrink", F.softshrink, "0 within the limits, else x moved towards 0.", lambd=0.5)
Softmax = _activation("Softmax", F.softmax, "exp(x) / sum(exp(x)) along an axis.", dim=None)
Softmin = _activation("Softmin", F.softmin, "softmax(-x).", dim=None)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, "The logarithm of softmax.", dim=None)


class RReLU(Module):
    """x, or slope * x where x is negative; slopes are random in training, else the mean of the limits."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """x, or weight * x where x is negative; one weight for all channels, or one for each."""

    @makes_on_device
    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = filled((num_parameters,), init, dtype)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softmax2d(Module):
    """Softmax over the channels of each place of an image: (n, c, h, w) or (c, h, w)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: the input has {input.ndim} axes, not 3 or 4")
        return F.softmax(input, -3)
