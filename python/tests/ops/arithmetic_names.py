"""Further names of elementwise ops."""

from . import activations, arithmetic
from .registry import ENTRIES

NAMES = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "abs": "absolute", "neg": "negative", "sub": "subtract", "mul": "multiply",
    "div": "divide true_divide", "gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal", "ne": "not_equal",
    "clamp": "clip", "trunc": "fix", "sign": "sgn",
}  # fmt: skip
for _of, _more in NAMES.items():
    for _entry in [e for e in ENTRIES if e.name == _of and e.make_samples.__module__ in (arithmetic.__name__, activations.__name__)]:
        for _name in list(_entry.names):
            if _name.partition(".")[2].rstrip("_") == _of:
                _entry.names += [n for m in _more.split() if (n := _name.replace(f".{_of}", f".{m}")) not in _entry.names]
