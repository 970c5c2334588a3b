import numpy as np
import pytest

from refimpl import shaw_values_forward
from tests.bias.autograd import agrees_with_autograd, distances, reals

ARRAYS = {"weights": reals(2, 3, 5, 7), "v": reals(2, 3, 7, 4), "table": reals(5, 4)}


def test_without_a_table_it_is_the_weighted_mean():
    y, _ = shaw_values_forward(ARRAYS["weights"], ARRAYS["v"], np.zeros((5, 4)))
    np.testing.assert_allclose(y, ARRAYS["weights"] @ ARRAYS["v"], rtol=1e-12)


def test_equal_rows_add_a_constant_where_weights_sum_to_one():
    weights = np.abs(ARRAYS["weights"])
    weights = weights / weights.sum(axis=-1, keepdims=True)
    y, _ = shaw_values_forward(weights, ARRAYS["v"], np.ones((5, 1)) * np.arange(4))
    np.testing.assert_allclose(y, weights @ ARRAYS["v"] + np.arange(4), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("left", [None, 3, 0])
def test_autograd(left):
    def formula(torch, weights, v, table, q_offset, left):
        back = 2 if left is None else left
        rows = torch.clip(-distances(torch, *weights.shape[-2:], q_offset), -back, 4 - back) + back
        values = v[..., None, :, :] + table[rows]  # (B, H, T, S, E)
        return (weights[..., None] * values).sum(-2)

    agrees_with_autograd("shaw_values", formula, ARRAYS, q_offset=3, left=left)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"v": reals(2, 3, 6, 4)}, r"v: got shape \(2, 3, 6, 4\); allowed: shape \(2, 3, 7, E\) to fit weights"),
        ({"v": reals(2, 2, 7, 4)}, r"v: got shape \(2, 2, 7, 4\)"),
        ({"table": reals(5, 3)}, r"table: got shape \(5, 3\); allowed: shape \(N, 4\) to fit v"),
        ({"table": reals(4, 4)}, "table: got 4 rows"),
        ({"left": -1}, "left: got -1"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        shaw_values_forward(**(ARRAYS | changes))
