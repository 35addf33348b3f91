"""weft.masked against NumPy's masked arrays."""

import numpy as np
import pytest

import weft

masked = weft.masked
X = np.random.default_rng(0).uniform(-2, 2, (3, 4, 5))
MASK = np.random.default_rng(1).integers(0, 2, (3, 4, 5)).astype(bool)
MASK[..., 0] = True  # everywhere something counts
ARRAY = np.ma.array(X, mask=~MASK)


def close(got, want):
    np.testing.assert_allclose(got.detach().numpy(), np.ma.filled(want, np.nan), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dim", [-1, 0, (0, 2), None])
@pytest.mark.parametrize("keepdim", [False, True])
def test_reductions(dim, keepdim):
    x, mask = weft.tensor(X), weft.tensor(MASK)
    how = {"axis": dim, "keepdims": keepdim}
    if dim in (0, (0, 2)):
        mask[0] = True
    array = np.ma.array(X, mask=~mask.numpy())
    for name, want in {
        "sum": array.sum(**how), "prod": array.prod(**how), "mean": array.mean(**how), "amax": array.max(**how), "amin": array.min(**how),
        "norm": np.ma.sqrt((array**2).sum(**how)), "logsumexp": np.ma.log(np.ma.exp(array).sum(**how)),
    }.items():  # fmt: skip
        close(getattr(masked, name)(x, dim=dim, keepdim=keepdim, mask=mask), want)
    close(masked.var(x, dim, False, keepdim=keepdim, mask=mask), array.var(**how))
    close(masked.std(x, dim, correction=0, keepdim=keepdim, mask=mask), array.std(**how))


def test_along_an_axis():
    x, mask = weft.tensor(X), weft.tensor(MASK)
    close(masked.cumsum(x, 1, mask=mask), np.cumsum(np.where(MASK, X, 0), 1))
    close(masked.cumprod(x, 1, mask=mask), np.cumprod(np.where(MASK, X, 1), 1))
    e = np.where(MASK, np.exp(X), 0)
    close(masked.softmax(x, -1, mask=mask), e / e.sum(-1, keepdims=True))
    close(masked.log_softmax(x, -1, mask=mask).exp(), e / e.sum(-1, keepdims=True))
    e = np.where(MASK, np.exp(-X), 0)
    close(masked.softmin(x, -1, mask=mask), e / e.sum(-1, keepdims=True))
    close(masked.normalize(x, 2.0, -1, mask=mask), np.where(MASK, X, 0) / np.sqrt((np.where(MASK, X, 0) ** 2).sum(-1, keepdims=True)))
    assert masked.argmax(x, 2, mask=mask).tolist() == ARRAY.argmax(2, fill_value=-9).tolist()
    assert masked.argmin(x, 2, mask=mask, dtype=weft.int64).tolist() == ARRAY.argmin(2, fill_value=9).tolist()
    rows = [sorted(X[0, 0][MASK[0, 0]])[(MASK[0, 0].sum() - 1) // 2]]
    close(masked.median(x, -1, mask=mask)[0, :1], np.array(rows))
    assert masked.median(weft.tensor([3, 9, 1]), mask=weft.tensor([True, False, True])).item() == 1


def test_where_a_mask_never_holds():
    x, never = weft.tensor([[1.0, 2.0]]), weft.tensor([[False, False]])
    wanted = {"sum": 0, "prod": 1, "amax": -np.inf, "amin": np.inf, "mean": np.nan, "norm": 0, "logsumexp": -np.inf, "median": np.nan, "var": np.nan}
    for name, want in wanted.items():
        np.testing.assert_equal(getattr(masked, name)(x, dim=1, mask=never).item(), want)
    assert masked.norm(x, -float("inf"), 1, mask=never).item() == np.inf
    assert masked.amax(weft.tensor([[1, 2]], dtype=weft.int8), 1, mask=never).item() == -128
    assert masked.logaddexp(x, x, input_mask=never).tolist() == x.tolist()


def test_gradients_stop_at_the_mask():
    x = weft.tensor(X[0, 0], requires_grad=True)
    mask = weft.tensor(MASK[0, 0])
    for function in (
        lambda v: masked.sum(v, mask=mask), lambda v: masked.mean(v, mask=mask), lambda v: masked.std(v, mask=mask),
        lambda v: masked.softmax(v, 0, mask=mask), lambda v: masked.normalize(v, 3.0, 0, mask=mask),
    ):  # fmt: skip
        assert weft.autograd.gradcheck(function, [x])
    masked.amax(x, mask=mask).backward()
    assert not x.grad[~mask].any()


def test_mistakes():
    x = weft.ones(2, 3)
    with pytest.raises(TypeError, match=r"masked.sum\(\): argument 'mask' must hold bools, not weft.float32"):
        masked.sum(x, mask=x)
    with pytest.raises(RuntimeError, match=r"masked.mean\(\): a mask of the shape \[2\] does not broadcast to the input's \[2, 3\]"):
        masked.mean(x, mask=weft.tensor([True, False]))
    with pytest.raises(TypeError, match=r"masked.mean\(\): the mean of weft.int64"):
        masked.mean(weft.tensor([1, 2]))
    with pytest.raises(ValueError, match="only one of 'unbiased' and 'correction'"):
        masked.var(x, None, True, correction=1)
    with pytest.raises(ValueError, match="integers have no NaN"):
        masked.median(weft.tensor([1, 2]), mask=weft.tensor([False, False]))
