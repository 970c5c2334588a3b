import numpy as np
import pytest

from refimpl import sinusoidal_forward, transformer_xl_bias_forward
from tests.bias.autograd import agrees_with_autograd, reals


def given(T, S, H=2, D=4, C=6):
    shapes = {"q": (3, H, T, D), "k": (3, H, S, D), "r": (T + S - 1, C), "w_r": (C, H * D), "u": (H, D), "v": (H, D)}
    return {name: reals(*shape) for name, shape in shapes.items()}


def shifted(x):
    """Transformer-XL's own shift: a zero column in front, reshaped to one row more, without the first."""
    T, S = x.shape
    return np.concatenate([np.zeros((T, 1)), x], axis=1).reshape(S + 1, T)[1:].reshape(T, S)


@pytest.mark.parametrize(("T", "S"), [(3, 7), (5, 5), (1, 4)])
def test_agrees_with_the_shift_where_the_causal_mask_keeps(T, S):
    arrays = given(T, S)
    y, _ = transformer_xl_bias_forward(**arrays, scale=1.0)
    keep = np.tril(np.ones((T, S), dtype=bool), S - T)
    for b, h in np.ndindex(3, 2):
        keys = arrays["r"][:S] @ arrays["w_r"][:, 4 * h : 4 * h + 4]  # distances S - 1 .. 0
        position = shifted((arrays["q"][b, h] + arrays["v"][h]) @ keys.T)
        want = position + arrays["k"][b, h] @ arrays["u"][h]
        np.testing.assert_allclose(y[b, h][keep], want[keep], rtol=1e-10)
        if T > 1:
            assert np.max(np.abs(y[b, h] - want)[~keep]) > 0.1  # what the shift leaves ahead of the query


def test_position_depends_on_the_distance_alone():
    """The same query at two places, each with r of its own distances."""
    arrays = given(2, 5)
    arrays["q"][:] = arrays["q"][:, :, :1]
    arrays["u"][:] = 0
    y, _ = transformer_xl_bias_forward(**arrays)
    np.testing.assert_allclose(y[:, :, 1, 1:], y[:, :, 0, :-1], rtol=1e-12)


def test_r_of_sinusoids():
    """Distances from q_offset + T − 1 down to q_offset − S + 1."""
    arrays, q_offset, T, S = given(2, 5), 3, 2, 5
    positions = np.arange(q_offset + T - 1, q_offset - S, -1)
    arrays["r"], _ = sinusoidal_forward(positions.astype(np.float64), 6)
    y, _ = transformer_xl_bias_forward(**arrays, scale=1.0)
    i, j = 1, 2
    r, _ = sinusoidal_forward(np.asarray(float(q_offset + i - j)), 6)
    q, k, u, v = arrays["q"][0, 1, i], arrays["k"][0, 1, j], arrays["u"][1], arrays["v"][1]
    np.testing.assert_allclose(y[0, 1, i, j], u @ k + (q + v) @ (r @ arrays["w_r"])[4:], rtol=1e-12)


@pytest.mark.parametrize("scale", [None, 0.3])
def test_autograd(scale):
    def formula(torch, q, k, r, w_r, u, v, scale):
        H, T, D = q.shape[-3:]
        S = k.shape[-2]
        rows = T - 1 - torch.arange(T)[:, None] + torch.arange(S)
        keys = (r @ w_r).reshape(-1, H, D)[rows]  # (T, S, H, D)
        position = torch.einsum("bhtd,tshd->bhts", q + v[:, None], keys)
        return (position + torch.einsum("hd,bhsd->bhs", u, k)[..., None, :]) * (scale or D**-0.5)

    agrees_with_autograd("transformer_xl_bias", formula, given(3, 5), scale=scale)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"r": reals(7, 6)}, r"r: got 7 rows; allowed: T \+ S - 1 = 9"),
        ({"k": reals(2, 2, 7, 4)}, r"k: got shape \(2, 2, 7, 4\)"),
        ({"k": reals(3, 2, 7, 5)}, r"k: got shape \(3, 2, 7, 5\)"),
        ({"w_r": reals(6, 7)}, "w_r: got 7 columns; allowed: H · D = 8"),
        ({"u": reals(1, 4)}, r"u: got shape \(1, 4\); allowed: shape \(2, 4\) to fit q"),
        ({"v": reals(2, 1)}, r"v: got shape \(2, 1\); allowed: shape \(2, 4\) to fit q"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        transformer_xl_bias_forward(**(given(3, 7) | changes))
