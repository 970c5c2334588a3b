import numpy as np
import pytest

from refimpl import Attention, attention_backward, attention_forward, causal_mask

RNG = np.random.default_rng(8)
B, H, G, T, S, D, E = 2, 6, 2, 3, 5, 4, 7
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, E))
DY, DLSE = RNG.standard_normal((B, H, T, E)), RNG.standard_normal((B, H, T))


def test_grouped_heads_equal_repeated_heads():
    """Query heads 0, 1, 2 read key head 0 (repeat), not key heads 0, 1, 0 (tile)."""
    k, v = np.repeat(K, 3, axis=1), np.repeat(V, 3, axis=1)
    grouped, residuals = attention_forward(Q, K, V)
    repeated, repeated_residuals = attention_forward(Q, k, v)
    np.testing.assert_array_equal(grouped.y, repeated.y)
    _, dk, dv, _, _ = attention_backward(Attention(DY, DLSE), residuals)
    _, dk_each, dv_each, *_ = attention_backward(Attention(DY, DLSE), repeated_residuals)
    np.testing.assert_allclose(dk, dk_each.reshape(B, G, 3, S, D).sum(2), rtol=1e-12)
    np.testing.assert_allclose(dv, dv_each.reshape(B, G, 3, S, E).sum(2), rtol=1e-12)


@pytest.mark.parametrize("q_offset", [0, S - T, -1, S])
def test_causal_is_a_mask(q_offset):
    mask = causal_mask(T, S, q_offset=q_offset, xp=np)
    assert [list(row).count(True) for row in mask] == [min(max(q_offset + i + 1, 0), S) for i in range(T)]
    causal, _ = attention_forward(Q, K, V, q_offset=q_offset)
    masked, _ = attention_forward(Q, K, V, mask=mask)
    np.testing.assert_array_equal(causal.y, masked.y)
    np.testing.assert_array_equal(causal.lse, masked.lse)


def test_mask_and_causal_are_both_obeyed():
    mask = RNG.random((B, 1, 1, S)) > 0.3
    both, _ = attention_forward(Q, K, V, mask=mask, q_offset=2)
    joined, _ = attention_forward(Q, K, V, mask=mask & causal_mask(T, S, q_offset=2, xp=np))
    np.testing.assert_array_equal(both.y, joined.y)


def test_cached_decode_equals_the_full_pass():
    k, v = RNG.standard_normal((2, B, H, T, D))
    full, _ = attention_forward(Q, k, v, q_offset=0)
    for t in range(T):
        step, _ = attention_forward(Q[:, :, t : t + 1], k[:, :, : t + 1], v[:, :, : t + 1], q_offset=t)
        np.testing.assert_allclose(step.y[:, :, 0], full.y[:, :, t], rtol=1e-13)
        np.testing.assert_allclose(step.lse[:, :, 0], full.lse[:, :, t], rtol=1e-13)


def test_blocks_of_keys_merge_by_lse():
    full, _ = attention_forward(Q, K, V)
    parts = [attention_forward(Q, K[:, :, s], V[:, :, s])[0] for s in (slice(0, 2), slice(2, 5))]
    lse = np.logaddexp(parts[0].lse, parts[1].lse)
    np.testing.assert_allclose(lse, full.lse, rtol=1e-13)
    y = sum(part.y * np.exp(part.lse - lse)[..., None] for part in parts)
    np.testing.assert_allclose(y, full.y, rtol=1e-12)


def test_an_empty_row_is_zero_and_has_no_gradient():
    mask = np.ones((B, 1, T, S), dtype=bool)
    mask[1, 0, 2] = False
    bias = RNG.standard_normal((1, H, T, S))
    out, residuals = attention_forward(Q, K, V, bias, mask=mask)
    assert np.all(out.y[1, :, 2] == 0)
    assert np.all(out.lse[1, :, 2] == -np.inf)
    dq, dk, dv, dbias, _ = attention_backward(Attention(DY, DLSE), residuals)
    assert np.all(dq[1, :, 2] == 0)
    assert all(np.all(np.isfinite(d)) for d in (dq, dk, dv, dbias))
    silent = DY.copy()
    silent[1, :, 2] = 0
    for a, b in zip(attention_backward(Attention(silent, DLSE), residuals)[:4], (dq, dk, dv, dbias), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_constant_bias_moves_lse_alone():
    plain, _ = attention_forward(Q, K, V)
    moved, residuals = attention_forward(Q, K, V, np.full((H, 1, 1), 3.0))
    np.testing.assert_allclose(moved.y, plain.y, rtol=1e-11)
    np.testing.assert_allclose(moved.lse, plain.lse + 3, rtol=1e-13)
    *_, dbias, _ = attention_backward(Attention(DY, DLSE), residuals)
    np.testing.assert_allclose(dbias[:, 0, 0], DLSE.sum((0, 2)), rtol=1e-12)  # y does not depend on it


def test_absent_cotangents_are_zero():
    _, residuals = attention_forward(Q, K, V)
    both = attention_backward(Attention(DY, DLSE), residuals)
    only_y = attention_backward(Attention(DY, None), residuals)
    only_lse = attention_backward(Attention(None, DLSE), residuals)
    for whole, first, second in zip(both[:3], only_y[:3], only_lse[:3], strict=True):
        np.testing.assert_allclose(whole, first + second, rtol=1e-11, atol=1e-14)
    assert np.all(only_lse[2] == 0)


def test_permutation_equivariance_and_what_ends_it():
    """Self-attention permutes with its tokens; a causal mask, with no encoding at all, already does not."""
    x, order = RNG.standard_normal((1, 5, 4)), [3, 0, 4, 1, 2]
    plain, _ = attention_forward(x, x, x)
    moved, _ = attention_forward(x[:, order], x[:, order], x[:, order])
    np.testing.assert_allclose(moved.y, plain.y[:, order], rtol=1e-12)
    causal, _ = attention_forward(x, x, x, q_offset=0)
    causal_moved, _ = attention_forward(x[:, order], x[:, order], x[:, order], q_offset=0)
    assert np.max(np.abs(causal_moved.y - causal.y[:, order])) > 0.1


def test_scale_defaults_to_one_over_sqrt_d():
    default, _ = attention_forward(Q, K, V)
    given, _ = attention_forward(Q, K, V, scale=0.5)
    np.testing.assert_array_equal(default.y, given.y)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((Q, K[:1], V), {}, r"k: got shape \(1, 2, 5, 4\)"),
        ((Q, K[..., :3], V), {}, r"k: got shape \(2, 2, 5, 3\)"),
        ((Q, K, V[:, :, :4]), {}, r"v: got shape \(2, 2, 4, 7\)"),
        ((Q[:, :5], K, V), {}, "k: got 2 key heads; allowed: a divisor of the 5 query heads"),
        ((Q[0, 0], K, V), {}, r"q: got shape \(3, 4\)"),
        ((Q, K, V, np.ones((T, S + 1))), {}, r"bias: got shape \(3, 6\)"),
        ((Q, K, V), {"mask": np.ones((T, S))}, "mask: got dtype float64; allowed: bool"),
        ((Q, K, V), {"mask": np.ones((S, T), dtype=bool)}, r"mask: got shape \(5, 3\)"),
    ],
)
def test_bad_input(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        attention_forward(*arguments, **options)
