"""PyTorch's names over Weft: `python -m weft train.py`, and install_as_torch() in a notebook.

modules.py   the modules `torch`, `torch.nn` … and the finder that hands them out
missing.py   what stands in for a name that Weft does not have
uses.py      which names of PyTorch a script uses, read from its source (`python -m weft --missing`)
jit.py …     modules whose name means something else in Weft
path/torch   what a spawned process finds when it imports torch
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from .modules import Finder, TorchModule


def install_as_torch() -> None:
    """From here on `import torch` gives Weft, in this process and in those that it spawns. PyTorch must not have been imported."""
    loaded = sys.modules.get("torch")
    if isinstance(loaded, TorchModule):
        return
    if loaded is not None and getattr(loaded, "__weft__", None) is None:
        raise RuntimeError("install_as_torch(): PyTorch itself is already imported in this process; call this first, in a new one")
    for name in [name for name in sys.modules if name == "torch" or name.startswith("torch.")]:
        del sys.modules[name]
    sys.meta_path.insert(0, Finder())
    folder = str(Path(__file__).parent / "path")
    if folder not in sys.path:  # spawned processes inherit sys.path, and nothing else
        sys.path.insert(1, folder)
    importlib.import_module("torch")
