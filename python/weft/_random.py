"""Generator: random numbers of one's own."""

from __future__ import annotations

import os

from . import _weft
from ._types import device as _device

__all__ = ["Generator"]


class Generator(_weft._Generator):
    """A sequence of random numbers beside the global one, for the argument `generator`.

    >>> g = weft.Generator().manual_seed(7)
    >>> order = weft.randperm(60_000, generator=g)  # the same whatever else is drawn in the program
    """

    def __init__(self, device: str | _device = "cpu") -> None:
        _weft._check_device("Generator", device)
        self.device = _device(device)
        super().__init__()
        self.manual_seed(67280421310721)

    def manual_seed(self, seed: int) -> Generator:
        """Starts over from a seed."""
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise TypeError(f"manual_seed(): argument 'seed' must be an int, not {type(seed).__name__}")
        if not -(2**63) <= seed < 2**64:
            raise ValueError(f"manual_seed(): argument 'seed' must fit 64 bits, but is {seed}")
        self.set_state((seed - 2**64 if seed >= 2**63 else seed, 0))
        return self

    def seed(self) -> int:
        """Starts over from a seed by chance, and returns it."""
        seed = int.from_bytes(os.urandom(8), "little") >> 1
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The seed that it started from."""
        seed: int = self.get_state()[0]
        return seed

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (self.get_state(),)


def _restored(state: tuple[int, int]) -> Generator:
    generator = Generator()
    generator.set_state(state)
    return generator
