import numpy as np
import pytest

from refimpl import cope_backward, cope_forward
from tests.bias.autograd import agrees_with_autograd, distances, reals

ARRAYS = {"q": reals(2, 3, 5, 4), "k": reals(2, 3, 7, 4), "table": reals(4, 4)}


def test_open_gates_count_every_key():
    """All gates 1: p is the distance, with the query itself counted, cut at the last row."""
    q, k = np.abs(reals(2, 3, 5, 4)) + 1, np.abs(reals(2, 3, 7, 4)) + 1
    y, _ = cope_forward(q, k, ARRAYS["table"], q_offset=2, scale=100.0)
    i, j = np.arange(2, 7)[:, None], np.arange(7)[None, :]
    rows = np.clip(i - j + 1, 0, 3)
    np.testing.assert_allclose(
        y, np.take_along_axis(q @ ARRAYS["table"].T, np.broadcast_to(rows, y.shape), -1), rtol=1e-12
    )


def test_shut_gates_count_none():
    q, k = np.abs(reals(2, 3, 5, 4)) + 1, -np.abs(reals(2, 3, 7, 4)) - 1
    y, _ = cope_forward(q, k, ARRAYS["table"], q_offset=2, scale=100.0)
    np.testing.assert_allclose(y, np.broadcast_to((q @ ARRAYS["table"][0])[..., None], y.shape), rtol=1e-12)


def test_keys_ahead_change_nothing():
    k = ARRAYS["k"].copy()
    y, _ = cope_forward(ARRAYS["q"], k, ARRAYS["table"])
    k[:, :, 5:] = 7
    moved, _ = cope_forward(ARRAYS["q"], k, ARRAYS["table"])
    np.testing.assert_array_equal(y, moved)


def test_decode_step_is_the_last_row():
    y, _ = cope_forward(**ARRAYS, q_offset=2)
    last, _ = cope_forward(ARRAYS["q"][:, :, -1:], ARRAYS["k"], ARRAYS["table"], q_offset=6)
    np.testing.assert_allclose(y[:, :, -1:], last, rtol=1e-12)


def test_no_gradient_at_a_whole_number():
    """A count that is cut at the last row stands on it."""
    _, residuals = cope_forward(ARRAYS["q"], ARRAYS["k"], ARRAYS["table"][:1], q_offset=2)
    _, dk, dtable = cope_backward(reals(2, 3, 5, 7), residuals)
    assert np.all(dk == 0)
    assert np.all(dtable != 0)


@pytest.mark.parametrize(("N", "scale"), [(4, None), (9, 0.7), (1, None)])
def test_autograd(N, scale):
    """With floor and ceil, and a lookup, as the paper's code has it."""

    def formula(torch, q, k, table, q_offset, scale):
        logits = q @ k.mT * (scale or 0.5)
        gates = torch.sigmoid(logits) * (distances(torch, q.shape[-2], k.shape[-2], q_offset) >= 0)
        p = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=table.shape[0] - 1)
        below, above = p.floor().long(), p.ceil().long()
        products, w = q @ table.mT, p - p.floor()
        return products.gather(-1, below) * (1 - w) + products.gather(-1, above) * w

    agrees_with_autograd("cope", formula, ARRAYS | {"table": reals(N, 4)}, q_offset=2, scale=scale)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"k": reals(2, 2, 7, 4)}, r"k: got shape \(2, 2, 7, 4\)"),
        ({"k": reals(2, 3, 7, 3)}, r"k: got shape \(2, 3, 7, 3\)"),
        ({"table": reals(4, 3)}, r"table: got shape \(4, 3\); allowed: shape \(N, 4\) to fit q"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        cope_forward(**(ARRAYS | changes))
