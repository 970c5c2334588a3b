import numpy as np
import pytest

from refimpl.bias.gates import log_sigmoid, relu, relu_slope, sigmoid

X = np.array([-1000.0, -40.0, -1.5, 0.0, 0.25, 40.0, 1000.0])


def test_nothing_overflows():
    with np.errstate(all="raise", under="ignore"):
        assert np.all(np.isfinite(log_sigmoid(X)))
        np.testing.assert_array_equal(sigmoid(X)[[0, -1]], [0, 1])
    np.testing.assert_allclose(log_sigmoid(X)[[0, -1]], [-1000, 0], atol=1e-300)


def test_slope_of_the_logarithm_is_the_other_side():
    step = 1e-6
    middle = X[1:-1]
    slope = (log_sigmoid(middle + step) - log_sigmoid(middle - step)) / (2 * step)
    np.testing.assert_allclose(slope, sigmoid(-middle), atol=1e-8)
    np.testing.assert_allclose(sigmoid(X) + sigmoid(-X), 1)


def test_as_pytorch():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.tensor(X, requires_grad=True)
    np.testing.assert_allclose(sigmoid(X), torch.sigmoid(x).detach(), rtol=1e-14)
    np.testing.assert_allclose(log_sigmoid(X), torch.nn.functional.logsigmoid(x).detach(), rtol=1e-14)
    y = torch.relu(x)
    np.testing.assert_array_equal(relu(X), y.detach())
    np.testing.assert_array_equal(relu_slope(X), torch.autograd.grad(y.sum(), x)[0])
