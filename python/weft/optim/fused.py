"""The optimisers whose arithmetic is an engine in C++: the update of all groups is one run of a few kernels."""

from __future__ import annotations

from .. import _weft
from .optimizer import Optimizer, check_groups

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class _Group(dict):
    """The settings of a parameter group. A learning rate goes to the engine at once: traced functions see it, too."""

    engine, number, made_with = None, 0, None

    def __setitem__(self, key: str, value: Any) -> None:
        if key == "lr" and self.engine is not None:
            self.engine.set_lr(self.number, float(value))
        super().__setitem__(key, value)

    def update(self, *args: Any, **kwargs: Any) -> None:
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class FusedOptimizer(Optimizer):
    """The base of these: a subclass names its engine, which reads the settings of a group by their names and holds the state."""

    _engine_type: Any = None
    _counts_steps = True  # whether the state of a parameter has its number of updates
    _engine: Any = None
    _group_type = _Group

    def add_param_group(self, param_group: Any) -> None:
        """Adds parameters with settings of their own: `{"params": […], "lr": 0.1}`."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        if self._engine is None:
            self._engine = self._engine_type(group["params"], dict(group), type(self).__name__)
        else:
            self._engine.add_group(group["params"], dict(group))
        group.engine, group.number, group.made_with = self._engine, len(self.param_groups) - 1, self._settings(group)

    def _settings(self, group: Any) -> Any:
        return {key: group[key] for key in self.defaults if key != "lr"}

    def _current(self) -> Any:
        """The engine, told what was written into the groups."""
        for group in self.param_groups:
            if group.made_with != self._settings(group):  # another momentum
                self._engine.set_options(group.number, dict(group))
                group.made_with = self._settings(group)
        return self._engine

    def step(self, closure: Any = None) -> Any:
        """Updates every parameter that has a gradient, and computes all that is pending."""
        loss = self._evaluate(closure)
        self._current().step()
        return loss

    def _state_by_number(self) -> Any:
        state: dict[int, dict[str, Any]] = {}
        for name, value in self._current().state().items():
            if name == "steps":
                continue
            number, slot = name.split(".", 1)
            entry = state.setdefault(int(number), {})
            if slot != "step":
                entry[slot] = value
            elif self._counts_steps:
                state[int(number)] = {"step": value.to(_weft.float32), **entry}
        return {number: entry for number, entry in state.items() if entry}

    @property
    def state(self) -> Any:
        """The state of each parameter that was updated: `optimizer.state[p]["exp_avg"]`."""
        params = [param for group in self.param_groups for param in group["params"]]
        return {params[number]: entry for number, entry in self._state_by_number().items()}

    def load_state_dict(self, state_dict: Any) -> None:
        """Continues from a state of state_dict()."""
        groups = check_groups(self, state_dict)
        values, number = {}, 0
        for saved in groups:
            for key in saved["params"]:
                for slot, value in state_dict["state"].get(key, {}).items():
                    if slot == "step":
                        values[f"{number}.step"] = _weft.as_tensor(value).to(_weft.int64)
                    elif value is not None and slot != "mu_product":
                        values[f"{number}.{slot}"] = value
                number += 1
        self._current().load_state(values)
        for own, saved in zip(self.param_groups, groups):
            own.update({key: value for key, value in saved.items() if key != "params"})

    def __getstate__(self) -> Any:
        return {
            "defaults": self.defaults,
            "params": [g["params"] for g in self.param_groups],
            "state_dict": self.state_dict(),
        }

    def __setstate__(self, state: Any) -> None:
        self.defaults, self.param_groups, self._engine = state["defaults"], [], None
        self._before, self._after = {}, {}
        for params, group in zip(state["params"], state["state_dict"]["param_groups"]):
            self.add_param_group({**group, "params": params})
        self.load_state_dict(state["state_dict"])


def _no_option(name: str, differentiable: Any) -> None:
    if differentiable:
        raise ValueError(f"{name}(): differentiable=True is not supported")


# `foreach`, `fused` and `capturable` choose between implementations elsewhere; here every update is fused and can be traced.
class SGD(FusedOptimizer):
    """Stochastic gradient descent with momentum."""

    _engine_type, _counts_steps = _weft._SGD, False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        _no_option("SGD", differentiable)
        super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                                  "nesterov": nesterov, "maximize": maximize})  # fmt: skip


class Adam(FusedOptimizer):
    """Adam: running means of the gradient and of its square."""

    _engine_type = _weft._Adam

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _no_option(type(self).__name__, differentiable)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
                                  "maximize": maximize, "decoupled_weight_decay": decoupled_weight_decay})  # fmt: skip


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters instead of joining the gradients."""

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: Any = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize, differentiable=differentiable,
                         decoupled_weight_decay=True)  # fmt: skip


class RMSprop(FusedOptimizer):
    """The gradient divided by the root of its running mean square; centred, by its standard deviation."""

    _engine_type = _weft._RMSprop

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        capturable: bool = False,
        foreach: Any = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _no_option("RMSprop", differentiable)
        super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum,
                                  "centered": centered, "maximize": maximize})  # fmt: skip


class Adagrad(FusedOptimizer):
    """The gradient divided by the root of the sum of all its squares."""

    _engine_type = _weft._Adagrad

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: Any = None,
    ) -> None:
        _no_option("Adagrad", differentiable)
        super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
                                  "initial_accumulator_value": initial_accumulator_value, "maximize": maximize})  # fmt: skip


class Lion(FusedOptimizer):
    """Steps of one size: the sign of a mean of the gradient and its running mean."""

    _engine_type, _counts_steps = _weft._Lion, False

    def __init__(
        self,
        params: Any,
        lr: float = 1e-4,
        betas: Any = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "weight_decay": weight_decay, "maximize": maximize})


class Adadelta(FusedOptimizer):
    """Steps in units of their own: by running means of the squares of gradients and of steps."""

    _engine_type = _weft._Adadelta

    def __init__(
        self,
        params: Any,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        foreach: Any = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        _no_option("Adadelta", differentiable)
        super().__init__(params, {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize})


class Adamax(FusedOptimizer):
    """Adam with the largest gradient of late in place of the root mean square."""

    _engine_type = _weft._Adamax

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        foreach: Any = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        _no_option("Adamax", differentiable)
        super().__init__(
            params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        )


class NAdam(FusedOptimizer):
    """Adam with Nesterov's momentum."""

    _engine_type = _weft._NAdam

    def __init__(
        self,
        params: Any,
        lr: float = 2e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _no_option("NAdam", differentiable)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay, "momentum_decay":
                                  momentum_decay, "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})  # fmt: skip


class RAdam(FusedOptimizer):
    """Adam that begins without the root mean square, until that is known well enough."""

    _engine_type = _weft._RAdam

    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: Any = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: Any = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        _no_option("RAdam", differentiable)
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
                                  "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize})  # fmt: skip
