"""Figures of door 3: the numbers drawn are those of plain formulas, and captions quote them."""

import itertools
import math

import numpy as np
import pytest

from plots import (
    alibi_matrices,
    alibi_slopes,
    beyond_trained,
    cope_text,
    distance_curves,
    fire_position,
    fox_text,
    same_sentence,
    swin_v2_offsets,
    t5_buckets,
    words,
)
from tests.plots.drawn import drawn, images, lines, says, texts
from tests.plots.test_door1 import softmax


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def t5(n: int, half: int, most: int = 128) -> int:
    """Return the bucket of a distance, by logarithms with a margin at the edges."""
    exact = half // 2
    share = math.log(max(n, 1) / exact) / math.log(most / exact) * (half - exact) if n else 0
    return n if n < exact else min(exact + math.floor(share + 1e-9), half - 1)


def test_words_of_one_kind_lie_near_each_other() -> None:
    assert np.allclose(np.linalg.norm(words.table(), axis=1), 4, atol=1e-4)
    near = dict(zip(words.VOCABULARY, words.table() @ words.table().T / 16, strict=True))
    rows = {word: dict(zip(words.VOCABULARY, row, strict=True)) for word, row in near.items()}
    assert rows["dog"]["man"] > rows["dog"]["bit"]
    assert rows["bit"]["saw"] > rows["bit"]["man"]
    assert np.array_equal(words.vectors("the dog"), words.table()[[0, 1]])


def test_word_vectors_are_counted_from_the_text() -> None:
    """All singular vectors give back the positive information, counted here pair by pair; the first give its best."""
    ids = [words.VOCABULARY.index(word) for word in words.TEXT.split()]
    counts = np.zeros((len(words.VOCABULARY),) * 2)
    for i, a in enumerate(ids):
        for j, b in enumerate(ids):
            counts[a, b] += 0 < abs(i - j) <= 2
    joint, single = counts / counts.sum(), counts.sum(0) / counts.sum()
    with np.errstate(divide="ignore"):
        information = np.maximum(np.log(joint / np.outer(single, single)), 0)
    value, vector = np.linalg.eigh(information @ information)
    rows = vector[:, :-17:-1] * value[:-17:-1] ** 0.25
    rows *= 4 / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(words.table() @ words.table().T, rows @ rows.T, atol=1e-3)


def test_slopes_are_those_of_the_paper() -> None:
    found = alibi_slopes.data()
    assert np.allclose(found[8].slopes, [2.0**-h for h in range(1, 9)])
    assert np.allclose(np.log2(found[6].slopes), [-2, -4, -6, -8, -1, -3])
    assert np.allclose(np.log2(found[12].slopes), [*range(-1, -9, -1), -0.5, -1.5, -2.5, -3.5])
    assert not np.isclose(found[12].slopes, 2.0 ** (-8 * np.arange(1, 13) / 12)).any()
    for panel, H in enumerate((6, 8, 12)):
        naive, first, extra = lines("alibi_slopes", panel)
        assert np.array_equal(np.concatenate([first[1], extra[1]]), found[H].slopes)
        assert np.allclose(naive[1], [2 ** (-8 * h / H) for h in range(1, H + 1)])


def test_two_forms_of_a_bias_give_the_same_weights() -> None:
    found = alibi_matrices.data()
    i = np.arange(12)
    slopes = np.array([1 / 2, 1 / 8, 1 / 256])[:, None, None]
    assert np.allclose(found.symmetric, -slopes * np.abs(i[:, None] - i))
    assert np.allclose(found.key_only, np.broadcast_to(slopes * i, (3, 12, 12)))
    expected = np.tril(np.exp(found.symmetric))
    expected /= expected.sum(-1, keepdims=True)
    assert np.allclose(found.weights, expected)
    assert np.allclose(found.key_only_weights, expected)
    shown = [*found.symmetric, *found.key_only, *found.weights]
    assert all(np.array_equal(a, b) for a, b in zip(images("alibi_matrices"), shown, strict=True))


