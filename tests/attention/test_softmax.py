import numpy as np
import pytest

from refimpl import softmax_backward, softmax_forward

RNG = np.random.default_rng(7)
X, DY = RNG.standard_normal((2, 3, 5))
MASK = np.array([[True, False, True, True, False], [False] * 5, [True] * 5])


def test_kept_rows_sum_to_one_and_empty_rows_to_zero():
    y, residuals = softmax_forward(X, mask=MASK)
    np.testing.assert_allclose(y.sum(-1), [1, 0, 1])
    assert np.all(y[~MASK] == 0)
    assert np.all(softmax_backward(DY, residuals)[~MASK] == 0)


def test_a_masked_row_is_the_softmax_of_what_is_left():
    y, _ = softmax_forward(X, mask=MASK)
    np.testing.assert_allclose(y[0, MASK[0]], softmax_forward(X[0, MASK[0]])[0], rtol=1e-15)


def test_a_constant_changes_nothing():
    np.testing.assert_allclose(softmax_forward(X + 1000)[0], softmax_forward(X)[0], rtol=1e-12)
    _, residuals = softmax_forward(X)
    np.testing.assert_allclose(softmax_backward(DY, residuals).sum(-1), 0, atol=1e-15)


def test_masked_scores_may_be_anything():
    """Even so large that a mask fill of -10,000, or exp of the difference, would show."""
    x = np.array([[-20000.0, -20001.0, 20000.0]])
    y, _ = softmax_forward(x, mask=np.array([True, True, False]))
    np.testing.assert_allclose(y, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 0]])


def test_large_scores_do_not_overflow():
    np.testing.assert_allclose(softmax_forward(np.array([1e4, 1e4, 0.0]))[0], [0.5, 0.5, 0])


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((3, 5)), "mask: got dtype float64; allowed: bool"),
        (MASK[:2], r"mask: got shape \(2, 5\); allowed: a shape that broadcasts to \(3, 5\)"),
    ],
)
def test_bad_mask(mask, message):
    with pytest.raises(ValueError, match=message):
        softmax_forward(X, mask=mask)
