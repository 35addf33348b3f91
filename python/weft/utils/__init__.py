"""weft.utils.data: data sets and loaders."""

from . import data
