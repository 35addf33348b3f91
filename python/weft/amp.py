"""weft.amp: products in a half type, the rest in f32, and losses scaled so that small gradients keep their bits."""

from __future__ import annotations

import functools
from collections import defaultdict

from . import _weft
from ._tensor import Tensor
from ._trees import mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from typing_extensions import Self

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "get_autocast_dtype", "is_autocast_available", "is_autocast_enabled"]

_HALVES = (_weft.bfloat16, _weft.float16)


def _warn(text: str) -> None:
    import warnings

    warnings.warn(text, stacklevel=3)


def _why_not(kind: str) -> str:
    return f": {_weft._cuda_problem()}" if kind == "cuda" else ""


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast can be used on a device: on the CPU, and on a GPU that is there."""
    return device_type == "cpu" or (device_type == "cuda" and not _weft._cuda_problem())


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether autocast is on, on this thread; for any device, unless one is named."""
    return any(_weft._autocast(each) is not None for each in ("cpu", "cuda") if device_type in (None, each))


def get_autocast_dtype(device_type: str = "cpu") -> _weft.dtype:
    """The type that autocast computes products in."""
    default = _weft.bfloat16 if device_type == "cpu" else _weft.float16
    return (_weft._autocast(device_type) if device_type in ("cpu", "cuda") else None) or default


class autocast:
    """Inside the block, or the function that it decorates, products, convolutions and attention are computed in bfloat16 (or float16),
    and losses and decompositions in float32. Parameters stay as they are, and so do their gradients.

    >>> with weft.autocast("cpu", dtype=weft.bfloat16):
    ...     loss = F.cross_entropy(model(x), labels)
    >>> loss.backward()
    """

    def __init__(self, device_type: str, dtype: _weft.dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"autocast(): argument 'device_type' must be a str such as \"cpu\", not {device_type!r}")
        kind = device_type.split(":")[0]
        if kind not in ("cpu", "cuda", "mps", "xpu"):
            raise RuntimeError(f"autocast(): there is no device '{device_type}'")
        if enabled and not is_autocast_available(kind):
            _warn(f"autocast(): there is no device '{kind}' for Weft{_why_not(kind)}; autocast is off")
            enabled = False
        self.device, self.fast_dtype = kind, dtype or get_autocast_dtype(kind)
        self.before: list[Any] = []
        if enabled and self.fast_dtype not in _HALVES:
            _warn(f"autocast(): argument 'dtype' must be weft.bfloat16 or weft.float16, not {self.fast_dtype!r}; autocast is off")
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> Self:
        if is_autocast_available(self.device):
            self.before.append(_weft._set_autocast(self.fast_dtype if self._enabled else None, self.device))
        return self

    def __exit__(self, *_: object) -> None:
        if self.before:
            _weft._set_autocast(self.before.pop(), self.device)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


def _cast(value: Any, dtype: Any) -> Any:
    return mapped(value, lambda t: t.to(dtype) if t.is_floating_point() and t.dtype != _weft.float64 else t)


def custom_fwd(fwd: Any = None, *, device_type: str, cast_inputs: Any = None) -> Any:
    """Decorates the forward() of an autograd.Function: with `cast_inputs` its tensors come in that type, and autocast is off inside."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    kind = "cuda" if device_type == "cuda" else "cpu"

    @functools.wraps(fwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        args[0]._autocast = _weft._autocast(kind)
        if cast_inputs is None or not is_autocast_enabled(device_type):
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return wrapped


def custom_bwd(bwd: Any = None, *, device_type: str) -> Any:
    """Decorates the backward() of an autograd.Function: autocast is as it was in forward()."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)
    kind = "cuda" if device_type == "cuda" else "cpu"

    @functools.wraps(bwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        before = _weft._set_autocast(getattr(args[0], "_autocast", None), kind)
        try:
            return bwd(*args, **kwargs)
        finally:
            _weft._set_autocast(before, kind)

    return wrapped


class GradScaler:
    """Multiplies the loss by a large number, so that small gradients of half types do not become zero; steps whose gradients overflow
    are left out, and the number shrinks.

    >>> scaler.scale(loss).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    """

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        if growth_factor <= 1.0:
            raise ValueError(f"GradScaler(): argument 'growth_factor' must be above 1, not {growth_factor}")
        if backoff_factor >= 1.0:
            raise ValueError(f"GradScaler(): argument 'backoff_factor' must be below 1, not {backoff_factor}")
        self._device, self._enabled = device, enabled
        if enabled and not is_autocast_available(str(device).split(":")[0]):
            _warn(f"GradScaler(): there is no device '{device}' for Weft{_why_not(device)}; nothing is scaled")
            self._enabled = False
        self._scale, self._growth_factor, self._backoff_factor = float(init_scale), growth_factor, backoff_factor
        self._growth_interval, self._good_steps = growth_interval, 0
        self._found: dict[int, Any] = defaultdict(dict)  # of each optimiser since the last update()

    def scale(self, outputs: Any) -> Any:
        """A loss, or several, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        return type(outputs)(self.scale(each) for each in outputs)

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimiser by the scale, to clip them before step()."""
        if not self._enabled:
            return
        if "finite" in self._found[id(optimizer)]:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update()")
        grads = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(grad.dtype == _weft.float16 for grad in grads):
            raise ValueError("unscale_(): the gradients are float16; keep the parameters in float32 and use autocast")
        for grad in grads:
            grad.div_(self._scale)
        self._found[id(optimizer)]["finite"] = _weft.stack([_weft.isfinite(grad).all() for grad in grads]).all() if grads else True

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """The optimiser's step(), unless a gradient is infinite or no number."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("GradScaler.step(): a closure is not supported")
        found = self._found[id(optimizer)]
        if "stepped" in found:
            raise RuntimeError("step() has already been called on this optimizer since the last update()")
        if "finite" not in found:
            self.unscale_(optimizer)
        found["stepped"] = True
        found["finite"] = bool(found["finite"])
        return optimizer.step(*args, **kwargs) if found["finite"] else None

    def update(self, new_scale: Any = None) -> None:
        """Shrinks the scale after an overflow, lets it grow after `growth_interval` good steps, or sets it."""
        if not self._enabled:
            return
        found = [bool(each["finite"]) for each in self._found.values() if "finite" in each]
        if new_scale is not None:
            self._scale = float(new_scale)
        elif not found:
            raise RuntimeError("update(): no gradient was checked before; call step() or unscale_() first")
        elif not all(found):
            self._scale, self._good_steps = self._scale * self._backoff_factor, 0
        else:
            self._good_steps += 1
            if self._good_steps == self._growth_interval:
                self._scale, self._good_steps = self._scale * self._growth_factor, 0
        self._found.clear()

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale, or 1 where nothing is scaled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale and its settings."""
        if not self._enabled:
            return {}
        return {"scale": self._scale, "growth_factor": self._growth_factor, "backoff_factor": self._backoff_factor,
                "growth_interval": self._growth_interval, "_growth_tracker": self._good_steps}  # fmt: skip

    def load_state_dict(self, state_dict: Any) -> None:
        """Goes on from a state of state_dict()."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError("load_state_dict() of GradScaler: the state is empty; it was saved by one that was not enabled")
        self._scale, self._growth_factor = float(state_dict["scale"]), state_dict["growth_factor"]
        self._backoff_factor, self._growth_interval = state_dict["backoff_factor"], state_dict["growth_interval"]
        self._good_steps = int(state_dict["_growth_tracker"])
