"""Optimizer: parameters in groups, with settings and state. A subclass has a step(); the engines of fused.py have theirs in C++."""

from __future__ import annotations

import functools
from collections import defaultdict

from .. import _weft
from .._modes import enable_grad
from .._tensor import Tensor
from .._trees import tensors_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Names that optimisers written for PyTorch import.
ParamsT = params_t = _params_t = object
required = object()


def _use_grad_for_differentiable(step: Any) -> Any:
    from .._modes import no_grad

    return no_grad()(step)


def _default_to_fused_or_foreach(params: Any, differentiable: bool, use_fused: bool = False) -> tuple[bool, bool]:
    return False, False  # updates are fused in any case


def _get_capturable_supported_devices(*_: Any, **__: Any) -> list[str]:
    return ["cpu"]


def _get_value(x: Any) -> Any:
    return x.item() if isinstance(x, Tensor) else x


def check_state(owner: object, state_dict: Any, keys: tuple[str, ...] = ()) -> None:
    """Says what is wrong with a state that load_state_dict() cannot take."""
    call = f"load_state_dict() of {type(owner).__name__}"
    if not hasattr(state_dict, "keys"):
        raise TypeError(f"{call}: the state must be a dict, such as state_dict() gives, not {type(state_dict).__name__}")
    for key in keys:
        if key not in state_dict:
            raise KeyError(f"{call}: the state has no {key!r}; is it another object's?")


def check_groups(owner: Optimizer, state_dict: Any) -> Any:
    """The groups of a state that fits an optimiser."""
    check_state(owner, state_dict, ("state", "param_groups"))
    groups = state_dict["param_groups"]
    if len(groups) != len(owner.param_groups):
        raise ValueError(f"load_state_dict(): there are {len(groups)} parameter groups instead of {len(owner.param_groups)}")
    if [len(g["params"]) for g in groups] != [len(g["params"]) for g in owner.param_groups]:
        raise ValueError("load_state_dict(): the parameter groups have other sizes")
    return groups


