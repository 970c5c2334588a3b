"""Figures of attention, precision and gradients: data against plain formulas, captions against data."""

import math

import ml_dtypes
import numpy as np
import pytest

from plots import (
    angle_error,
    attention_error,
    cache_offset,
    dog_bites_man,
    gradient_doors,
    head_sharing,
    mask_corners,
    mask_kinds,
    online_softmax,
    score_scale,
    sink_softcap,
    words,
)
from tests.plots.drawn import drawn, images, lines, says, texts
from tests.plots.formulas import pe, theta
from tests.plots.test_door1 import softmax


def test_scale() -> None:
    found = score_scale.data()
    random = np.random.default_rng(0)
    drawn_ = [(random.normal(size=(200, 1, D)), random.normal(size=(200, 64, D))) for D in score_scale.WIDTHS]
    dw = random.normal(size=(200, 64))
    for name, scale in (("1/√D", lambda D: D**-0.5), ("1 (undivided)", lambda D: 1.0), ("1/D", lambda D: 1 / D)):
        for i in (0, 4, 8):
            q, k = drawn_[i]
            w = softmax((q * k).sum(-1) * scale(int(score_scale.WIDTHS[i])))
            back = np.stack([(np.diag(row) - np.outer(row, row)) @ g for row, g in zip(w, dw, strict=True)])
            passed = np.linalg.norm(back, axis=1) / np.linalg.norm(dw, axis=1)
            assert np.isclose(found.largest[name][i], w.max(1).mean())
            assert np.isclose(found.passed[name][i], passed.mean())
    wide = found.largest["1 (undivided)"][-1], found.passed["1 (undivided)"][-1]
    assert says("score_scale", f"{wide[0]:.2f} at width 1,024", f"to {wide[1]:.3f}")
    assert np.allclose(found.largest["1/√D"], 0.11, atol=0.01)
    falling = found.passed["1 (undivided)"][2:]
    assert np.all(np.diff(falling) < 0)
    for panel, curves in enumerate(found):
        assert all(np.array_equal(y, c) for (_, y), c in zip(lines("score_scale", panel), curves.values(), strict=True))


def test_corners() -> None:
    for (offset, keep), shown in zip(mask_corners.data().items(), images("mask_corners"), strict=True):
        assert keep.tolist() == [[j <= offset + i for j in range(7)] for i in range(4)]
        assert np.array_equal(shown, keep)
    left, right = mask_corners.data().values()
    assert not left[:, 4:].any()
    assert right[-1].all()


def test_masks() -> None:
    found = mask_kinds.data()
    documents = [0] * 5 + [1] * 4 + [2] * 3
    rules = {
        "causal": lambda p, j: j <= p,
        "window of 4": lambda p, j: p - 3 <= j <= p,
        "chunks of 4": lambda p, j: j <= p and p // 4 == j // 4,
        "prefix of 4": lambda p, j: j < 4 or j <= p,
        "packed: 5, 4, 3": lambda p, j: documents[p] == documents[j] and j <= p,
        "left padding: 3": lambda p, j: 3 <= j <= p,
    }
    for name, rule in rules.items():
        assert found[name].tolist() == [[rule(p, j) for j in range(12)] for p in range(12)], name
    assert all(np.array_equal(a, b) for a, b in zip(images("mask_kinds"), found.values(), strict=True))
    assert not found["left padding: 3"][:3].any()


def test_a_forgotten_offset_changes_weights() -> None:
    full, decoded, from_zero = cache_offset.data().values()
    frequencies = theta(16)
    q, k = np.random.default_rng(0).normal(size=(2, 1, 12, 16)) * 1.5
    a, b = (x[0, :, 0::2] + 1j * x[0, :, 1::2] for x in (q, k))

    def weights(positions: list[int]) -> np.ndarray:
        """Turn queries and new keys as at these positions, cached keys as at their own."""
        own = np.array([*range(9), *positions])
        keys = b * np.exp(1j * np.outer(own, frequencies))
        queries = a[9:] * np.exp(1j * np.outer(positions, frequencies))
        scores = (queries[:, None].conj() * keys).real.sum(-1) / 4
        return softmax(np.where(np.arange(12) <= np.arange(9, 12)[:, None], scores, -np.inf))

    assert np.allclose(full, weights([9, 10, 11]))
    assert np.allclose(from_zero, weights([0, 0, 0]))
    assert np.abs(full - decoded).max() < 1e-14
    assert np.abs(full - from_zero).max() > 0.3
    assert all(np.array_equal(x, y) for x, y in zip(images("cache_offset"), cache_offset.data().values(), strict=True))


