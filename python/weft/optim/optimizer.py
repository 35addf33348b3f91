"""Optimisers with parameter groups. The arithmetic of a group is an engine in C++, fused into a few kernels for all parameters."""

from .. import _weft
from .._modes import enable_grad
from .._tensor import Tensor


class _Group(dict):
    """The settings of a parameter group. A learning rate goes to the engine at once: captured functions see it, too."""

    engine = None

    def __setitem__(self, key, value):
        if key == "lr" and self.engine is not None:
            self.engine.set_lr(float(value))
        super().__setitem__(key, value)

    def update(self, *args, **kwargs):
        for key, value in dict(*args, **kwargs).items():
            self[key] = value

    def __reduce__(self):
        return dict, (dict(self),)


class Optimizer:
    """The base of all optimisers. A subclass has `engine(params, group)`, which makes the engine of a group."""

    def __init__(self, params, defaults):
        self.defaults = defaults
        self.param_groups = []
        if isinstance(params, Tensor):
            raise TypeError(f"{type(self).__name__}(): argument 'params' must be a list of tensors or of dicts, not Tensor")
        groups = list(params)
        if not groups:
            raise ValueError(f"{type(self).__name__}(): argument 'params' is empty")
        if isinstance(groups[0], tuple):  # named_parameters()
            groups = [param for _, param in groups]
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def add_param_group(self, param_group):
        """Adds parameters with settings of their own: `{"params": […], "lr": 0.1}`."""
        group = _Group({**self.defaults, **param_group})
        params = group["params"]
        group["params"] = [params] if isinstance(params, Tensor) else list(params)
        known = {id(param) for each in self.param_groups for param in each["params"]}
        if any(id(param) in known for param in group["params"]):
            raise ValueError(f"{type(self).__name__}(): a parameter is in more than one group")
        self._renew(group)
        self.param_groups.append(group)

    def _settings(self, group):
        return {key: group[key] for key in self.defaults if key != "lr"}

    def _renew(self, group):
        group.made_with, group.engine = self._settings(group), self.engine(group["params"], group)

    def _engine(self, group):
        if group.made_with != self._settings(group):  # another momentum: a new engine with the old state
            state = group.engine.state()
            self._renew(group)
            group.engine.load_state(state)
        return group.engine

    def step(self, closure=None):
        """Updates every parameter that has a gradient, and computes all that is pending."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._engine(group).step()
        return loss

    def zero_grad(self, set_to_none=True):
        """Drops the gradients, or sets them to zero."""
        for group in self.param_groups:
            for param in group["params"]:
                if set_to_none:
                    param.grad = None
                elif param.grad is not None:
                    param.grad.zero_()

    def state_dict(self):
        """The state of all parameters and the settings of all groups, with parameters as numbers."""
        state, groups, first = {}, [], 0
        for group in self.param_groups:
            values = self._engine(group).state()
            step = values.pop("steps")
            for name, value in values.items():
                i, slot = name.split(".", 1)
                state.setdefault(first + int(i), {"step": step})[slot] = value
            numbers = list(range(first, first + len(group["params"])))
            groups.append({**group, "params": numbers})
            first += len(numbers)
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict):
        """Continues from a state of state_dict()."""
        groups = state_dict["param_groups"]
        if [len(g["params"]) for g in groups] != [len(g["params"]) for g in self.param_groups]:
            raise ValueError("load_state_dict(): the parameter groups have other sizes")
        for own, saved in zip(self.param_groups, groups):
            own.update({key: value for key, value in saved.items() if key != "params"})
            values = {}
            for k, number in enumerate(saved["params"]):
                for slot, value in state_dict["state"].get(number, {}).items():
                    if slot == "step":
                        values["steps"] = _weft.as_tensor(value).to(_weft.int64)
                    elif value is not None:
                        values[f"{k}.{slot}"] = value
            self._engine(own).load_state(values)

    def __repr__(self):
        lines = []
        for i, group in enumerate(self.param_groups):
            settings = "\n".join(f"    {key}: {value}" for key, value in group.items() if key != "params")
            lines.append(f"Parameter Group {i}\n{settings}")
        return f"{type(self).__name__} (\n" + "\n".join(lines) + "\n)"


class SGD(Optimizer):
    """Stochastic gradient descent with momentum."""

    def __init__(self, params, lr=1e-3, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False):
        defaults = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, defaults)

    def engine(self, params, group):
        return _weft._SGD(params, float(group["lr"]), float(group["momentum"]), float(group["dampening"]),
                          float(group["weight_decay"]), bool(group["nesterov"]))  # fmt: skip


class Adam(Optimizer):
    """Adam: running means of the gradient and of its square."""

    kind = _weft._Adam

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, amsgrad=False):
        if amsgrad:
            raise ValueError(f"{type(self).__name__}(): amsgrad=True is not supported")
        super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay})

    def engine(self, params, group):
        beta1, beta2 = group["betas"]
        return self.kind(params, float(group["lr"]), float(beta1), float(beta2), float(group["eps"]), float(group["weight_decay"]))


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters instead of joining the gradients."""

    kind = _weft._AdamW

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad)
