import numpy as np
import pytest

from refimpl import exact, interpolate_positions_backward, interpolate_positions_forward
from refimpl.embeddings.resize import antialiased_weights, clamped_weights, keys_kernel

RNG = np.random.default_rng(7)
SIZES = [(3, 5, 7, 11), (7, 11, 3, 5), (4, 3, 4, 9), (1, 6, 5, 2), (14, 14, 16, 37), (5, 2, 1, 1)]


def resize(weight, sizes, **options):
    names = ("height", "width", "new_height", "new_width")
    return interpolate_positions_forward(weight, **dict(zip(names, sizes, strict=True)), **options)


@pytest.mark.parametrize("weights", [clamped_weights, antialiased_weights])
def test_weights_sum_to_one_exactly(weights):
    xp = exact.Exact(128)
    for n in (1, 2, 3, 7, 16):
        for m in (1, 2, 5, 14, 37):
            sums = xp.sum(weights(n, m, like=xp.ones((1, 1))), axis=1)
            assert bool(xp.all(xp.abs(sums - 1) < xp.constant(2.0**-110)))


@pytest.mark.parametrize("weights", [clamped_weights, antialiased_weights])
def test_same_size_is_the_identity(weights):
    np.testing.assert_array_equal(weights(5, 5, like=np.ones((1, 1))), np.eye(5))


def test_kernel_is_one_at_zero_and_zero_at_whole_distances():
    d = np.array([[0.0, 1.0, -1.0, 2.0]])
    for quarters in (-3, -2):
        np.testing.assert_array_equal(keys_kernel(d, np.abs(d) <= 1, quarters), [[1, 0, 0, 0]])


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
def test_pytorch_bicubic(sizes, antialias):
    torch = pytest.importorskip("torch")
    height, width, new_height, new_width = sizes
    weight, dy = RNG.standard_normal((2 + height * width, 3)), RNG.standard_normal((2 + new_height * new_width, 3))
    y, residuals = resize(weight, sizes, prefix=2, antialias=antialias)
    table = torch.tensor(weight, requires_grad=True)
    grid = table[2:].reshape(1, height, width, 3).permute(0, 3, 1, 2)
    resized = torch.nn.functional.interpolate(
        grid, size=(new_height, new_width), mode="bicubic", align_corners=False, antialias=antialias
    )
    theirs = torch.cat([table[:2], resized.permute(0, 2, 3, 1).reshape(-1, 3)])
    np.testing.assert_allclose(y, theirs.detach().numpy(), atol=1e-14)
    (gradient,) = torch.autograd.grad(theirs, table, torch.tensor(dy))
    np.testing.assert_allclose(interpolate_positions_backward(dy, residuals), gradient.numpy(), atol=1e-13)


@pytest.mark.parametrize("sizes", SIZES)
def test_jax_image_resize_is_the_antialiased_form(sizes):
    jax = pytest.importorskip("jax")
    height, width, new_height, new_width = sizes
    weight = RNG.standard_normal((height * width, 2))
    theirs = jax.image.resize(weight.reshape(height, width, 2), (new_height, new_width, 2), "cubic")
    y, _ = resize(weight, sizes, antialias=True)
    np.testing.assert_allclose(y, np.asarray(theirs).reshape(-1, 2), atol=1e-6 if theirs.dtype == np.float32 else 1e-12)


def test_the_two_kernels_differ_even_where_the_grid_grows():
    weight = RNG.standard_normal((6, 2))
    one, other = (resize(weight, (2, 3, 4, 5), antialias=antialias)[0] for antialias in (False, True))
    assert np.max(np.abs(one - other)) > 0.01


def test_a_constant_table_stays_constant():
    for antialias in (False, True):
        y, _ = resize(np.full((15, 1), 3.0), (3, 5, 7, 2), antialias=antialias)
        np.testing.assert_allclose(y, 3, rtol=1e-15)


def test_backward_is_the_adjoint_and_not_a_resize_back():
    weight, dy = RNG.standard_normal((17, 2)), RNG.standard_normal((79, 2))
    y, residuals = resize(weight, (3, 5, 7, 11), prefix=2)
    dweight = interpolate_positions_backward(dy, residuals)
    assert np.sum(y * dy) == pytest.approx(np.sum(weight * dweight), rel=1e-13)
    back, _ = resize(dy, (7, 11, 3, 5), prefix=2)
    assert np.max(np.abs(back - dweight)) > 0.1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"height": 0}, "height: got 0; allowed: an integer >= 1"),
        ({"new_width": 0}, "new_width: got 0; allowed: an integer >= 1"),
        ({"prefix": -1}, "prefix: got -1; allowed: an integer >= 0"),
        ({"prefix": 1}, r"weight: got 6 rows; allowed: 7, prefix \+ height"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        interpolate_positions_forward(
            np.zeros((6, 2)), **({"height": 2, "width": 3, "new_height": 5, "new_width": 7} | options)
        )
