"""torch.utils._pytree: tuples, lists and dicts as trees of what they hold."""

from __future__ import annotations

from collections import OrderedDict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

PyTree = object


class TreeSpec:
    """The shape of a tree: how its leaves are put together again."""

    def __init__(self, kind: Any, keys: Any, children: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = kind, keys, children
        self.num_leaves: int = 1 if kind is None else sum(child.num_leaves for child in children)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeSpec) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return "*" if self.type is None else f"TreeSpec({self.type.__name__}, {self.context}, {self.children_specs})"

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        items = [child._build(leaves) for child in self.children_specs]
        if self.context is not None:
            return self.type(zip(self.context, items))
        return self.type(*items) if hasattr(self.type, "_fields") else self.type(items)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree from left to right, and its shape."""
    kind = type(tree)
    is_tuple = kind in (list, tuple) or (isinstance(tree, tuple) and hasattr(tree, "_fields"))
    if (is_leaf and is_leaf(tree)) or not (is_tuple or kind in (dict, OrderedDict)):
        return [tree], TreeSpec(None, None, [])
    parts = [tree_flatten(item, is_leaf) for item in (tree if is_tuple else tree.values())]
    return [leaf for leaves, _ in parts for leaf in leaves], TreeSpec(kind, None if is_tuple else list(tree), [spec for _, spec in parts])


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """A tree of a shape from its leaves."""
    if isinstance(leaves, TreeSpec):
        leaves, treespec = treespec, leaves
    given = list(leaves)
    if len(given) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(): {len(given)} leaves do not fit a tree of {treespec.num_leaves}")
    return treespec._build(iter(given))


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    return tree_flatten(tree, is_leaf)[0]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The tree with func of each leaf, or of the leaves of several trees of one shape."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec._build(iter([func(*values) for values in zip(leaves, *(tree_leaves(rest, is_leaf) for rest in rests))]))


def tree_map_only(kind: Any, func: Callable[..., Any], tree: Any, is_leaf: Any = None) -> Any:
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf)


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    return all(map(pred, tree_leaves(tree, is_leaf)))
