import numpy as np
import pytest

from refimpl import (
    alibi_forward,
    attention_forward,
    linear_backward,
    linear_forward,
    multi_head_attention_backward,
    multi_head_attention_forward,
    rope_cos_sin,
    rotary_embedding_forward,
)

RNG = np.random.default_rng(9)
B, T, S, C, K, H, G, D, E, F = 2, 5, 3, 11, 7, 6, 2, 4, 3, 13


def weights(source: int = C) -> dict[str, np.ndarray]:
    shapes = {"w_q": (C, H * D), "w_k": (source, G * D), "w_v": (source, G * E), "w_o": (H * E, F)}
    shapes |= {"b_q": (H * D,), "b_k": (G * D,), "b_v": (G * E,), "b_o": (F,)}
    return {name: RNG.standard_normal(shape) for name, shape in shapes.items()}


X = RNG.standard_normal((B, T, C))


def heads(x: np.ndarray, n: int) -> np.ndarray:
    return np.stack(np.split(x, n, axis=-1), axis=-3)


def test_is_made_of_its_parts_with_all_doors_open():
    w = weights()
    bias, _ = alibi_forward(np.linspace(0.1, 1, H), T=T, S=T)
    cos, sin = rope_cos_sin(np.arange(T), D)
    y, _ = multi_head_attention_forward(X, **w, cos=cos, sin=sin, bias=bias, H=H, G=G, q_offset=0)
    q, k = (
        rotary_embedding_forward(heads(X @ w[f"w_{n}"] + w[f"b_{n}"], count), positions=np.arange(T))[0]
        for n, count in (("q", H), ("k", G))
    )
    attended, _ = attention_forward(q, k, heads(X @ w["w_v"] + w["b_v"], G), bias, q_offset=0)
    joined = np.concatenate([attended.y[:, h] for h in range(H)], axis=-1)
    np.testing.assert_allclose(y, joined @ w["w_o"] + w["b_o"], rtol=1e-11, atol=1e-12)


def test_cross_attention_reads_the_context():
    w, context = weights(K), RNG.standard_normal((B, S, K))
    y, residuals = multi_head_attention_forward(X, **w, context=context, H=H, G=G)
    assert y.shape == (B, T, F)
    gradients = multi_head_attention_backward(np.ones_like(y), residuals)
    assert gradients.context.shape == context.shape
    order = [2, 0, 1]
    permuted, _ = multi_head_attention_forward(X, **w, context=context[:, order], H=H, G=G)
    np.testing.assert_allclose(permuted, y, rtol=1e-11, atol=1e-12)


def test_self_attention_is_cross_attention_with_itself():
    w, dy = weights(), RNG.standard_normal((B, T, F))
    y, residuals = multi_head_attention_forward(X, **w, H=H, G=G)
    crossed, crossed_residuals = multi_head_attention_forward(X, **w, context=X, H=H, G=G)
    np.testing.assert_array_equal(y, crossed)
    alone = multi_head_attention_backward(dy, residuals)
    apart = multi_head_attention_backward(dy, crossed_residuals)
    np.testing.assert_allclose(alone.x, apart.x + apart.context, rtol=1e-12)
    assert alone.context is None


def test_absent_inputs_get_no_gradient():
    w = {name: value for name, value in weights().items() if not name.startswith("b_")}
    y, residuals = multi_head_attention_forward(X, **w, H=H, G=G)
    gradients = multi_head_attention_backward(np.ones_like(y), residuals)
    absent = {name for name, value in gradients._asdict().items() if value is None}
    assert absent == {"b_q", "b_k", "b_v", "b_o", "context", "cos", "sin", "bias", "sink"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"H": 0}, "H: got 0"),
        ({"H": 6, "G": 4}, "G: got 4; allowed: a divisor of H = 6"),
        ({"H": 5, "G": 1}, "w_q: got width 24; allowed: a multiple of 5 heads"),
        ({"H": 6, "G": 2, "cos": np.ones((T, 2))}, "sin: got None; allowed: cos and sin together"),
        ({"H": 6, "G": 2, "cos": np.ones((T, 2)), "sin": np.ones((T, 2)), "context": X}, "cos: got a table"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        multi_head_attention_forward(X, **weights(), **options)


def test_linear_shapes():
    x, w, b = RNG.standard_normal((2, 3, 5)), RNG.standard_normal((5, 7)), RNG.standard_normal(7)
    y, residuals = linear_forward(x, w, b)
    np.testing.assert_allclose(y[1, 2], w.T @ x[1, 2] + b, rtol=1e-13)
    dy = RNG.standard_normal(y.shape)
    dx, dw, db = linear_backward(dy, residuals)
    np.testing.assert_allclose(dx[1, 2], w @ dy[1, 2], rtol=1e-13)
    np.testing.assert_allclose(dw, sum(np.outer(x[i, j], dy[i, j]) for i in range(2) for j in range(3)), rtol=1e-12)
    np.testing.assert_allclose(db, dy.sum((0, 1)), rtol=1e-13)
    assert linear_backward(dy, linear_forward(x, w)[1])[2] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((np.ones((2, 4)), np.ones((5, 7))), r"weight: got shape \(5, 7\); allowed: shape \(4, F\) to fit x"),
        (
            (np.ones((2, 5)), np.ones((5, 7)), np.ones(5)),
            r"bias: got shape \(5,\); allowed: shape \(7,\) to fit weight",
        ),
        ((np.ones((2, 5)), np.ones(5)), r"weight: got shape \(5,\)"),
    ],
)
def test_linear_bad_shapes(arguments, message):
    with pytest.raises(ValueError, match=message):
        linear_forward(*arguments)
