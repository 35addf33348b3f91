"""Learning rates that change from step to step. A changed rate never compiles anything anew. The formulas are in C++."""

from __future__ import annotations

import bisect
import math

from .._weft import _schedules as formulas
from .optimizer import Optimizer, check_state

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class LRScheduler:
    """The base. A subclass has `rate(before, first, step)`, the rate of a step from the one before and the first one."""

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}(): argument 'optimizer' must be an Optimizer, not {type(optimizer).__name__}"
            )
        self.optimizer, self.last_epoch = optimizer, last_epoch
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"])
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param_groups[{i}] has no 'initial_lr', which a scheduler needs that goes on from last_epoch"
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self._begin()

    def _begin(self) -> None:
        self._step_count = 0
        self.step()

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        raise NotImplementedError

    def get_lr(self) -> list[float]:
        """The rates of the step last_epoch, by group."""
        pairs = zip(self.optimizer.param_groups, self.base_lrs)
        return [self.rate(group["lr"], first, self.last_epoch) for group, first in pairs]

    def step(self, epoch: Any = None) -> None:
        """Goes to the next step, or to this one."""
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr())
        else:
            self._restart()
            while self.last_epoch < epoch:
                self.last_epoch += 1
                self._set(self.get_lr())

    def _restart(self) -> None:
        """Goes to step 0, from the first rates."""
        self.last_epoch = 0
        self._set(self.base_lrs)
        self._set(self.get_lr())

    def _set(self, rates: Any) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates):
            group["lr"] = lr
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[float]:
        """The rates that were set last, by group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser and functions."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer" and not callable(value)}

    def load_state_dict(self, state_dict: Any) -> None:
        """Continues from a state of state_dict()."""
        check_state(self, state_dict)
        self.__dict__.update(state_dict)


class LambdaLR(LRScheduler):
    """The first rate times a function of the step, or one function per group."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        count = len(optimizer.param_groups)
        self.lr_lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * count
        if len(self.lr_lambdas) != count:
            raise ValueError(f"LambdaLR(): there are {len(self.lr_lambdas)} functions for {count} parameter groups")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        return [first * factor(self.last_epoch) for first, factor in zip(self.base_lrs, self.lr_lambdas)]

    def state_dict(self) -> dict[str, Any]:
        return {key: value for key, value in super().state_dict().items() if key != "lr_lambdas"}


class MultiplicativeLR(LambdaLR):
    """The rate of the step before times a function of the step."""

    def get_lr(self) -> list[float]:
        groups = self.optimizer.param_groups
        if self.last_epoch == 0:
            return [group["lr"] for group in groups]
        return [group["lr"] * factor(self.last_epoch) for group, factor in zip(groups, self.lr_lambdas)]


class StepLR(LRScheduler):
    """The rate times gamma every step_size steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.step(before, first, step, self.step_size, self.gamma)


class MultiStepLR(LRScheduler):
    """The rate times gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: Any, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.multi_step(before, first, step, self.milestones, self.gamma)


class ExponentialLR(LRScheduler):
    """The rate times gamma every step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.exponential(before, first, step, self.gamma)


class ConstantLR(LRScheduler):
    """The first rate times factor for total_iters steps, then the first rate."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.constant(before, first, step, self.factor, self.total_iters)


