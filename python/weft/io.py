"""Files of tensors in the formats of others: safetensors, and NumPy's .npy and .npz. (weft.save() and weft.load() are for PyTorch's .pt.)

Sizes are checked before memory is taken, and no code of a file is ever run. A file is replaced in one step: the old one stays until the new
one is whole and on the disk.
"""

from __future__ import annotations

import os

from . import _weft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any

    from ._types import Size
    from ._weft import Tensor

__all__ = ["load_npy", "load_npz", "load_safetensors", "safe_open", "save_npy", "save_npz", "save_safetensors"]


def _path(path: str | PathLike[str], function: str) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{function}(): argument 'path' must be a path, not {type(path).__name__}")
    return os.fspath(path)


def load_safetensors(path: str | PathLike[str]) -> dict[str, Tensor]:
    """The tensors of a safetensors file, or of all files that an index (`model.safetensors.index.json`) lists. They read the file's memory
    where it lies, without a copy; a tensor that is written later takes memory of its own.

    >>> model.load_state_dict(weft.io.load_safetensors("model.safetensors"))
    """
    found: dict[str, Tensor] = _weft._load_safetensors(_path(path, "load_safetensors"))
    return found


def save_safetensors(tensors: dict[str, Tensor], path: str | PathLike[str], metadata: dict[str, str] | None = None) -> None:
    """Writes a dict of tensors as a safetensors file, with `metadata`, a dict of strings.

    >>> weft.io.save_safetensors(model.state_dict(), "model.safetensors")
    """
    _weft._save_safetensors(tensors, _path(path, "save_safetensors"), metadata)


class safe_open:
    """An open safetensors file, or the files of an index, of which single tensors are taken. Nothing is read before.

    >>> with weft.io.safe_open("model.safetensors") as file:
    ...     rows = file.get_slice("embedding.weight")[:100]
    """

    def __init__(self, path: str | PathLike[str], framework: str | None = None, device: str = "cpu") -> None:
        from ._types import device as known

        known(device)
        self._file: Any = _weft._open_safetensors(_path(path, "safe_open"))

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *error: object) -> None:
        self._file = None  # tensors that were taken keep the memory alive

    def _opened(self, function: str) -> Any:
        if self._file is None:
            raise ValueError(f"{function}(): the file is closed; use it inside the `with` block")
        return self._file

    def _named(self, name: str, function: str) -> Any:
        file = self._opened(function)
        if not isinstance(name, str):
            raise TypeError(f"{function}(): argument 'name' must be a str, not {type(name).__name__}")
        if not file.contains(name):
            raise KeyError(f"{function}(): there is no tensor named '{name}'; keys() lists the names")
        return file

    def keys(self) -> list[str]:
        """The names of the tensors."""
        found: list[str] = self._opened("keys").keys()
        return found

    def metadata(self) -> dict[str, str] | None:
        """The strings that were saved beside the tensors; None: there are none."""
        found: dict[str, str] = self._opened("metadata").metadata()
        return found or None

    def get_tensor(self, name: str) -> Tensor:
        """A tensor over the file's memory."""
        found: Tensor = self._named(name, "get_tensor").tensor(name)
        return found

    def get_slice(self, name: str) -> _Slice:
        """A tensor of which a part is taken by an index: no other part of the file is read."""
        return _Slice(self._named(name, "get_slice"), name)


class _Slice:
    def __init__(self, file: Any, name: str) -> None:
        self._file, self._name = file, name

    def get_shape(self) -> Size:
        """The sizes of the whole tensor."""
        found: Size = self._file.shape(self._name)
        return found

    def get_dtype(self) -> str:
        """The element type, as the format calls it: "F32", "BF16"."""
        found: str = self._file.dtype_name(self._name)
        return found

    def __getitem__(self, index: Any) -> Tensor:
        found: Tensor = self._file.tensor(self._name)[index]
        return found


def load_npy(path: str | PathLike[str], *, mmap: bool = False) -> Tensor:
    """The array of an .npy file. With `mmap` it is read where it lies, without a copy."""
    return _weft._load_npy(_path(path, "load_npy"), mmap)


def save_npy(tensor: Tensor, path: str | PathLike[str]) -> None:
    """Writes a tensor as an .npy file, which numpy.load() reads."""
    _weft._save_npy(tensor, _path(path, "save_npy"))


def load_npz(path: str | PathLike[str], *, mmap: bool = False) -> dict[str, Tensor]:
    """The arrays of an .npz file, by name. With `mmap` those that are not packed are read where they lie."""
    found: dict[str, Tensor] = _weft._load_npz(_path(path, "load_npz"), mmap)
    return found


def save_npz(tensors: dict[str, Tensor], path: str | PathLike[str]) -> None:
    """Writes a dict of tensors as an .npz file, which numpy.load() reads."""
    _weft._save_npz(tensors, _path(path, "save_npz"))
