"""L-BFGS: directions from the last few gradients, and a line search if one is asked for."""

from __future__ import annotations

from .. import _weft
from .._modes import enable_grad, no_grad
from .optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_SUFFICIENT, _CURVATURE = 1e-4, 0.9  # Wolfe's two constants


class _Point:
    """A step along the line: how far, the loss there, its gradient, and the slope."""

    def __init__(self, t: float, loss: float, gradient: Any, slope: float) -> None:
        self.t, self.loss, self.gradient, self.slope = t, loss, gradient, slope


def _cubic_minimum(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through two points with these slopes is lowest, within [low, high]; their middle if it has no minimum."""
    left, right = (a, b) if a.t <= b.t else (b, a)
    bend = left.slope + right.slope - 3 * (left.loss - right.loss) / (left.t - right.t)
    square = bend * bend - left.slope * right.slope
    if not square >= 0:
        return (low + high) / 2
    root = square**0.5
    divisor = right.slope - left.slope + 2 * root
    if divisor == 0:
        return (low + high) / 2
    at = right.t - (right.t - left.t) * ((right.slope + root - bend) / divisor)
    return min(max(at, low), high)


def _bracket(at: Callable[[float], _Point], start: _Point, t: float, most: int) -> tuple[list[_Point], bool, int, int]:
    """Points around a step that satisfies Wolfe's conditions, or that step alone. Then whether it is one, steps of the search, calls."""
    before, here, searched, calls = start, at(t), 0, 1
    while searched < most:
        if here.loss > start.loss + _SUFFICIENT * here.t * start.slope or (searched > 1 and here.loss >= before.loss):
            return [before, here], False, searched, calls
        if abs(here.slope) <= -_CURVATURE * start.slope:
            return [here], True, searched, calls
        if here.slope >= 0:
            return [before, here], False, searched, calls
        t = _cubic_minimum(before, here, here.t + 0.01 * (here.t - before.t), here.t * 10)
        before, here = here, at(t)
        searched, calls = searched + 1, calls + 1
    return [start, here], False, searched, calls


def _strong_wolfe(at: Callable[[float], _Point], start: _Point, t: float, largest: float, least: float, most: int) -> tuple[_Point, int]:
    """A step that lowers the loss enough and at which the slope is small enough; the best one found after `most` steps."""
    ends, done, searched, calls = _bracket(at, start, t, most)
    low, high = (0, -1) if ends[0].loss <= ends[-1].loss else (-1, 0)
    stuck = False
    while not done and searched < most:
        if abs(ends[1].t - ends[0].t) * largest < least:
            break
        first, last = sorted((ends[0].t, ends[1].t))
        t = _cubic_minimum(ends[0], ends[1], first, last)
        # Too near to an end, twice or beyond it: a tenth of the width inside, so that the bracket shrinks.
        margin = 0.1 * (last - first)
        if min(last - t, t - first) < margin:
            if stuck or t >= last or t <= first:
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = at(t)
        searched, calls = searched + 1, calls + 1
        if here.loss > start.loss + _SUFFICIENT * t * start.slope or here.loss >= ends[low].loss:
            ends[high] = here
            low, high = (0, -1) if ends[0].loss <= ends[-1].loss else (-1, 0)
        else:
            if abs(here.slope) <= -_CURVATURE * start.slope:
                done = True
            elif here.slope * (ends[high].t - ends[low].t) >= 0:
                ends[high] = ends[low]
            ends[low] = here
    return ends[low], calls


class LBFGS(Optimizer):
    """Quasi-Newton steps from the last `history_size` changes of the gradient. step() calls a closure several times.

    >>> optimizer = weft.optim.LBFGS(model.parameters(), line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = loss_of(model)
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    """

    def __init__(
        self,
        params: Any,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if not lr >= 0:
            raise ValueError(f"LBFGS(): argument 'lr' must not be negative, and is {lr}")
        if line_search_fn not in (None, "strong_wolfe"):
            raise RuntimeError(f"LBFGS(): argument 'line_search_fn' must be 'strong_wolfe' or None, not {line_search_fn!r}")
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_eval, "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change, "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS(): there may be one parameter group only, since all parameters take one step together")

    def _flat_gradient(self) -> Any:
        params = self.param_groups[0]["params"]
        return _weft.cat([(_weft.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in params]).clone()

    def _move(self, values: Any, t: float, direction: Any) -> None:
        """Puts the parameters at values + t * direction."""
        first = 0
        for param, value in zip(self.param_groups[0]["params"], values):
            param.copy_(value + direction[first : first + param.numel()].reshape(param.shape) * t)
            first += param.numel()

    def _direction(self, state: Any, gradient: Any, history_size: int) -> Any:
        """Minus the inverse Hessian, as far as the history knows it, times the gradient."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1.0)
            return -gradient
        y, s = gradient - state["prev_flat_grad"], state["d"] * state["t"]
        ys = y.dot(s).item()
        if ys > 1e-10:
            if len(state["old_dirs"]) == history_size:
                for name in ("old_dirs", "old_stps", "ro"):
                    state[name].pop(0)
            state["old_dirs"].append(y.clone()), state["old_stps"].append(s.clone()), state["ro"].append(1.0 / ys)
            state["H_diag"] = ys / y.dot(y).item()
        history = list(zip(state["old_dirs"], state["old_stps"], state["ro"]))
        q, shares = -gradient, []
        for change, step, factor in reversed(history):
            shares.append(step.dot(q) * factor)
            q = q - change * shares[-1]
        direction = q * state["H_diag"]
        for (change, step, factor), share in zip(history, reversed(shares)):
            direction = direction + step * (share - change.dot(direction) * factor)
        return direction

    @no_grad()
    def step(self, closure: Any = None) -> Any:
        """Up to max_iter steps. `closure()` computes the loss and its gradients, and returns the loss, that of the first call here."""
        if closure is None:
            raise TypeError("LBFGS.step(): a closure is needed that computes the loss again: step(closure)")
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0), state.setdefault("n_iter", 0)

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        first_loss = evaluate()
        loss, gradient, calls = float(first_loss), self._flat_gradient(), 1
        state["func_evals"] += 1
        if gradient.abs().max().item() <= group["tolerance_grad"]:
            return first_loss
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group["history_size"]).clone()
            state.update(d=direction, prev_flat_grad=gradient, prev_loss=loss)
            t = min(1.0, 1.0 / gradient.abs().sum().item()) * group["lr"] if state["n_iter"] == 1 else group["lr"]
            state["t"] = t
            slope = gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                break
            values = [param.clone() for param in group["params"]]
            before, made = loss, 0
            if group["line_search_fn"]:

                def at(t: float, values: Any = values, direction: Any = direction) -> _Point:
                    self._move(values, t, direction)
                    loss = float(evaluate())
                    gradient = self._flat_gradient()
                    return _Point(t, loss, gradient, gradient.dot(direction).item())

                largest = direction.abs().max().item()
                start = _Point(0.0, loss, gradient, slope)
                best, made = _strong_wolfe(at, start, t, largest, group["tolerance_change"], group["max_eval"] - calls)
                loss, gradient, t = best.loss, best.gradient, best.t
                self._move(values, t, direction)
            else:
                self._move(values, t, direction)
                if iteration != group["max_iter"]:
                    loss, gradient, made = float(evaluate()), self._flat_gradient(), 1
            state["t"] = t
            calls += made
            state["func_evals"] += made
            if iteration == group["max_iter"] or calls >= group["max_eval"]:
                break
            if gradient.abs().max().item() <= group["tolerance_grad"]:
                break
            if (direction * t).abs().max().item() <= group["tolerance_change"] or abs(loss - before) < group["tolerance_change"]:
                break
        return first_loss
