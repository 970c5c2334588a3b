import numpy as np
import pytest

from refimpl import (
    axial_cos_sin,
    axial_rope_backward,
    axial_rope_forward,
    partial_rope_backward,
    partial_rope_forward,
    proportional_frequencies,
    rope_angles_forward,
    rope_backward,
    rope_forward,
    rotary_embedding_forward,
)

RNG = np.random.default_rng(13)
LAYOUTS = ("interleaved", "halves", "halves_per_axis", "even_odd")


def tables(T: int, F: int) -> np.ndarray:
    return RNG.standard_normal((2, T, F))


@pytest.mark.parametrize("interleaved", [True, False])
def test_partial_turns_the_first_channels(interleaved):
    x, dy = RNG.standard_normal((2, 3, 5, 10))
    cos, sin = tables(5, 3)
    y, residuals = partial_rope_forward(x, cos, sin, interleaved=interleaved)
    turned, of_turned = rope_forward(x[..., :6], cos, sin, interleaved=interleaved)
    np.testing.assert_array_equal(y, np.concatenate([turned, x[..., 6:]], axis=-1))
    dx, *dtables = partial_rope_backward(dy, residuals)
    dturned, *same = rope_backward(dy[..., :6], of_turned)
    np.testing.assert_array_equal(dx, np.concatenate([dturned, dy[..., 6:]], axis=-1))
    np.testing.assert_array_equal(dtables, same)


@pytest.mark.parametrize("interleaved", [True, False])
def test_all_channels_is_plain_rope(interleaved):
    x, (cos, sin) = RNG.standard_normal((3, 5, 6)), tables(5, 3)
    y, _ = partial_rope_forward(x, cos, sin, interleaved=interleaved)
    np.testing.assert_array_equal(y, rope_forward(x, cos, sin, interleaved=interleaved)[0])


def test_proportional_leaves_other_channels_than_partial():
    """Both turn a quarter of 16 channels: proportional [0, 2) and [8, 10), partial [0, 4)."""
    x = RNG.standard_normal((1, 16))
    still = proportional_frequencies(16, proportion=0.25, xp=np, dtype=np.float64)
    y, _ = rotary_embedding_forward(x, still, positions=np.asarray([3]), interleaved=False)
    assert np.flatnonzero(y != x).tolist() == [0, 1, 8, 9]
    (cos, sin), _ = rope_angles_forward(np.asarray([3]), still[:2])
    y, _ = partial_rope_forward(x, cos, sin, interleaved=False)
    assert np.flatnonzero(y != x).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scores_depend_on_differences_of_coordinates(layout):
    q, k = RNG.standard_normal((2, 1, 12))
    scores = []
    for dx, dy in ((0, 0), (5, 0), (0, 9), (-3, 70)):
        turned = [
            axial_rope_forward(z, positions=np.asarray([[a + dx], [b + dy]]), layout=layout)[0]
            for z, (a, b) in ((q, (4, 7)), (k, (1, 2)))
        ]
        scores.append((turned[0] @ turned[1].T).item())
    np.testing.assert_allclose(scores, scores[0], rtol=1e-12)


def moved(layout: str, axis: int) -> list[int]:
    """The channels that one coordinate turns."""
    x, positions = RNG.standard_normal((1, 8)), np.zeros((2, 1), dtype=int)
    positions[axis] = 1
    return np.flatnonzero(axial_rope_forward(x, positions=positions, layout=layout)[0] != x).tolist()


@pytest.mark.parametrize(
    ("layout", "first"),
    [
        ("interleaved", [0, 1, 2, 3]),
        ("halves", [0, 1, 4, 5]),
        ("halves_per_axis", [0, 1, 2, 3]),
        ("even_odd", [0, 1, 4, 5]),
    ],
)
def test_channels_of_each_axis(layout, first):
    assert moved(layout, 0) == first
    assert moved(layout, 1) == [i for i in range(8) if i not in first]


def test_halves_per_axis_turn_each_part_by_itself():
    x, positions = RNG.standard_normal((2, 6, 12)), np.asarray([[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]])
    y, _ = axial_rope_forward(x, positions=positions, layout="halves_per_axis", base=100.0)
    parts = [
        rotary_embedding_forward(x[..., 6 * a : 6 * a + 6], positions=positions[a], base=100.0, interleaved=False)[0]
        for a in range(2)
    ]
    np.testing.assert_array_equal(y, np.concatenate(parts, axis=-1))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_axial_backward_turns_back_and_lengths_stay(layout):
    x, dy = RNG.standard_normal((2, 3, 5, 8))
    positions = RNG.standard_normal((2, 5))
    y, residuals = axial_rope_forward(x, positions=positions, layout=layout)
    back, _ = axial_rope_forward(dy, positions=-positions, layout=layout)
    np.testing.assert_allclose(axial_rope_backward(dy, residuals), back, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), np.linalg.norm(x, axis=-1))


def test_one_axis_is_plain_rope():
    x, positions = RNG.standard_normal((3, 5, 8)), np.arange(5)
    for layout, interleaved in (("interleaved", True), ("halves", False), ("halves_per_axis", False)):
        y, _ = axial_rope_forward(x, positions=positions[None], layout=layout)
        want, _ = rotary_embedding_forward(x, positions=positions, interleaved=interleaved)
        np.testing.assert_array_equal(y, want)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: partial_rope_forward(np.ones((5, 4)), np.ones((5, 3)), np.ones((5, 3))),
            r"cos: got shape \(5, 3\); allowed: at most 2 pairs",
        ),
        (lambda: partial_rope_forward(np.ones((5, 8)), np.ones((5, 3)), np.ones((5, 2))), r"sin: got shape \(5, 2\)"),
        (
            lambda: axial_rope_forward(np.ones((5, 8)), positions=np.ones((2, 5)), layout="pixtral"),
            "layout: got 'pixtral'; allowed: 'interleaved', 'halves', 'halves_per_axis', 'even_odd'",
        ),
        (
            lambda: axial_rope_forward(np.ones((5, 6)), positions=np.ones((2, 5))),
            "x: got width 6; allowed: a multiple of 4: pairs for 2 axes",
        ),
        (
            lambda: axial_rope_forward(np.ones((5, 8)), positions=np.ones((2, 3))),
            r"positions: got shape \(3,\); allowed: a shape that broadcasts to \(5,\)",
        ),
        (lambda: axial_cos_sin(np.ones((3, 5)), 4), "D: got width 4; allowed: a multiple of 6: pairs for 3 axes"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
