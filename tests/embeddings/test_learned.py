import numpy as np
import pytest

from refimpl import learned_position_backward, learned_position_forward

RNG = np.random.default_rng(2)
WEIGHT = RNG.standard_normal((7, 3))


def test_packed_documents_share_rows():
    """Positions that restart read, and train, the same rows again."""
    positions = np.array([0, 1, 2, 0, 1])
    y, residuals = learned_position_forward(positions, WEIGHT)
    np.testing.assert_array_equal(y[:2], y[3:])
    dy = RNG.standard_normal((5, 3))
    dweight = learned_position_backward(dy, residuals)
    np.testing.assert_allclose(dweight[:3], np.stack([dy[0] + dy[3], dy[1] + dy[4], dy[2]]), rtol=1e-15)
    assert np.all(dweight[3:] == 0)


def test_the_table_ends():
    learned_position_forward(np.array([6]), WEIGHT)
    with pytest.raises(ValueError, match=r"positions: got 7; allowed: 0 \.\. 6 \(weight has 7 rows\)"):
        learned_position_forward(np.array([6, 7]), WEIGHT)


def test_negative_position_does_not_wrap():
    with pytest.raises(ValueError, match="positions: got -1"):
        learned_position_forward(np.array([-1]), WEIGHT)


def test_padding_row_is_read_but_does_not_learn():
    positions, weight = np.array([[2, 3, 1], [1, 1, 2]]), np.random.default_rng(8).standard_normal((5, 3))
    y, residuals = learned_position_forward(positions, weight, padding_idx=1)
    np.testing.assert_array_equal(y, weight[positions])
    dweight = learned_position_backward(np.ones((2, 3, 3)), residuals)
    np.testing.assert_array_equal(dweight[:, 0], [0, 0, 2, 1, 0])


def test_padding_idx_outside_the_table():
    with pytest.raises(ValueError, match=r"padding_idx: got 5; allowed: None or 0 \.\. 4"):
        learned_position_forward(np.array([0]), np.zeros((5, 3)), padding_idx=5)
