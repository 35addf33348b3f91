"""Sparse tensors against dense ones."""

import numpy as np
import pytest

import weft


def random_sparse(rows=7, columns=5, count=12, seed=0):
    rng = np.random.default_rng(seed)
    indices = np.stack([rng.integers(0, rows, count), rng.integers(0, columns, count)])
    values = rng.standard_normal(count).astype("f4")
    dense = np.zeros((rows, columns), "f4")
    np.add.at(dense, tuple(indices), values)
    return weft.sparse_coo_tensor(indices, values, (rows, columns)), dense


def test_coordinates_and_all_elements():
    sparse, dense = random_sparse()
    assert sparse.shape == (7, 5) and sparse._nnz() == 12 and sparse.is_sparse and not sparse.is_coalesced()
    np.testing.assert_allclose(sparse.to_dense().numpy(), dense, rtol=1e-6)
    whole = sparse.coalesce()
    places = whole.indices().numpy()
    assert whole.is_coalesced() and (np.diff(places[0] * 5 + places[1]) > 0).all()
    np.testing.assert_allclose(whole.to_dense().numpy(), dense, rtol=1e-6)
    np.testing.assert_allclose(sparse.t().to_dense().numpy(), dense.T, rtol=1e-6)
    np.testing.assert_allclose(weft.tensor(dense).to_sparse().to_dense().numpy(), dense)
    assert weft.sparse_coo_tensor([[0, 2], [1, 0]], [1.0, 2.0]).to_dense().tolist() == [[0, 1], [0, 0], [2, 0]]
    assert weft.sparse_coo_tensor((2, 2)).to_dense().tolist() == [[0, 0], [0, 0]]


def test_products_and_their_gradients():
    sparse, dense = random_sparse()
    b = np.random.default_rng(1).standard_normal((5, 3)).astype("f4")
    values = sparse._values().clone().requires_grad_()
    a, right = weft.sparse_coo_tensor(sparse._indices(), values, (7, 5)), weft.tensor(b, requires_grad=True)
    product = a @ right
    np.testing.assert_allclose(product.detach().numpy(), dense @ b, rtol=1e-5, atol=1e-6)
    g = np.random.default_rng(2).standard_normal((7, 3)).astype("f4")
    product.backward(weft.tensor(g))
    np.testing.assert_allclose(right.grad.numpy(), dense.T @ g, rtol=1e-5, atol=1e-6)
    rows, columns = sparse._indices().numpy()
    np.testing.assert_allclose(values.grad.numpy(), (g @ b.T)[rows, columns], rtol=1e-5, atol=1e-6)
    for found in (weft.spmm(sparse, right), weft.sparse.mm(sparse, right), sparse.mm(right)):
        np.testing.assert_allclose(found.detach().numpy(), dense @ b, rtol=1e-5, atol=1e-6)
    for found in (weft.mm(sparse, right), weft.matmul(sparse, right), weft.addmm(weft.zeros(7, 3), mat1=sparse, mat2=right)):
        np.testing.assert_allclose(found.detach().numpy(), dense @ b, rtol=1e-5, atol=1e-6)
    left = weft.ones(2, 7)
    np.testing.assert_allclose((left @ sparse).numpy(), np.ones((2, 7)) @ dense, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((sparse @ weft.ones(5)).numpy(), dense.sum(1), rtol=1e-5, atol=1e-6)


def test_arithmetic():
    sparse, dense = random_sparse()
    other, second = random_sparse(seed=3)
    for found, expected in ((sparse + other, dense + second), (sparse - other, dense - second), (sparse * 2.0, dense * 2), (-sparse / 4, -dense / 4)):
        np.testing.assert_allclose(found.to_dense().numpy(), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose((sparse + weft.ones(7, 5)).numpy(), dense + 1, rtol=1e-6)
    assert sparse.sum().item() == pytest.approx(dense.sum(), rel=1e-5)
    soft = weft.sparse.softmax(sparse, 1).to_dense().numpy()
    stored = np.where(dense != 0, dense, -np.inf)
    rows = np.isfinite(stored).any(1)
    expected = np.exp(stored[rows]) / np.exp(stored[rows]).sum(1, keepdims=True)
    np.testing.assert_allclose(soft[rows], expected, rtol=1e-5)


def test_mistakes():
    with pytest.raises(RuntimeError, match="each value needs a column"):
        weft.sparse_coo_tensor([[0, 1]], [1.0])
    with pytest.raises(RuntimeError, match="index 5 is outside axis 1"):
        weft.sparse_coo_tensor([[0], [5]], [1.0], (3, 5))
    with pytest.raises(RuntimeError, match="do not fit a product"):
        random_sparse()[0] @ weft.ones(4, 2)
    with pytest.raises(TypeError, match=r"exp\(\): sparse tensors are not supported here; to_dense"):
        weft.exp(random_sparse()[0])
    with pytest.raises(RuntimeError, match="coalesce"):
        random_sparse()[0].values()
