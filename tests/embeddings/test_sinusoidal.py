import math

import numpy as np
import pytest

from refimpl import sinusoidal_backward, sinusoidal_forward


def test_channels_alternate_sine_and_cosine():
    y, _ = sinusoidal_forward(np.array([0, 3]), 6)
    np.testing.assert_array_equal(y[0], [0, 1, 0, 1, 0, 1])
    expected = [f(3 * 10000 ** (-2 * k / 6)) for k in range(3) for f in (math.sin, math.cos)]
    np.testing.assert_allclose(y[1], expected, rtol=1e-15)


def test_low_channels_are_the_fast_ones():
    """Channel 0 turns once in 2 pi positions; at d = 512 the last pair needs 60,611, not 62,832."""
    y, _ = sinusoidal_forward(np.array([math.pi / 2]), 512)
    assert y[0, 0] == pytest.approx(1)
    slow, _ = sinusoidal_forward(np.array([60_611.0, 62_832.0]), 512)
    assert abs(slow[0, 510]) < 1e-4
    assert abs(slow[1, 510]) > 0.1


def test_odd_width_ends_on_a_sine():
    even, _ = sinusoidal_forward(np.arange(5), 8, base=100.0)
    odd, _ = sinusoidal_forward(np.arange(5), 7, base=100.0 ** (7 / 8))
    np.testing.assert_allclose(odd, even[:, :7], rtol=1e-14, atol=1e-15)


def test_a_shift_is_a_linear_map():
    """The same rotation of each pair leads from p to p + 5, wherever p is."""
    start, _ = sinusoidal_forward(np.arange(-3, 9), 6)
    shifted, _ = sinusoidal_forward(np.arange(2, 14), 6)
    w = 10000.0 ** (-2 * np.arange(3) / 6)
    sin, cos = start[:, 0::2], start[:, 1::2]
    np.testing.assert_allclose(shifted[:, 0::2], sin * np.cos(5 * w) + cos * np.sin(5 * w), atol=1e-15)
    np.testing.assert_allclose(shifted[:, 1::2], cos * np.cos(5 * w) - sin * np.sin(5 * w), atol=1e-15)


def test_norm_and_inner_products_depend_on_distance_alone():
    y, _ = sinusoidal_forward(np.arange(20), 10)
    gram = y @ y.T
    np.testing.assert_allclose(np.diag(gram), 5)
    for k in range(1, 20):
        np.testing.assert_allclose(np.diag(gram, k), gram[0, k])


def test_gradient_of_real_positions_is_the_slope():
    p = np.array([[0.5, -2.25], [7.0, 300.125]])
    dy = np.random.default_rng(3).standard_normal((2, 2, 7))
    _, residuals = sinusoidal_forward(p, 7)
    h = 1e-6
    slope = (sinusoidal_forward(p + h, 7)[0] - sinusoidal_forward(p - h, 7)[0]) / (2 * h)
    np.testing.assert_allclose(sinusoidal_backward(dy, residuals), (dy * slope).sum(-1), rtol=1e-8)


def test_integer_positions_have_no_gradient():
    y, residuals = sinusoidal_forward(np.arange(3), 4)
    assert sinusoidal_backward(np.ones_like(y), residuals) is None


def test_dtype_of_the_table():
    assert sinusoidal_forward(np.arange(3), 4)[0].dtype == np.float64
    assert sinusoidal_forward(np.arange(3), 4, dtype=np.float32)[0].dtype == np.float32
    assert sinusoidal_forward(np.arange(3, dtype=np.float32), 4)[0].dtype == np.float32


@pytest.mark.parametrize(("options", "message"), [({"C": 0}, "C: got 0"), ({"C": 4, "base": 0.0}, "base: got 0.0")])
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        sinusoidal_forward(np.arange(3), **options)


def test_layouts_are_permutations_of_columns():
    p = np.arange(5)
    y, halves, flipped = (sinusoidal_forward(p, 7, layout=name)[0] for name in ("interleaved", "sin_cos", "cos_sin"))
    np.testing.assert_array_equal(halves, y[:, [0, 2, 4, 6, 1, 3, 5]])
    even, _ = sinusoidal_forward(p, 8, layout="sin_cos", base=100.0)
    odd, _ = sinusoidal_forward(p, 7, layout="cos_sin", base=100.0 ** (7 / 8))
    np.testing.assert_allclose(odd, np.roll(even, 4, axis=-1)[:, :7], rtol=1e-14, atol=1e-15)
    assert flipped.shape == y.shape


def test_tensor2tensor_form():
    """get_timing_signal_1d: exp(-k ln(1e4) / max(h - 1, 1)), sines then cosines, a zero column where odd."""
    for C in (2, 3, 4, 7, 10, 64):
        h = C // 2
        w = np.exp(-np.arange(h) * np.log(1e4) / max(h - 1, 1))
        angles = np.arange(40)[:, None] * w
        want = np.concatenate([np.sin(angles), np.cos(angles), np.zeros((40, C % 2))], axis=1)
        y, _ = sinusoidal_forward(np.arange(40), C, layout="sin_cos", frequency_shift=1, pad_odd=True)
        np.testing.assert_allclose(y, want, atol=1e-13)


def test_slowest_wave_is_two_pi_times_base_only_with_the_shift():
    p = np.array([2 * math.pi * 10000])
    shifted, plain = (sinusoidal_forward(p, 512, frequency_shift=shift)[0] for shift in (1, 0))
    assert abs(shifted[0, 510]) < 1e-9
    assert abs(plain[0, 510]) > 0.1


@pytest.mark.parametrize("layout", ["interleaved", "sin_cos", "cos_sin"])
@pytest.mark.parametrize("pad_odd", [False, True])
def test_gradient_in_every_layout(layout, pad_odd):
    p, dy, h = np.array([0.5, -2.25, 7.0]), np.random.default_rng(5).standard_normal((3, 7)), 1e-6
    options = {"layout": layout, "pad_odd": pad_odd, "frequency_shift": 1}
    _, residuals = sinusoidal_forward(p, 7, **options)
    slope = (sinusoidal_forward(p + h, 7, **options)[0] - sinusoidal_forward(p - h, 7, **options)[0]) / (2 * h)
    np.testing.assert_allclose(sinusoidal_backward(dy, residuals), (dy * slope).sum(-1), rtol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": 4, "layout": "halves"}, "layout: got 'halves'; allowed: 'interleaved', 'sin_cos', 'cos_sin'"),
        ({"C": 4, "frequency_shift": 2}, "frequency_shift: got 2; allowed: 0, 1"),
        ({"C": 1, "pad_odd": True}, "C: got 1; allowed: an integer >= 2"),
    ],
)
def test_bad_layouts(options, message):
    with pytest.raises(ValueError, match=message):
        sinusoidal_forward(np.arange(3), **options)
