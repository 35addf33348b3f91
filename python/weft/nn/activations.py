"""Activations as modules."""

from . import functional as F
from .module import Module


def _activation(name, function, doc, **defaults):
    """A module that calls `function(input, **settings)`; its constructor takes the settings."""
    keys = list(defaults)

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        kwargs.pop("inplace", None)
        unknown = [key for key in kwargs if key not in defaults]
        if unknown or len(args) > len(keys) + 1:
            raise TypeError(f"{name}() takes {', '.join(keys) or 'no arguments'}, not {unknown[0] if unknown else args[-1]!r}")
        self.settings = {**defaults, **dict(zip(keys, args)), **kwargs}

    def forward(self, input):
        return function(input, **self.settings)

    def extra_repr(self):
        return ", ".join(f"{key}={value}" for key, value in self.settings.items())

    body = {"__init__": __init__, "forward": forward, "extra_repr": extra_repr, "__doc__": doc, "__module__": "weft.nn"}
    return type(name, (Module,), body)


ReLU = _activation("ReLU", F.relu, "max(x, 0).")
ReLU6 = _activation("ReLU6", F.relu6, "x within 0 and 6.")
LeakyReLU = _activation("LeakyReLU", F.leaky_relu, "x, or slope * x where x is negative.", negative_slope=0.01)
ELU = _activation("ELU", F.elu, "x, or alpha * (exp(x) - 1) where x is negative.", alpha=1.0)
SELU = _activation("SELU", F.selu, "A scaled ELU that keeps mean and variance.")
SiLU = _activation("SiLU", F.silu, "x * sigmoid(x).")
Mish = _activation("Mish", F.mish, "x * tanh(softplus(x)).")
GELU = _activation("GELU", F.gelu, "x times the normal distribution function of x.", approximate="none")
Sigmoid = _activation("Sigmoid", F.sigmoid, "1 / (1 + exp(-x)).")
LogSigmoid = _activation("LogSigmoid", F.logsigmoid, "log(sigmoid(x)), without overflow.")
Tanh = _activation("Tanh", F.tanh, "The hyperbolic tangent.")
Hardtanh = _activation("Hardtanh", F.hardtanh, "x within limits.", min_val=-1.0, max_val=1.0)
Hardsigmoid = _activation("Hardsigmoid", F.hardsigmoid, "A sigmoid of three lines.")
Hardswish = _activation("Hardswish", F.hardswish, "x * hardsigmoid(x).")
Softplus = _activation("Softplus", F.softplus, "log(1 + exp(beta x)) / beta.", beta=1.0, threshold=20.0)
Softsign = _activation("Softsign", F.softsign, "x / (1 + |x|).")
Tanhshrink = _activation("Tanhshrink", F.tanhshrink, "x - tanh(x).")
Softmax = _activation("Softmax", F.softmax, "exp(x) / sum(exp(x)) along an axis.", dim=-1)
LogSoftmax = _activation("LogSoftmax", F.log_softmax, "The logarithm of softmax.", dim=-1)
