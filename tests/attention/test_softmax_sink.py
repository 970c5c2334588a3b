import numpy as np
import pytest

from refimpl import (
    Attention,
    attention_backward,
    attention_forward,
    softcap_backward,
    softcap_forward,
    softmax_forward,
    softmax_sink_backward,
    softmax_sink_forward,
)

RNG = np.random.default_rng(12)
X, DY = RNG.standard_normal((2, 2, 3, 5, 7))  # (B, H, T, S) each
SINK = RNG.standard_normal((3, 1))
MASK = RNG.random((2, 1, 5, 7)) > 0.3


def test_it_is_a_softmax_with_one_column_more():
    y, _ = softmax_sink_forward(X, SINK, mask=MASK)
    column = np.broadcast_to(SINK[..., None], (2, 3, 5, 1))
    wider, _ = softmax_forward(np.concatenate([X, column], -1), mask=np.concatenate([MASK, MASK[..., :1] | True], -1))
    np.testing.assert_allclose(y, wider[..., :-1], rtol=1e-14)
    np.testing.assert_allclose(1 - y.sum(-1), wider[..., -1], rtol=1e-12)


def test_off_by_one():
    """Scores 1 and 2: e/(1 + e + e²) and e²/(1 + e + e²)."""
    y, _ = softmax_sink_forward(np.array([[1.0, 2.0]]), np.zeros(1))
    np.testing.assert_allclose(y, np.exp([[1, 2]]) / (1 + np.exp(1) + np.exp(2)), rtol=1e-14)
    y, _ = softmax_sink_forward(np.array([[1.0, 2.0]]), np.full(1, 3.0))
    np.testing.assert_allclose(y, [[0.09003057, 0.24472847]], rtol=1e-7)


def test_a_very_low_sink_is_none():
    y, residuals = softmax_sink_forward(X, np.full((3, 1), -1e4))
    np.testing.assert_allclose(y, softmax_forward(X)[0], rtol=1e-14)
    assert np.all(softmax_sink_backward(DY, residuals)[1] == 0)


def test_a_very_high_sink_takes_all_without_overflow():
    assert np.all(softmax_sink_forward(X, np.full((3, 1), 1e4))[0] == 0)


def test_an_empty_row_goes_into_the_sink():
    mask = np.broadcast_to(MASK, X.shape).copy()
    mask[1, 2, 3] = False
    y, residuals = softmax_sink_forward(X, SINK, mask=mask)
    dx, dsink = softmax_sink_backward(DY, residuals)
    assert np.all(y[1, 2, 3] == 0)
    assert np.all(dx[1, 2, 3] == 0)
    assert np.all(np.isfinite(dsink))
    assert residuals.sink_weights[1, 2, 3] == 1


def test_a_constant_for_scores_and_sink_changes_nothing():
    y, residuals = softmax_sink_forward(X, SINK)
    np.testing.assert_allclose(softmax_sink_forward(X + 300, SINK + 300)[0], y, rtol=1e-12)
    dx, dsink = softmax_sink_backward(DY, residuals)
    np.testing.assert_allclose(dx.sum((0, 2, 3)) + dsink[:, 0], 0, atol=1e-13)


def test_the_sigmoid_form():
    """gpt-oss kernels: attention without sink, times sigmoid(lse - sink)."""
    q, k, v = (RNG.standard_normal((2, 3, n, 4)) for n in (5, 7, 7))
    with_sink, _ = attention_forward(q, k, v, None, SINK[:, 0])
    plain, _ = attention_forward(q, k, v)
    gate = 1 / (1 + np.exp(SINK - plain.lse))
    np.testing.assert_allclose(with_sink.y, plain.y * gate[..., None], rtol=1e-12)
    np.testing.assert_allclose(with_sink.lse, np.logaddexp(plain.lse, SINK), rtol=1e-13)


