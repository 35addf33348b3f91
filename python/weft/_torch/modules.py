"""The modules `torch`, `torch.nn` …: each shows the names of Weft's module, and says of any other that Weft does not have it."""

from __future__ import annotations

import dis
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
from types import ModuleType

from .missing import Missing, guarded, sentence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType
    from typing import Any

# Modules of PyTorch that stand elsewhere in Weft. A layer's file is where its class is in Weft.
ELSEWHERE = {
    "torch": "weft",
    "torch._C": "weft._torch.core",
    "torch._dynamo": "weft._torch.dynamo",
    "torch.autograd.profiler": "weft.profiler",
    "torch.cuda.amp.autocast_mode": "weft.cuda.amp",
    "torch.cuda.amp.grad_scaler": "weft.cuda.amp",
    "torch.functional": "weft",
    "torch.fx.graph_module": "weft.fx",
    "torch.fx.node": "weft.fx",
    "torch.fx.proxy": "weft.fx",
    "torch.jit": "weft._torch.jit",
    "torch.nn.attention": "weft._torch.attention",
    "torch.nn.utils.stateless": "weft.func",
    "torch.nn.modules": "weft.nn",
    "torch.nn.modules.activation": "weft.nn.activations",
    "torch.nn.modules.adaptive": "weft.nn.margin_losses",
    "torch.nn.modules.batchnorm": "weft.nn.norm",
    "torch.nn.modules.channelshuffle": "weft.nn.images",
    "torch.nn.modules.container": "weft.nn.containers",
    "torch.nn.modules.conv": "weft.nn.conv",
    "torch.nn.modules.distance": "weft.nn.losses",
    "torch.nn.modules.dropout": "weft.nn.linear",
    "torch.nn.modules.flatten": "weft.nn.linear",
    "torch.nn.modules.fold": "weft.nn.images",
    "torch.nn.modules.instancenorm": "weft.nn.norm",
    "torch.nn.modules.lazy": "weft.nn.lazy",
    "torch.nn.modules.linear": "weft.nn.linear",
    "torch.nn.modules.loss": "weft.nn.losses",
    "torch.nn.modules.module": "weft.nn.module",
    "torch.nn.modules.normalization": "weft.nn.norm",
    "torch.nn.modules.padding": "weft.nn.padding",
    "torch.nn.modules.pixelshuffle": "weft.nn.images",
    "torch.nn.modules.pooling": "weft.nn.pooling",
    "torch.nn.modules.rnn": "weft.nn.recurrent",
    "torch.nn.modules.sparse": "weft.nn.embedding",
    "torch.nn.modules.transformer": "weft.nn.attention",
    "torch.nn.modules.upsampling": "weft.nn.images",
    "torch.nn.modules.utils": "weft._torch.tuples",
    "torch.onnx.symbolic_helper": "weft.onnx",
    "torch.ops": "weft._torch.ops",
    "torch.optim.adam": "weft.optim",
    "torch.optim.adamw": "weft.optim",
    "torch.optim.rmsprop": "weft.optim",
    "torch.optim.sgd": "weft.optim",
    "torch.torch_version": "weft._torch.version",
    "torch.types": "weft._torch.types",
    "torch.utils._pytree": "weft._torch.pytree",
    "torch.utils.model_zoo": "weft.hub",
    "torch.version": "weft._torch.version",
}
# Names that stand elsewhere, or are another name of the same.
NAMES = {"torch.nn.modules.linear.NonDynamicallyQuantizableLinear": "Linear"}
# Element types that tables of libraries list. Weft has none of them; a tensor of one cannot be made.
_TYPES = {
    "cdouble", "cfloat", "complex128", "complex32", "complex64", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "qint32", "qint8", "quint8",
}  # fmt: skip
PRIVATE = {"torch._torch", "torch._weft", "torch._types", "torch._functions", "torch._modes", "torch._tensor", "torch._random", "torch._jit"}

_modules: dict[str, TorchModule | None] = {}


def torch_module(name: str) -> TorchModule | None:
    """The module of PyTorch's name, if Weft has it."""
    if name not in _modules:
        target = None
        if name not in PRIVATE:
            place = ELSEWHERE.get(name, "weft" + name.removeprefix("torch"))
            try:
                target = importlib.import_module(place)
            except ModuleNotFoundError as error:
                if not (error.name or "").startswith("weft"):  # one that Weft's module needs
                    raise
        _modules[name] = None if target is None else TorchModule(name, target)
    return _modules[name]


def _importing(frame: FrameType) -> bool:
    """Whether a frame executes `from module import name` just now."""
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


class TorchModule(ModuleType):
    """A module under a name of PyTorch. Names that are set go to Weft's module, so both see them."""

    def __init__(self, name: str, target: ModuleType) -> None:
        super().__init__(name, target.__doc__)
        vars(self).update(_target=target, __path__=[], __all__=_public(target))
        if name == "torch":
            from .version import __version__

            vars(self)["__version__"] = __version__

    def __getattr__(self, name: str) -> Any:
        full, target = f"{self.__name__}.{name}", self._target
        if full in ELSEWHERE:
            return torch_module(full)
        places = [target] if full not in PRIVATE else []
        if self.__name__.startswith("torch.nn.modules."):  # a layer stands in another file here
            places.append(importlib.import_module("weft.nn"))
        for place in places:
            try:
                value = getattr(place, NAMES.get(full, name))
            except AttributeError:
                continue
            return (torch_module(full) or value) if isinstance(value, ModuleType) else value
        if self.__name__ == "torch" and name in _TYPES:
            vars(self)[name] = missing = Missing(full)
            return missing
        frame = sys._getframe(1)
        if not name.startswith("__") and _importing(frame) and not guarded(frame):
            return Missing(full)
        raise AttributeError(sentence(full))

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, TorchModule) or name.startswith("__"):  # the import system binds modules and their specs
            vars(self)[name] = value
        else:
            setattr(self._target, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._target, name)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *dir(self._target)} - {"_target"})


def _public(module: ModuleType) -> list[str]:
    return getattr(module, "__all__", None) or [name for name in dir(module) if not name.startswith("_")]


class MissingModule(ModuleType):
    """A module that was imported and that Weft does not have: its names are missing, too."""

    __path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        frame = sys._getframe(1)
        if not name.startswith("__") and _importing(frame) and not guarded(frame):
            return Missing(full)
        raise AttributeError(sentence(full))


class _Metadata(importlib.metadata.Distribution):
    """What importlib.metadata knows of the package `torch`."""

    def read_text(self, filename: str) -> str | None:
        from .version import __version__

        return f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        from pathlib import Path

        return Path(__file__).parent / path


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `torch` and what is below it, for `import` and for importlib.metadata."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch" and not name.startswith("torch."):
            return None
        if torch_module(name) is None and not self._stands_in():
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def _stands_in(self) -> bool:
        """Whether the statement that is executed is an `import` whose author counts on the module."""
        frame = sys._getframe(2)
        while frame and "importlib" in frame.f_code.co_filename:
            code = frame.f_code
            if code.co_name == "_handle_fromlist" or (code.co_name == "find_spec" and "util" in code.co_filename):
                return False  # `from torch import name` asks for a name first; importlib.util.find_spec() asks only
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and not guarded(frame)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return torch_module(spec.name) or MissingModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass

    def invalidate_caches(self) -> None:
        pass

    def find_distributions(self, context: Any = None) -> Iterator[importlib.metadata.Distribution]:
        if context is None or context.name in (None, "torch"):
            yield _Metadata()
