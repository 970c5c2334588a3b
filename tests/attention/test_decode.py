"""Cached decode equals the full pass, for every encoding that gives a position the same vector at every length."""

import numpy as np
import pytest

from refimpl import (
    Attention,
    Decoded,
    alibi_forward,
    attention_backward,
    attention_decode_backward,
    attention_decode_forward,
    attention_forward,
    rope_cos_sin,
    rope_forward,
)

RNG = np.random.default_rng(14)
B, H, G, N, D, E = 2, 4, 2, 7, 6, 5
Q, K, V = RNG.standard_normal((B, H, N, D)), RNG.standard_normal((B, G, N, D)), RNG.standard_normal((B, G, N, E))
SINK = RNG.standard_normal(H)
CALLS = (3, 1, 1, 2)  # tokens of each call: a prompt, then a few at a time


def decode(turn=lambda q, k, start, length: (q, k), bias=lambda T, S, start: None, **options):
    """Run the calls one after the other; turn(q, k, start, length so far) encodes the new tokens alone."""
    k_cache, v_cache, start, ys = K[:, :, :0], V[:, :, :0], 0, []
    for T in CALLS:
        new = slice(start, start + T)
        q, k = turn(Q[:, :, new], K[:, :, new], start, start + T)
        out, _ = attention_decode_forward(
            q, k, V[:, :, new], k_cache, v_cache, bias(T, start + T, start), SINK, **options
        )
        k_cache, v_cache, start = out.k_cache, out.v_cache, start + T
        ys.append(out.y)
    return np.concatenate(ys, axis=2)


def full(turn=lambda q, k, start, length: (q, k), bias=None, **options):
    return attention_forward(*turn(Q, K, 0, N), V, bias, SINK, q_offset=0, **options)[0].y


def rope(angles):
    """Return the encoder of angles(positions, length)."""

    def turn(q, k, start, length):
        cos, sin = (f(angles(np.arange(start, start + q.shape[-2]), length)) for f in (np.cos, np.sin))
        return rope_forward(q, cos, sin)[0], rope_forward(k, cos, sin)[0]

    return turn