def test_a_sink_is_a_key_with_value_zero():
    q, k, v = (RNG.standard_normal((2, 3, n, 4)) for n in (5, 7, 7))
    sink, dy = SINK[:, 0], Attention(RNG.standard_normal((2, 3, 5, 4)), RNG.standard_normal((2, 3, 5)))
    out, residuals = attention_forward(q, k, v, None, sink)
    zeros = np.zeros((2, 3, 1, 4))
    bias = np.concatenate([np.zeros((3, 5, 7)), np.broadcast_to(sink[:, None, None], (3, 5, 1))], -1)
    keyed, keyed_residuals = attention_forward(q, np.concatenate([k, zeros], 2), np.concatenate([v, zeros], 2), bias)
    np.testing.assert_allclose(out.y, keyed.y, rtol=1e-12)
    np.testing.assert_allclose(out.lse, keyed.lse, rtol=1e-13)
    dq, dk, dv, _, dsink = attention_backward(dy, residuals)
    other_dq, other_dk, other_dv, dbias, _ = attention_backward(dy, keyed_residuals)
    np.testing.assert_allclose(dq, other_dq, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dk, other_dk[:, :, :-1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dv, other_dv[:, :, :-1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(dsink, dbias[..., -1].sum(-1), rtol=1e-11)


def test_a_masked_row_with_sink_has_the_sink_for_lse():
    q, k = RNG.standard_normal((3, 2, 4)), RNG.standard_normal((3, 5, 4))
    out, residuals = attention_forward(q, k, k, None, SINK[:, 0], mask=np.zeros((1, 5), bool))
    assert np.all(out.y == 0)
    np.testing.assert_allclose(out.lse, np.broadcast_to(SINK, (3, 2)), rtol=1e-15)
    *others, dsink = attention_backward(Attention(np.ones_like(out.y), np.ones_like(out.lse)), residuals)
    assert all(d is None or np.all(d == 0) for d in others)
    np.testing.assert_allclose(dsink, 2.0)  # lse is the sink, twice a head


def test_softcap_is_bounded_odd_and_the_identity_near_zero():
    x = np.array([-1e6, -50.0, -1e-3, 0.0, 1e-3, 50.0, 1e6])
    y, residuals = softcap_forward(x, cap=2.0)
    np.testing.assert_array_equal(y, -y[::-1])
    assert np.all(np.abs(y) <= 2)
    np.testing.assert_allclose(y[2:5], x[2:5], rtol=1e-6)
    assert np.all(np.diff(y)[1:-1] > 0)
    np.testing.assert_allclose(softcap_backward(np.ones(7), residuals)[[0, 3, 6]], [0, 1, 0])


def test_a_huge_cap_is_none():
    q, k = RNG.standard_normal((2, 3, 5, 4)), RNG.standard_normal((2, 3, 7, 4))
    np.testing.assert_allclose(
        attention_forward(q, k, k, softcap=1e9)[0].y, attention_forward(q, k, k)[0].y, rtol=1e-12
    )


def test_softcap_does_not_unmask():
    """Cap 1, scores 0 and 2, the second masked: all weight on the first, where capping -inf would leave 0.27."""
    q, k, v = np.ones((1, 1, 1)), np.array([[[0.0], [2.0]]]), np.array([[[1.0], [0.0]]])
    out, _ = attention_forward(q, k, v, mask=np.array([True, False]), scale=1.0, softcap=1.0)
    np.testing.assert_array_equal(out.y, [[[1.0]]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: softmax_sink_forward(X, np.ones((2, 1))), r"sink: got shape \(2, 1\); allowed: .*\(2, 3, 5\)"),
        (lambda: softmax_sink_forward(X, SINK, mask=np.ones(7)), "mask: got dtype float64; allowed: bool"),
        (lambda: softcap_forward(X, cap=0.0), r"cap: got 0\.0; allowed: a finite number > 0"),
        (
            lambda: attention_forward(X, X, X, None, np.ones(2)),
            r"sink: got shape \(2,\); allowed: shape \(3,\) to fit q",
        ),
        (lambda: attention_forward(X, X, X, softcap=-1.0), "cap: got -1.0"),
        (lambda: attention_forward(X, X, X, p=0.5), "p: got 0.5; allowed: 0 without keep"),
        (
            lambda: attention_forward(X, X, X, keep=np.ones((5, 5), bool), p=1.0),
            r"p: got 1\.0; allowed: a finite number >= 0 and < 1",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
