import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_backward,
    attention_forward,
    shaw_keys_backward,
    shaw_keys_forward,
    softmax_forward,
)
from tests.bias.autograd import agrees_with_autograd, distances, reals

Q, TABLE = reals(2, 3, 5, 4), reals(5, 4)


def test_a_bias_is_as_good_as_a_key_for_every_pair():
    """q·(k + a)/√D, with a key of its own for each query and key."""
    k, v = reals(2, 3, 7, 4), reals(2, 3, 7, 6)
    bias, residuals = shaw_keys_forward(Q, TABLE, S=7, q_offset=2)
    pairs = k[..., None, :, :] + TABLE[residuals.rows]  # (B, H, T, S, D)
    scores = np.sum(Q[..., None, :] * pairs, axis=-1) / 2
    y, _ = attention_forward(Q, k, v, bias)
    np.testing.assert_allclose(y.y, softmax_forward(scores)[0] @ v, rtol=1e-12)


def test_bias_depends_on_the_distance_alone():
    near, _ = shaw_keys_forward(Q, TABLE, S=7, q_offset=2)
    far, _ = shaw_keys_forward(Q, TABLE, S=17, q_offset=12)
    np.testing.assert_array_equal(near, far[..., 10:])


def test_both_shares_of_dq():
    """Through the door: attention gives the gradient of the bias, which gives q its second share."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    k, v, dy = reals(2, 3, 7, 4), reals(2, 3, 7, 6), reals(2, 3, 5, 6)
    bias, residuals = shaw_keys_forward(Q, TABLE, S=7)
    _, of_attention = attention_forward(Q, k, v, bias)
    dq, *_, dbias = attention_backward(Attention(dy, None), of_attention)[:4]
    second, dtable = shaw_keys_backward(dbias, residuals)
    q, table = torch.tensor(Q, requires_grad=True), torch.tensor(TABLE, requires_grad=True)
    keys = torch.tensor(k)[..., None, :, :] + table[torch.tensor(residuals.rows)]
    y = torch.softmax((q[..., None, :] * keys).sum(-1) / 2, -1) @ torch.tensor(v)
    wanted = torch.autograd.grad(y, [q, table], torch.tensor(dy))
    np.testing.assert_allclose(dq + second, wanted[0], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(dtable, wanted[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("left", "scale"), [(None, None), (3, 0.3), (0, None), (4, None)])
def test_autograd(left, scale):
    def formula(torch, q, table, S, q_offset, left, scale):
        back = 2 if left is None else left
        rows = torch.clip(-distances(torch, q.shape[-2], S, q_offset), -back, 4 - back) + back
        return torch.einsum("bhtd,tsd->bhts", q, table[rows]) * (scale or 0.5)

    agrees_with_autograd("shaw_keys", formula, {"q": Q, "table": TABLE}, S=11, q_offset=3, left=left, scale=scale)


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (TABLE[:, :3], {}, r"table: got shape \(5, 3\); allowed: shape \(N, 4\) to fit q"),
        (TABLE[:4], {}, "table: got 4 rows; allowed: an odd number of rows, or `left` given"),
        (TABLE, {"left": 5}, "left: got 5; allowed: None or 0 .. 4"),
        (TABLE, {"S": 0}, "S: got 0"),
    ],
)
def test_bad_input(table, options, message):
    with pytest.raises(ValueError, match=message):
        shaw_keys_forward(Q, table, **({"S": 7} | options))
