"""weft.distributed: one process, as a group of its own. Programs for several run as one of one."""

from __future__ import annotations

import datetime
import os

from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

default_pg_timeout = datetime.timedelta(minutes=30)
_group: ProcessGroup | None = None


class ReduceOp:
    """How values of several processes become one. With one process each gives its value."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = "sum", "avg", "product", "min", "max", "band", "bor", "bxor"


class ProcessGroup:
    """The processes that work together: this one."""

    def size(self) -> int:
        return 1

    def rank(self) -> int:
        return 0


class group:
    """The group of all processes."""

    WORLD = None


class Work:
    """An exchange that is over."""

    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def is_available() -> bool:
    """True, with one process."""
    return True


def is_initialized() -> bool:
    """Whether init_process_group() was called."""
    return _group is not None


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    return "TORCHELASTIC_RUN_ID" in os.environ


def init_process_group(backend: Any = None, init_method: Any = None, timeout: Any = None, world_size: int = -1, rank: int = -1,
                       **_: Any) -> None:  # fmt: skip
    """Begins to work as a group of one process."""
    global _group
    size = world_size if world_size != -1 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise RuntimeError(f"init_process_group(): Weft works with one process, and the group has {size}; start the program alone")
    if _group is not None:
        raise ValueError("init_process_group(): it was called before; call destroy_process_group() first")
    _group = ProcessGroup()


def destroy_process_group(group: Any = None) -> None:
    """Ends the work as a group."""
    global _group
    _group = None


def _check(call: str) -> None:
    if _group is None:
        raise ValueError(f"{call}(): there is no group of processes yet; call init_process_group() first")


def get_rank(group: Any = None) -> int:
    """0."""
    _check("get_rank")
    return 0


def get_world_size(group: Any = None) -> int:
    """1."""
    _check("get_world_size")
    return 1


def get_backend(group: Any = None) -> str:
    """The name of what connects the processes; one needs nothing."""
    _check("get_backend")
    return "gloo"


def new_group(ranks: Any = None, *_: Any, **__: Any) -> ProcessGroup:
    """A group of one process."""
    _check("new_group")
    return ProcessGroup()


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Waits for nobody."""
    _check("barrier")
    return _done(async_op)


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensor keeps its values: those of all processes are its own."""
    _check("all_reduce")
    return _done(async_op)


def reduce(tensor: Tensor, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensor keeps its values."""
    _check("reduce")
    return _done(async_op)


def broadcast(tensor: Tensor, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """The tensor keeps its values."""
    _check("broadcast")
    return _done(async_op)


def all_gather(tensor_list: Any, tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the tensor into the one of the list."""
    _check("all_gather")
    tensor_list[0].copy_(tensor)
    return _done(async_op)


def all_gather_into_tensor(output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the one tensor into the other."""
    _check("all_gather_into_tensor")
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def gather(tensor: Tensor, gather_list: Any = None, dst: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the tensor into the one of the list."""
    _check("gather")
    if gather_list:
        gather_list[0].copy_(tensor)
    return _done(async_op)


def scatter(tensor: Tensor, scatter_list: Any = None, src: int = 0, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the one of the list into the tensor."""
    _check("scatter")
    if scatter_list:
        tensor.copy_(scatter_list[0])
    return _done(async_op)


def reduce_scatter(output: Tensor, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Copies the one of the list into the output."""
    _check("reduce_scatter")
    output.copy_(input_list[0])
    return _done(async_op)


def all_gather_object(object_list: Any, obj: Any, group: Any = None) -> None:
    """Puts the object into the list."""
    _check("all_gather_object")
    object_list[0] = obj


def broadcast_object_list(object_list: Any, src: int = 0, group: Any = None, device: Any = None) -> None:
    """The list keeps its objects."""
    _check("broadcast_object_list")


def gather_object(obj: Any, object_gather_list: Any = None, dst: int = 0, group: Any = None) -> None:
    """Puts the object into the list."""
    _check("gather_object")
    if object_gather_list:
        object_gather_list[0] = obj
