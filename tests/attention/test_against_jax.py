"""Windows, padding, corners and grouped heads against jax.nn.dot_product_attention.

Conventions: JAX is (B, T, H, D); its window is inclusive on both sides, as ours; its causal and window masks are top
left, q_offset 0; True keeps; it computes the softmax in float32 whatever comes in, hence the tolerance.
"""

import numpy as np
import pytest

from refimpl import attention_forward, padding_mask, window_mask

jax = pytest.importorskip("jax", reason="JAX is not installed")

RNG = np.random.default_rng(18)
B, H, G, T, S, D = 2, 6, 2, 5, 7, 4
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, D))
BIAS = RNG.standard_normal((B, H, T, S))


def of_jax(bias=None, **options):
    q, k, v = (jax.numpy.asarray(np.swapaxes(x, 1, 2)) for x in (Q, K, V))
    bias = None if bias is None else jax.numpy.asarray(bias)
    return np.swapaxes(np.asarray(jax.nn.dot_product_attention(q, k, v, bias, **options)), 1, 2)


def test_grouped_heads_and_bias():
    np.testing.assert_allclose(of_jax(BIAS), attention_forward(Q, K, V, BIAS)[0].y, rtol=2e-5, atol=2e-6)


def test_causal_is_top_left():
    np.testing.assert_allclose(
        of_jax(is_causal=True), attention_forward(Q, K, V, q_offset=0)[0].y, rtol=2e-5, atol=2e-6
    )


@pytest.mark.parametrize("sides", [(1, 0), (0, 0), (2, 1), (0, 3)])
def test_a_local_window_is_inclusive(sides):
    """(1, 0) is two keys a row."""
    left, right = sides
    mask = window_mask(T, S, left=left, right=right, q_offset=0, xp=np)
    want, _ = attention_forward(Q, K, V, mask=mask)
    np.testing.assert_allclose(of_jax(local_window_size=sides), want.y, rtol=2e-5, atol=2e-6)


def test_one_integer_is_a_radius():
    mask = window_mask(T, S, left=2, right=2, q_offset=0, xp=np)
    want, _ = attention_forward(Q, K, V, mask=mask)
    np.testing.assert_allclose(of_jax(local_window_size=2), want.y, rtol=2e-5, atol=2e-6)


def test_key_lengths_are_right_padding():
    lengths = np.array([3, 6])
    want, _ = attention_forward(Q, K, V, mask=padding_mask(lengths, S=S))
    got = of_jax(key_value_seq_lengths=jax.numpy.asarray(lengths, dtype="int32"))
    np.testing.assert_allclose(got, want.y, rtol=2e-5, atol=2e-6)


def test_a_row_without_keys_is_the_mean_there():
    """JAX fills with a finite number: an empty row is the mean of v; here it is 0."""
    mask = np.ones((T, S), bool)
    mask[1] = False
    got = of_jax(mask=jax.numpy.asarray(mask)[None, None])
    want, _ = attention_forward(Q, K, V, mask=mask)
    np.testing.assert_allclose(got[:, :, [0, 2, 3, 4]], want.y[:, :, [0, 2, 3, 4]], rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(got[:, :, 1], np.repeat(V, 3, 1).mean(2), rtol=2e-5, atol=2e-6)
    assert np.all(want.y[:, :, 1] == 0)
