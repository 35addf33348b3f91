"""Optimisers. step() ends with a run: loss, gradients and update of a training step are one plan."""

from . import lr_scheduler
from .fused import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lion, NAdam, RAdam, RMSprop
from .optimizer import Optimizer

# Loaded when they are first used, so that `import weft` stays quick.
_LATER = {**dict.fromkeys(("ASGD", "Adafactor", "Muon", "Rprop", "SparseAdam"), "adaptive"), "LBFGS": "lbfgs", "swa_utils": ""}

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import swa_utils as swa_utils
    from .adaptive import ASGD as ASGD, Adafactor as Adafactor, Muon as Muon, Rprop as Rprop, SparseAdam as SparseAdam
    from .lbfgs import LBFGS as LBFGS


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'weft.optim' has no attribute {name!r}")
    import importlib

    module = importlib.import_module("." + (_LATER[name] or name), __name__)
    return getattr(module, name) if _LATER[name] else module


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "ASGD", "Adafactor", "LBFGS", "Muon", "Rprop", "SparseAdam", "swa_utils",
    "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop", "SGD", "lr_scheduler",
]  # fmt: skip
