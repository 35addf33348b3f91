"""weight_norm() and spectral_norm() as they were before parametrizations: the weight is computed before each forward()."""

from __future__ import annotations

from ... import _weft
from ..._modes import no_grad
from ..parameter import Parameter
from .parametrizations import checked_weight, matrix_of, norm_except, outputs_axis, power_steps
from .. import functional as F

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Computed:
    """A hook that computes one weight of a module. It is kept with the module, so that it can be removed."""

    kind = ""

    def __init__(self, name: str) -> None:
        self.name = name

    def weight(self, module: Any, training: bool) -> Any:
        raise NotImplementedError

    def __call__(self, module: Any, args: Any) -> None:
        setattr(module, self.name, self.weight(module, module.training))

    def attach(self, module: Any) -> Any:
        hooks = vars(module).setdefault("_computed_weights", {})
        if (self.kind, self.name) in hooks:
            raise RuntimeError(f"{self.kind}(): '{self.name}' of {type(module).__name__} has one already")
        hooks[self.kind, self.name] = self, module.register_forward_pre_hook(self)
        return module


def _detached(kind: str, module: Any, name: str) -> Any:
    found = vars(module).get("_computed_weights", {}).pop((kind, name), None)
    if found is None:
        raise ValueError(f"remove_{kind}(): '{name}' of {type(module).__name__} has no {kind}")
    hook, handle = found
    handle.remove()
    with no_grad():
        value = hook.weight(module, False)
    delattr(module, name)
    return hook, value


class _WeightNorm(_Computed):
    kind = "weight_norm"

    def __init__(self, name: str, dim: int) -> None:
        super().__init__(name)
        self.dim = dim

    def weight(self, module: Any, training: bool) -> Any:
        v = getattr(module, self.name + "_v")
        return v * (getattr(module, self.name + "_g") / norm_except(v, self.dim))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """A weight as weight_g * weight_v / |weight_v|, computed before each forward(). parametrizations.weight_norm is the newer one."""
    weight = checked_weight("weight_norm", module, name)
    hook = _WeightNorm(name, -1 if dim is None else dim)
    hook.attach(module)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(norm_except(weight, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    hook(module, None)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a plain parameter again."""
    _, value = _detached("weight_norm", module, name)
    delattr(module, name + "_g"), delattr(module, name + "_v")
    module.register_parameter(name, Parameter(value))
    return module


class _SpectralNorm(_Computed):
    kind = "spectral_norm"

    def __init__(self, name: str, steps: int, dim: int, eps: float) -> None:
        super().__init__(name)
        self.n_power_iterations, self.dim, self.eps = steps, dim, eps

    def weight(self, module: Any, training: bool) -> Any:
        weight, u, v = (getattr(module, self.name + end) for end in ("_orig", "_u", "_v"))
        matrix = matrix_of(weight, self.dim)
        if training:
            power_steps(matrix.mT, v, u, self.n_power_iterations, self.eps)
        return weight / (u.clone() * (matrix @ v.clone())).sum()  # the buffers move before the gradient is asked for


def spectral_norm(module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None) -> Any:
    """A weight divided by its largest singular value, before each forward(). parametrizations.spectral_norm is the newer one."""
    weight = checked_weight("spectral_norm", module, name)
    if n_power_iterations <= 0:
        raise ValueError(f"spectral_norm(): n_power_iterations must be 1 or more, not {n_power_iterations}")
    hook = _SpectralNorm(name, n_power_iterations, outputs_axis(module) if dim is None else dim, eps)
    hook.attach(module)
    matrix = matrix_of(weight.detach(), hook.dim)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.detach())
    for end, size in (("_u", matrix.shape[0]), ("_v", matrix.shape[1])):
        module.register_buffer(name + end, F.normalize(_weft.randn(size, dtype=weight.dtype, device=weight.device), dim=0, eps=eps).clone())
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Makes the weight a plain parameter again."""
    _, value = _detached("spectral_norm", module, name)
    for end in ("_orig", "_u", "_v"):
        delattr(module, name + end)
    module.register_parameter(name, Parameter(value))
    return module
