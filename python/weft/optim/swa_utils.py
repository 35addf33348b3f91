"""Means of the parameters over the steps of a training: of all of them (SWA), or of the last ones (EMA).

>>> average = weft.optim.swa_utils.AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999))
>>> average.update_parameters(model)            # after each optimizer.step()
"""

from __future__ import annotations

import copy
import math

from .. import _weft
from .._modes import no_grad
from .._tensor import Tensor
from ..nn.module import Module
from ..nn.norm import _BatchNorm
from .lr_scheduler import LRScheduler, _for_each_group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["SWALR", "AveragedModel", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn", "update_bn"]


def _check_decay(call: str, decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"{call}(): argument 'decay' must be between 0 and 1, not {decay}")


def get_ema_avg_fn(decay: float = 0.999) -> Any:
    """A function for AveragedModel(avg_fn=): the mean with weights that fall by `decay` at each step."""
    _check_decay("get_ema_avg_fn", decay)

    @no_grad()
    def update(averaged: Any, current: Any, count: Any) -> Any:
        return decay * averaged + (1 - decay) * current

    return update


def get_swa_avg_fn() -> Any:
    """A function for AveragedModel(avg_fn=): the mean over all steps."""

    @no_grad()
    def update(averaged: Any, current: Any, count: Any) -> Any:
        return averaged + (current - averaged) / (count + 1)

    return update


def _in_place(function: Any) -> Any:
    @no_grad()
    def update(averaged: Any, current: Any, count: Any) -> None:
        for own, other in zip(averaged, current):
            if own.is_floating_point():
                own.copy_(function(own, other, count))
            else:
                own.copy_(other)

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Any:
    """A function for AveragedModel(multi_avg_fn=): the mean with weights that fall by `decay` at each step."""
    _check_decay("get_ema_multi_avg_fn", decay)
    return _in_place(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Any:
    """A function for AveragedModel(multi_avg_fn=): the mean over all steps."""
    return _in_place(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model that holds means of its parameters. The first update_parameters() copies them, each later one averages.

    `avg_fn(averaged, current, count)` returns a new mean, `multi_avg_fn(averaged, current, count)` writes lists of them; without either
    it is the mean over all steps. With use_buffers, buffers are averaged too; else they are copied.
    """

    def __init__(self, model: Any, device: Any = None, avg_fn: Any = None, multi_avg_fn: Any = None, use_buffers: bool = False) -> None:
        super().__init__()
        if not isinstance(model, Module):
            raise TypeError(f"AveragedModel(): argument 'model' must be a Module, not {type(model).__name__}")
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("AveragedModel(): give avg_fn or multi_avg_fn, not both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        place = next((param.device for param in self.module.parameters()), None)
        self.register_buffer("n_averaged", _weft.tensor(0, device=place))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Any) -> None:
        """Takes the parameters of a model, of the same kind, into the means."""
        sides = [[*side.parameters(), *(side.buffers() if self.use_buffers else ())] for side in (self.module, model)]
        averaged, current = ([value.detach() for value in side] for side in sides)
        if len(averaged) != len(current):
            raise ValueError(f"update_parameters(): the model has {len(current)} tensors, the averaged one {len(averaged)}")
        if self.n_averaged.item() == 0:
            for own, other in zip(averaged, current):
                own.copy_(other)
        elif self.avg_fn is not None:
            for own, other in zip(averaged, current):
                own.copy_(self.avg_fn(own, other, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for own, other in zip(self.module.buffers(), model.buffers()):
                own.copy_(other)
        self.n_averaged.add_(1)
        _weft.realize(*averaged, self.n_averaged)  # as an optimiser's step: nothing of it stays pending


@no_grad()
def update_bn(loader: Any, model: Any, device: Any = None) -> None:
    """Sets the running statistics of all batch norms of a model to the means over a loader's batches (tensors, or tuples that begin so)."""
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    training, momenta = model.training, [norm.momentum for norm in norms]
    try:
        model.train()
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None  # type: ignore[assignment]
        for batch in loader:
            model(batch[0] if isinstance(batch, (list, tuple)) and not isinstance(batch, Tensor) else batch)
    finally:
        for norm, momentum in zip(norms, momenta):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the rate there is to swa_lr in anneal_epochs steps, then constant: for the part of a training that is averaged."""

    def __init__(
        self, optimizer: Any, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos", last_epoch: int = -1
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"SWALR(): argument 'anneal_strategy' must be 'cos' or 'linear', not {anneal_strategy!r}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR(): argument 'anneal_epochs' must be an int, 0 or more, not {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, _for_each_group("SWALR", "swa_lr", optimizer.param_groups, swa_lr)):
            group["swa_lr"] = rate
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How far on the way a step is."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[float]:
        step = self._step_count - 1
        step = max(1, step) if self.anneal_epochs == 0 else step
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            # What the way began with, from where it is: the rate may have been changed meanwhile.
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
