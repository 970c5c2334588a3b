import numpy as np
import pytest

from refimpl import layer_norm_forward, rms_norm_backward, rms_norm_forward

RNG = np.random.default_rng(12)
X, WEIGHT, DY = (RNG.standard_normal(shape) for shape in ((2, 3, 7), (7,), (2, 3, 7)))


def test_mean_of_squares_is_one():
    y, _ = rms_norm_forward(5 + 3 * X, eps=0.0)
    np.testing.assert_allclose(np.mean(y**2, -1), 1, rtol=1e-14)


def test_is_layer_norm_of_vectors_of_mean_zero():
    x = X - X.mean(-1, keepdims=True)
    np.testing.assert_allclose(rms_norm_forward(x, WEIGHT)[0], layer_norm_forward(x, WEIGHT, eps=1e-6)[0], rtol=1e-12)
    assert np.max(np.abs(rms_norm_forward(X)[0] - layer_norm_forward(X)[0])) > 0.1


def test_unit_offset_is_a_weight_plus_one():
    one, other = rms_norm_forward(X, WEIGHT, unit_offset=True), rms_norm_forward(X, 1 + WEIGHT)
    np.testing.assert_array_equal(one[0], other[0])
    for got, want in zip(rms_norm_backward(DY, one[1]), rms_norm_backward(DY, other[1]), strict=True):
        np.testing.assert_array_equal(got, want)


def test_gradient_does_not_stretch_x():
    dx, dweight = rms_norm_backward(DY, rms_norm_forward(X, eps=0.0)[1])
    np.testing.assert_allclose(np.sum(dx * X, -1), 0, atol=1e-14)
    assert dweight is None


@pytest.mark.parametrize("eps", [1e-6, 0.5])
@pytest.mark.parametrize("gains", [(), (WEIGHT,)])
def test_pytorch(gains, eps):
    torch = pytest.importorskip("torch")
    inputs = [torch.tensor(array, requires_grad=True) for array in (X, *gains)]
    theirs = torch.nn.functional.rms_norm(inputs[0], (7,), *inputs[1:], eps=eps)
    y, residuals = rms_norm_forward(X, *gains, eps=eps)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-13)
    gradients = torch.autograd.grad(theirs, inputs, torch.tensor(DY))
    for got, want in zip(rms_norm_backward(DY, residuals), gradients, strict=False):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("gains", "options", "message"),
    [
        ((WEIGHT[:3],), {}, r"weight: got shape \(3,\); allowed: shape \(7,\) to fit x"),
        ((), {"eps": -1.0}, r"eps: got -1\.0; allowed: a finite number >= 0"),
        ((), {"unit_offset": True}, "unit_offset: got True; allowed: False without a weight"),
    ],
)
def test_bad_input(gains, options, message):
    with pytest.raises(ValueError, match=message):
        rms_norm_forward(X, *gains, **options)
