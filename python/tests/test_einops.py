"""einops finds Weft's tensors: its way of asking, in a small stand-in (the package itself is not needed here)."""

import subprocess
import sys

import pytest

STAND_IN = """
class AbstractBackend:
    pass

class Other(AbstractBackend):
    framework_name = "other"

def get_backend(tensor):
    for kind in AbstractBackend.__subclasses__():
        if kind.framework_name in __import__("sys").modules:
            backend = kind()
            if backend.is_appropriate_type(tensor):
                return backend
    raise RuntimeError("unknown")
"""

PROGRAM = """
FIRST
SECOND
from einops._backends import get_backend
__import__("gc").collect()
x = weft.arange(24.0).reshape(2, 3, 4)
ops = get_backend(x)
assert ops.framework_name == "weft"
assert ops.transpose(x, [2, 0, 1]).shape == (4, 2, 3)
assert ops.add_axes(x, 4, {1: 5}).shape == (2, 5, 3, 4)
assert ops.tile(x, (2, 1, 1)).shape == (4, 3, 4)
assert [ops.reduce(x, name, [0, 2]).numpy().tolist()[0] for name in ("sum", "mean", "min", "max")] == [60.0, 7.5, 0.0, 15.0]
assert ops.reduce(x + 1, "prod", [1, 2]).shape == (2,) and ops.reduce(x > -1, "all", (0, 1, 2)).item()
assert ops.stack_on_zeroth_dimension([x, x]).shape == (2, 2, 3, 4) and ops.concat([x, x], 1).shape == (2, 6, 4)
assert ops.is_float_type(x) and not ops.is_float_type(ops.arange(0, 3))
assert ops.einsum("abc,abc->a", x, x).shape == (2,)
assert (ops.to_numpy(ops.from_numpy(ops.to_numpy(x))) == x.numpy()).all()
"""


@pytest.mark.parametrize("order", [("import weft", "import einops._backends"), ("import einops._backends", "import weft")])
def test_in_whichever_order(tmp_path, order):
    package = tmp_path / "einops"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_backends.py").write_text(STAND_IN)
    text = f"import sys; sys.path.insert(0, {str(tmp_path)!r})" + PROGRAM.replace("FIRST", order[0]).replace("SECOND", order[1])
    subprocess.run([sys.executable, "-c", text], check=True)
