import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_backward,
    attention_forward,
    blocked_attention_backward,
    blocked_attention_forward,
    merge_blocks_backward,
    merge_blocks_forward,
)

RNG = np.random.default_rng(15)
B, H, G, T, S, D, E = 2, 6, 2, 3, 7, 4, 5
Q, K, V = RNG.standard_normal((B, H, T, D)), RNG.standard_normal((B, G, S, D)), RNG.standard_normal((B, G, S, E))
BIAS, MASK = RNG.standard_normal((H, T, S)), RNG.random((B, 1, T, S)) > 0.4
MASK[1, 0, 2] = False
DY, DLSE = RNG.standard_normal((B, H, T, E)), RNG.standard_normal((B, H, T))


@pytest.mark.parametrize("block", [1, 2, 3, S, S + 4])
@pytest.mark.parametrize(
    ("bias", "options"),
    [
        (None, {}),
        (BIAS, {"q_offset": 2}),
        (BIAS[:1, :, :1], {"mask": MASK, "scale": 0.3}),
        (np.float64(0.5) * np.ones(()), {"q_offset": -1, "mask": MASK[:, :, :, :1]}),
    ],
)
def test_blocks_give_what_attention_gives(block, bias, options):
    out, residuals = blocked_attention_forward(Q, K, V, bias, block=block, **options)
    whole, whole_residuals = attention_forward(Q, K, V, bias, **options)
    np.testing.assert_allclose(out.y, whole.y, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(out.lse, whole.lse, rtol=1e-12)
    for cotangent in (Attention(DY, DLSE), Attention(DY, None), Attention(None, DLSE)):
        want = attention_backward(cotangent, whole_residuals)[:4]
        for a, b in zip(blocked_attention_backward(cotangent, residuals), want, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-13)


def test_huge_scores_in_a_late_block():
    k = K * np.array([1, 1, 1, 1, 1, 1000, 1000])[:, None]
    out, _ = blocked_attention_forward(Q, k, V, block=2)
    whole, _ = attention_forward(Q, k, V)
    np.testing.assert_allclose(out.y, whole.y, rtol=1e-10, atol=1e-13)


def parts(cuts, **options):
    """Attention over each slice of keys."""
    return [attention_forward(Q, K[:, :, cut], V[:, :, cut], BIAS[..., cut], **options) for cut in cuts]


def test_merging_gives_what_attention_gives_with_its_gradients():
    cuts = slice(0, 3), slice(3, S)
    (first, first_residuals), (second, second_residuals) = parts(cuts)
    merged, residuals = merge_blocks_forward(*first, *second)
    whole, whole_residuals = attention_forward(Q, K, V, BIAS)
    np.testing.assert_allclose(merged.y, whole.y, rtol=1e-11)
    np.testing.assert_allclose(merged.lse, whole.lse, rtol=1e-13)
    dy1, dlse1, dy2, dlse2 = merge_blocks_backward(Attention(DY, DLSE), residuals)
    of_first = attention_backward(Attention(dy1, dlse1), first_residuals)
    of_second = attention_backward(Attention(dy2, dlse2), second_residuals)
    dq, dk, dv, dbias, _ = attention_backward(Attention(DY, DLSE), whole_residuals)
    np.testing.assert_allclose(of_first[0] + of_second[0], dq, rtol=1e-10, atol=1e-13)
    for i, whole_gradient, axis in ((1, dk, 2), (2, dv, 2), (3, dbias, -1)):
        joined = np.concatenate([of_first[i], of_second[i]], axis=axis)
        np.testing.assert_allclose(joined, whole_gradient, rtol=1e-10, atol=1e-13)


def test_the_order_of_merging_does_not_matter():
    a, b, c = (out for out, _ in parts((slice(0, 2), slice(2, 3), slice(3, S))))
    left = merge_blocks_forward(*merge_blocks_forward(*a, *b)[0], *c)[0]
    right = merge_blocks_forward(*a, *merge_blocks_forward(*c, *b)[0])[0]
    np.testing.assert_allclose(left.y, right.y, rtol=1e-11)
    np.testing.assert_allclose(left.lse, right.lse, rtol=1e-13)


def test_an_empty_block_is_neutral():
    out, _ = attention_forward(Q, K, V)
    nothing = Attention(np.zeros_like(out.y), np.full_like(out.lse, -np.inf))
    for pair in ((*out, *nothing), (*nothing, *out)):
        merged, _ = merge_blocks_forward(*pair)
        np.testing.assert_array_equal(merged.y, out.y)
        np.testing.assert_array_equal(merged.lse, out.lse)
    merged, residuals = merge_blocks_forward(*nothing, *nothing)
    assert np.all(merged.y == 0)
    assert np.all(merged.lse == -np.inf)
    assert all(np.all(d == 0) for d in merge_blocks_backward(Attention(DY, DLSE), residuals))


def test_a_sink_is_a_block_without_value():
    sink = RNG.standard_normal(H)
    plain, _ = attention_forward(Q, K, V)
    merged, _ = merge_blocks_forward(*plain, np.zeros_like(plain.y), np.broadcast_to(sink[:, None], (B, H, T)))
    with_sink, _ = attention_forward(Q, K, V, None, sink)
    np.testing.assert_allclose(merged.y, with_sink.y, rtol=1e-12)
    np.testing.assert_allclose(merged.lse, with_sink.lse, rtol=1e-13)


Y = np.ones((3, 2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: blocked_attention_forward(Q, K, V, block=0), "block: got 0; allowed: an integer >= 1"),
        (lambda: blocked_attention_forward(Q, K[:1], V, block=1), r"k: got shape \(1, 2, 7, 4\)"),
        (lambda: merge_blocks_forward(Y, Y[:, 0], Y[:2], Y[:, 0]), r"y2: got shape \(2, 2\)"),
        (
            lambda: merge_blocks_forward(Y, Y[:2, 0], Y, Y[:, 0]),
            r"lse1: got shape \(2,\); allowed: shape \(3,\) to fit y1",
        ),
        (lambda: merge_blocks_forward(Y, Y[:, 0], Y, Y), r"lse2: got shape \(3, 2\)"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
