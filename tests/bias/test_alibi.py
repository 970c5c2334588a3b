import numpy as np
import pytest

from refimpl import alibi_backward, alibi_forward, alibi_slopes, attention_forward, softmax_forward

RNG = np.random.default_rng(6)


@pytest.mark.parametrize(
    ("H", "published"),
    [
        (1, [2**-8]),
        (3, [2**-4, 2**-8, 2**-2]),
        (6, [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125]),
        (8, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8]),
        (12, [2**-1, 2**-2, 2**-3, 2**-4, 2**-5, 2**-6, 2**-7, 2**-8, 2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]),
    ],
)
def test_published_slopes(H, published):
    np.testing.assert_array_equal(alibi_slopes(H, xp=np, dtype=np.float64), published)


def test_max_bias_moves_the_last_slope():
    assert alibi_slopes(4, max_bias=16, xp=np, dtype=np.float64)[-1] == 2**-16


def test_bias_of_the_last_queries():
    y, _ = alibi_forward(np.array([0.5, 0.25]), T=2, S=4, q_offset=2)
    np.testing.assert_array_equal(y[0], [[-1, -0.5, 0, -0.5], [-1.5, -1, -0.5, 0]])
    np.testing.assert_array_equal(y[1], y[0] / 2)


def test_key_only_gives_the_same_weights_under_a_causal_mask():
    """And other logits: a row differs by a constant, which softmax does not see but lse does."""
    q, k, v = RNG.standard_normal((3, 3, 5, 4))
    slopes = alibi_slopes(3, xp=np, dtype=np.float64)
    full, _ = alibi_forward(slopes, T=5, S=5)
    key_only, _ = alibi_forward(slopes, T=5, S=5, key_only=True)
    a, _ = attention_forward(q, k, v, full, q_offset=0)
    b, _ = attention_forward(q, k, v, key_only, q_offset=0)
    np.testing.assert_allclose(a.y, b.y, rtol=1e-12)
    np.testing.assert_allclose(b.lse - a.lse, slopes[:, None] * np.arange(5), rtol=1e-12, atol=1e-12)
    np.testing.assert_raises(
        AssertionError, np.testing.assert_allclose, *(softmax_forward(x)[0] for x in (full, key_only))
    )


def test_far_keys_weigh_less():
    y, _ = alibi_forward(np.array([0.5]), T=5, S=5)
    weights, _ = softmax_forward(y[:, -1])
    assert np.all(np.diff(weights[0]) > 0)


@pytest.mark.parametrize("key_only", [False, True])
def test_gradient_of_slopes(key_only):
    slopes, dy = RNG.standard_normal(3), RNG.standard_normal((3, 2, 5))
    options = {"T": 2, "S": 5, "q_offset": 1, "key_only": key_only}
    _, residuals = alibi_forward(slopes, **options)
    ones, _ = alibi_forward(np.ones(3), **options)
    np.testing.assert_allclose(alibi_backward(dy, residuals), (dy * ones).sum((1, 2)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: alibi_slopes(0, xp=np, dtype=np.float64), "H: got 0; allowed: an integer >= 1"),
        (lambda: alibi_slopes(4, max_bias=0, xp=np, dtype=np.float64), "max_bias: got 0"),
        (lambda: alibi_forward(np.ones(2), T=-1, S=3), "T: got -1"),
        (lambda: alibi_forward(np.ones(2), T=3, S=0), "S: got 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
