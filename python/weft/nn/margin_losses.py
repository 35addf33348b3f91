"""Losses with margins, of sequences whose labels are at no known times, and over very many classes."""

from __future__ import annotations

from collections import namedtuple

from .._types import makes_on_device
from .. import _weft
from . import functional as F
from .containers import ModuleList, Sequential
from .linear import Linear
from .losses import NLLLoss, _Loss, _Weighted
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._tensor import Tensor


class CTCLoss(Module):
    """-log of the probability that log_probs (time, n, classes) read as the targets, without repeats and blanks."""

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__()
        self.blank, self.reduction, self.zero_infinity = blank, reduction, zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)


class MultiMarginLoss(_Weighted):
    """The sum over other classes of max(0, margin - input[target] + input[class]) ** p, by the number of classes."""

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise ValueError(f"MultiMarginLoss: p must be 1 or 2, not {p}")
        self.p, self.margin = p, margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(input, target, self.p, self.margin, self.weight, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """The same for rows of several labels, which end at the first -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_Weighted):
    """The mean over classes of BCEWithLogitsLoss."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-target * input)), for targets of 1 and -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)), for any function of two tensors as distance."""

    def __init__(self, *, distance_function: Any = None, margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise ValueError(f"TripletMarginWithDistanceLoss: margin must be positive, not {margin}")
        self.distance_function = F.pairwise_distance if distance_function is None else distance_function
        self.margin, self.swap = margin, swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class NLLLoss2d(NLLLoss):
    """The older name of NLLLoss for images."""


_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over very many classes, frequent ones first: rare classes stand in clusters, each with one entry in the head.

    >>> loss = nn.AdaptiveLogSoftmaxWithLoss(64, 10000, cutoffs=[100, 1000])
    >>> loss(hidden, labels).loss.backward()
    """

    @makes_on_device
    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        ends = [int(cutoff) for cutoff in cutoffs]
        if not ends:
            raise ValueError("AdaptiveLogSoftmaxWithLoss: cutoffs must have one number at least")
        if ends != sorted(set(ends)) or ends[0] <= 0 or ends[-1] > n_classes - 1 or any(a != b for a, b in zip(ends, cutoffs)):
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: cutoffs must be increasing whole numbers between 1 and n_classes - 1, not {list(cutoffs)}"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*ends, n_classes]
        self.shortlist_size, self.n_clusters = ends[0], len(ends)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(Linear(in_features, hidden, bias=False, dtype=dtype), Linear(hidden, size, bias=False, dtype=dtype))
            )

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters(), second.reset_parameters()

    def _check(self, input: Any) -> Any:
        if input.ndim not in (1, 2) or input.shape[-1] != self.in_features:
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: the input must be (n, {self.in_features}) or ({self.in_features},), not {tuple(input.shape)}"
            )
        return input if input.ndim == 2 else input.unsqueeze(0)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        """(output, loss): the logarithms of the targets' probabilities, and minus their mean."""
        x = self._check(input)
        if tuple(target.shape) != tuple(input.shape[:-1]):
            raise RuntimeError(
                f"AdaptiveLogSoftmaxWithLoss: the target must have the shape {tuple(input.shape[:-1])}, not {tuple(target.shape)}"
            )
        labels = target.reshape(-1).to(_weft.int64)
        if labels.numel() and not 0 <= labels.min().item() <= labels.max().item() < self.n_classes:
            raise RuntimeError(f"AdaptiveLogSoftmaxWithLoss: targets must be between 0 and {self.n_classes - 1}")
        head = self.head(x).log_softmax(-1)
        output = head.gather(1, labels.clamp(max=self.shortlist_size - 1).unsqueeze(1)).squeeze(1)
        for i, layers in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((labels >= low) & (labels < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            # Only the rows of a cluster go through its layers: that is what clusters are for.
            within = layers(x.index_select(0, rows)).log_softmax(-1)
            chosen = within.gather(1, (labels.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            cluster = head[:, self.shortlist_size + i].index_select(0, rows)
            output = output.index_copy(0, rows, cluster + chosen)
        output = output if input.ndim == 2 else output.squeeze(0)
        return _ASMoutput(output, (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes, (n, n_classes)."""
        x = self._check(input)
        head = self.head(x).log_softmax(-1)
        parts = [head[:, : self.shortlist_size]]
        for i, layers in enumerate(self.tail):
            parts.append(layers(x).log_softmax(-1) + head[:, self.shortlist_size + i].unsqueeze(1))
        result: Tensor = _weft.cat(parts, 1)
        return result if input.ndim == 2 else result.squeeze(0)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return self.log_prob(input).argmax(-1)
