"""Runs a program's text on one side, and keeps what it shows."""

from __future__ import annotations

import numpy as np

UNITS = {"float32": 1e-5, "float64": 1e-11, "float16": 4e-3, "bfloat16": 3e-2}  # the relative error of what is as exact as can be


HALVES = {"float16": 2.0**-10, "bfloat16": 2.0**-7}  # and the distance of 1 from the next number


ties: list[bool] = []  # of a reference, per call of apart(): whether roundings decide which of two elements is larger


def is_tied(x: np.ndarray, axis: int) -> bool:
    if x.shape[axis] < 2 or x.size == 0 or not np.isfinite(x).all():
        return False
    return bool(np.diff(np.sort(x, axis), axis=axis).min() <= 8 * np.finfo(x.dtype).eps * np.abs(x).max())


def namespace(torch, dtype: str, shown: list, captured: bool = True, stored: str = "float32", nudge: int = 0) -> dict:
    """`dtype` is the type of the run; `stored`, of the data: a reference in f64 starts from the same rounded numbers.

    A `nudge` moves numbers by up to one place, each number differently for each nudge.
    """
    rng = np.random.default_rng(7)
    noise = np.random.default_rng(nudge)
    is_weft = torch.__name__ == "weft"

    def data(*shape, scale=1.0):
        numbers = torch.tensor((rng.standard_normal(shape) * scale).astype("float32")).to(getattr(torch, stored))
        if nudge:
            numbers = numbers.float() * torch.tensor((1 + HALVES.get(stored, 2.0**-24) * noise.uniform(-1, 1, shape)).astype("float32"))
        return numbers.to(getattr(torch, dtype))

    def ints(high, *shape):
        return torch.tensor(rng.integers(0, high, shape))

    def fixed(high, *shape):
        """Numbers that depend on the arguments alone: a traced function draws once, one that is not at every call."""
        return torch.tensor(np.random.default_rng([high, *shape]).integers(0, high, shape))

    def apart(x):
        """Which of equal elements is the largest, nobody says: there are none. A half type has too few numbers to tell them apart."""
        if x.dtype in (torch.float16, torch.bfloat16):
            x = x.float()
        count = max(int(np.prod(x.shape)), 1)
        far = x + torch.tensor(np.linspace(0, 0.37, count).reshape(tuple(x.shape)) if x.numel() else np.zeros(tuple(x.shape))).to(x.dtype)
        if not is_weft:
            ties.append(any(is_tied(far.detach().numpy(), axis) for axis in range(far.ndim)))
        return far

    def load(module):
        """The same weights on both sides, by name."""
        with torch.no_grad():
            for name, p in sorted(module.named_parameters()):
                fan = p.shape[-1] if len(p.shape) > 1 else 4
                p.copy_(data(*p.shape, scale=max(fan, 1) ** -0.5))
        return module.to(getattr(torch, dtype))

    def show(value):
        if value is None:
            shown.append(None)
            return
        value = value.detach()
        shown.append(np.array((value.float() if value.dtype == torch.bfloat16 else value).numpy(), copy=True))

    def sync(*tensors):
        if is_weft:
            torch.realize(*tensors)

    def jit(function):
        return torch.jit(function) if is_weft and captured else function

    helpers = {"data": data, "ints": ints, "fixed": fixed, "apart": apart, "load": load, "show": show, "sync": sync, "jit": jit}
    return {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, **helpers}


def type_of(text: str) -> str:
    """A program says in its first line if it is not one of f32."""
    named = text.split("\n", 1)[0].removeprefix("# ")
    return named if named in UNITS else "float32"


def run(torch, text: str, dtype: str = "float32", captured: bool = True, nudge: int = 0) -> list:
    shown: list = []
    own = type_of(text)
    stored = "float32" if own == "float64" else own
    exec(compile(text, "<program>", "exec"), namespace(torch, dtype, shown, captured, stored, nudge))
    return shown


def has_diverged(values: list) -> bool:
    return any(v is not None and v.size and np.nanmax(np.abs(v.astype("f8"))) > 1e12 for v in values)


def difference(got: list, exact: list, rounded: list, unit: float, factor: float = 30.0, padded: bool = False) -> str:
    """What differs between Weft's results and those of a reference in f64 (`exact`) and in the type of the program (`rounded`).

    How far the two references are apart says how well a value is determined: a multiple of that is the tolerance, and a `unit`,
    the relative error of what is as exact as can be.
    """
    if len(got) != len(rounded):
        return f"{len(got)} values shown instead of {len(rounded)}"
    for i, (g, e, r) in enumerate(zip(got, exact, rounded)):
        if g is None or r is None:
            if g is not r and not (g is not None and not g.any()) and not (r is not None and not r.any()):
                return f"value {i}: {'nothing' if g is None else 'a tensor'} instead of {'nothing' if r is None else 'a tensor'}"
            continue
        if g.shape != r.shape:
            return f"value {i}: shape {g.shape} instead of {r.shape}"
        if g.dtype != r.dtype:
            return f"value {i}: {g.dtype} instead of {r.dtype}"
        if g.size == 0:
            continue
        g64, e64, r64 = g.astype("f8"), e.astype("f8"), r.astype("f8")
        known = np.isfinite(e64) & np.isfinite(r64)
        ours, theirs, agreed = np.isnan(g64), np.isnan(r64), np.isnan(e64) == np.isnan(r64)
        if (ours != theirs)[agreed].any():
            # What has diverged is NaN; whether it meets the zeros of a convolution's padding is open, and so is what follows.
            if padded and theirs.any() and not (theirs & ~ours)[agreed].any():
                return ""
            return f"value {i}: NaN in {int(ours.sum())} places instead of {int(theirs.sum())}"
        if not known.any():
            continue
        scale = np.abs(e64[known]).max()
        spread = np.abs(e64 - r64)[known].max()
        if spread > max(1e-2, 3 * unit) * scale:  # not determined; nor is what follows from it
            return ""
        tolerance = unit * (scale + 0.5) + factor * spread  # elements are about 1, and so is what cancels out
        with np.errstate(invalid="ignore"):
            off = np.where(known, np.abs(g64 - r64), 0)
        off = np.where(np.isnan(off), np.inf, off)
        if off.max() > tolerance:
            at = np.unravel_index(off.argmax(), off.shape)
            return (f"value {i} {g.shape}: {int((off > tolerance).sum())} of {off.size} elements differ; the worst, at {tuple(map(int, at))}, is "
                    f"{g[at]!r} instead of {r[at]!r} (tolerance {tolerance:.2g})")  # fmt: skip
    return ""
