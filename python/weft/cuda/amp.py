"""weft.cuda.amp: the older names of weft.amp, for the device "cuda"."""

from __future__ import annotations

from .. import amp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class autocast(amp.autocast):
    """autocast("cuda"): without a GPU it warns and changes nothing."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """GradScaler("cuda"): without a GPU it warns and scales nothing."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:  # fmt: skip
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    return amp.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any = None) -> Any:
    return amp.custom_bwd(bwd, device_type="cuda")
