"""Sums of products: einsum, tensordot, products along axes and with something added."""

import numpy as np

from .registry import FLOATS, NUMBERS, Error, Sample, as_dtype, common_dtype, floats, op

DOUBLE = {"dtype": "float64"}
ONE_TYPE = "PyTorch wants operands of one type"


# ---- einsum ----------------------------------------------------------------------------------------------------------

EQUATIONS = [
    ("ij,jk->ik", (3, 4), (4, 5)),
    ("ij,jk", (3, 4), (4, 5)),
    ("ij,jk->ki", (3, 4), (4, 5)),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("iij->ji", (3, 3, 4)),
    ("iii->i", (3, 3, 3)),
    ("iijj->ij", (2, 2, 3, 3)),
    ("ba", (3, 4)),
    ("Aa,aB", (2, 3), (3, 4)),
    ("ij->", (3, 4)),
    ("i,i->", (67,), (67,)),
    ("i,j->ij", (3,), (4,)),
    (",", (), ()),
    ("ij,", (2, 3), ()),
    ("ij,ij->i", (3, 4), (3, 4)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 2)),
    ("...ij->...ji", (2, 3, 4)),
    ("i...,i...->...", (3, 2, 2), (3, 2, 1)),
    ("...a,...a->...", (2, 1, 3), (5, 3)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bqhd,bkhd->bhqk", (2, 4, 3, 5), (2, 6, 3, 5)),
    ("ab,bc,cd,de->ae", (3, 4), (4, 5), (5, 2), (2, 6)),
    ("ab,cb,dc->", (3, 4), (5, 4), (2, 5)),
    ("abc,cd,def,fg,gh,ha->be", (2, 3, 4), (4, 2), (2, 3, 2), (2, 3), (3, 4), (4, 2)),
    ("ab,bc,cd,de,ef,fg,gh,hi,ij->aj", *[(2 + i % 3, 2 + (i + 1) % 3) for i in range(9)]),
    ("ij,jk->ik", (3, 0), (0, 4)),
    ("ij,jk->ik", (0, 3), (3, 4)),
    ("ii->i", (0, 0)),
    ("ij,jk->ik", (33, 67), (67, 17)),
]


def equations():
    for equation, *shapes in EQUATIONS:
        yield Sample(equation, *[floats(*shape, seed=i) for i, shape in enumerate(shapes)])
    for dtype in NUMBERS:
        yield Sample("ij,jk->ik", floats(3, 4, dtype=dtype), floats(4, 5, dtype=dtype, seed=1))
    yield Sample("ij,jk->ik", floats(4, 3).T, floats(4, 10)[:, ::2])
    yield Sample("ij,jk->ik", floats(3, 4)[::-1], floats(4, 5)[:, ::-1])
    yield Sample("ij,jk->ik", as_dtype([[np.nan, 1.0], [2.0, 3.0]], "float32"), as_dtype([[np.inf, 1.0], [2.0, 3.0]], "float32"))
    yield Sample("ij,j", floats(3, 4, dtype="int64"), floats(4)).unlike_torch(ONE_TYPE)


op(
    "einsum",
    "weft",
    equations,
    lambda equation, *operands: np.einsum(equation, *operands),
    gradients=[
        Sample("ij,jk->ki", floats(2, 3, **DOUBLE), floats(3, 2, **DOUBLE)),
        Sample("iij,j->i", floats(2, 2, 3, **DOUBLE), floats(3, **DOUBLE)),
        Sample("ab,bc,c->", floats(2, 2, **DOUBLE), floats(2, 2, **DOUBLE, seed=1), floats(2, **DOUBLE)),
    ],
    errors=[
        Error(RuntimeError, "'j' has the sizes 4 and 5", "ij,jk", floats(3, 4), floats(5, 6)),
        Error(RuntimeError, "1 axes, and 2 letters", "ij", floats(3)),
        Error(RuntimeError, "no letter", "i-", floats(3)),
        Error(RuntimeError, "in no operand", "ij->ik", floats(3, 4)),
        Error(RuntimeError, "stands twice", "ij->ii", floats(3, 4)),
        Error(RuntimeError, "2 are given", "ij", floats(3, 4), floats(3, 4)),
        Error(TypeError, "must be", "ij", 3),
    ],
)
op(
    "einsum",
    "weft",
    lambda: [
        Sample(floats(3, 4, dtype=dtype), [0, 1], floats(4, 5, dtype=dtype), [1, 2], *output)
        for dtype in ("float32", "float64", "int64", "float16")
        for output in ((), ([2, 0],), ([0],))
    ],
    np.einsum,
    result=lambda sample: sample.args[0].dtype.name,
    gradient=False,
    errors=[Error(ValueError, "from 0 to 51", floats(3), [52])],
)


