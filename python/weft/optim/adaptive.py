"""Optimisers whose step is Python: Adafactor, ASGD, Rprop, SparseAdam and Muon. The update of all parameters is one run."""

from __future__ import annotations

import math

from .. import _weft
from .._functions import finfo
from .._modes import no_grad
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _check(call: str, **settings: Any) -> None:
    """None of the settings may be negative (or NaN)."""
    for name, value in settings.items():
        if not value >= 0:
            raise ValueError(f"{call}(): argument '{name}' must not be negative, and is {value}")


def _no_option(call: str, differentiable: bool) -> None:
    if differentiable:
        raise ValueError(f"{call}(): differentiable=True is not supported")


class _Updates(Optimizer):
    """step() updates each parameter that has a gradient by _update(), which a subclass has. _start() makes its first state."""

    _counts_steps = True

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        return {}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        raise NotImplementedError

    @no_grad()
    def step(self, closure: Any = None) -> Any:
        """Updates every parameter that has a gradient, and computes all that is pending."""
        loss = self._evaluate(closure)
        _weft._enter_op(type(self).__name__)
        try:
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._step_of(param, group)
        finally:
            _weft._leave_op()
        return loss

    def _step_of(self, param: Any, group: Any) -> None:
        state = self.state[param]
        if not state:
            state.update({"step": _weft.tensor(0.0, device="cpu")} if self._counts_steps else {}, **self._start(param, group))
        if self._counts_steps:
            state["step"] = state["step"] + 1
        self._update(param, -param.grad if group.get("maximize") else param.grad, state, group)


class Adafactor(_Updates):
    """Adam's second moment from means of rows and columns, steps in units of the parameters, and no first moment: little memory."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: Any = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: Any = None,
        maximize: bool = False,
    ) -> None:
        _check("Adafactor", lr=lr, weight_decay=weight_decay)
        if not beta2_decay <= 0:
            raise ValueError(f"Adafactor(): argument 'beta2_decay' must be 0 or less, not {beta2_decay}")
        if not d >= 1:
            raise ValueError(f"Adafactor(): argument 'd' must be 1 or more, not {d}")
        if (eps[0] is not None and not eps[0] >= 0) or not eps[1] >= 0:
            raise ValueError(f"Adafactor(): argument 'eps' must not be negative, and is {eps}")
        super().__init__(params, {"lr": lr, "beta2_decay": beta2_decay, "eps": tuple(eps), "d": d, "weight_decay": weight_decay,
                                  "maximize": maximize})  # fmt: skip

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        if param.ndim < 2:
            return {"variance": _weft.zeros_like(param)}
        rows, columns = (*param.shape[:-1], 1), (*param.shape[:-2], 1, param.shape[-1])
        return {"row_var": param.new_zeros(rows), "col_var": param.new_zeros(columns)}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        least, smallest = group["eps"]
        least = finfo(param.dtype).eps if least is None else least
        step, lr = state["step"], group["lr"]
        share = step ** group["beta2_decay"]
        size = (step**-0.5).clamp(max=lr) * (param.norm() / param.numel() ** 0.5).clamp(min=smallest)
        if group["weight_decay"]:
            param.mul_(1 - lr * group["weight_decay"])
        if grad.ndim > 1:
            rows, columns = state["row_var"], state["col_var"]
            squares = grad * grad
            rows.add_((squares.mean(-1, keepdim=True) - rows) * share)
            columns.add_((squares.mean(-2, keepdim=True) - columns) * share)
            variance = rows * columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            state["variance"].add_((grad * grad - state["variance"]) * share)
            variance = state["variance"]
        update = grad * variance.clamp(min=least * least).rsqrt()
        limit = (update.norm() / (update.numel() ** 0.5 * group["d"])).clamp(min=1.0)
        param.sub_((update * (size / limit)).to(param.dtype))


class ASGD(_Updates):
    """Averaged descent: ax is the mean of the parameters from step t0 on."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0.0,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _no_option("ASGD", differentiable)
        _check("ASGD", lr=lr, weight_decay=weight_decay)
        super().__init__(params, {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize})

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        return {"eta": _weft.tensor(float(group["lr"]), device="cpu"), "mu": _weft.tensor(1.0, device="cpu"), "ax": _weft.zeros_like(param)}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        if group["weight_decay"]:
            grad = grad + param * group["weight_decay"]
        eta, step = state["eta"].to(param.dtype), state["step"]
        param.mul_(1 - group["lambd"] * eta)
        param.sub_(grad * eta)
        state["ax"].add_((param - state["ax"]) * state["mu"].to(param.dtype))
        state["eta"] = group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"]
        state["mu"] = 1 / (step - group["t0"]).clamp(min=1.0)


