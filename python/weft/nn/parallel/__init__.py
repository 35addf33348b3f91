"""weft.nn.parallel: modules for several devices or processes. With one, they call the module that they hold."""

from __future__ import annotations

from contextlib import nullcontext

from ..module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """A module on all devices: on the CPU."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.device_ids, self.dim = module, device_ids or [], dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """A module in all processes: in this one."""

    require_backward_grad_sync = True

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, **_: Any) -> None:
        from ... import distributed

        if not distributed.is_initialized():
            raise ValueError("DistributedDataParallel(): there is no group of processes yet; call distributed.init_process_group() first")
        super().__init__(module, device_ids, output_device, dim)

    def no_sync(self) -> Any:
        """A block in which gradients are not exchanged: they never are."""
        return nullcontext()

    def join(self, *_: Any, **__: Any) -> Any:
        return nullcontext()

    def register_comm_hook(self, state: Any, hook: Any) -> None:
        """Nothing is exchanged: the hook is not called."""


def data_parallel(module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None) -> Any:
    """The module's result."""
    return module(*inputs, **(module_kwargs or {})) if isinstance(inputs, tuple) else module(inputs, **(module_kwargs or {}))
