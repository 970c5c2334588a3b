import numpy as np
import pytest

from refimpl import sinusoidal_2d_backward, sinusoidal_2d_forward, sinusoidal_forward

GRID = np.stack(np.meshgrid(np.arange(3), np.arange(5), indexing="ij"), axis=-1)


def test_each_half_is_the_encoding_of_one_coordinate():
    y, _ = sinusoidal_2d_forward(GRID, 8)
    rows, columns = sinusoidal_forward(np.arange(3), 4)[0], sinusoidal_forward(np.arange(5), 4)[0]
    np.testing.assert_array_equal(y[..., :4], np.broadcast_to(rows[:, None], (3, 5, 4)))
    np.testing.assert_array_equal(y[..., 4:], np.broadcast_to(columns, (3, 5, 4)))
    swapped, _ = sinusoidal_2d_forward(GRID, 8, columns_first=True)
    np.testing.assert_array_equal(swapped, np.concatenate([y[..., 4:], y[..., :4]], axis=-1))


def test_inner_products_depend_on_the_two_distances():
    y, _ = sinusoidal_2d_forward(GRID, 12)
    gram = np.einsum("abc,dec->abde", y, y)
    assert gram[0, 1, 2, 4] == pytest.approx(gram[0, 0, 2, 3]) == pytest.approx(gram[2, 0, 0, 3])
    assert gram[0, 0, 0, 0] == pytest.approx(6)


def test_an_odd_half_ends_on_zeros():
    y, _ = sinusoidal_2d_forward(GRID, 10)
    assert not y[..., [4, 9]].any()


def test_gradient_of_a_coordinate_comes_from_its_half():
    p, dy = np.array([[0.5, 2.0], [3.25, -1.0]]), np.random.default_rng(8).standard_normal((2, 8))
    for columns_first in (False, True):
        _, residuals = sinusoidal_2d_forward(p, 8, columns_first=columns_first)
        gradient, h = sinusoidal_2d_backward(dy, residuals), 1e-6
        for axis in (0, 1):
            step = h * np.eye(2)[axis]
            after, before = (sinusoidal_2d_forward(p + s, 8, columns_first=columns_first)[0] for s in (step, -step))
            np.testing.assert_allclose(gradient[:, axis], np.sum(dy * (after - before), -1) / (2 * h), rtol=1e-8)


def test_integer_positions_have_no_gradient():
    y, residuals = sinusoidal_2d_forward(GRID, 8)
    assert sinusoidal_2d_backward(y, residuals) is None


@pytest.mark.parametrize(
    ("positions", "C", "message"),
    [
        (GRID, 6 - 1, "C: got 5; allowed: an even integer >= 4"),
        (GRID, 2, "C: got 2; allowed: an even integer >= 4"),
        (np.zeros((3, 3)), 8, r"positions: got shape \(3, 3\); allowed: shape \(\*P, 2\)"),
    ],
)
def test_bad_input(positions, C, message):
    with pytest.raises(ValueError, match=message):
        sinusoidal_2d_forward(positions, C)
