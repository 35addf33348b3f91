"""Neural networks: weft.nn.functional has the functions."""

from . import functional
