import tracemalloc

import numpy as np
import pytest

from refimpl import token_embedding_backward, token_embedding_forward

RNG = np.random.default_rng(1)
WEIGHT = RNG.standard_normal((7, 5))
IDS = np.array([[3, 0, 3], [6, 3, 1]])
DY = RNG.standard_normal((2, 3, 5))


def test_reads_rows():
    y, _ = token_embedding_forward(IDS, WEIGHT)
    for b in range(2):
        for t in range(3):
            np.testing.assert_array_equal(y[b, t], WEIGHT[IDS[b, t]])


def test_is_the_product_with_a_one_hot_matrix():
    one_hot = (IDS[..., None] == np.arange(7)).astype(float)
    y, residuals = token_embedding_forward(IDS, WEIGHT, scale_by_sqrt_width=True)
    np.testing.assert_allclose(y, 5**0.5 * one_hot @ WEIGHT, rtol=1e-15)
    dweight = 5**0.5 * np.einsum("btv,btc->vc", one_hot, DY)
    np.testing.assert_allclose(token_embedding_backward(DY, residuals), dweight, rtol=1e-14, atol=1e-15)


def test_repeated_ids_add_up():
    _, residuals = token_embedding_forward(IDS, WEIGHT)
    np.testing.assert_allclose(
        token_embedding_backward(DY, residuals)[3], DY[0, 0] + DY[0, 2] + DY[1, 1], rtol=1e-15, atol=1e-16
    )


def test_padding_row_is_read_but_does_not_learn():
    y, residuals = token_embedding_forward(IDS, WEIGHT, padding_idx=3)
    np.testing.assert_array_equal(y, WEIGHT[IDS])
    with_padding = token_embedding_backward(DY, residuals)
    without = token_embedding_backward(DY, token_embedding_forward(IDS, WEIGHT)[1])
    assert np.all(with_padding[3] == 0)
    assert np.any(without[3] != 0)
    np.testing.assert_array_equal(np.delete(with_padding, 3, 0), np.delete(without, 3, 0))


@pytest.mark.parametrize("bad", [-1, 7, 1000])
def test_id_outside_the_table(bad):
    with pytest.raises(ValueError, match=rf"ids: got {bad}; allowed: 0 \.\. 6 \(weight has 7 rows\)"):
        token_embedding_forward(np.array([0, bad]), WEIGHT)


def test_ids_that_are_no_integers():
    with pytest.raises(ValueError, match="ids: got dtype bool; allowed: int32 or int64"):
        token_embedding_forward(np.array([True, False]), WEIGHT)


@pytest.mark.parametrize("bad", [-1, 7])
def test_padding_idx_outside_the_table(bad):
    with pytest.raises(ValueError, match=rf"padding_idx: got {bad}; allowed: None or 0 \.\. 6"):
        token_embedding_forward(IDS, WEIGHT, padding_idx=bad)


def test_no_ids_at_all():
    y, residuals = token_embedding_forward(np.zeros((2, 0), dtype=np.int64), WEIGHT)
    assert y.shape == (2, 0, 5)
    np.testing.assert_array_equal(token_embedding_backward(np.zeros((2, 0, 5)), residuals), np.zeros((7, 5)))


def test_a_real_vocabulary_needs_no_one_hot_matrix():
    """50,000 x 512 with 32 x 100 ids: a one-hot matrix alone would take 1.28 GB in float64."""
    weight = np.zeros((50_000, 512))
    ids = RNG.integers(0, 50_000, (32, 100))
    dy = np.ones((32, 100, 512))
    tracemalloc.start()
    y, residuals = token_embedding_forward(ids, weight, scale_by_sqrt_width=True)
    dweight = token_embedding_backward(dy, residuals)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert y.shape == dy.shape
    assert dweight.sum() == pytest.approx(32 * 100 * 512 * 512**0.5)
    assert peak < 2 * weight.nbytes


@pytest.mark.parametrize("padding_idx", [None, 3])
def test_scale_grad_by_freq_as_pytorch_has_it(padding_idx):
    torch = pytest.importorskip("torch")
    weight = torch.tensor(WEIGHT, requires_grad=True)
    y = torch.nn.functional.embedding(torch.tensor(IDS), weight, padding_idx, scale_grad_by_freq=True)
    y.backward(torch.tensor(DY))
    _, residuals = token_embedding_forward(IDS, WEIGHT, padding_idx=padding_idx, scale_grad_by_freq=True)
    np.testing.assert_allclose(token_embedding_backward(DY, residuals), weight.grad.numpy(), rtol=1e-14)


def test_scale_grad_by_freq_is_the_mean_over_places():
    _, residuals = token_embedding_forward(IDS, WEIGHT, scale_grad_by_freq=True)
    dweight = token_embedding_backward(DY, residuals)
    np.testing.assert_allclose(dweight[3], (DY[0, 0] + DY[0, 2] + DY[1, 1]) / 3, rtol=1e-15)
    np.testing.assert_array_equal(dweight[0], DY[0, 1])
    assert np.all(dweight[[2, 4, 5]] == 0)
