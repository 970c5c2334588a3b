import numpy as np
import pytest

from refimpl import swin_bias_backward, swin_bias_forward
from tests.bias.autograd import agrees_with_autograd, reals


def test_pairs_that_lie_alike_share_a_row():
    y, residuals = swin_bias_forward(reals(15, 2), height=2, width=3)
    np.testing.assert_array_equal(y[:, 0, 1], y[:, 4, 5])  # one column to the right, in either row
    assert set(residuals.rows.ravel().tolist()) == set(range(15))
    assert residuals.rows[0, 0] == 7  # offset 0 lies in the middle


def test_gradient_counts_the_pairs_of_an_offset():
    """(height − |dh|)(width − |dw|) of them."""
    _, residuals = swin_bias_forward(np.zeros((15, 1)), height=2, width=3)
    gradient = swin_bias_backward(np.ones((1, 6, 6)), residuals)
    np.testing.assert_array_equal(gradient.reshape(3, 5), np.outer([1, 2, 1], [1, 2, 3, 2, 1]))


def test_autograd():
    def formula(torch, weight, height, width):
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        rows, columns = rows.flatten(), columns.flatten()
        grid = weight.reshape(2 * height - 1, 2 * width - 1, -1)
        dh, dw = rows[:, None] - rows + height - 1, columns[:, None] - columns + width - 1
        return grid[dh, dw].permute(2, 0, 1)

    agrees_with_autograd("swin_bias", formula, {"weight": reals(45, 3)}, height=5, width=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"height": 3, "width": 3}, "weight: got 15 rows; allowed: .* = 25"),
        ({"height": 0, "width": 3}, "height: got 0"),
        ({"height": 2, "width": 0}, "width: got 0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        swin_bias_forward(np.ones((15, 2)), **options)
