"""Small types that tensors hand out: Size, device, and the pair of max(dim)."""

from collections import namedtuple


class Size(tuple):
    """The sizes of a tensor: a tuple of ints."""

    __slots__ = ()

    def numel(self):
        """The number of elements."""
        count = 1
        for size in self:
            count *= size
        return count

    def __repr__(self):
        return f"weft.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index):
        item = tuple.__getitem__(self, index)
        return Size(item) if isinstance(index, slice) else item

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))


class device:
    """Where a tensor lives: always the CPU."""

    __slots__ = ("type", "index")

    def __init__(self, type="cpu", index=None):
        name = str(type)
        if name not in ("cpu", "cpu:0"):
            raise RuntimeError(f"device(): there is no device '{name}'; Weft runs on 'cpu'")
        self.type, self.index = "cpu", index

    def __repr__(self):
        return f"device(type='{self.type}')"

    def __str__(self):
        return self.type

    def __eq__(self, other):
        return isinstance(other, device) and self.type == other.type

    def __hash__(self):
        return hash(self.type)

    def __reduce__(self):
        return device, (self.type,)


ValuesAndIndices = namedtuple("ValuesAndIndices", ["values", "indices"])
