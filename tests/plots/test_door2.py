"""Figures of door 2: the numbers drawn are those of plain formulas, and captions quote them."""

import math

import numpy as np

from plots import (
    axial_grid,
    axial_layouts,
    mrope_axes,
    rope_circles,
    rope_decay,
    rope_dynamic_cache,
    rope_interpolation,
    rope_pairings,
    rope_partial,
    rope_relative,
    rope_rules,
    rope_rules_angles,
    score_temperature,
    xpos_decay,
)
from tests.plots.drawn import drawn, images, lines, says
from tests.plots.formulas import pe, theta


def test_pairs_turn_on_circles() -> None:
    y = rope_circles.data()
    angles = np.arange(12)[:, None] * theta(8)
    assert np.allclose(y, np.stack([np.cos(angles), np.sin(angles)], -1))
    for i, axes in enumerate(drawn("rope_circles")[1].axes[:4]):
        (arrows,) = (c for c in axes.collections if hasattr(c, "U"))
        assert np.array_equal(np.stack([arrows.U, arrows.V], -1), y[:, i])


def test_only_turned_scores_depend_on_the_distance_alone() -> None:
    added, turned = rope_relative.data()
    spread = [[np.ptp(np.diagonal(scores, d)) for d in range(-39, 40)] for scores in (added, turned)]
    assert max(spread[0]) > 5
    assert max(spread[1]) < 1e-14 * np.abs(turned).max() * 16
    q, k = np.random.default_rng(0).normal(size=(2, 1, 16))
    m, n = (np.array([pe(p, 16, c) for c in range(16)]) for p in (3, 31))
    assert np.isclose(added[3, 31], (q[0] + m) @ (k[0] + n))
    a, b = (x[0, 0::2] + 1j * x[0, 1::2] for x in (q, k))
    assert np.isclose(turned[3, 31], (a.conj() * b * np.exp(28j * theta(16))).real.sum())
    assert all(np.array_equal(x, y) for x, y in zip(images("rope_relative"), (added, turned), strict=True))
    ((distance, scores),) = lines("rope_relative", 3)
    assert np.array_equal(scores[distance == 28], np.diagonal(turned, 28))


