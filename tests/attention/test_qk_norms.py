import numpy as np
import pytest

from refimpl import (
    attention_forward,
    l2_qk_norm_backward,
    l2_qk_norm_forward,
    rms_qk_norm_backward,
    rms_qk_norm_forward,
    rope_cos_sin,
    rope_forward,
)

RNG = np.random.default_rng(13)
X, DY = RNG.standard_normal((2, 2, 3, 5, 4))  # (B, H, T, D) each
WEIGHT = RNG.standard_normal((3, 4))


def test_every_vector_gets_root_mean_square_one():
    y, _ = rms_qk_norm_forward(X, eps=0.0)
    np.testing.assert_allclose((y**2).mean(-1), 1, rtol=1e-13)
    together, _ = rms_qk_norm_forward(X, eps=0.0, over_heads=True)
    np.testing.assert_allclose((together**2).mean((-3, -1)), 1, rtol=1e-13)


def test_length_does_not_count():
    """So the gradient is orthogonal to x: a head cannot raise its scores by growing."""
    for norm, backward in ((rms_qk_norm_forward, rms_qk_norm_backward), (l2_qk_norm_forward, l2_qk_norm_backward)):
        eps = {"eps": 0.0} if norm is rms_qk_norm_forward else {}
        y, residuals = norm(X, **eps)
        np.testing.assert_allclose(norm(8 * X, **eps)[0], y, rtol=1e-13)
        np.testing.assert_allclose((backward(DY, residuals)[0] * X).sum(-1), 0, atol=1e-13)


def test_a_weight_per_head_and_a_unit_offset():
    y, residuals = rms_qk_norm_forward(X, WEIGHT)
    plain, _ = rms_qk_norm_forward(X)
    np.testing.assert_allclose(y, plain * WEIGHT[:, None], rtol=1e-14)
    offset, offset_residuals = rms_qk_norm_forward(X, WEIGHT - 1, unit_offset=True)
    np.testing.assert_allclose(offset, y, rtol=1e-13)
    for a, b in zip(rms_qk_norm_backward(DY, residuals), rms_qk_norm_backward(DY, offset_residuals), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_over_heads_is_a_norm_before_the_cut():
    """OLMo 2 norms the projection (B, T, H·D) and cuts heads afterwards."""
    rows = np.moveaxis(X, -3, -2).reshape(2, 5, 12)
    normed = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-6) * WEIGHT.reshape(-1)
    y, _ = rms_qk_norm_forward(X, WEIGHT, over_heads=True)
    np.testing.assert_allclose(y, np.moveaxis(normed.reshape(2, 5, 3, 4), -2, -3), rtol=1e-13)


def test_with_one_head_both_means_are_the_same():
    np.testing.assert_array_equal(rms_qk_norm_forward(X[:, :1], over_heads=True)[0], rms_qk_norm_forward(X[:, :1])[0])


def test_the_norm_commutes_with_rope_and_its_weight_does_not():
    cos, sin = rope_cos_sin(np.arange(5), 4)
    turn = lambda x: rope_forward(x, cos, sin)[0]  # noqa: E731
    norm = lambda x, weight=None: rms_qk_norm_forward(x, weight)[0]  # noqa: E731
    np.testing.assert_allclose(norm(turn(X)), turn(norm(X)), rtol=1e-12)
    assert np.max(np.abs(norm(turn(X), WEIGHT) - turn(norm(X, WEIGHT)))) > 0.1


def test_scores_are_cosines():
    q, k = RNG.standard_normal((2, 3, 5, 4)), RNG.standard_normal((2, 3, 7, 4))
    unit_q, unit_k = l2_qk_norm_forward(q, np.zeros(3))[0], l2_qk_norm_forward(k)[0]
    cosines = unit_q @ np.swapaxes(unit_k, -1, -2)
    assert np.all(np.abs(cosines) <= 1 + 1e-14)
    out, _ = attention_forward(unit_q, unit_k, k, scale=1.0)
    np.testing.assert_allclose(out.lse, np.log(np.exp(cosines).sum(-1)), rtol=1e-12)


def test_the_bound_of_swin_v2():
    """ln 100, in whose neighbourhood the gradient passes below and at the bound, and stops above it."""
    most = 4.605170185988092
    scale = np.array([4.5, most, 4.7])
    y, residuals = l2_qk_norm_forward(X, scale, max_logit_scale=most)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1)[0, :, 0], [np.exp(4.5), 100, 100], rtol=1e-12)
    dscale = l2_qk_norm_backward(DY, residuals)[1]
    np.testing.assert_allclose(dscale[:2], (DY * y).sum((0, 2, 3))[:2], rtol=1e-12)
    assert dscale[2] == 0


def test_a_zero_vector():
    x = np.zeros((1, 2, 3))
    y, residuals = l2_qk_norm_forward(x, eps=0.5)
    assert np.all(y == 0)
    np.testing.assert_array_equal(l2_qk_norm_backward(np.ones_like(x), residuals)[0], np.full_like(x, 2.0))
    y, residuals = rms_qk_norm_forward(x, eps=0.25)
    assert np.all(y == 0)
    np.testing.assert_array_equal(rms_qk_norm_backward(np.ones_like(x), residuals)[0], np.full_like(x, 2.0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rms_qk_norm_forward(X, np.ones(5)), r"weight: got shape \(5,\); allowed: \(4,\) or \(3, 4\)"),
        (lambda: rms_qk_norm_forward(X, np.ones((4, 3))), r"weight: got shape \(4, 3\)"),
        (lambda: rms_qk_norm_forward(X, eps=-1.0), r"eps: got -1\.0; allowed: a finite number >= 0"),
        (lambda: rms_qk_norm_forward(X, unit_offset=True), "unit_offset: got True; allowed: False without a weight"),
        (lambda: l2_qk_norm_forward(X, np.ones(4)), r"logit_scale: got shape \(4,\); allowed: shape \(3,\) to fit x"),
        (lambda: l2_qk_norm_forward(X, eps=0.0), r"eps: got 0\.0; allowed: a finite number > 0"),
        (lambda: l2_qk_norm_forward(X, max_logit_scale=1.0), "max_logit_scale: got 1.0; allowed: None without"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