class LinearLR(LRScheduler):
    """From start_factor to end_factor in total_iters steps."""

    def __init__(
        self,
        optimizer: Any,
        start_factor: float = 1 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.linear(before, first, step, self.start_factor, self.end_factor, self.total_iters)


class LinearWarmup(LRScheduler):
    """Up to the first rate in warmup_steps equal steps."""

    def __init__(self, optimizer: Any, warmup_steps: int, last_epoch: int = -1) -> None:
        self.warmup_steps = warmup_steps
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.warmup(before, first, step, self.warmup_steps)


class PolynomialLR(LRScheduler):
    """The first rate times (1 - step / total_iters) ** power."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.polynomial(before, first, step, self.total_iters, self.power)


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the rate to eta_min in T_max steps."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.cosine(before, first, step, self.T_max, self.eta_min)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half a cosine in T_0 steps, then again in T_mult times as many, and so on."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(T_0, int) or T_0 < 1 or not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(
                f"CosineAnnealingWarmRestarts(): T_0 and T_mult must be positive ints, not {T_0} and {T_mult}"
            )
        self.T_0, self.T_mult, self.eta_min = T_0, T_mult, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, before: Any, first: Any, step: Any) -> Any:
        return formulas.warm_restarts(before, first, step, self.T_0, self.T_mult, self.eta_min)


class OneCycleLR(LRScheduler):
    """Up to max_lr and down to nearly nothing, while the momentum goes down and up."""

    def __init__(
        self,
        optimizer: Any,
        max_lr: float,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float = 0.85,
        max_momentum: float = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR(): either total_steps, or epochs and steps_per_epoch must be given")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not 0 <= pct_start <= 1:
            raise ValueError("OneCycleLR(): total_steps must be positive, and pct_start between 0 and 1")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR(): argument 'anneal_strategy' must be 'cos' or 'linear', not '{anneal_strategy}'"
            )
        self.total_steps, self.pct_start, self.three_phase = total_steps, pct_start, three_phase
        self.linear, self.cycle_momentum = anneal_strategy == "linear", cycle_momentum
        self.use_beta1 = "betas" in optimizer.defaults
        if cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError(
                "OneCycleLR(): the optimiser has neither a momentum nor betas to cycle; pass cycle_momentum=False"
            )

        def spread(value: Any) -> Any:
            return list(value) if isinstance(value, (list, tuple)) else [value] * len(optimizer.param_groups)

        if last_epoch == -1:
            for group, top, low, high in zip(
                optimizer.param_groups, spread(max_lr), spread(base_momentum), spread(max_momentum)
            ):
                group.update(initial_lr=top / div_factor, max_lr=top, min_lr=top / div_factor / final_div_factor)
                if cycle_momentum:
                    group.update(base_momentum=low, max_momentum=high)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        step, shape = self.last_epoch, (self.total_steps, self.pct_start, self.linear, self.three_phase)
        if step > self.total_steps:
            raise ValueError(f"OneCycleLR.step(): step {step} is beyond total_steps = {self.total_steps}")
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(formulas.one_cycle(group["initial_lr"], group["max_lr"], group["min_lr"], step, *shape))
            if self.cycle_momentum:
                high, low = group["max_momentum"], group["base_momentum"]
                momentum = formulas.one_cycle(high, low, high, step, *shape)
                if self.use_beta1:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return rates


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr in step_size_up steps and down again, over and over, while the momentum goes down and up.

    `mode`: 'triangular'; 'triangular2', where each cycle is half as high as the one before; 'exp_range', times gamma ** step. Or scale_fn,
    a function of the cycle's number (from 1 on), or of the step with scale_mode='iterations'.
    """

    def __init__(
        self,
        optimizer: Any,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Any = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"CyclicLR(): argument 'optimizer' must be an Optimizer, not {type(optimizer).__name__}")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(f"CyclicLR(): argument 'mode' must be 'triangular', 'triangular2' or 'exp_range', not {mode!r}")
        self.use_beta1 = "betas" in optimizer.defaults
        if cycle_momentum and not self.use_beta1 and "momentum" not in optimizer.defaults:
            raise ValueError("CyclicLR(): the optimiser has neither a momentum nor betas to cycle; pass cycle_momentum=False")
        groups = optimizer.param_groups
        bases, self.max_lrs = _for_each_group("CyclicLR", "base_lr", groups, base_lr), _for_each_group("CyclicLR", "max_lr", groups, max_lr)
        up, down = float(step_size_up), float(step_size_up if step_size_down is None else step_size_down)
        self.total_size, self.step_ratio = up + down, up / (up + down)
        self.mode, self.gamma, self._scale = mode, gamma, scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        self.base_momentums = _for_each_group("CyclicLR", "base_momentum", groups, base_momentum)
        self.max_momentums = _for_each_group("CyclicLR", "max_momentum", groups, max_momentum)
        if last_epoch == -1:
            for group, lr, low, high in zip(groups, bases, self.base_momentums, self.max_momentums):
                group["lr"] = lr
                if cycle_momentum:
                    group.update(max_momentum=high, base_momentum=low)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _begin(self) -> None:
        self.base_lrs = [group["lr"] for group in self.optimizer.param_groups]
        super()._begin()

    def scale_fn(self, x: float) -> Any:
        """The height of a cycle, or of a step."""
        if self._scale is not None:
            return self._scale(x)
        return 1.0 if self.mode == "triangular" else 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[float]:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                momentum = high - (high - low) * height
                group.update({"betas": (momentum, *group["betas"][1:])} if self.use_beta1 else {"momentum": momentum})
        return [low + (high - low) * height for low, high in zip(self.base_lrs, self.max_lrs)]


def _for_each_group(call: str, name: str, groups: Any, value: Any) -> list[float]:
    """One number for each parameter group."""
    numbers = list(value) if isinstance(value, (list, tuple)) else [value] * len(groups)
    if len(numbers) != len(groups):
        raise ValueError(f"{call}(): argument '{name}' has {len(numbers)} numbers for {len(groups)} parameter groups")
    return numbers


class _Several(LRScheduler):
    """Schedulers of one optimiser, with the state of each."""

    def _take(self, optimizer: Any, schedulers: Any) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name}(): argument 'schedulers' is empty")
        for scheduler in schedulers:
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name}(): ReduceLROnPlateau needs a value at each step, and cannot be one of several"
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name}(): all schedulers must have the same optimiser")
        self.optimizer, self._schedulers = optimizer, list(schedulers)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [scheduler.state_dict() for scheduler in self._schedulers]}

    def load_state_dict(self, state_dict: Any) -> None:
        check_state(self, state_dict, ("_schedulers",))
        self.__dict__.update({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"]):
            scheduler.load_state_dict(state)


class SequentialLR(_Several):
    """One scheduler after the other: from each milestone on the next one, which begins with its step 0."""

    def __init__(self, optimizer: Any, schedulers: Any, milestones: Any, last_epoch: int = -1) -> None:
        self._take(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR(): {len(schedulers)} schedulers need {len(schedulers) - 1} milestones, not {len(milestones)}"
            )
        self._milestones, self.last_epoch = list(milestones), last_epoch + 1
        self._restart()

    def _restart(self) -> None:
        self.last_epoch = 0
        first = self._schedulers[bisect.bisect_right(self._milestones, 0)]
        first._restart()
        self._last_lr = first.get_last_lr()

    def step(self, epoch: Any = None) -> None:
        if epoch is not None:
            raise ValueError("SequentialLR.step(): argument 'epoch' is not supported")
        self.last_epoch += 1
        index = bisect.bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._restart()
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Several):
    """Schedulers that all scale the rate at each step."""

    def __init__(self, schedulers: Any, optimizer: Any = None) -> None:
        self._take(optimizer or schedulers[0].optimizer, schedulers)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: Any = None) -> None:
        for scheduler in self._schedulers:
            scheduler.step(epoch)
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