# ---- along axes ------------------------------------------------------------------------------------------------------


def pairs(*shapes, dtypes=NUMBERS, **kwargs):
    for a, b in shapes:
        yield Sample(floats(*a), floats(*b, seed=1), **kwargs)
    a, b = shapes[0]
    for dtype in dtypes:
        yield Sample(floats(*a, dtype=dtype), floats(*b, dtype=dtype, seed=1), **kwargs)
    yield Sample(floats(*a[::-1]).T, floats(*b[::-1], seed=1).T, **kwargs)
    yield Sample(floats(*a)[..., ::-1], floats(*b, seed=1)[::-1], **kwargs)
    yield Sample(floats(*a, dtype="int32"), floats(*b, seed=1), **kwargs).unlike_torch(ONE_TYPE)


op(
    "vdot",
    "weft Tensor",
    lambda: pairs(((5,), (5,)), ((0,), (0,)), ((1,), (1,)), ((67,), (67,)), dtypes=FLOATS),
    np.vdot,
    torch=lambda torch, a, b: torch.vdot(*(x.to(torch.promote_types(a.dtype, b.dtype)) for x in (a, b))),
    errors=[Error(RuntimeError, "3 and 4", floats(3), floats(4)), Error(RuntimeError, "one axis", floats(3, 2), floats(3))],
)
op(
    "inner",
    "weft Tensor",
    lambda: pairs(((3, 4), (2, 4)), ((4,), (4,)), ((), (3, 2)), ((2, 3, 4), (5, 4)), ((2, 0), (3, 0)), ((67,), (5, 67))),
    np.inner,
    torch=lambda torch, a, b: torch.inner(*(x.to(torch.promote_types(a.dtype, b.dtype)) for x in (a, b))),
    gradients=[Sample(floats(2, 3, **DOUBLE), floats(2, 3, **DOUBLE, seed=1))],
    errors=[Error(RuntimeError, "4 and 5", floats(3, 4), floats(2, 5))],
)


def vecdots():
    yield from pairs(((3, 4), (3, 4)), ((4,), (4,)), ((3, 4), (4,)), ((2, 1, 4), (3, 4)), ((3, 0), (3, 0)), ((5, 67), (67,)))
    yield from pairs(((3, 4), (3, 4)), dtypes=("float32",), dim=0)


op(
    "vecdot",
    "weft linalg",
    vecdots,
    lambda a, b, dim=-1: (a * b).sum(dim),
    torch=lambda torch, a, b, dim=-1: (a * b).sum(dim, dtype=a.dtype),  # vecdot itself takes floats only
    gradients=[Sample(floats(2, 3, **DOUBLE), floats(3, **DOUBLE))],
    errors=[Error(RuntimeError, "do not broadcast", floats(3), floats(4)), Error(IndexError, "out of range", floats(3), floats(3), dim=1)],
)


def tensordots():
    yield from pairs(((3, 4, 5), (4, 5, 6)), ((4, 5), (4, 5)), ((2, 3, 0), (3, 0, 2)))
    for a, b, dims in (((3, 4), (2,), 0), ((3, 4), (4, 2), 1), ((3, 4, 5), (5, 4), ([1, 2], [1, 0])), ((3, 4), (2, 4), ([-1], [1]))):
        yield Sample(floats(*a), floats(*b, seed=1), dims)


op(
    "tensordot",
    "weft",
    tensordots,
    lambda a, b, dims=2: np.tensordot(a, b, dims),
    torch=lambda torch, a, b, dims=2: torch.tensordot(*(x.to(torch.promote_types(a.dtype, b.dtype)) for x in (a, b)), dims),
    result=lambda sample: common_dtype(sample.args[:2]),
    gradients=[
        Sample(floats(2, 3, **DOUBLE), floats(3, 2, **DOUBLE), 1),
        Sample(floats(2, 3, **DOUBLE), floats(2, 3, **DOUBLE), ([0, 1], [0, 1])),
    ],
    errors=[
        Error(RuntimeError, "axis 0 has size 2", floats(2, 3), floats(3, 2), ([0], [0])),
        Error(RuntimeError, "not both", floats(2), floats(3), 2),
        Error(TypeError, "dims", floats(2), floats(2), "a"),
    ],
)
op(
    "tensordot",
    "linalg",
    lambda: [
        Sample(floats(3, 4, 5, dtype=d), floats(4, 5, 6, dtype=d), axes=a)
        for d in ("float32", "float64", "int64")
        for a in (2, ([1], [0]), ([1, 2], [0, 1]), ([2], [1]))
    ],
    lambda a, b, axes=2: np.tensordot(a, b, axes),
    torch=lambda torch, a, b, axes=2: torch.tensordot(a, b, axes),
    gradients=[Sample(floats(2, 3, **DOUBLE), floats(3, 2, **DOUBLE), axes=1)],
)