def test_heads_that_share() -> None:
    read, size = head_sharing.data()
    assert read.tolist() == [[h // (8 // G) for h in range(8)] for G in (8, 4, 2, 1)] + [[h % 4 for h in range(8)]]
    assert size.tolist() == [4096, 2048, 1024, 512]
    assert texts("head_sharing", 0) == [str(n) for n in read.ravel()]
    assert [patch.get_width() for patch in drawn("head_sharing")[1].axes[1].patches] == size.tolist()


def test_sinks_and_caps() -> None:
    sums, capped = sink_softcap.data()
    s = np.linspace(-12, 6, 181)
    for (sink, y), (_, shown) in zip(sums.items(), lines("sink_softcap"), strict=True):
        assert np.allclose(y, 16 * np.exp(s) / (math.exp(sink) + 16 * np.exp(s)))
        assert np.array_equal(shown, y)
    for (cap, y), (_, shown) in zip(capped.items(), lines("sink_softcap", 1), strict=True):
        assert np.allclose(y, [cap * math.tanh(x / cap) for x in np.linspace(-100, 100, 201)])
        assert np.all(np.diff(y) > 0)
        assert np.array_equal(shown, y)


def test_blocks_end_on_the_whole_softmax() -> None:
    found, whole = online_softmax.data()
    random = np.random.default_rng(8)
    q, k, v = (size * random.normal(size=(1, n, 8)) for size, n in ((1.5, 1), (1, 64), (1, 64)))
    scores = k[0] @ q[0, 0] / math.sqrt(8)
    for row, n in zip(found, range(8, 65, 8), strict=True):
        e = np.exp(scores[:n] - scores[:n].max())
        assert np.allclose(row, [scores[:n].max(), e.sum(), e @ v[0, :n, 0] / e.sum()])
    assert np.allclose(found[-1], whole)
    assert np.argmax(np.diff(found[:, 0])) + 2 == 3
    assert found[2, 1] < found[1, 1]
    for panel in range(3):
        (_, y), (_, end) = lines("online_softmax", panel)
        assert np.array_equal(y, found[:, panel])
        assert np.allclose(end, whole[panel])


def test_angles_err_as_the_caption_says() -> None:
    found = angle_error.data()

    def at(name: str, position: int) -> float:
        return float(found[name][np.searchsorted(angle_error.P, position, side="right") - 1])

    theta = (10000.0 ** (-np.arange(64) / 64)).astype(np.float32)
    p = np.arange(1, 2049, dtype=np.float32)[:, None]
    right = np.arange(1, 2049)[:, None] * 10000.0 ** (-np.arange(64) / 64)
    kinds = {"bf16 θ": ml_dtypes.bfloat16, "fp16 θ": np.float16, "float32": np.float32}
    for name, kind in kinds.items():
        angles = (p * theta.astype(kind).astype(np.float32)).astype(float)
        error = np.maximum(np.abs(np.cos(angles) - np.cos(right)), np.abs(np.sin(angles) - np.sin(right))).max(1)
        # NumPy's power may be an ulp away from the rounded frequency
        assert np.allclose(found[name][:2048], np.maximum.accumulate(error), rtol=0.2, atol=1e-7), name
    assert says("angle_error", f"{at('bf16 θ', 512):.2f} at 512", f"{at('fp16 θ', 2048):.2f} at 2,048")
    assert says(
        "angle_error", f"{at('float32', 2048):.4f} at position 2,048", f"{at('float32', 2**20):.2f} at 1,048,576"
    )
    assert at("bf16 positions", 256) == at("float32", 256)
    assert at("bf16 positions", 257) > 0.8
    assert 15_000 < at("bf16 θ", 512) / at("float32", 512) < 25_000
    assert at("float32, ours", 4096) < 1.5e-7
    shown = [y for _, y in lines("angle_error")]
    assert all(np.array_equal(a, b) for a, b in zip(shown, found.values(), strict=True))


def test_no_framework_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(angle_error, "import_module", missing)
    assert "transformers" not in angle_error.data()


def test_errors_stay_below_the_bound() -> None:
    for panel, (profile, (plain, blocked, tolerance)) in enumerate(attention_error.data().items()):
        assert plain.max() > 0
        assert np.all(plain <= tolerance)
        assert np.all(blocked <= tolerance), profile
        assert np.all(np.diff(tolerance) >= 0)
        assert 8 <= round(float(np.median(tolerance) / plain.max())) <= 10
        assert 0.2 < blocked.max() / plain.max() < 2
        (_, line), (_, honest), (_, dots), (_, crosses) = lines("attention_error", panel)
        assert np.array_equal(line, tolerance)
        assert np.allclose(honest, plain.max())
        assert np.array_equal(dots, np.maximum(plain, plain.max() / 1000))
        assert np.array_equal(crosses, np.maximum(blocked, plain.max() / 1000))


def test_plain_errors_are_those_of_numpy() -> None:
    """The honest run is what NumPy gives, up to the order of its sums."""
    random = np.random.default_rng(0)
    q, k, v = (random.integers(-96, 97, (n, 16)) / 32.0 for n in (6, 24, 24))
    want = softmax(q @ k.T / 4) @ v
    scores = (q.astype(np.float32) @ k.astype(np.float32).T) / np.float32(4)
    error = np.abs(softmax(scores) @ v.astype(np.float32) - want).max()
    assert 0.2 < attention_error.data()["f32"][0].max() / error < 5


def test_gradients_at_the_doors() -> None:
    """Each is the slope of the loss, by central differences of the formulas."""
    rows, frequencies, bias, buckets = gradient_doors.data()
    random, T, D = np.random.default_rng(2), 24, 16
    tokens, dy = random.normal(size=(2, T, D))
    w_q, w_k, w_v = random.normal(0, D**-0.5, (3, D, D))
    table, p = random.normal(0, 0.1, (T, D)), np.arange(T)

    def loss(table: np.ndarray, theta: np.ndarray, b: np.ndarray) -> float:
        x = tokens + table
        q, k = (x @ w_q, x @ w_k)
        turn = np.exp(1j * np.outer(p, theta))
        a, c = ((z[:, 0::2] + 1j * z[:, 1::2]) * turn for z in (q, k))
        scores = (a[:, None].conj() * c).real.sum(-1) / 4 + b
        return float((softmax(np.where(p <= p[:, None], scores, -np.inf)) @ x @ w_v * dy).sum())

    theta, nothing, h = 10000.0 ** (-np.arange(8) / 8), np.zeros((T, T)), 1e-6

    def slope(i: int, at: tuple[int, ...]) -> float:
        step = [np.zeros_like(z) for z in (table, theta, nothing)]
        step[i][at] = h
        ahead, behind = (loss(table + s * step[0], theta + s * step[1], nothing + s * step[2]) for s in (1, -1))
        return (ahead - behind) / (2 * h)

    assert np.allclose([slope(1, (i,)) for i in range(8)], frequencies, atol=1e-5)
    for at in ((4, 1), (23, 0), (9, 9), (3, 7)):
        assert np.isclose(slope(2, at), bias[at], atol=1e-6)
    for row in (0, 13, 23):
        assert np.isclose(np.linalg.norm([slope(0, (row, c)) for c in range(D)]), rows[row], atol=1e-5)
    assert np.abs(bias.sum(1)).max() < 1e-14
    distance = p[:, None] - p
    assert np.allclose(buckets[:8], [bias[np.maximum(distance, 0) == n].sum() for n in range(8)])
    assert not buckets[-4:].any()
    assert buckets[-5] != 0
    assert rows[-4:].max() < rows.mean()
    assert np.array_equal(images("gradient_doors")[0], bias)
    for panel, values in ((0, rows), (1, frequencies), (3, buckets)):
        assert [patch.get_height() for patch in drawn("gradient_doors")[1].axes[panel].patches] == values.tolist()


def test_order_is_all_that_is_lost() -> None:
    found = dog_bites_man.data()
    sentences = [words.vectors(s) for s in ("the dog bit the man", "the man bit the dog")]
    i = np.arange(5)
    turn = np.exp(1j * np.outer(i, theta(16)))
    place = np.array([[pe(p, 16, c) for c in range(16)] for p in range(5)])

    def rope(x: np.ndarray) -> np.ndarray:
        z = (x[:, 0::2] + 1j * x[:, 1::2]) * turn
        return (z[:, None].conj() * z).real.sum(-1) / 4

    ways = {
        "no position": lambda x: softmax(x @ x.T / 4) @ x,
        "causal mask": lambda x: softmax(np.where(i <= i[:, None], x @ x.T / 4, -np.inf)) @ x,
        "sinusoidal": lambda x: softmax((x + place) @ (x + place).T / 4) @ (x + place),
        "RoPE": lambda x: softmax(rope(x)) @ x,
        "ALiBi": lambda x: softmax(x @ x.T / 4 - np.abs(i[:, None] - i) / 2) @ x,
    }
    assert list(found) == list(ways)
    for name, way in ways.items():
        first, second = map(way, sentences)
        assert np.allclose(found[name], np.linalg.norm(second - first[[0, 4, 2, 3, 1]], axis=1), atol=1e-12), name
    assert found["no position"].max() < 1e-13
    assert found["causal mask"][0] < 1e-13
    assert found["causal mask"][1:].min() > 0.05
    assert min(found[name].min() for name in ("sinusoidal", "RoPE", "ALiBi")) > 0.02
    heights = [patch.get_height() for patch in drawn("dog_bites_man")[1].axes[0].patches]
    assert np.array_equal(np.reshape(heights, (5, 5)).T, list(found.values()))
