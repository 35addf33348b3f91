"""Sequences of several lengths: padded to one length, or packed without padding, as recurrent layers take them."""

from __future__ import annotations

from collections import namedtuple

from ... import _weft
from ..._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_Fields = namedtuple("_Fields", ["data", "batch_sizes", "sorted_indices", "unsorted_indices"])


class PackedSequence(_Fields):
    """Sequences without padding: the first elements of all, then the second ones …, the longest sequence first.

    `batch_sizes` says how many sequences have an element at each time, `sorted_indices` which sequence of the batch comes where,
    and `unsorted_indices` the way back. The sizes are on the CPU, the indices on the device of the data.
    pack_padded_sequence() and pack_sequence() make them.
    """

    __slots__ = ()

    def __new__(cls, data: Any, batch_sizes: Any = None, sorted_indices: Any = None, unsorted_indices: Any = None) -> PackedSequence:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise TypeError("PackedSequence(): give data and batch_sizes; pack_sequence() makes one of a list of tensors")
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same sequences with the elements in another type, or on another device."""
        data = self.data.to(*args, **kwargs)
        orders = (None if order is None else order.to(data.device) for order in self[2:])
        return PackedSequence(data, self.batch_sizes, *orders)

    def cpu(self) -> PackedSequence:
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        return self

    def double(self) -> PackedSequence:
        return self.to(_weft.float64)

    def float(self) -> PackedSequence:
        return self.to(_weft.float32)

    def half(self) -> PackedSequence:
        return self.to(_weft.float16)

    def long(self) -> PackedSequence:
        return self.to(_weft.int64)

    def int(self) -> PackedSequence:
        return self.to(_weft.int32)

    def short(self) -> PackedSequence:
        return self.to(_weft.int16)

    def char(self) -> PackedSequence:
        return self.to(_weft.int8)

    def byte(self) -> PackedSequence:
        return self.to(_weft.uint8)

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Any:
    """Where each index stands in a permutation."""
    if permutation is None:
        return None
    return _weft.empty_like(permutation).scatter_(0, permutation, _weft.arange(permutation.numel(), device=permutation.device))


# ---- rows with and without padding -----------------------------------------------------------------------------------


def _beside(valid: Any, x: Any) -> Any:
    """Bools for the first two axes of x, with axes of size 1 for the others."""
    return valid.reshape(*valid.shape, *[1] * (x.ndim - 2))


def padded_rows(data: Any, batch_sizes: Any) -> Any:
    """Packed data (rows, …) as (time, n, …) with zeros where a sequence has ended, and bools (time, n) that say where it has not."""
    sizes = batch_sizes.to(data.device, _weft.int64).unsqueeze(1)
    columns = _weft.arange(int(batch_sizes[0]), device=data.device)
    valid = columns < sizes
    # Masks, not slices of each time's size: those would be as many kernels as there are sizes.
    rows = _weft.where(valid, sizes.cumsum(0) - sizes + columns, 0)
    padded = data.index_select(0, rows.reshape(-1)).reshape(*rows.shape, *data.shape[1:])
    return padded.masked_fill(~_beside(valid, padded), 0), valid.clone()


def packed_rows(padded: Any, valid: Any) -> Any:
    """The rows of (time, n, …) that are valid, as packed data."""
    rows = valid.reshape(-1).nonzero().squeeze(1)
    return padded.reshape(valid.numel(), *padded.shape[2:]).index_select(0, rows)


# ---- packing ---------------------------------------------------------------------------------------------------------


def _lengths(name: str, lengths: Any) -> list[int]:
    numbers = lengths.tolist() if hasattr(lengths, "tolist") else lengths
    if not isinstance(numbers, (list, tuple)):
        raise TypeError(f"{name}(): argument 'lengths' must be a list or a 1-d tensor of ints, not {type(lengths).__name__}")
    return [int(number) for number in numbers]


def pack_padded_sequence(input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences that are padded to (time, n, …), or (n, time, …) with batch_first.

    `enforce_sorted`: the lengths must go down. If it is False they are sorted here, and the results of recurrent layers are put back
    into the order of the batch.
    """
    name = "pack_padded_sequence"
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' must be a Tensor, not {type(input).__name__}; pack_sequence() takes a list")
    if input.ndim < 2:
        raise ValueError(f"{name}(): the input needs an axis of times and one of sequences; its shape is {tuple(input.shape)}")
    numbers = _lengths(name, lengths)
    x = input.transpose(0, 1) if batch_first else input
    if len(numbers) != x.shape[1]:
        where = "batch_first=True" if batch_first else "batch_first=False"
        raise ValueError(f"{name}(): there are {len(numbers)} lengths for {x.shape[1]} sequences; is {where} right?")
    if not numbers or min(numbers) <= 0:
        raise RuntimeError(f"{name}(): every length must be 1 or more, not {min(numbers, default='none at all')}")
    if max(numbers) > x.shape[0]:
        raise RuntimeError(f"{name}(): the length {max(numbers)} is more than the {x.shape[0]} times of the input")
    order = None
    if not enforce_sorted:
        places = sorted(range(len(numbers)), key=lambda i: -numbers[i])
        order, numbers = _weft.tensor(places, device=x.device), [numbers[i] for i in places]
        x = x.index_select(1, order)
    elif any(a < b for a, b in zip(numbers, numbers[1:])):
        raise RuntimeError(f"{name}(): the lengths must go down: sort the sequences, or pass enforce_sorted=False")
    valid = _weft.arange(numbers[0], device=x.device).unsqueeze(1) < _weft.tensor(numbers, device=x.device)
    return PackedSequence(packed_rows(x[: numbers[0]], valid), valid.sum(1).clone().cpu(), order)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The sequences of a PackedSequence, padded to (time, n, …), and their lengths, on the CPU."""
    if not isinstance(sequence, PackedSequence):
        raise TypeError(f"pad_packed_sequence(): argument 'sequence' must be a PackedSequence, not {type(sequence).__name__}")
    padded, valid = padded_rows(sequence.data, sequence.batch_sizes)
    longest = padded.shape[0]
    if total_length is not None and total_length < longest:
        raise ValueError(f"pad_packed_sequence(): total_length {total_length} is less than the longest sequence, {longest}")
    if total_length is not None and total_length > longest:
        more = total_length - longest
        padded = _weft.cat([padded, padded.new_zeros(more, *padded.shape[1:])])
        valid = _weft.cat([valid, valid.new_zeros(more, valid.shape[1])])
    if padding_value != 0:
        padded = padded.masked_fill(~_beside(valid, padded), padding_value)
    lengths = valid.sum(0)
    if sequence.unsorted_indices is not None:
        padded, lengths = padded.index_select(1, sequence.unsorted_indices), lengths.index_select(0, sequence.unsorted_indices)
    return (padded.transpose(0, 1) if batch_first else padded), lengths.cpu()


# ---- padding ---------------------------------------------------------------------------------------------------------


def pad_sequence(
    sequences: Tensor | Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, …) as one tensor (longest, n, …), or (n, longest, …) with batch_first."""
    if padding_side not in ("left", "right"):
        raise ValueError(f"pad_sequence(): argument 'padding_side' must be 'left' or 'right', not {padding_side!r}")
    if not isinstance(sequences, (list, tuple, Tensor)) and not hasattr(sequences, "__iter__"):
        raise TypeError(f"pad_sequence(): argument 'sequences' must be a list of tensors, not {type(sequences).__name__}")
    listed = list(sequences)
    if not listed:
        raise RuntimeError("pad_sequence(): argument 'sequences' is empty")
    for each in listed:
        if not isinstance(each, Tensor):
            raise TypeError(f"pad_sequence(): a sequence must be a Tensor, not {type(each).__name__}")
        if each.ndim == 0 or each.shape[1:] != listed[0].shape[1:]:
            raise RuntimeError(
                f"pad_sequence(): sequences may differ in their first size only, but their shapes are {tuple(listed[0].shape)} "
                f"and {tuple(each.shape)}"
            )
    longest = max(each.shape[0] for each in listed)
    rows = []
    for each in listed:
        missing = longest - each.shape[0]
        before, after = (missing, 0) if padding_side == "left" else (0, missing)
        rows.append(_weft.functional.pad(each, [0, 0] * (each.ndim - 1) + [before, after], value=padding_value) if missing else each)
    return _weft.stack(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each with its length."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    numbers = _lengths("unpad_sequence", lengths)
    if len(numbers) != rows.shape[0]:
        raise ValueError(f"unpad_sequence(): there are {len(numbers)} lengths for {rows.shape[0]} sequences")
    return [rows[i, :length] for i, length in enumerate(numbers)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs a list of sequences (length, …)."""
    padded = pad_sequence(sequences)
    return pack_padded_sequence(padded, [each.shape[0] for each in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The list of sequences of a PackedSequence."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
