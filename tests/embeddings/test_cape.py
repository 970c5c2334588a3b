import numpy as np
import pytest

from refimpl import cape_backward, cape_forward, sinusoidal_forward

RNG = np.random.default_rng(10)
P, GLOBAL, LOCAL, LOG = (RNG.standard_normal(shape) for shape in ((2, 5), (2,), (2, 5), (2,)))


def test_moves_then_stretches():
    y, residuals = cape_forward(P, GLOBAL, LOCAL, LOG, C=6)
    moved = (P + GLOBAL[:, None] + LOCAL) * np.exp(LOG)[:, None]
    np.testing.assert_allclose(residuals.augmented, moved, rtol=1e-15)
    np.testing.assert_allclose(y, sinusoidal_forward(moved, 6)[0], atol=1e-15)


def test_at_inference_it_is_the_sinusoid():
    y, residuals = cape_forward(np.arange(7), C=6)
    np.testing.assert_array_equal(y, sinusoidal_forward(np.arange(7), 6)[0])
    assert cape_backward(y, residuals) == (None, None, None, None)


def test_a_global_shift_leaves_inner_products():
    """Distances stay, so that only they can be learned; a stretch changes them."""
    plain, shifted, stretched = (cape_forward(P, *moves, C=8)[0] for moves in ((), (GLOBAL,), (None, None, LOG)))
    np.testing.assert_allclose(plain @ plain.mT, shifted @ shifted.mT, atol=1e-14)
    assert np.max(np.abs(plain @ plain.mT - stretched @ stretched.mT)) > 0.1


def test_gradients_are_the_slopes():
    inputs, dy, h = [P, GLOBAL, LOCAL, LOG], RNG.standard_normal((2, 5, 7)), 1e-6
    gradients = cape_backward(dy, cape_forward(*inputs, C=7)[1])
    for i, (x, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        u = RNG.standard_normal(x.shape)
        moved = [[*inputs[:i], x + s * u, *inputs[i + 1 :]] for s in (h, -h)]
        after, before = (cape_forward(*given, C=7)[0] for given in moved)
        assert np.sum(gradient * u) == pytest.approx(np.sum(dy * (after - before)) / (2 * h), rel=1e-7)


def test_absent_moves_have_no_gradient():
    y, residuals = cape_forward(P, LOCAL[:, 0], C=4)
    gradients = cape_backward(np.ones_like(y), residuals)
    assert [gradient is None for gradient in gradients] == [False, False, True, True]


def test_integer_positions_have_no_gradient_but_moves_do():
    y, residuals = cape_forward(np.arange(10).reshape(2, 5), log_scale=LOG, C=4)
    gradients = cape_backward(np.ones_like(y), residuals)
    assert [gradient is None for gradient in gradients] == [True, True, True, False]


def test_bad_options():
    with pytest.raises(ValueError, match=r"base: got 0.0; allowed: a finite number > 0"):
        cape_forward(P, C=4, base=0.0)
