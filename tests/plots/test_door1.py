"""Figures of a token's way and of door 1: what is drawn is what plain formulas give, and captions quote it."""

import math

import numpy as np
import pytest

from plots import (
    binary_counter,
    embedding_scale,
    learned_resize,
    learned_rows,
    position_rules,
    sinusoidal_heatmap,
    sinusoidal_layouts,
    sinusoidal_product,
    sinusoidal_shift,
    sinusoidal_wavelengths,
    three_doors,
    token_way,
)
from tests.plots.drawn import drawn, images, lines, says, texts
from tests.plots.formulas import pe


def softmax(scores: np.ndarray) -> np.ndarray:
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_the_way_of_a_token_is_that_of_the_paper() -> None:
    rows, scaled, places, x, q, k, weights, v, y = token_way.data().values()
    assert np.allclose(scaled, 2 * rows)
    assert np.allclose(places, [[pe(p, 4, c) for c in range(4)] for p in range(4)])
    assert np.allclose(x, scaled + places)
    assert np.allclose(weights, softmax(q @ k.T / 2))
    assert np.allclose(y, weights @ v)
    for drawn_matrix, matrix in zip(images("token_way"), token_way.data().values(), strict=True):
        assert np.array_equal(drawn_matrix, matrix)


def test_the_way_of_a_token_writes_each_number() -> None:
    for panel, z in enumerate(token_way.data().values()):
        assert texts("token_way", panel) == [f"{value:.2f}" for value in z.ravel()]


def test_each_door_shows_what_its_caption_says() -> None:
    none, added, turned, biased = (scores for scores in three_doors.data().values())
    assert np.ptp(none) == 0
    assert len(np.unique(added.round(9))) == added.size
    for scores in (turned, biased):
        assert np.allclose(scores[1:, 1:], scores[:-1, :-1])
    i = np.arange(8)
    assert np.allclose(biased - biased[0, 0], -0.5 * np.abs(i[:, None] - i))
    assert np.abs(turned - turned.T).max() > 1
    for shown, scores in zip(images("three_doors"), three_doors.data().values(), strict=True):
        assert np.array_equal(shown, scores - scores[0, 0])


def test_the_heat_map_is_the_encoding() -> None:
    expected = [[pe(p, 128, c) for c in range(128)] for p in range(64)]
    assert np.allclose(sinusoidal_heatmap.data(), expected)
    assert np.array_equal(images("sinusoidal_heatmap")[0], sinusoidal_heatmap.data())
    (_, sines), (_, cosines) = lines("sinusoidal_heatmap", 1)
    assert np.allclose(np.stack([sines, cosines], -1).ravel(), expected[20])
    assert np.abs(sinusoidal_heatmap.data()).max() <= 1


