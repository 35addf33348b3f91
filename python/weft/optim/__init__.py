"""Optimisers. step() ends with a run: loss, gradients and update of a training step are one plan."""

from . import lr_scheduler
from .fused import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, Lion, NAdam, RAdam, RMSprop
from .optimizer import Optimizer

__all__ = [
    "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "NAdam", "Optimizer", "RAdam", "RMSprop", "SGD", "lr_scheduler",
]  # fmt: skip