def crosses():
    yield from pairs(((2, 3), (2, 3)), ((3,), (3,)), ((4, 3), (1, 3)), ((0, 3), (0, 3)), ((67, 3), (67, 3)), dim=-1)
    yield Sample(floats(3, 5), floats(3, 5, seed=1), dim=0)


OTHER_AXIS = Error(RuntimeError, "size 2, not 3", floats(2), floats(2), dim=0)
op(
    "cross",
    "weft Tensor",
    lambda: (*crosses(), Sample(floats(2, 3, 3), floats(2, 3, 3, seed=1)), Sample(floats(3, 3), floats(3, 3, seed=1))),
    lambda a, b, dim=None: np.cross(a, b, axis=next(d for d, n in enumerate(a.shape) if n == 3) if dim is None else dim),
    gradients=[Sample(floats(2, 3, **DOUBLE), floats(1, 3, **DOUBLE), dim=-1)],
    errors=[Error(RuntimeError, "no axis has size 3", floats(2), floats(2)), OTHER_AXIS],
)
op(
    "cross",
    "linalg",
    crosses,
    lambda a, b, dim=-1: np.cross(a, b, axis=dim),
    gradients=[Sample(floats(2, 3, **DOUBLE), floats(1, 3, **DOUBLE))],
    errors=[OTHER_AXIS],
)
op(
    "trace",
    "weft Tensor",
    lambda: [
        *[Sample(floats(3, 4, dtype=dtype)) for dtype in NUMBERS],
        Sample(floats(3, 4, dtype="bool")).unlike_torch("PyTorch has it of numbers only"),
        *[Sample(floats(*shape)) for shape in ((0, 0), (0, 3), (1, 1), (4, 3), (67, 67))],
        Sample(floats(4, 3).T),
        Sample(floats(3, 3)[::-1]),
        Sample(as_dtype([[np.nan, 1.0], [1.0, 2.0]], "float32")),
    ],
    lambda x: np.trace(x.astype("int64") if x.dtype == bool else x),
    result="sum",
    gradients=[Sample(floats(2, 3, **DOUBLE))],
    errors=[Error(RuntimeError, "must be a matrix", floats(2, 2, 2))],
)


# ---- with something added --------------------------------------------------------------------------------------------


def added(x, *factors):
    for dtype in FLOATS:
        yield Sample(*[floats(*shape, dtype=dtype, seed=i) for i, shape in enumerate((x, *factors))])
    for options in ({"beta": 0.5}, {"alpha": 2}, {"beta": 0, "alpha": 3}, {"beta": -1.5, "alpha": 0.25}):
        yield Sample(*[floats(*shape, seed=i) for i, shape in enumerate((x, *factors))], **options)
    yield Sample(*[floats(*shape, dtype="int64", seed=i) for i, shape in enumerate((x, *factors))], beta=2, alpha=3)
    yield Sample(*[floats(*shape[::-1], seed=i).T for i, shape in enumerate((x, *factors))])
    yield Sample(np.full(x, np.nan, "float32"), *[floats(*shape, seed=i) for i, shape in enumerate(factors)], beta=0)
    yield Sample(floats(*(1 for _ in x)), *[floats(*shape, seed=i) for i, shape in enumerate(factors)])


def scaled(product):
    return lambda x, a, b, beta=1, alpha=1: (0 if beta == 0 else beta * x) + alpha * product(a, b)


for name, shapes, small, product in (
    ("addmm", ((3, 5), (3, 4), (4, 5)), ((2, 2), (2, 3), (3, 2)), np.matmul),
    ("addmv", ((3,), (3, 4), (4,)), ((2,), (2, 3), (3,)), np.matmul),
    ("addr", ((3, 4), (3,), (4,)), ((2, 3), (2,), (3,)), np.outer),
    ("baddbmm", ((2, 3, 5), (2, 3, 4), (2, 4, 5)), ((1, 2, 2), (1, 2, 2), (1, 2, 2)), np.matmul),
    ("addbmm", ((3, 5), (2, 3, 4), (2, 4, 5)), ((2, 2), (2, 2, 1), (2, 1, 2)), lambda a, b: np.matmul(a, b).sum(0)),
):
    op(
        name,
        "weft Tensor Tensor_",
        lambda shapes=shapes: added(*shapes),
        scaled(product),
        gradients=[Sample(*[floats(*shape, **DOUBLE, seed=i) for i, shape in enumerate(small)], beta=0.5, alpha=2.0)],
        errors=[
            Error(RuntimeError, "must be integers", *[floats(*shape, dtype="int64") for shape in shapes], alpha=0.5),
            Error(RuntimeError, "broadcast", floats(7, 7, 7, 7), *[floats(*shape) for shape in shapes[1:]]),
        ],
    )