class ReduceLROnPlateau(LRScheduler):
    """The rate times `factor` after more than `patience` steps without a better value: `scheduler.step(loss)`."""

    def __init__(
        self,
        optimizer: Any,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0.0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1:
            raise ValueError(f"ReduceLROnPlateau(): argument 'factor' must be below 1, not {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"ReduceLROnPlateau(): argument 'mode' must be 'min' or 'max', not '{mode}'")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(
                f"ReduceLROnPlateau(): argument 'threshold_mode' must be 'rel' or 'abs', not '{threshold_mode}'"
            )
        count = len(optimizer.param_groups)
        self.min_lrs = list(min_lr) if isinstance(min_lr, (list, tuple)) else [min_lr] * count
        if len(self.min_lrs) != count:
            raise ValueError(
                f"ReduceLROnPlateau(): argument 'min_lr' has {len(self.min_lrs)} numbers for {count} groups"
            )
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown, self.eps = threshold, threshold_mode, cooldown, eps
        self.last_epoch, self._last_lr = 0, [group["lr"] for group in optimizer.param_groups]
        self.best, self.num_bad_epochs, self.cooldown_counter = math.inf if mode == "min" else -math.inf, 0, 0

    def is_better(self, a: float, best: Any) -> Any:
        """Whether a value is better than the best so far, by more than the threshold."""
        sign = 1 if self.mode == "max" else -1
        wanted = best * (1 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return sign * a > sign * wanted

    @property
    def in_cooldown(self) -> Any:
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: Any = None) -> None:
        """Tells the value of this step."""
        value = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(value, self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                lr = max(group["lr"] * self.factor, least)
                if group["lr"] - lr > self.eps:
                    group["lr"] = lr
            self.num_bad_epochs, self.cooldown_counter = 0, self.cooldown
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]


_LRScheduler = LRScheduler  # its older name