class Rprop(_Updates):
    """Steps by the sign of the gradient, longer while it stays the same and shorter where it changes."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        etas: Any = (0.5, 1.2),
        step_sizes: Any = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _no_option("Rprop", differentiable)
        _check("Rprop", lr=lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Rprop(): argument 'etas' must be a factor below 1 and one above 1, not {etas}")
        super().__init__(params, {"lr": lr, "etas": tuple(etas), "step_sizes": tuple(step_sizes), "maximize": maximize})

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        return {"prev": _weft.zeros_like(param), "step_size": _weft.full_like(param, float(group["lr"]))}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        shorter, longer = group["etas"]
        agreement = grad * state["prev"]
        factor = _weft.where(agreement > 0, longer, _weft.where(agreement < 0, shorter, 1.0)).to(param.dtype)
        state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        kept = _weft.where(agreement < 0, 0, grad)  # no step back: the next one decides
        param.sub_(kept.sign() * state["step_size"])
        state["prev"].copy_(kept)


class SparseAdam(_Updates):
    """Adam that leaves alone what has a gradient of 0: rows of a table that were not used keep their moments."""

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: Any = (0.9, 0.999), eps: float = 1e-8, maximize: bool = False
    ) -> None:
        _check("SparseAdam", lr=lr, eps=eps)
        if not (0 <= betas[0] < 1 and 0 <= betas[1] < 1):
            raise ValueError(f"SparseAdam(): argument 'betas' must be between 0 and 1, not {betas}")
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "maximize": maximize})

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        return {"exp_avg": _weft.zeros_like(param), "exp_avg_sq": _weft.zeros_like(param)}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        (one, two), step = group["betas"], state["step"].to(_weft.float64)  # 1 - beta ** step cancels
        # Gradients are dense here. A row is not used where all of its gradient is 0.
        used = (grad != 0).flatten(1).any(1).reshape(-1, *[1] * (grad.ndim - 1)) if grad.ndim > 1 else grad != 0
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.add_(_weft.where(used, (grad - mean) * (1 - one), 0))
        square.add_(_weft.where(used, (grad * grad - square) * (1 - two), 0))
        size = group["lr"] * (1 - two**step).sqrt() / (1 - one**step)
        param.sub_(_weft.where(used, mean / (square.sqrt() + group["eps"]) * size, 0).to(param.dtype))


class Muon(_Updates):
    """Momentum, made orthogonal by Newton and Schulz's iteration: for the matrices inside a network."""

    _counts_steps = False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: Any = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        _check("Muon", lr=lr, weight_decay=weight_decay, momentum=momentum)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Muon(): argument 'adjust_lr_fn' must be 'original' or 'match_rms_adamw', not {adjust_lr_fn!r}")
        if len(ns_coefficients) != 3 or ns_steps >= 100:
            raise ValueError("Muon(): there must be three 'ns_coefficients', and fewer than 100 'ns_steps'")
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "ns_coefficients":
                                  tuple(ns_coefficients), "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn})  # fmt: skip
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon(): a parameter must be a matrix, and one has the shape {tuple(param.shape)}; give the others to AdamW"
                    )

    def _start(self, param: Any, group: Any) -> dict[str, Any]:
        return {"momentum_buffer": _weft.zeros_like(param)}

    def _update(self, param: Any, grad: Any, state: Any, group: Any) -> None:
        momentum, buffer = group["momentum"], state["momentum_buffer"]
        buffer.add_((grad - buffer) * (1 - momentum))
        update = grad + (buffer - grad) * momentum if group["nesterov"] else buffer
        rows, columns = param.shape
        match = group["adjust_lr_fn"] == "match_rms_adamw"
        ratio = 0.2 * math.sqrt(max(rows, columns)) if match else math.sqrt(max(1, rows / columns))
        param.mul_(1 - group["lr"] * group["weight_decay"])
        param.sub_(_orthogonalized(update, group).to(param.dtype) * (group["lr"] * ratio))


def _orthogonalized(matrix: Any, group: Any) -> Any:
    """About U Vᵀ of a matrix U S Vᵀ, in bfloat16: all singular values near 1."""
    a, b, c = group["ns_coefficients"]
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(_weft.bfloat16)
    x = x.mT if tall else x
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.mT
        x = a * x + (b * gram + c * (gram @ gram)) @ x
    return x.mT if tall else x
