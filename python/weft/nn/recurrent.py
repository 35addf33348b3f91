"""Recurrent layers, and their cells for a loop of one's own. The arithmetic is in the C++ core."""

from __future__ import annotations

from .._types import makes_on_device
from .. import _weft
from .._tensor import Tensor
from .._weft import functional as core
from ._start import empty, fan_in_uniform_
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RNNBase(Module):
    """What recurrent layers hold: weight_ih_l0, weight_hh_l0, bias_ih_l0, bias_hh_l0, …, with _reverse for the way back."""

    _gates = 1

    @makes_on_device
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = type(self).__name__
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(f"{kind}: hidden_size and num_layers must be positive, not {hidden_size} and {num_layers}")
        if not 0 <= dropout <= 1:
            raise ValueError(f"{kind}: dropout must be between 0 and 1, not {dropout}")
        if not 0 <= proj_size < hidden_size or (proj_size and self._gates != 4):
            raise ValueError(
                f"{kind}: proj_size {proj_size} is for LSTM only, and must be smaller than hidden_size {hidden_size}"
            )
        self.input_size, self.hidden_size, self.num_layers, self.bias = input_size, hidden_size, num_layers, bias
        self.batch_first, self.dropout, self.bidirectional, self.proj_size = (
            batch_first,
            float(dropout),
            bidirectional,
            proj_size,
        )
        directions, output, rows = 2 if bidirectional else 1, proj_size or hidden_size, self._gates * hidden_size
        self._cells = []  # the names of each cell's parameters, or None
        for layer in range(num_layers):
            for end in [f"_l{layer}", f"_l{layer}_reverse"][:directions]:
                shapes = {
                    "weight_ih": (rows, input_size if layer == 0 else output * directions),
                    "weight_hh": (rows, output),
                }
                shapes.update({"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {})
                shapes.update({"weight_hr": (proj_size, hidden_size)} if proj_size else {})
                for name, shape in shapes.items():
                    self.register_parameter(name + end, empty(*shape, dtype=dtype))
                names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
                self._cells.append([name + end if name in shapes else None for name in names])
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan_in_uniform_(self.hidden_size, *self.parameters())

    @property
    def all_weights(self) -> Any:
        """The parameters of each cell."""
        return [[getattr(self, name) for name in cell if name] for cell in self._cells]

    def flatten_parameters(self) -> None:
        """Nothing: for programs that call it."""

    def _settings(self, valid: Any = None) -> Any:
        weights = [None if name is None else getattr(self, name) for cell in self._cells for name in cell]
        batch_first = self.batch_first and valid is None
        return weights, self.num_layers, self.bidirectional, batch_first, self.dropout, self.training, valid

    def _run_packed(self, input: Any, states: Any, run: Any) -> Any:
        """run(x, states, valid) for a PackedSequence: the packed output, and the last states in the order of the batch."""
        from .utils.rnn import PackedSequence, packed_rows, padded_rows

        if not isinstance(input, PackedSequence):
            kind = type(self).__name__
            raise TypeError(f"{kind}: the input must be a Tensor or a PackedSequence, not {type(input).__name__}")
        x, valid = padded_rows(input.data, input.batch_sizes)
        if input.sorted_indices is not None:
            states = [None if state is None else state.index_select(1, input.sorted_indices) for state in states]
        output, *last = run(x, states, valid)
        if input.unsorted_indices is not None:
            last = [None if state is None else state.index_select(1, input.unsorted_indices) for state in last]
        return input._replace(data=packed_rows(output, valid)), *last

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
                            ("bidirectional", False)):  # fmt: skip
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class RNN(RNNBase):
    """h = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu: (time, n, in) → (time, n, hidden), and the last h of each layer."""

    @makes_on_device
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', not {nonlinearity!r}")
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        if isinstance(input, Tensor):
            return core._rnn(input, hx, *self._settings(), self.nonlinearity)[:2]
        return self._run_packed(input, [hx], lambda x, h, valid: core._rnn(x, *h, *self._settings(valid), self.nonlinearity)[:2])


class GRU(RNNBase):
    """A recurrent layer with a reset and an update gate: (time, n, in) → (time, n, hidden), and the last h of each layer."""

    _gates = 3

    @makes_on_device
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, dtype=dtype)

    def forward(self, input: Any, hx: Tensor | None = None) -> Any:
        if isinstance(input, Tensor):
            return core._gru(input, hx, *self._settings())[:2]
        return self._run_packed(input, [hx], lambda x, h, valid: core._gru(x, *h, *self._settings(valid))[:2])


class LSTM(RNNBase):
    """Long short-term memory: (time, n, in) → (time, n, hidden), and the last (h, c) of each layer."""

    _gates = 4

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        h, c = (None, None) if hx is None else hx
        if isinstance(input, Tensor):
            output, h, c = core._lstm(input, h, c, *self._settings())
        else:
            output, h, c = self._run_packed(input, [h, c], lambda x, hc, valid: core._lstm(x, *hc, *self._settings(valid)))
        return output, (h, c)


class _Cell(Module):
    _gates = 1

    @makes_on_device
    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = self._gates * hidden_size
        self.weight_ih, self.weight_hh = empty(rows, input_size, dtype=dtype), empty(rows, hidden_size, dtype=dtype)
        self.register_parameter("bias_ih", empty(rows, dtype=dtype, wanted=bias))
        self.register_parameter("bias_hh", empty(rows, dtype=dtype, wanted=bias))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        fan_in_uniform_(self.hidden_size, *self.parameters())

    def _start(self, input: Any) -> Any:
        return input.new_zeros(*input.shape[:-1], self.hidden_size)

    def _weights(self) -> Any:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else ", bias=False")


class RNNCell(_Cell):
    """One step of RNN: x (n, in) and h (n, hidden) to the next h."""

    @makes_on_device
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return core._rnn_cell(input, self._start(input) if hx is None else hx, *self._weights(), self.nonlinearity)


class GRUCell(_Cell):
    """One step of GRU."""

    _gates = 3

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return core._gru_cell(input, self._start(input) if hx is None else hx, *self._weights())


class LSTMCell(_Cell):
    """One step of LSTM: x and (h, c) to the next (h, c)."""

    _gates = 4

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        h, c = (self._start(input), self._start(input)) if hx is None else hx
        return core._lstm_cell(input, h, c, *self._weights())