def test_pairings_are_one_rotation_reordered() -> None:
    interleaved, halves, permutation = rope_pairings.data()
    for i, angle in enumerate(theta(8)):
        for matrix, (a, b) in ((interleaved, (2 * i, 2 * i + 1)), (halves, (i, i + 4))):
            turn = [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
            assert np.allclose(matrix[np.ix_([a, b], [a, b])], turn)
    assert np.array_equal(permutation @ np.arange(8), [0, 2, 4, 6, 1, 3, 5, 7])
    assert np.array_equal(interleaved, permutation.T @ halves @ permutation)
    assert all(np.array_equal(a, b) for a, b in zip(images("rope_pairings"), rope_pairings.data(), strict=True))


def test_partial_rotations_have_other_waves() -> None:
    full, partial, proportional = rope_partial.data().values()
    assert np.allclose(full, 2 * np.pi / theta(64))
    assert np.allclose(partial, 2 * np.pi / theta(16))
    assert np.array_equal(proportional, full[:8])
    assert says("rope_partial", f"{partial[-1]:,.0f} and {proportional[-1]:.0f} positions")
    assert all(
        np.array_equal(y, waves)
        for (_, y), waves in zip(lines("rope_partial"), rope_partial.data().values(), strict=True)
    )


def test_decay_is_that_of_equal_vectors() -> None:
    equal, quantiles = rope_decay.data()
    for base, curve in zip((1e4, 5e5), equal, strict=True):
        expected = [np.cos(d * theta(128, base)).mean() for d in rope_decay.DISTANCES]
        assert np.allclose(curve, expected, atol=1e-9)
    assert np.abs(equal[0][rope_decay.DISTANCES >= 4000]).max() < 0.25
    assert np.ptp(quantiles, axis=1).max() < 0.35
    assert np.allclose(quantiles.mean(1), np.array([-1.645, -0.674, 0.674, 1.645]), atol=0.06)  # of a normal variable
    assert all(np.array_equal(y, curve) for (_, y), curve in zip(lines("rope_decay"), equal, strict=True))


def test_rules_stretch_waves_as_published() -> None:
    found = rope_rules.data()
    stretch = {name: found["default"] / f for name, f in found.items()}
    i, s = np.arange(64), 8.0
    assert np.allclose(found["default"], theta(128))
    assert np.allclose(stretch["linear"], s)
    assert np.allclose(stretch["NTK-aware"], s ** (2 * i / 126))
    assert np.allclose(stretch["dynamic (factor 1)"], stretch["NTK-aware"])
    turns = 4096 * theta(128) / (2 * np.pi)
    gamma = np.clip((turns - 1) / 3, 0, 1)
    assert np.allclose(stretch["Llama 3"], 1 / (gamma + (1 - gamma) / s))
    low, high = (64 * math.log(4096 / (2 * math.pi * r)) / math.log(10000) for r in (32, 1))
    ramp = np.clip((i - math.floor(low)) / (math.ceil(high) - math.floor(low)), 0, 1)
    assert np.allclose(stretch["YaRN"], 1 / (1 - ramp + ramp / s))
    assert np.allclose(stretch["LongRoPE (example)"], 1 + 7 * np.linspace(0, 1, 64) ** 4)
    assert all(np.array_equal(y, v) for (_, y), v in zip(lines("rope_rules"), stretch.values(), strict=True))


def test_new_angles_are_counted_as_the_caption_says() -> None:
    trained, extended = rope_rules_angles.data()
    assert np.allclose(trained, 4096 * theta(128) / (2 * np.pi))
    assert np.nonzero(trained < 1)[0].tolist() == list(range(46, 64))
    new = {name: int(((trained < 1) & (turns > trained * (1 + 1e-9))).sum()) for name, turns in extended.items()}
    assert [name for name, count in new.items() if count] == ["no rule", "NTK-aware"]
    assert says("rope_rules_angles", f"all {new['no rule']} without", f"{new['NTK-aware']} under NTK", "46 to 63")
    shown = [y for _, y in lines("rope_rules_angles")]
    assert all(np.array_equal(a, b) for a, b in zip(shown, [*extended.values(), trained], strict=True))


def test_cached_keys_keep_old_angles() -> None:
    one_pass, cached = rope_dynamic_cache.data()

    def score(p: int, length: int) -> float:
        now, then = (theta(128) * (4 * max(n, 4096) / 4096 - 3) ** (-np.arange(64) / 63) for n in (8192, length))
        return float(np.cos(8191 * now - p * then).mean())

    for i in (0, 50, 125, 150, 255):
        p = int(rope_dynamic_cache.KEYS[i])
        assert np.isclose(one_pass[i], score(p, 8192), atol=1e-9)
        assert np.isclose(cached[i], score(p, p + 1), atol=1e-9)
    assert says("rope_dynamic_cache", f"up to {np.abs(one_pass - cached).max():.2f}", "near 4,000")
    assert abs(rope_dynamic_cache.KEYS[cached.argmin()] - 4000) < 100
    assert cached.min() < 0
    assert all(np.array_equal(y, s) for (_, y), s in zip(lines("rope_dynamic_cache"), (one_pass, cached), strict=True))


def test_xpos_fades_behind_and_grows_ahead() -> None:
    decay, rope, xpos = xpos_decay.data()
    d = xpos_decay.D_KEYS
    zeta = (2 * np.arange(64) / 128 + 0.4) / 1.4
    factors = zeta ** (d[:, None] / 512)
    assert np.allclose(decay, factors[:, [0, 20, 60]])
    assert np.allclose(rope, np.cos(d[:, None] * theta(128)).mean(1))
    assert np.allclose(xpos, (factors * np.cos(d[:, None] * theta(128))).mean(1))
    ripple = [[np.diff(y[part]).std() for y in (rope, xpos)] for part in (d > 500, d < -500)]
    assert ripple[0][1] < 0.3 * ripple[0][0]
    assert ripple[1][1] > 2 * ripple[1][0]
    assert np.array_equal([y for _, y in lines("xpos_decay", 1)], [rope, xpos])


def test_coordinates_and_the_axes_that_pairs_read() -> None:
    positions, read = mrope_axes.data()
    patches = [(3, 3 + h, 3 + w) for h in range(4) for w in range(6)]
    assert positions.T.tolist() == [[n] * 3 for n in (0, 1, 2)] + [list(p) for p in patches] + [
        [n] * 3 for n in (9, 10, 11)
    ]
    assert read["in blocks"].tolist() == [0] * 16 + [1] * 24 + [2] * 24
    assert read["in turn"].tolist() == [0, 1, 2] * 20 + [0] * 4
    assert np.array_equal([y for _, y in lines("mrope_axes")], positions)
    assert all(np.array_equal(a[0], b) for a, b in zip(images("mrope_axes"), read.values(), strict=True))


def test_axial_scores_are_crosses_and_mixed_ones_are_not() -> None:
    sinusoidal, axial, mixed = axial_grid.data().values()
    along = np.array([np.cos(d * theta(32, 100.0)).mean() for d in range(-12, 13)])
    for scores in (sinusoidal, axial):
        assert np.allclose(scores, (along + along[:, None]) / 2)
        corners = scores[[0, 0, -1, -1], [0, -1, 0, -1]]
        assert np.ptp(corners) < 1e-14
    assert np.abs(mixed - mixed[:, ::-1]).max() > 0.1
    assert all(np.array_equal(a, b) for a, b in zip(images("axial_grid"), axial_grid.data().values(), strict=True))


def test_axial_layouts_turn_the_channels_that_the_formula_says() -> None:
    found = axial_layouts.data()
    f, nothing = theta(16, 100.0), np.zeros(8)
    expected = {
        "interleaved": [np.repeat(f, 2), np.zeros(16)],
        "halves": [f, nothing, f, nothing],
        "halves_per_axis": [f, f, nothing, nothing],
        "even_odd": [theta(32, 100.0)[0::2], nothing, theta(32, 100.0)[0::2], nothing],
    }
    for layout, parts in expected.items():
        assert np.allclose(found[layout][0], np.concatenate(parts), atol=1e-7)
    assert np.allclose(found["even_odd"][1][8:16], theta(32, 100.0)[1::2], atol=1e-7)
    first, *others = (np.sort(found[name], axis=1) for name in ("interleaved", "halves", "halves_per_axis"))
    assert all(np.allclose(first, other, atol=1e-7) for other in others)
    for axes, angles in zip(drawn("axial_layouts")[1].axes, found.values(), strict=True):
        assert np.array_equal([patch.get_height() for patch in axes.patches], angles.ravel())


def test_squeezed_positions_stay_within_training() -> None:
    plain, squeezed = rope_interpolation.data()
    p, angle = rope_interpolation.P, theta(128)[55]
    assert np.allclose(plain, np.cos(p * angle))
    assert np.allclose(squeezed, np.cos(p / 2 * angle))
    trained = plain[p <= 4096].min()
    assert squeezed.min() >= trained > plain.min()
    assert says("rope_interpolation", f"down to {trained:.2f}", f"down to −{-plain.min():.2f}")
    assert all(np.array_equal(y, c) for (_, y), c in zip(lines("rope_interpolation"), (plain, squeezed), strict=False))


def test_sharper_scores_hold_the_weight() -> None:
    factors, weights = score_temperature.data()
    n = score_temperature.KEYS
    expected = {
        "plain": np.ones(len(n)),
        "YaRN, trained on 4,096": (1 + np.log(np.maximum(n / 4096, 1)) / 10) ** 2,
        "Llama 4": 1 + np.log(1 + n // 8192) / 10,
    }
    for name, f in expected.items():
        assert np.allclose(factors[name], f)
        assert np.allclose(weights[name], np.exp(10 * f) / (np.exp(10 * f) + n - 1))
    plain, yarn, llama = weights.values()
    assert says("score_temperature", f"{plain[n == 4096][0]:.2f} among", f"{plain[-1]:.2f} among {n[-1]:,}")
    assert says("score_temperature", f"keeps it at {llama[-1]:.2f}", f"rise to {yarn[-1]:.2f}")
    for panel, curves in enumerate((weights, factors)):
        assert np.array_equal([y for _, y in lines("score_temperature", panel)], list(curves.values()))
