import numpy as np
import pytest

from refimpl import sinusoidal_forward, timestep_embedding_backward, timestep_embedding_forward


def test_last_frequency_is_one_over_base():
    y, _ = timestep_embedding_forward(np.array([5000.0]), 8)
    np.testing.assert_allclose(y[0, [3, 7]], [np.sin(0.5), np.cos(0.5)], rtol=1e-15)
    shifted, _ = timestep_embedding_forward(np.array([5000.0]), 8, frequency_shift=0)
    np.testing.assert_allclose(shifted[0, 3], np.sin(5000 * 10000**-0.75), rtol=1e-15)


def test_halves_are_exchanged():
    t = np.array([0.25, 31.5])
    y, flipped = (timestep_embedding_forward(t, 6, layout=layout)[0] for layout in ("sin_cos", "cos_sin"))
    np.testing.assert_array_equal(flipped, np.roll(y, 3, axis=-1))


def test_scale_multiplies_the_moment():
    t = np.array([0.125, 0.5])
    scaled, _ = timestep_embedding_forward(t, 6, scale=1000.0)
    np.testing.assert_array_equal(scaled, timestep_embedding_forward(1000 * t, 6)[0])


def test_integers_are_those_of_the_sinusoid():
    t = np.array([0, 1, 999])
    options = {"layout": "sin_cos", "frequency_shift": 1, "pad_odd": True}
    y, residuals = timestep_embedding_forward(t, 7)
    np.testing.assert_array_equal(y, sinusoidal_forward(t, 7, **options)[0])
    assert timestep_embedding_backward(y, residuals) is None
    assert timestep_embedding_forward(t, 4, dtype=np.float32)[0].dtype == np.float32


def test_gradient_is_the_slope():
    t, dy, h = np.array([0.5, 0.75]), np.random.default_rng(9).standard_normal((2, 7)), 1e-7
    _, residuals = timestep_embedding_forward(t, 7, scale=10.0)
    after, before = (timestep_embedding_forward(t + s, 7, scale=10.0)[0] for s in (h, -h))
    slope = np.sum(dy * (after - before), -1) / (2 * h)
    np.testing.assert_allclose(timestep_embedding_backward(dy, residuals), slope, rtol=1e-7)


def test_bad_options():
    with pytest.raises(ValueError, match=r"frequency_shift: got 2; allowed: 0, 1"):
        timestep_embedding_forward(np.array([1.0]), 4, frequency_shift=2)
    with pytest.raises(ValueError, match="C: got 1; allowed: an integer >= 2"):
        timestep_embedding_forward(np.array([1.0]), 1)
