"""The registry of ops: registry.py explains it, the topic modules beside it hold the entries, pending.py says what has none yet."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    if not _module.name.startswith("test_"):
        importlib.import_module(f"{__name__}.{_module.name}")
