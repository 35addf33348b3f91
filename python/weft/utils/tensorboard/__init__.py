"""weft.utils.tensorboard: SummaryWriter, which writes with the package tensorboard."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
