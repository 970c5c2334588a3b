import numpy as np
import pytest

from refimpl import relative_shift_matrix, sinusoidal_forward

OPTIONS = [
    {"C": C, "layout": layout, "frequency_shift": shift, "pad_odd": C % 2 == 1}
    for C in (2, 6, 7)
    for layout in ("interleaved", "sin_cos", "cos_sin")
    for shift in (0, 1)
]


def matrix(shift, C, **options):
    return relative_shift_matrix(np.asarray(shift), C, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_moves_every_position_alike(options):
    p, n = np.arange(-3, 11), np.array([-5, 1, 7])
    start, _ = sinusoidal_forward(p, **options)
    moved, _ = sinusoidal_forward(p[:, None] + n, **options)
    np.testing.assert_allclose(np.einsum("nij,pj->pni", matrix(n, **options), start), moved, atol=1e-14)


@pytest.mark.parametrize("options", OPTIONS)
def test_is_a_group_of_rotations(options):
    a, b, both, back = matrix([3, 5, 8, -3], **options)
    np.testing.assert_allclose(a @ b, both, atol=1e-15)
    np.testing.assert_allclose(a @ back, np.eye(options["C"]), atol=1e-15)
    np.testing.assert_allclose(a.T, back, atol=1e-15)
    assert np.linalg.det(a) == pytest.approx(1)


def test_halves_are_four_diagonals():
    y = matrix(2, 4, layout="sin_cos")
    w = np.array([1, 0.01])
    want = np.block(
        [[np.diag(np.cos(2 * w)), np.diag(np.sin(2 * w))], [np.diag(-np.sin(2 * w)), np.diag(np.cos(2 * w))]]
    )
    np.testing.assert_allclose(y, want, atol=1e-15)


def test_half_a_step_twice_is_a_step():
    half = matrix(0.5, 6)
    np.testing.assert_allclose(half @ half, matrix(1, 6), atol=1e-15)


def test_a_lone_sine_has_no_such_map():
    with pytest.raises(ValueError, match="C: got 5; allowed: an even width, or an odd one with pad_odd=True"):
        matrix(1, 5)
    with pytest.raises(ValueError, match="layout: got 'halves'; allowed: 'interleaved', 'sin_cos', 'cos_sin'"):
        matrix(1, 4, layout="halves")
