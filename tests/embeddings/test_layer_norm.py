import numpy as np
import pytest

from refimpl import layer_norm_backward, layer_norm_forward

RNG = np.random.default_rng(11)
X, WEIGHT, BIAS, DY = (RNG.standard_normal(shape) for shape in ((2, 3, 7), (7,), (7,), (2, 3, 7)))


def test_mean_zero_and_variance_one():
    y, _ = layer_norm_forward(5 + 3 * X, eps=0.0)
    np.testing.assert_allclose(y.mean(-1), 0, atol=1e-15)
    np.testing.assert_allclose(y.var(-1), 1, rtol=1e-14)


def test_shift_and_stretch_are_gone():
    y, _ = layer_norm_forward(X, WEIGHT, BIAS, eps=0.0)
    np.testing.assert_allclose(layer_norm_forward(4 * X - 7, WEIGHT, BIAS, eps=0.0)[0], y, rtol=1e-12)


def test_gradient_neither_shifts_nor_stretches_x():
    dx, _, _ = layer_norm_backward(DY, layer_norm_forward(X, WEIGHT, BIAS, eps=0.0)[1])
    np.testing.assert_allclose(dx.sum(-1), 0, atol=1e-14)
    np.testing.assert_allclose(np.sum(dx * X, -1), 0, atol=1e-14)


def test_a_constant_vector_gives_the_bias():
    y, residuals = layer_norm_forward(np.full((2, 7), 3.0), WEIGHT, BIAS)
    np.testing.assert_array_equal(y, np.broadcast_to(BIAS, (2, 7)))
    assert np.isfinite(layer_norm_backward(DY[0, :2], residuals)[0]).all()


@pytest.mark.parametrize("eps", [1e-12, 1e-5, 0.5])
@pytest.mark.parametrize("gains", [(), (WEIGHT,), (WEIGHT, BIAS)])
def test_pytorch(gains, eps):
    torch = pytest.importorskip("torch")
    inputs = [torch.tensor(array, requires_grad=True) for array in (X, *gains)]
    theirs = torch.nn.functional.layer_norm(inputs[0], (7,), *inputs[1:], eps=eps)
    y, residuals = layer_norm_forward(X, *gains, eps=eps)
    np.testing.assert_allclose(y, theirs.detach().numpy(), rtol=1e-12, atol=1e-14)
    gradients = layer_norm_backward(DY, residuals)
    assert [gradient is None for gradient in gradients[1:]] == [i >= len(gains) for i in range(2)]
    for got, want in zip(gradients, torch.autograd.grad(theirs, inputs, torch.tensor(DY)), strict=False):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(
    ("gains", "options", "message"),
    [
        ((WEIGHT[:3],), {}, r"weight: got shape \(3,\); allowed: shape \(7,\) to fit x"),
        ((WEIGHT, BIAS[:1]), {}, r"bias: got shape \(1,\); allowed: shape \(7,\) to fit x"),
        ((), {"eps": -1.0}, r"eps: got -1\.0; allowed: a finite number >= 0"),
    ],
)
def test_bad_input(gains, options, message):
    with pytest.raises(ValueError, match=message):
        layer_norm_forward(X, *gains, **options)
