import numpy as np
import pytest

from refimpl.bias.grid import grid_offsets
from refimpl.bias.relative import clipped_rows, picked, picked_backward, relative_positions, sum_to
from tests.bias.autograd import reals


def test_key_minus_query():
    relative = relative_positions(2, 4, q_offset=2, xp=np)
    np.testing.assert_array_equal(relative, [[-2, -1, 0, 1], [-3, -2, -1, 0]])


def test_rows_are_cut_on_either_side():
    relative = np.arange(-5, 6)[None]
    np.testing.assert_array_equal(clipped_rows(relative, 5, None), [[0, 0, 0, 0, 1, 2, 3, 4, 4, 4, 4]])
    np.testing.assert_array_equal(clipped_rows(relative, 5, 3), [[0, 0, 0, 1, 2, 3, 4, 4, 4, 4, 4]])


def test_tokens_of_a_grid_are_numbered_row_by_row():
    rows, columns = grid_offsets(2, 3, xp=np)
    assert (rows[0, 4], columns[0, 4]) == (-1, -1)  # token 4 stands in row 1, column 1
    assert (rows[5, 1], columns[5, 1]) == (1, 1)


@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_adding_up_is_the_adjoint_of_picking(batch):
    x, dy, rows = reals(*batch, 4, 5), reals(*batch, 4, 7), np.random.default_rng(0).integers(0, 5, (4, 7))
    y = picked(x, rows)
    np.testing.assert_array_equal(y, np.take_along_axis(x, np.broadcast_to(rows, y.shape), -1))
    np.testing.assert_allclose(np.sum(y * dy), np.sum(x * picked_backward(dy, rows, 5)))


def test_sum_to_keeps_the_last_axes():
    x = reals(2, 3, 4, 5)
    np.testing.assert_allclose(sum_to(x, 2), x.sum((0, 1)))
    np.testing.assert_array_equal(sum_to(x, 4), x)
