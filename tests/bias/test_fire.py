import numpy as np
import pytest

from refimpl import fire_forward
from tests.bias.autograd import agrees_with_autograd, distances, reals

ARRAYS = {"w1": reals(5), "b1": reals(5), "w2": reals(5, 2), "b2": reals(2)}
IDENTITY = {"w1": np.ones(1), "b1": np.zeros(1), "w2": np.ones((1, 1)), "b2": np.zeros(1)}


def single(c, m, L0):
    return {"c": np.asarray(c), "m": np.asarray(m), "L0": np.asarray(L0)}


def test_fraction_stays_between_zero_and_one_at_every_length():
    """Behind the query; a network that passes its input on shows it."""
    for q_offset in (0, 10, 1000):
        y, _ = fire_forward(**IDENTITY, **single(0.1, 1.0, 5.0), T=3, S=q_offset + 3, q_offset=q_offset)
        behind = np.tril(np.ones((3, q_offset + 3), dtype=bool), q_offset)
        assert np.all((y[0][behind] >= 0) & (y[0][behind] <= 1))
    np.testing.assert_allclose(y[0, :, 0], 1, rtol=1e-6)


def test_bias_depends_on_the_query_too():
    near, _ = fire_forward(**ARRAYS, **single(0.1, 1.0, 2.0), T=3, S=5, q_offset=2)
    far, _ = fire_forward(**ARRAYS, **single(0.1, 1.0, 2.0), T=3, S=15, q_offset=12)
    assert np.max(np.abs(near - far[:, :, 10:])) > 1e-2


def test_below_the_threshold_it_does_not():
    near, _ = fire_forward(**ARRAYS, **single(0.1, 1.0, 50.0), T=3, S=5, q_offset=2)
    far, _ = fire_forward(**ARRAYS, **single(0.1, 1.0, 50.0), T=3, S=15, q_offset=12)
    np.testing.assert_allclose(near, far[:, :, 10:], rtol=1e-12)


@pytest.mark.parametrize("signs", [(1, 1, 1), (-1, -1, 1), (1, 1, -1)])
@pytest.mark.parametrize("L0", [3.3, 0.7, 40.0])
@pytest.mark.parametrize("tie", [False, True])
def test_autograd(signs, L0, tie):
    """With a tie of position and threshold as well, where both give half."""

    def formula(torch, w1, b1, w2, b2, c, m, L0, T, S, q_offset):
        n = distances(torch, T, S, q_offset)
        positions = (q_offset + torch.arange(T)).double()[:, None]
        extent = torch.maximum(positions, torch.abs(m * L0))
        x = torch.log(torch.abs(c * n) + 1) / (torch.log(torch.abs(c * extent) + 1) + 1e-6)
        return (torch.relu(x[..., None] * w1 + b1) @ w2 + b2).permute(2, 0, 1)

    m = 2 / L0 if tie else 0.9
    values = single(signs[0] * 0.25, signs[1] * m, signs[2] * L0)
    agrees_with_autograd("fire", formula, ARRAYS | values, T=5, S=7, q_offset=1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"q_offset": -1}, "q_offset: got -1; allowed: an integer >= 0"),
        ({"b1": np.ones(4)}, r"b1: got shape \(4,\); allowed: shape \(5,\) to fit w1"),
        ({"b2": np.ones(3)}, r"b2: got shape \(3,\); allowed: shape \(2,\) to fit w2"),
        ({"T": -1}, "T: got -1"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        fire_forward(**(ARRAYS | single(0.1, 1.0, 2.0) | {"T": 2, "S": 3} | changes))