def test_buckets_and_their_edges() -> None:
    for half, (name, buckets), (_, shown) in zip(
        (32, 16), t5_buckets.data().items(), lines("t5_buckets"), strict=False
    ):
        assert buckets.tolist() == [t5(n, half) for n in range(141)]
        assert np.array_equal(shown, buckets)
        edges = t5_buckets.edges(buckets)
        assert edges.tolist() == [min(n for n in range(141) if t5(n, half) == b) for b in range(half)]
        assert says("t5_buckets", str(edges[-1]))
        assert str(edges[-1]) in texts("t5_buckets", 1), name
    marks = [x.tolist() for x, _ in lines("t5_buckets", 1)[:2]]
    assert marks == [t5_buckets.edges(b).tolist() for b in t5_buckets.data().values()]


def test_the_rounded_logarithm_that_the_caption_names_is_off_at_64() -> None:
    assert 8 + math.floor(math.log(64 / 8) * (8 / math.log(128 / 8))) == 13
    assert t5_buckets.data()["both directions"][64] == 14


def test_biases_are_those_of_their_formulas() -> None:
    n = np.arange(4001.0)
    waves = 10000 ** (-2 * np.arange(1, 65) / 128)
    alibi, power, log, sandwich, fire = distance_curves.data().values()
    assert np.allclose(alibi, -n / 64)
    assert np.allclose(power, -0.25 * np.sqrt(n))
    assert np.allclose(log, -np.log1p(n))
    assert np.allclose(sandwich, [(np.cos(d * waves) - 1).sum() / 8 for d in n])
    w1, w2 = np.random.default_rng(4).normal(size=(2, 32))
    x = np.log1p(0.1 * n) / (np.log1p(0.1 * 4000) + 1e-6)
    assert np.allclose(fire, np.maximum(np.outer(x, w1), 0) @ -np.abs(w2))
    for panel in (0, 1):
        shown = [y for _, y in lines("distance_curves", panel)]
        assert all(np.array_equal(y, z[1:]) for y, z in zip(shown, distance_curves.data().values(), strict=True))


def test_logarithmic_biases_are_near_lines_of_the_logarithm() -> None:
    far = np.geomspace(10, 4000, 200).astype(int)
    for name, y in distance_curves.data().items():
        straight = np.corrcoef(np.log(far), y[far])[0, 1] ** 2
        assert (straight > 0.94) == (name in ("KERPLE, log", "Sandwich, 64 waves", "FIRE, random")), name


def test_fire_sees_a_share_of_the_way_back() -> None:
    found = fire_position.data()
    for P, x in found.items():
        n = np.arange(P + 1)
        assert np.allclose(x, np.log1p(0.1 * n) / (np.log1p(0.1 * max(P, 512)) + 1e-6))
    assert found[256][-1] < 0.9
    assert np.allclose([found[P][-1] for P in (1024, 16384)], 1, atol=1e-6)
    assert len({round(float(x[200]), 2) for x in found.values()}) == 3
    assert all(np.array_equal(y, x[1:]) for (_, y), x in zip(lines("fire_position"), found.values(), strict=False))


def test_swin_v2_measures_large_windows_in_small_ones() -> None:
    found = swin_v2_offsets.data()
    d = np.arange(-15, 16)
    u = np.sign(d) * np.log2(1 + 8 * np.abs(d) / 7) / 3
    assert np.allclose(found.coordinates, u)
    assert np.allclose(found.linear, d / 7)
    assert says("swin_v2_offsets", *(f"{x:.2f}" for x in (u[-1], u[22], d[-1] / 7)))
    random = np.random.default_rng(3)
    w1, b1, w2 = random.normal(size=(2, 32)), random.normal(size=32), random.normal(0, 0.3, size=(32, 1))
    assert np.allclose(found.bias, 16 * sigmoid(np.maximum(np.outer(u, w1[1]) + b1, 0) @ w2)[:, 0])
    assert [y.tolist() for _, y in lines("swin_v2_offsets")] == [found.coordinates.tolist(), found.linear.tolist()]
    assert np.array_equal(lines("swin_v2_offsets", 1)[0][1], found.bias)


def heights(name: str, panel: int) -> list[float]:
    return [patch.get_height() for patch in drawn(name)[1].axes[panel].patches]


