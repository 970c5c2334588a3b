import numpy as np
import pytest

from refimpl import decomposed_2d_bias_forward, shaw_keys_forward
from tests.bias.autograd import agrees_with_autograd, reals

ARRAYS = {"q": reals(2, 3, 6, 4), "table_h": reals(3, 4), "table_w": reals(5, 4)}


def test_axes_add_up():
    y, _ = decomposed_2d_bias_forward(**ARRAYS, height=2, width=3)
    of_rows, _ = decomposed_2d_bias_forward(**ARRAYS | {"table_w": np.zeros((5, 4))}, height=2, width=3)
    of_columns, _ = decomposed_2d_bias_forward(**ARRAYS | {"table_h": np.zeros((3, 4))}, height=2, width=3)
    np.testing.assert_allclose(y, of_rows + of_columns, rtol=1e-12)
    np.testing.assert_array_equal(of_rows[..., 0], of_rows[..., 2])  # keys of one row


def test_one_row_is_shaw_in_the_other_direction():
    q, table = reals(2, 3, 5, 4), reals(9, 4)
    y, _ = decomposed_2d_bias_forward(q, np.zeros((1, 4)), table, height=1, width=5)
    want, _ = shaw_keys_forward(q, table[::-1], S=5, scale=1.0)
    np.testing.assert_allclose(y, want, rtol=1e-12)


def test_autograd():
    def formula(torch, q, table_h, table_w, height, width):
        *batch, T, D = q.shape
        rows, columns = torch.arange(height), torch.arange(width)
        table_h = table_h[rows[:, None] - rows + height - 1]
        table_w = table_w[columns[:, None] - columns + width - 1]
        grid = q.reshape(*batch, height, width, D)
        along = torch.einsum("...hwd,hkd->...hwk", grid, table_h)[..., :, None]
        across = torch.einsum("...hwd,wkd->...hwk", grid, table_w)[..., None, :]
        return (along + across).reshape(*batch, T, T)

    agrees_with_autograd("decomposed_2d_bias", formula, ARRAYS, height=2, width=3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"height": 3}, "q: got 6 queries; allowed: height · width = 9"),
        ({"height": 3, "width": 2}, r"table_h: got shape \(3, 4\); allowed: shape \(5, 4\)"),
        ({"table_w": np.ones((5, 3))}, r"table_w: got shape \(5, 3\); allowed: shape \(Nw, 4\) to fit q"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        decomposed_2d_bias_forward(**(ARRAYS | {"height": 2, "width": 3} | changes))
