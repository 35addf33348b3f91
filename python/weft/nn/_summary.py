"""summary(): a table of what a module consists of."""

from __future__ import annotations

from .._modes import no_grad
from .._tensor import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Summary:
    """A table of modules with their output shapes and parameters. str() gives the text; the numbers are attributes."""

    def __init__(self, rows: Any, total_params: Any, trainable_params: Any, buffers: Any) -> None:
        self.rows, self.total_params, self.trainable_params, self.buffers = (
            rows,
            total_params,
            trainable_params,
            buffers,
        )

    def __str__(self) -> str:
        shown = [(name, shape, f"{count:,}" if count else "") for name, shape, count in self.rows]
        shapes = any(shape for _, shape, _ in shown)
        table = [("module", "output" if shapes else "", "parameters"), *shown]
        widths = [max(len(row[i]) for row in table) for i in range(3)]
        lines = [
            f"{name:<{widths[0]}}  {shape:<{widths[1]}}  {count:>{widths[2]}}".rstrip() for name, shape, count in table
        ]
        rule = "-" * max(map(len, lines))
        frozen = self.total_params - self.trainable_params
        totals = f"parameters: {self.total_params:,}, trained {self.trainable_params:,}, frozen {frozen:,}"
        totals += f"; in buffers: {self.buffers:,}"
        return "\n".join([lines[0], rule, *lines[1:], rule, totals])

    __repr__ = __str__


def _shape_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return str(tuple(value.shape))
    if isinstance(value, (tuple, list)):
        return ", ".join(filter(None, map(_shape_of, value)))
    return ", ".join(filter(None, map(_shape_of, value.values()))) if isinstance(value, dict) else ""


def _output_shapes(model: Any, inputs: Any) -> Any:
    """What each module gave when the model was called; nothing of it is computed."""
    shapes, handles = {}, []
    modes = [(module, module.training) for module in model.modules()]

    def note(module: Any, args: Any, output: Any) -> None:
        shapes.setdefault(id(module), _shape_of(output))

    try:
        for module, _ in modes:
            handles.append(module.register_forward_hook(note))
        model.eval()  # or the running statistics of the norms would move
        with no_grad():
            model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
        for module, mode in modes:
            module.__dict__["training"] = mode
    return shapes


def summary(model: Any, input_size: int | None = None, *, input_data: Any = None, dtype: Any = None) -> Any:
    """A table of the modules below `model` with their parameters, and with their output shapes if it can be called: with zeros of
    `input_size` (a shape with its batch, or a list of shapes), or with `input_data` (a tensor or a tuple of them).

    >>> print(summary(nn.Sequential(nn.Linear(784, 128), nn.ReLU()), (1, 784)))
    """
    from .. import zeros

    shapes = {}
    if input_data is not None:
        shapes = _output_shapes(model, input_data if isinstance(input_data, (tuple, list)) else (input_data,))
    elif input_size is not None:
        sizes = [input_size] if all(isinstance(n, int) for n in input_size) else input_size
        shapes = _output_shapes(model, [zeros(*size, dtype=dtype) for size in sizes])
    rows = []
    for path, module in model.named_modules():
        own = sum(p.numel() for p in module._parameters.values() if p is not None)
        depth = path.count(".") + 1 if path else 0
        name = f"{path.rpartition('.')[2]}: {type(module).__name__}" if path else type(module).__name__
        rows.append(("  " * depth + name, shapes.get(id(module), ""), own))
    parameters = list(model.parameters())
    trained = sum(p.numel() for p in parameters if p.requires_grad)
    return Summary(rows, sum(p.numel() for p in parameters), trained, sum(b.numel() for b in model.buffers()))