def test_cope_counts_sentences() -> None:
    gates, positions = cope_text.data()
    sentence = cope_text.SENTENCE.split()
    stop = np.array([word == "." for word in sentence])
    assert np.allclose(gates, sigmoid(words.vectors(cope_text.SENTENCE) @ cope_text.query() / 4))
    assert np.allclose(positions, [gates[j:].sum() for j in range(len(gates))])
    assert gates[stop].min() > 0.98
    assert gates[~stop].max() < 0.1
    was = words.table()[words.VOCABULARY.index("was")] @ cope_text.query() / 4
    assert sigmoid(was) > 0.9
    assert heights("cope_text", 0) == gates.tolist()
    assert heights("cope_text", 1) == positions.tolist()
    starts = [0, 6, 12, 19]
    inside = [np.ptp(positions[a:b]) for a, b in itertools.pairwise(starts)]
    assert max(inside) < 0.15


def test_fox_forgets_at_full_stops() -> None:
    gates, left = fox_text.data()
    sentence = fox_text.SENTENCE.split()
    stop = np.array([word == "." for word in sentence])
    T = len(sentence)
    expected = [[math.prod(gates[j + 1 : i + 1]) if j <= i else math.nan for j in range(T)] for i in range(T)]
    assert np.allclose(left, expected, equal_nan=True)
    of = np.cumsum(stop)
    inside = (of[:, None] == of) & ~np.isnan(left)
    assert says("fox_text", f"{gates[~stop].min():.2f} or more", f"{left[inside].min():.2f} or more")
    one_back = (of[:, None] - of == 1) & ~np.isnan(left)
    assert 0.09 < left[one_back].mean() < 0.11
    assert heights("fox_text", 0) == gates.tolist()
    assert np.array_equal(images("fox_text")[0], left, equal_nan=True)


def test_only_an_encoding_tells_two_equal_words_apart() -> None:
    found = same_sentence.data()
    assert all(np.array_equal(a, b) for a, b in zip(images("same_sentence"), found.values(), strict=True))
    none = found.pop("none")
    assert np.isclose(none[4, 0], none[4, 3], rtol=1e-12)
    for name, weights in found.items():
        assert np.allclose(weights.sum(-1), 1)
        assert np.array_equal(np.triu(weights, 1), np.zeros((5, 5)))
        assert (weights[4, 3] > weights[4, 0]) == (name != "learned, random"), name


@pytest.mark.parametrize(
    ("name", "bias"),
    [
        ("none", lambda n: 0 * n),
        ("ALiBi", lambda n: -n / 2),
        ("T5, falling", lambda n: np.array([0, -0.5, -1, -1.5, -2])[n]),
        ("KERPLE, log", lambda n: -np.log1p(n)),
        ("FoX, gates 0.6", lambda n: n * math.log(0.6)),
    ],
)
def test_weights_of_the_sentence_are_those_of_the_formula(name: str, bias: object) -> None:
    x = 0.6 * words.vectors("the dog bit the man")
    i = np.arange(5)
    n = np.abs(i[:, None] - i)
    scores = x @ x.T / 4 + bias(n)  # type: ignore[operator]
    assert np.allclose(same_sentence.data()[name], softmax(np.where(i <= i[:, None], scores, -np.inf)))


def test_beyond_the_trained_length() -> None:
    found = beyond_trained.data()
    q, k = np.random.default_rng(1).normal(size=(2, 64))
    d = np.arange(2048)
    a, b = (x[0::2] + 1j * x[1::2] for x in (q, k))
    turned = np.exp(1j * np.outer(d, 10000 ** (-np.arange(32) / 32)))
    assert np.allclose(found["RoPE"], (a.conj() * b * turned).real.sum(1) / 8)
    assert np.allclose(found["ALiBi"], q @ k / 8 - d / 256)
    assert np.allclose(found["T5"], q @ k / 8 - 0.1 * np.array([t5(n, 32) for n in d]))
    assert len(found["learned"]) == 512
    assert np.ptp(found["T5"][512:]) == 0
    assert np.ptp(found["RoPE"][512:]) > 2
    assert all(np.array_equal(y, z) for (_, y), z in zip(lines("beyond_trained"), found.values(), strict=False))
