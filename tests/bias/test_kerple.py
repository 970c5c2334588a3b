import numpy as np
import pytest

from refimpl import alibi_forward, kerple_log_forward, kerple_power_backward, kerple_power_forward
from tests.bias.autograd import agrees_with_autograd, distances, reals

A, P = np.abs(reals(3)) + 0.1, np.abs(reals(3)) + 0.1


def test_logarithm_is_a_power_law_of_the_weights():
    y, _ = kerple_log_forward(A, P, T=1, S=7, q_offset=6)
    np.testing.assert_allclose(np.exp(y[:, 0]), (1 + A[:, None] * np.arange(6, -1, -1)) ** -P[:, None])


def test_first_power_is_alibi():
    y, _ = kerple_power_forward(A, np.ones(3), T=5, S=7, q_offset=1)
    np.testing.assert_allclose(y, alibi_forward(A, T=5, S=7, q_offset=1)[0])


@pytest.mark.parametrize("forward", [kerple_log_forward, kerple_power_forward])
def test_bias_depends_on_the_distance_alone(forward):
    near, _ = forward(A, P, T=3, S=5, q_offset=1)
    far, _ = forward(A, P, T=3, S=15, q_offset=11)
    np.testing.assert_array_equal(near, far[:, :, 10:])


def test_distance_zero_has_no_gradient():
    y, residuals = kerple_power_forward(A, P, T=1, S=1)
    assert np.all(y == 0)
    for gradient in kerple_power_backward(np.ones((3, 1, 1)), residuals):
        assert np.all(gradient == 0)


def test_autograd():
    def log(torch, a, p, T, S, q_offset):
        return -p[:, None, None] * torch.log1p(a[:, None, None] * distances(torch, T, S, q_offset).abs())

    def power(torch, a, p, T, S, q_offset):
        return -a[:, None, None] * distances(torch, T, S, q_offset).abs().double() ** p[:, None, None]

    agrees_with_autograd("kerple_log", log, {"a": A, "p": P}, T=5, S=7, q_offset=1)
    agrees_with_autograd("kerple_power", power, {"a": A, "p": P}, T=5, S=7, q_offset=1)


@pytest.mark.parametrize("forward", [kerple_log_forward, kerple_power_forward])
def test_bad_input(forward):
    with pytest.raises(ValueError, match=r"p: got shape \(2,\); allowed: shape \(3,\) to fit a"):
        forward(A, P[:2], T=2, S=2)
    with pytest.raises(ValueError, match="T: got -1"):
        forward(A, P, T=-1, S=2)
