import numpy as np
import pytest

from refimpl import sandwich, sinusoidal_forward

OPTIONS = {"H": 5, "C": 6, "xp": np, "dtype": np.float64}


def test_inner_product_of_sinusoids():
    """Positions times base^(−2/C) move the frequencies from n = 0 on to n = 1 on."""
    y = sandwich(**OPTIONS, T=7, S=7)
    encoding, _ = sinusoidal_forward(np.arange(7) * 10000 ** (-2 / 6), 6)
    product = encoding @ encoding.T - 3
    np.testing.assert_allclose(y[4] * 8, product, atol=1e-12)  # the last head divides by 8
    np.testing.assert_allclose(y[0] * 8 / 5, product, atol=1e-12)


def test_symmetric_and_zero_at_home():
    y = sandwich(**OPTIONS, T=7, S=7)
    np.testing.assert_array_equal(y, np.swapaxes(y, 1, 2))
    assert np.all(np.diagonal(y, axis1=1, axis2=2) == 0)
    assert np.all(y <= 0)


def test_bias_depends_on_the_distance_alone():
    near, far = sandwich(**OPTIONS, T=3, S=5), sandwich(**OPTIONS, T=3, S=15, q_offset=10)
    np.testing.assert_array_equal(near, far[:, :, 10:])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": 5}, "C: got 5; allowed: an even integer"),
        ({"H": 0}, "H: got 0"),
        ({"base": 0.0}, "base: got 0.0"),
        ({"T": -1}, "T: got -1"),
        ({"S": 0}, "S: got 0"),
    ],
)
def test_bad_input(changes, message):
    with pytest.raises(ValueError, match=message):
        sandwich(**(OPTIONS | {"T": 2, "S": 3} | changes))