def _whole_step(step: Callable[..., Any]) -> Callable[..., Any]:
    """A subclass's step() with its hooks. The update ends with a run, as that of every optimiser: nothing of it stays pending."""

    @functools.wraps(step)
    def whole(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._in_step:  # a step() that calls its parent's
            return step(self, *args, **kwargs)
        # An engine, which holds the state, notes its steps by itself.
        ended = Optimizer._watch(self) if Optimizer._watch is not None and "state" in vars(self) else None
        self._in_step = True
        try:
            for hook in list(self._before.values()):
                changed = hook(self, args, kwargs)
                if changed is not None:
                    args, kwargs = changed
            result = step(self, *args, **kwargs)
            for hook in list(self._after.values()):
                hook(self, args, kwargs)
            if "state" in vars(self):
                params = [param for group in self.param_groups for param in group["params"]]
                _weft.realize(*params, *tensors_in(list(self.state.values())))
        finally:
            self._in_step = False
            if ended is not None:
                ended()
        return result

    whole._whole = True  # type: ignore[attr-defined]
    return whole


class Optimizer:
    """The base of all optimisers.

    >>> class Descent(weft.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     @weft.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 if p.grad is not None:
    ...                     p.sub_(p.grad, alpha=group["lr"])
    """

    _group_type: Any = dict
    _in_step = False
    _watch: Any = None  # a profile's: called when a step begins, gives what is called when it has ended
    defaults: dict[str, Any]
    param_groups: list[Any]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = vars(cls).get("step")
        if own is not None and not hasattr(own, "_whole"):
            cls.step = _whole_step(own)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: Any) -> None:
        self.defaults, self.param_groups = defaults, []
        self._before: dict[int, Any] = {}
        self._after: dict[int, Any] = {}
        if not isinstance(getattr(type(self), "state", None), property):  # an engine holds its state
            self.state = defaultdict(dict)
        if isinstance(params, Tensor):
            raise TypeError(
                f"{type(self).__name__}(): argument 'params' must be a list of tensors or of dicts, not Tensor"
            )
        if hasattr(params, "parameters"):
            raise TypeError(
                f"{type(self).__name__}(): argument 'params' is a {type(params).__name__}; pass its parameters()"
            )
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}(): argument 'params' is empty")
        if isinstance(groups[0], tuple):  # named_parameters()
            groups = [param for _, param in groups]
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group: Any) -> None:
        """Adds parameters with settings of their own: `{"params": […], "lr": 0.1}`."""
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(
                f"{name}.add_param_group(): argument 'param_group' must be a dict, not {type(param_group).__name__}"
            )
        group = self._group_type({**self.defaults, **param_group})
        params = group["params"]
        group["params"] = params = [params] if isinstance(params, Tensor) else list(params)
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"{name}(): a parameter must be a Tensor, not {type(param).__name__}")
            if not param.is_leaf:
                raise ValueError(f"{name}(): a parameter must be a leaf, not the result of an operation")
        known = {id(param) for each in self.param_groups for param in each["params"]}
        if any(id(param) in known for param in params):
            raise ValueError(f"{name}(): a parameter is in more than one group")
        self.param_groups.append(group)

    def _evaluate(self, closure: Any) -> Any:
        """The loss of a step's closure."""
        if closure is None:
            return None
        with enable_grad():
            return closure()

    def step(self, closure: Any = None) -> Any:
        """Updates every parameter that has a gradient. A subclass says how."""
        raise NotImplementedError(f"{type(self).__name__} has no step(): define it, with an update of the tensors in self.param_groups")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients, or sets them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad.zero_()

    def register_step_pre_hook(self, hook: Any) -> Any:
        """Calls `hook(optimizer, args, kwargs)` before each step(). Returns a handle with remove()."""
        return _registered(self._before, hook)

    def register_step_post_hook(self, hook: Any) -> Any:
        """Calls `hook(optimizer, args, kwargs)` after each step(). Returns a handle with remove()."""
        return _registered(self._after, hook)

    def _state_by_number(self) -> Any:
        params = [param for group in self.param_groups for param in group["params"]]
        return {number: self.state[param] for number, param in enumerate(params) if param in self.state}

    def state_dict(self) -> dict[str, Any]:
        """The state of all parameters and the settings of all groups, with parameters as numbers."""
        groups, first = [], 0
        for group in self.param_groups:
            count = len(group["params"])
            groups.append(
                {
                    **{key: value for key, value in group.items() if key != "params"},
                    "params": list(range(first, first + count)),
                }
            )
            first += count
        return {"state": self._state_by_number(), "param_groups": groups}

    def load_state_dict(self, state_dict: Any) -> None:
        """Continues from a state of state_dict(). Tensors are copied to their parameter's device, as floats of its type."""
        groups = check_groups(self, state_dict)
        self.state = defaultdict(dict)
        for own, saved in zip(self.param_groups, groups):
            for param, key in zip(own["params"], saved["params"]):
                if key in state_dict["state"]:
                    self.state[param] = {name: _copied(value, name, param) for name, value in state_dict["state"][key].items()}
            own.update({key: value for key, value in saved.items() if key != "params"})

    def __getstate__(self) -> Any:
        return {**vars(self), "_before": {}, "_after": {}}  # hooks belong to a process

    def __repr__(self) -> str:
        lines = []
        for i, group in enumerate(self.param_groups):
            settings = "\n".join(f"    {key}: {value}" for key, value in group.items() if key != "params")
            lines.append(f"Parameter Group {i}\n{settings}")
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


def _registered(hooks: dict[int, Any], hook: Any) -> Any:
    from ..nn.module import Handle

    handle = Handle(hooks)
    hooks[handle.id] = hook
    return handle


def _copied(value: Any, name: str, param: Tensor) -> Any:
    if isinstance(value, Tensor):
        # A count of steps stays a number on the CPU, which goes along with any device; all else belongs where the parameter is.
        value = value.detach().clone().to("cpu" if name == "step" and not value.ndim else param.device)
        return value.to(param.dtype) if name != "step" and param.is_floating_point() and value.is_floating_point() else value
    if isinstance(value, dict):
        return {key: _copied(item, name, param) for key, item in value.items()}
    return type(value)(_copied(item, name, param) for item in value) if isinstance(value, (list, tuple)) else value