def xpos(centre):
    """Return rope whose lengths grow and shrink with the distance from centre(length)."""
    zeta = (2 * np.arange(D // 2) / D + 0.4) / 1.4

    def turn(q, k, start, length):
        power = ((np.arange(start, start + q.shape[-2]) - centre(length)) / 8)[:, None]
        turned_q, turned_k = rope(lambda p, n: p[:, None] * THETA)(q, k, start, length)
        return turned_q * np.repeat(zeta**power, 2, axis=-1), turned_k * np.repeat(zeta**-power, 2, axis=-1)

    return turn


THETA = 10000.0 ** (-2 * np.arange(D // 2) / D)
TRAINED = 4  # tokens: shorter than the text


def dynamic_ntk(p, length):
    """The base grows with the text: base · (length / TRAINED)^(D / (D - 2))."""
    base = 10000 * max(length / TRAINED, 1) ** (D / (D - 2))
    return p[:, None] * base ** (-2 * np.arange(D // 2) / D)


def longrope(p, length):
    short, long = np.ones(D // 2), np.array([1.0, 2.0, 4.0])
    return p[:, None] * THETA / (short if length <= TRAINED else long)


CONSISTENT = {
    "none": lambda q, k, start, length: (q, k),
    "rope": rope(lambda p, length: p[:, None] * THETA),
    "linear scaling": rope(lambda p, length: p[:, None] * THETA / 2),
    "dynamic NTK, frequencies of the longest text": rope(lambda p, length: dynamic_ntk(p, N)),
    "LongRoPE, factors of the longest text": rope(lambda p, length: longrope(p, N)),
    "xPos, fixed centre": xpos(lambda length: 3),
}
INCONSISTENT = {
    "dynamic NTK": rope(dynamic_ntk),
    "LongRoPE": rope(longrope),
    "xPos, centre of the text so far": xpos(lambda length: length // 2),
}


@pytest.mark.parametrize("options", [{}, {"softcap": 1.5, "scale": 0.75}], ids=["plain", "softcap"])
@pytest.mark.parametrize("name", CONSISTENT)
def test_decode_equals_the_full_pass(name, options):
    np.testing.assert_allclose(decode(CONSISTENT[name], **options), full(CONSISTENT[name], **options), rtol=1e-11)


@pytest.mark.parametrize("name", INCONSISTENT)
def test_encodings_that_know_the_length_do_not(name):
    """Keys stay in the cache as they were turned for a shorter text."""
    assert np.max(np.abs(decode(INCONSISTENT[name]) - full(INCONSISTENT[name]))) > 1e-2


@pytest.mark.parametrize("name", INCONSISTENT)
def test_unless_keys_are_cached_unturned(name):
    """Turning the whole cache again at every step is the way out, at its price; the prompt still differs."""
    turn = INCONSISTENT[name]
    _, k = turn(Q, K, 0, N)
    q, _ = turn(Q, K, 0, N)
    last = slice(N - 1, N)
    out, _ = attention_decode_forward(
        q[:, :, last], k[:, :, last], V[:, :, last], k[:, :, :-1], V[:, :, :-1], None, SINK
    )
    np.testing.assert_allclose(out.y, full(turn)[:, :, last], rtol=1e-11)


@pytest.mark.parametrize("key_only", [False, True])
def test_alibi_needs_the_offset_of_its_queries(key_only):
    slopes = np.array([0.5, 0.25, 0.125, 0.0625])

    def bias(T, S, start):
        return alibi_forward(slopes, T=T, S=S, q_offset=start, key_only=key_only)[0]

    np.testing.assert_allclose(decode(bias=bias), full(bias=bias(N, N, 0)), rtol=1e-11)


def test_positions_of_new_tokens_start_at_the_length_of_the_cache():
    tables = rope_cos_sin(np.arange(N), D)
    right = decode(lambda q, k, start, length: tuple(rope_forward(x, *_rows(tables, start, x))[0] for x in (q, k)))
    wrong = decode(lambda q, k, start, length: tuple(rope_forward(x, *_rows(tables, 0, x))[0] for x in (q, k)))
    want = full(lambda q, k, start, length: tuple(rope_forward(x, *tables)[0] for x in (q, k)))
    np.testing.assert_allclose(right, want, rtol=1e-11)
    assert np.max(np.abs(wrong - want)) > 0.1


def _rows(tables, start, x):
    return tuple(table[start : start + x.shape[-2]] for table in tables)


def test_gradients_of_the_steps_add_up_to_that_of_the_pass():
    """Backward from the last step to the first; each hands the gradient of its cache to the one before."""
    dy, dlse = RNG.standard_normal((B, H, N, E)), RNG.standard_normal((B, H, N))
    k_cache, v_cache, start, steps = K[:, :, :0], V[:, :, :0], 0, []
    for T in CALLS:
        new = slice(start, start + T)
        out, residuals = attention_decode_forward(
            Q[:, :, new], K[:, :, new], V[:, :, new], k_cache, v_cache, None, SINK
        )
        k_cache, v_cache, start = out.k_cache, out.v_cache, start + T
        steps.append((new, residuals))
    _, residuals = attention_forward(Q, K, V, None, SINK, q_offset=0)
    want = attention_backward(Attention(dy, dlse), residuals)
    dk_cache = dv_cache = None
    dsink, found = 0, []
    for new, residuals in steps[::-1]:
        cotangent = Decoded(dy[:, :, new], dlse[:, :, new], dk_cache, dv_cache)
        dq, dk, dv, dk_cache, dv_cache, _, dsink_of_step = attention_decode_backward(cotangent, residuals)
        dsink = dsink + dsink_of_step
        found.append((dq, dk, dv))
    for i in range(3):
        joined = np.concatenate([step[i] for step in found[::-1]], axis=2)
        np.testing.assert_allclose(joined, want[i], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(dsink, want[4], rtol=1e-11)


def test_no_cotangent_of_attention():
    _, residuals = attention_decode_forward(Q, K, V, K, V)
    cotangent = Decoded(None, None, np.tile(K, (1, 1, 2, 1)), None)
    dq, dk, dv, dk_cache, dv_cache, _, _ = attention_decode_backward(cotangent, residuals)
    np.testing.assert_array_equal(dk, K)
    np.testing.assert_array_equal(dk_cache, K)
    assert all(np.all(d == 0) for d in (dq, dv, dv_cache))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Q, K, V, K[:1], V), r"k_cache: got shape \(1, 2, 7, 6\); allowed: shape \(2, 2, P, 6\) to fit q, k"),
        ((Q, K, V, K, V[..., 1:]), r"v_cache: got shape \(2, 2, 7, 4\)"),
        ((Q[:, :, 1:], K, V, K, V), r"k: got shape \(2, 2, 7, 6\); allowed: shape \(2, G, 6, 6\) to fit q"),
        (
            (Q, K, V, K, V[:, :, 1:]),
            r"v_cache: got shape \(2, 2, 6, 5\); allowed: shape \(2, 2, 7, 5\) to fit q, k, k_cache, v",
        ),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(ValueError, match=message):
        attention_decode_forward(*arguments)
