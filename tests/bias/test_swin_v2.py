import numpy as np
import pytest

from refimpl import swin_v2_bias_forward
from tests.bias.autograd import agrees_with_autograd, reals

ARRAYS = {"w1": reals(2, 5), "b1": reals(5), "w2": reals(5, 3)}


def test_between_zero_and_sixteen():
    y, _ = swin_v2_bias_forward(ARRAYS["w1"] * 20, ARRAYS["b1"], ARRAYS["w2"] * 20, height=3, width=4)
    assert np.all((y >= 0) & (y <= 16))
    y, _ = swin_v2_bias_forward(*(array * 0 for array in ARRAYS.values()), height=3, width=4)
    np.testing.assert_array_equal(y, 8)


def test_edge_of_the_trained_window():
    """log2(9)/3 = 1.057; a window twice as large reaches log2(1 + 16 · ...)/3, little more."""
    _, residuals = swin_v2_bias_forward(**ARRAYS, height=4, width=7, pretrained_height=4, pretrained_width=4)
    np.testing.assert_allclose(residuals.offsets[0], -np.log2([9, 17]) / 3)
    np.testing.assert_allclose(residuals.offsets[-1], np.log2([9, 17]) / 3)
    assert np.all(residuals.offsets[len(residuals.offsets) // 2] == 0)


def test_pairs_that_lie_alike_share_a_bias():
    y, _ = swin_v2_bias_forward(**ARRAYS, height=2, width=3)
    np.testing.assert_array_equal(y[:, 0, 1], y[:, 4, 5])


@pytest.mark.parametrize(("height", "width", "pretrained"), [(3, 4, None), (1, 5, None), (5, 3, (3, 2))])
def test_autograd(height, width, pretrained):
    pretrained_height, pretrained_width = pretrained or (None, None)

    def formula(torch, w1, b1, w2, height, width, pretrained_height, pretrained_width):
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        rows, columns = rows.flatten().double(), columns.flatten().double()
        u = torch.stack([
            (rows[:, None] - rows) / max((pretrained_height or height) - 1, 1),
            (columns[:, None] - columns) / max((pretrained_width or width) - 1, 1),
        ], dim=-1) * 8  # fmt: skip
        u = torch.sign(u) * torch.log2(u.abs() + 1) / 3
        return (16 * torch.sigmoid(torch.relu(u @ w1 + b1) @ w2)).permute(2, 0, 1)

    options = {"height": height, "width": width}
    options |= {"pretrained_height": pretrained_height, "pretrained_width": pretrained_width}
    agrees_with_autograd("swin_v2_bias", formula, ARRAYS, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"b1": np.ones(4)}, r"b1: got shape \(4,\); allowed: shape \(5,\) to fit w1"),
        ({"w2": np.ones((4, 3))}, r"w2: got shape \(4, 3\); allowed: shape \(5, H\) to fit w1"),
        ({"height": 0}, "height: got 0"),
        ({"pretrained_height": -1}, "pretrained_height: got -1"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        swin_v2_bias_forward(**(ARRAYS | {"height": 2, "width": 3} | changes))
