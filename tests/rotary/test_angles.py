import numpy as np
import pytest

from refimpl import (
    axial_cos_sin,
    mixed_angles_backward,
    mixed_angles_forward,
    mrope_cos_sin,
    rope_angles_backward,
    rope_angles_forward,
    rope_cos_sin,
    rope_frequencies,
)
from refimpl.angles import CosSin

F64 = {"xp": np, "dtype": np.float64}
RNG = np.random.default_rng(7)


def test_frequencies_of_the_default_rule_give_its_tables():
    table, _ = rope_angles_forward(np.arange(-5, 50), rope_frequencies(8, **F64))
    want = rope_cos_sin(np.arange(-5, 50), 8)
    np.testing.assert_allclose(table.cos, want.cos, atol=1e-14)
    np.testing.assert_allclose(table.sin, want.sin, atol=1e-14)


def test_heads_stand_before_time():
    frequencies, positions = RNG.standard_normal((3, 4)), np.asarray([[[0, 1, 2, 3, 4]], [[7, 8, 9, 10, 11]]])
    (cos, _), _ = rope_angles_forward(positions, frequencies)
    assert cos.shape == (2, 3, 5, 4)
    for h in range(3):
        (one, _), _ = rope_angles_forward(positions, frequencies[h])
        np.testing.assert_array_equal(cos[:, h], one[:, 0])


def test_the_attention_factor_multiplies_both():
    positions, frequencies = np.arange(5), RNG.standard_normal(3)
    plain, _ = rope_angles_forward(positions, frequencies)
    scaled, residuals = rope_angles_forward(positions, frequencies, np.asarray(1.25))
    np.testing.assert_array_equal(scaled.cos, 1.25 * plain.cos)
    np.testing.assert_array_equal(scaled.sin, 1.25 * plain.sin)
    *_, dm = rope_angles_backward(CosSin(np.ones((5, 3)), None), residuals)
    assert dm == pytest.approx(np.sum(plain.cos))


def test_integer_positions_have_no_gradient():
    dy = CosSin(*RNG.standard_normal((2, 5, 3)))
    frequencies = RNG.standard_normal(3)
    dpositions, dfrequencies, dm = rope_angles_backward(dy, rope_angles_forward(np.arange(5), frequencies)[1])
    assert dpositions is None
    assert dm is None
    real, same, _ = rope_angles_backward(dy, rope_angles_forward(np.arange(5.0), frequencies)[1])
    assert real.shape == (5,)
    np.testing.assert_array_equal(dfrequencies, same)


def test_mixed_angles_of_one_axis_are_rope_angles():
    positions, frequencies, dy = np.arange(5.0), RNG.standard_normal((3, 4)), CosSin(*RNG.standard_normal((2, 3, 5, 4)))
    mixed, of_mixed = mixed_angles_forward(positions[None], frequencies[None])
    table, of_table = rope_angles_forward(positions, frequencies)
    np.testing.assert_array_equal(mixed, table)
    for got, want in zip(mixed_angles_backward(dy, of_mixed), rope_angles_backward(dy, of_table), strict=False):
        np.testing.assert_array_equal(got[0], want)


def test_mixed_angles_with_disjoint_frequencies_are_axial():
    positions = np.asarray([[0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]])
    theta, still = rope_frequencies(4, base=100.0, **F64), np.zeros(2)
    mixed, _ = mixed_angles_forward(positions, np.asarray([[*theta, *still], [*still, *theta]]))
    axial = axial_cos_sin(positions, 8, base=100.0)
    np.testing.assert_allclose(mixed, axial, atol=1e-15)


@pytest.mark.parametrize("cycled", [False, True])
def test_text_turns_as_in_plain_rope(cycled):
    positions = np.arange(3, 12)
    table = mrope_cos_sin(np.stack([positions] * 3), sections=[6, 5, 5], cycled=cycled)
    np.testing.assert_array_equal(table, rope_cos_sin(positions, 32))


def axes(sections: list[int], cycled: bool) -> str:
    """Which axis each pair reads, found by moving one axis alone."""
    found = [" "] * sum(sections)
    for axis, name in enumerate("THW"):
        positions = np.zeros((3, 1), dtype=int)
        positions[axis] = 1
        for i in np.flatnonzero(mrope_cos_sin(positions, sections=sections, cycled=cycled).sin[0]):
            found[i] = name
    return "".join(found)


def test_sections_of_models():
    assert axes([16, 24, 24], False) == "T" * 16 + "H" * 24 + "W" * 24  # Qwen2-VL
    assert axes([24, 20, 20], True) == "THW" * 20 + "TTTT"  # Qwen3-VL
    assert axes([5, 3, 2], True) == "THWTHWTHTT"


def test_split_frequencies_are_those_of_the_whole_width():
    positions = np.ones((2, 1), dtype=int)
    split = axial_cos_sin(positions, 12, split_frequencies=True)
    whole = rope_cos_sin(np.ones(1, dtype=int), 12)
    np.testing.assert_array_equal(split.cos, whole.cos[:, [0, 2, 4, 1, 3, 5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: rope_angles_forward(np.arange(3), np.ones((2, 3, 4))),
            r"frequencies: got shape \(2, 3, 4\); allowed: \(F,\) or \(H, F\)",
        ),
        (
            lambda: mixed_angles_forward(np.ones((2, 5)), np.ones((3, 4))),
            r"frequencies: got shape \(3, 4\); allowed: shape \(2, \*HF\) to fit positions",
        ),
        (
            lambda: mrope_cos_sin(np.arange(6).reshape(3, 2), sections=[2, 2]),
            r"sections: got \(2, 2\); allowed: 3 counts, one an axis of positions",
        ),
        (
            lambda: mrope_cos_sin(np.arange(6).reshape(3, 2), sections=[1, 3, 3], cycled=True),
            r"sections: got \(1, 3, 3\); allowed: counts that cycle",
        ),
        (lambda: mrope_cos_sin(np.ones((3, 2)), sections=[2, 1, 1]), "positions: got dtype float64"),
        (lambda: mrope_cos_sin(np.arange(6).reshape(3, 2), sections=[2, 1, 1], base=0.0), "base: got 0.0"),
        (lambda: axial_cos_sin(np.ones((2, 5)), 6), "D: got width 6; allowed: a multiple of 4: pairs for 2 axes"),
        (lambda: axial_cos_sin(np.ones((2, 5)), 8, base=-1.0), r"base: got -1\.0; allowed: a finite number > 0"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
