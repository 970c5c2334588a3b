"""Cotangents and options of the first ops: a wrong one is answered by a sentence, never by a number."""

import numpy as np
import pytest

import refimpl as r

IDS, TABLE = np.array([[1, 2, 1]]), np.ones((4, 5))
X = np.arange(12.0).reshape(3, 4)
COS, SIN = r.rope_cos_sin(np.arange(3), 4)
Q = np.arange(24.0).reshape(1, 2, 3, 4)


def backward(name: str, *arguments, dy, **options):
    """Call a backward as users do, without the shape checks that the tests switch on."""
    forward, back = (getattr(r, f"{name}_{way}") for way in ("forward", "backward"))
    _, residuals = forward(*arguments, **options)
    return lambda: getattr(back, "__wrapped__", back)(dy, residuals)


WRONG_COTANGENTS = {
    "token_embedding": (backward("token_embedding", IDS, TABLE, dy=np.ones((3, 5))), r"dy: got shape \(3, 5\)"),
    "token_broadcast": (backward("token_embedding", IDS, TABLE, dy=np.ones((1, 1, 5))), r"allowed: shape \(1, 3, C\)"),
    "learned": (backward("learned_position", np.arange(3), TABLE, dy=np.ones((2, 5))), r"allowed: shape \(3, C\)"),
    "sinusoidal": (backward("sinusoidal", np.array([0.5]), 4, dy=np.ones((2, 4))), r"allowed: shape \(1, C\)"),
    "dropout": (backward("dropout", X, keep=X > 3, p=0.5, dy=np.ones((2, 4))), r"keep: got shape \(3, 4\)"),
    "rope": (backward("rope", X, COS, SIN, dy=np.ones((1, 4))), r"allowed: shape \(3, 4\)"),
    "alibi": (backward("alibi", np.ones(2), T=2, S=3, dy=np.ones((2, 3, 2))), r"allowed: shape \(H, 2, 3\)"),
    "linear": (backward("linear", X, np.ones((4, 5)), dy=np.ones((3, 4))), r"allowed: shape \(3, 5\)"),
    "softmax": (backward("softmax", X, dy=np.ones((1, 4))), r"allowed: shape \(3, 4\)"),
    "attention": (backward("attention", Q, Q, Q, dy=r.Attention(np.ones((1, 2, 3, 5)), None)), r"dy\.y: got shape"),
    "attention_lse": (backward("attention", Q, Q, Q, dy=r.Attention(None, np.ones((3,)))), r"dy\.lse: got shape"),
    "attention_array": (backward("attention", Q, Q, Q, dy=Q), r"dy: got ndarray; allowed: Attention\(dy, dlse\)"),
    "attention_none": (backward("attention", Q, Q, Q, dy=r.Attention(None, None)), "dy: got None and None"),
}


@pytest.mark.parametrize("name", WRONG_COTANGENTS)
def test_a_wrong_cotangent_is_refused(name):
    call, message = WRONG_COTANGENTS[name]
    with pytest.raises(ValueError, match=message):
        call()


def plain(function):
    return getattr(function, "__wrapped__", function)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plain(r.attention_forward)(Q, Q, Q, q_offset=1.5), "q_offset: got 1.5; allowed: an integer"),
        (lambda: plain(r.attention_forward)(Q, Q, Q, q_offset=True), "q_offset: got True"),
        (lambda: plain(r.attention_forward)(Q, Q, Q, scale=float("nan")), "scale: got nan; allowed: a finite number"),
        (lambda: plain(r.attention_forward)(Q, Q, Q, scale="x"), "scale: got 'x'"),
        (lambda: plain(r.attention_forward)(Q, Q[..., :0, :], Q[..., :0, :]), "k: got no key; allowed: at least one"),
        (lambda: plain(r.softmax_forward)(np.ones((2, 0))), r"x: got shape \(2, 0\)"),
        (lambda: plain(r.softmax_forward)(np.array(1.0)), r"x: got shape \(\)"),
        (lambda: plain(r.alibi_forward)(np.ones(2), T=2.0, S=3), "T: got 2.0; allowed: an integer >= 1"),
        (
            lambda: plain(r.alibi_forward)(np.ones((2, 2)), T=2, S=3),
            r"slopes: got shape \(2, 2\); allowed: shape \(H\)",
        ),
        (lambda: plain(r.alibi_slopes)(2.0, xp=np, dtype=np.float64), "H: got 2.0; allowed: an integer >= 1"),
        (lambda: plain(r.sinusoidal_forward)(np.arange(3), 4, base=float("inf")), "base: got inf"),
        (lambda: plain(r.rope_forward)(np.array(1.0), COS, SIN), r"x: got shape \(\)"),
        (lambda: plain(r.dropout_forward)(X, keep=X > 3, p="a"), "p: got 'a'; allowed: a finite number"),
        (
            lambda: plain(r.token_embedding_forward)(IDS, np.ones(5)),
            r"weight: got shape \(5,\); allowed: shape \(V, C\)",
        ),
        (lambda: plain(r.linear_forward)(np.array(1.0), np.ones((4, 5))), r"x: got shape \(\)"),
    ],
)
def test_a_wrong_option_or_rank_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_no_tokens_are_fine():
    y, residuals = r.rope_forward(X[:0], COS[:0], SIN[:0])
    assert y.shape == (0, 4)
    assert r.rope_backward(y, residuals)[1].shape == (0, 2)
