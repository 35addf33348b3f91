"""Window functions under PyTorch's names (torch.signal.windows). All are computed in float64 and rounded once.

`M` is the number of points. With ``sym=True`` a window is symmetric; with ``sym=False`` it is a period, for spectra: the first M points
of a symmetric window of M + 1.

>>> weft.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

from __future__ import annotations

import math

import weft

from .._types import on_device

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from weft import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip


def _window(
    name: str, M: int, sym: bool, dtype: weft.dtype | None, device: Any, requires_grad: bool, weights: Callable[[Tensor, float], Tensor]
) -> Tensor:
    """weights(k, last) for the points k = 0 … M - 1, where `last` is the end of a symmetric window."""
    if isinstance(M, bool) or not isinstance(M, int):
        raise TypeError(f"{name}(): argument 'M' must be an int, not {type(M).__name__}")
    if M < 0:
        raise ValueError(f"{name}(): argument 'M' must not be negative, but is {M}")
    dtype = weft.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise ValueError(f"{name}(): argument 'dtype' must be a float type, not {dtype!r}")
    with on_device(name, device):
        if M == 0:
            window = weft.empty(0, dtype=dtype)
        elif M == 1:
            window = weft.ones(1, dtype=dtype)
        else:
            window = weights(weft.arange(M, dtype=weft.float64), M - 1 if sym else M).to(dtype)
    return window.requires_grad_() if requires_grad else window


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: weft.dtype | None = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-|k - center| / tau); the centre is the middle unless it is given, for ``sym=False`` only."""
    if tau <= 0:
        raise ValueError(f"exponential(): argument 'tau' must be positive, but is {tau}")
    if sym and center is not None:
        raise ValueError("exponential(): argument 'center' must be None where 'sym' is True")

    def weights(k: Tensor, last: float) -> Tensor:
        return (-(k - (last / 2 if center is None else center)).abs() / tau).exp()

    return _window("exponential", M, sym, dtype, device, requires_grad, weights)


def cosine(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """sin(π (k + ½) / M): half a wave."""
    return _window("cosine", M, sym, dtype, device, requires_grad, lambda k, last: ((k + 0.5) * (math.pi / (last + 1))).sin())


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """exp(-½ ((k - middle) / std)²)."""
    if std <= 0:
        raise ValueError(f"gaussian(): argument 'std' must be positive, but is {std}")
    return _window("gaussian", M, sym, dtype, device, requires_grad, lambda k, last: (((k - last / 2) / std).square() * -0.5).exp())


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """I₀(beta √(1 - z²)) / I₀(beta) for z from -1 to 1; a larger `beta` makes it narrower."""
    if beta < 0:
        raise ValueError(f"kaiser(): argument 'beta' must not be negative, but is {beta}")

    def weights(k: Tensor, last: float) -> Tensor:
        arguments = beta * ((k * (last - k)).sqrt() * (2 / last))  # 1 - z² = 4 k (last - k) / last², without cancellation
        whole = weft.tensor(beta, dtype=weft.float64, device=k.device)
        return weft.special.i0e(arguments) / weft.special.i0e(whole) * (arguments - whole).exp()

    return _window("kaiser", M, sym, dtype, device, requires_grad, weights)


def _cosines(k: Tensor, last: float, a: Sequence[float]) -> Tensor:
    """a₀ - a₁ cos(x) + a₂ cos(2x) - … for x from 0 to 2π."""
    angle = k * (2 * math.pi / last)
    window = weft.full_like(k, a[0])
    for i, factor in enumerate(a[1:], 1):
        window = window + (angle * i).cos() * (factor if i % 2 == 0 else -factor)
    return window


def general_cosine(
    M: int, *, a: Sequence[float], sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """a[0] - a[1] cos(x) + a[2] cos(2x) - … for x from 0 to 2π."""
    if not isinstance(a, (list, tuple)):
        raise TypeError(f"general_cosine(): argument 'a' must be a list of numbers, not {type(a).__name__}")
    if not a:
        raise ValueError("general_cosine(): argument 'a' must have at least one number")
    return _window("general_cosine", M, sym, dtype, device, requires_grad, lambda k, last: _cosines(k, last, a))


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """alpha - (1 - alpha) cos(x) for x from 0 to 2π."""
    return _window("general_hamming", M, sym, dtype, device, requires_grad, lambda k, last: _cosines(k, last, (alpha, 1 - alpha)))


def hamming(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """0.54 - 0.46 cos(x) for x from 0 to 2π."""
    return _window("hamming", M, sym, dtype, device, requires_grad, lambda k, last: _cosines(k, last, (0.54, 0.46)))


def hann(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """½ - ½ cos(x) for x from 0 to 2π."""
    return _window("hann", M, sym, dtype, device, requires_grad, lambda k, last: (k * (math.pi / last)).sin().square())


def blackman(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """0.42 - 0.5 cos(x) + 0.08 cos(2x) for x from 0 to 2π."""
    return _window("blackman", M, sym, dtype, device, requires_grad, lambda k, last: _cosines(k, last, (0.42, 0.5, 0.08)))


def bartlett(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """1 - |2 k / (M - 1) - 1|: a triangle."""
    return _window("bartlett", M, sym, dtype, device, requires_grad, lambda k, last: 1 - (k * (2 / last) - 1).abs())


def nuttall(M: int, *, sym: bool = True, dtype: weft.dtype | None = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """The window of four cosines with the lowest side lobes (A. Nuttall, 1981)."""
    terms = (0.3635819, 0.4891775, 0.1365995, 0.0106411)
    return _window("nuttall", M, sym, dtype, device, requires_grad, lambda k, last: _cosines(k, last, terms))
