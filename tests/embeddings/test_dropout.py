import numpy as np
import pytest

from refimpl import dropout_backward, dropout_forward

KEEP = np.array([[True, False, True], [False, True, True]])
X = np.array([[1.0, 2.0, -3.0], [4.0, -5.0, 6.0]])


def test_keeps_and_rescales():
    y, residuals = dropout_forward(X, keep=KEEP, p=0.2)
    np.testing.assert_allclose(y, [[1.25, 0, -3.75], [0, -6.25, 7.5]])
    np.testing.assert_allclose(dropout_backward(X, residuals), y)


def test_expectation_is_kept():
    """Over all masks, each weighted by its probability, the mean of y is x."""
    p, mean = 0.3, np.zeros(3)
    for bits in range(8):
        keep = np.array([bits & 1, bits & 2, bits & 4], dtype=bool)
        mean += np.prod(np.where(keep, 1 - p, p)) * dropout_forward(X[0], keep=keep, p=p)[0]
    np.testing.assert_allclose(mean, X[0])


def test_a_mask_may_be_shared_along_axes():
    y, _ = dropout_forward(X, keep=np.array([True, False, True]), p=0.0)
    np.testing.assert_array_equal(y, X * [1, 0, 1])


@pytest.mark.parametrize("p", [1.0, -0.1, 1.5])
def test_probability_outside_its_range(p):
    with pytest.raises(ValueError, match=f"p: got {p}; allowed: a finite number >= 0 and < 1"):
        dropout_forward(X, keep=KEEP, p=p)


def test_mask_that_does_not_fit():
    with pytest.raises(ValueError, match=r"keep: got shape \(2,\); allowed: a shape that broadcasts to \(2, 3\)"):
        dropout_forward(X, keep=KEEP[:, 0], p=0.1)