def test_wavelengths() -> None:
    for (C, waves), (_, shown) in zip(
        sinusoidal_wavelengths.data().items(), lines("sinusoidal_wavelengths"), strict=False
    ):
        assert np.allclose(waves, [2 * math.pi * 10000 ** (2 * k / C) for k in range(C // 2)])
        assert np.array_equal(shown, waves)
    waves = sinusoidal_wavelengths.data()[512]
    turned = int((waves <= 2048).sum())
    assert says("sinusoidal_wavelengths", f"{len(waves)} waves", f" {turned} come round", f"{len(waves) - turned} show")
    assert says("sinusoidal_wavelengths", f"{waves[0]:.1f}", f"almost {2 * math.pi * 10000:,.0f}")


def test_digits_are_the_signs_of_sines() -> None:
    bits, sines = binary_counter.data()
    assert np.array_equal(bits, [[p // 2**k % 2 for k in range(5)] for p in range(32)])
    assert np.array_equal(sines < 0, bits == 1)
    assert np.allclose(sines, [[math.sin(math.pi * (p + 0.5) / 2**k) for k in range(5)] for p in range(32)])
    digits, waves = images("binary_counter")
    assert np.array_equal(digits, 1 - 2 * bits[:, ::-1])
    assert np.array_equal(waves, sines[:, ::-1])


def test_products_depend_on_distance_until_they_are_projected() -> None:
    plain, projected = sinusoidal_product.data()
    expected = [sum(math.cos(k * 10000 ** (-i / 64)) for i in range(64)) for k in sinusoidal_product.K]
    assert np.allclose(plain, np.tile(expected, (3, 1)))
    assert np.all(plain.argmax(1) == 50)
    assert np.ptp(projected, axis=0).min() >= 0
    assert np.median(np.ptp(projected, axis=0)) > 3
    assert np.all(sinusoidal_product.K[projected.argmax(1)] != 0)
    for panel, products in enumerate((plain, projected)):
        assert np.array_equal([y for _, y in lines("sinusoidal_product", panel)[:3]], products)


def test_a_matrix_shifts() -> None:
    matrices, difference = sinusoidal_shift.data()
    assert difference < 1e-15
    assert says("sinusoidal_shift", "10^-15")
    here = np.array([pe(7, 16, c) for c in range(16)])
    for shift, matrix, shown in zip((3, 30), matrices, images("sinusoidal_shift"), strict=True):
        assert np.allclose(matrix @ here, [pe(7 + shift, 16, c) for c in range(16)])
        assert np.array_equal(shown, matrix)


def test_layouts_differ_by_order_and_by_waves() -> None:
    paper, halves, tensor2tensor = sinusoidal_layouts.data().values()
    order = [*range(0, 16, 2), *range(1, 16, 2)]
    assert np.array_equal(paper[:, order], halves)
    waves = [10000 ** (-k / 7) for k in range(8)]
    assert np.allclose(tensor2tensor, [[f(p * w) for f in (math.sin, math.cos) for w in waves] for p in range(24)])
    assert says("sinusoidal_layouts", f"up to {np.abs(tensor2tensor - halves).max():.2f}")
    shown = images("sinusoidal_layouts")
    assert np.array_equal(shown[3], tensor2tensor - halves)
    assert all(np.array_equal(a, b) for a, b in zip(shown[:3], (paper, halves, tensor2tensor), strict=True))


def test_rows_learn_from_the_texts_that_reach_them() -> None:
    counts = learned_rows.data()
    lengths = np.random.default_rng(0).integers(16, 513, 1000)
    assert np.array_equal(counts, [(lengths > n).sum() for n in range(512)])
    assert says("learned_rows", *(f"row {n} from {counts[n]:.0f}" for n in (256, 511)))
    assert counts[0] == 1000
    assert np.array_equal(lines("learned_rows")[0][1], counts)


def test_resizing_reads_as_many_rows_as_the_caption_says() -> None:
    stretch, stretch_antialiased, shrink, shrink_antialiased = learned_resize.data().values()
    for matrix, shown in zip(learned_resize.data().values(), images("learned_resize"), strict=True):
        assert np.allclose(matrix.sum(1), 1)
        assert np.array_equal(shown, matrix)
    assert says("learned_resize", f"at most {np.abs(stretch - stretch_antialiased).max():.2f}")
    assert (shrink != 0).sum(1).max() == 4
    assert (shrink_antialiased != 0).sum(1).max() == 10
    keys = np.array([-3 / 32, 19 / 32, 19 / 32, -3 / 32])  # the kernel with a = -3/4 halfway between two points
    assert np.allclose(shrink[2, 4:8], keys)


def test_rows_are_as_long_as_the_caption_says() -> None:
    token, position, scaled = embedding_scale.data().values()
    assert np.allclose(position, 16)
    assert np.allclose(scaled, token * math.sqrt(512))
    assert abs(token.mean() - 1) < 0.01
    assert says("embedding_scale", f"{scaled.mean():.1f}", f"length {position.mean():.0f}")
    heights = [patch.get_height() for patch in drawn("embedding_scale")[1].axes[0].patches]
    assert sum(heights) == 3 * 2000


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("from 0 (GPT-2)", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
        ("from 2 (BART)", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("padded on the right", [2, 3, 4, 5, 6, 7, 8, 1, 1, 1]),
        ("padded on the left", [1, 1, 1, 2, 3, 4, 5, 6, 7, 8]),
        ("packed documents", [0, 1, 2, 0, 1, 2, 3, 0, 1, 2]),
    ],
)
def test_position_rules(rule: str, expected: list[int]) -> None:
    row = list(position_rules.data()).index(rule)
    assert position_rules.data()[rule][0].tolist() == expected
    assert texts("position_rules")[10 * row : 10 * row + 10] == [str(p) for p in expected]
