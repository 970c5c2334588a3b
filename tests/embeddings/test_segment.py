import numpy as np
import pytest

from refimpl import segment_embedding_backward, segment_embedding_forward

SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 1, 1]])
WEIGHT = np.random.default_rng(4).standard_normal((3, 7))


def test_reads_the_row_of_the_segment():
    y, _ = segment_embedding_forward(SEGMENTS, WEIGHT)
    np.testing.assert_array_equal(y, WEIGHT[SEGMENTS])


def test_every_token_of_a_segment_adds_to_one_row():
    dy = np.random.default_rng(5).standard_normal((2, 5, 7))
    _, residuals = segment_embedding_forward(SEGMENTS, WEIGHT)
    dweight = segment_embedding_backward(dy, residuals)
    np.testing.assert_allclose(dweight[0], dy[0, :2].sum(0) + dy[1, 0], rtol=1e-14)
    np.testing.assert_allclose(dweight.sum(0), dy.sum((0, 1)), rtol=1e-13)
    assert np.all(dweight[2] == 0)


@pytest.mark.parametrize("bad", [-1, 3])
def test_segment_outside_the_table(bad):
    with pytest.raises(ValueError, match=rf"segments: got {bad}; allowed: 0 \.\. 2 \(weight has 3 rows\)"):
        segment_embedding_forward(np.array([0, bad]), WEIGHT)
