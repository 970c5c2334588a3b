import mpmath
import numpy as np
import pytest

from refimpl import (
    rope_backward,
    rope_cos_sin,
    rope_forward,
    rope_frequencies,
    rotary_embedding_backward,
    rotary_embedding_forward,
)

RNG = np.random.default_rng(5)
X = np.array([[1.0, 2.0, 3.0, 4.0]])


@pytest.mark.parametrize(
    ("interleaved", "published"),
    [(True, [-1.1426, 1.9221, 2.9599, 4.0298]), (False, [-1.9841, 1.9599, 2.4624, 4.0198])],
)
def test_published_example(interleaved, published):
    y, _ = rotary_embedding_forward(X, positions=np.array([1]), interleaved=interleaved)
    np.testing.assert_allclose(y[0], published, atol=5e-5)


@pytest.mark.parametrize("interleaved", [True, False])
def test_score_depends_on_distance_alone(interleaved):
    q, k = RNG.standard_normal((2, 1, 6))
    scores = []
    for shift in (0, 7, 1000, -50):
        turned = [
            rotary_embedding_forward(x, positions=np.array([p + shift]), interleaved=interleaved)[0]
            for x, p in ((q, 5), (k, 3))
        ]
        scores.append((turned[0] @ turned[1].T).item())
    np.testing.assert_allclose(scores, scores[0], rtol=1e-12)
    assert abs(scores[0] - (q @ k.T).item()) > 1e-3


@pytest.mark.parametrize("interleaved", [True, False])
def test_norms_are_kept(interleaved):
    x = RNG.standard_normal((2, 3, 5, 8))
    y, _ = rotary_embedding_forward(x, positions=np.arange(-2, 3), interleaved=interleaved)
    np.testing.assert_allclose(np.linalg.norm(y, axis=-1), np.linalg.norm(x, axis=-1))


def test_layouts_differ_by_a_permutation():
    x, order = RNG.standard_normal((5, 8)), [0, 2, 4, 6, 1, 3, 5, 7]
    cos, sin = RNG.standard_normal((2, 5, 4))
    half, _ = rope_forward(x[:, order], cos, sin, interleaved=False)
    inter, _ = rope_forward(x, cos, sin, interleaved=True)
    np.testing.assert_array_equal(half, inter[:, order])


def test_backward_turns_back():
    x, dy = RNG.standard_normal((2, 3, 5, 8))
    _, residuals = rotary_embedding_forward(x, positions=np.arange(5))
    back, _ = rotary_embedding_forward(dy, positions=-np.arange(5))
    np.testing.assert_allclose(rotary_embedding_backward(dy, residuals)[0], back, rtol=1e-14)


def test_position_zero_does_nothing():
    y, _ = rotary_embedding_forward(X, positions=np.array([0]))
    np.testing.assert_array_equal(y, X)


def test_one_row_of_positions_a_sequence():
    """Left padding and caches give each sequence its own positions; one row for all heads."""
    x = RNG.standard_normal((2, 3, 5, 4))
    positions = np.array([[0, 1, 2, 3, 4], [7, 8, 9, 10, 11]])
    y, _ = rotary_embedding_forward(x, positions=positions[:, None, :])
    for b in range(2):
        np.testing.assert_array_equal(y[b], rotary_embedding_forward(x[b], positions=positions[b])[0])


def test_gradients_of_shared_tables_sum_over_heads():
    x, dy = RNG.standard_normal((2, 3, 5, 4))
    cos, sin = RNG.standard_normal((2, 5, 2))
    dx, dcos, dsin = rope_backward(dy, rope_forward(x, cos, sin)[1])
    assert (dx.shape, dcos.shape, dsin.shape) == ((3, 5, 4), (5, 2), (5, 2))
    each = [rope_backward(dy[h], rope_forward(x[h], cos, sin)[1]) for h in range(3)]
    np.testing.assert_allclose(dcos, sum(part[1] for part in each), rtol=1e-13)
    np.testing.assert_allclose(dsin, sum(part[2] for part in each), rtol=1e-13)


SPANS = [
    np.arange(-600, 600),
    np.arange(130_000, 131_100),
    np.arange(2**20 - 1000, 2**20 + 1),
    -np.arange(2**20 - 9, 2**20),
]


@pytest.mark.parametrize(("D", "base"), [(64, 10000.0), (10, 500000.0)])
@pytest.mark.parametrize("positions", SPANS, ids=["small", "131k", "2^20", "-2^20"])
def test_tables_are_good_to_two_ulp_at_any_position(positions, D, base):
    """Of the value itself where it is not close to zero, and 2^-62 absolutely where it is."""
    table = rope_cos_sin(positions, D, base=base)
    rows = RNG.choice(len(positions), min(60, len(positions)), replace=False)
    with mpmath.workdps(40):
        for row in rows:
            for i in range(D // 2):
                angle = int(positions[row]) * mpmath.mpf(base) ** (-mpmath.mpf(2 * i) / D)
                for got, exact in ((table.cos[row, i], mpmath.cos(angle)), (table.sin[row, i], mpmath.sin(angle))):
                    error = float(abs(exact - mpmath.mpf(float(got))))
                    assert error <= max(2 * np.spacing(abs(got)), 2.0**-62), (positions[row], i)


def test_one_rounded_angle_would_not_be():
    positions = np.arange(2**20 - 1000, 2**20 + 1)
    angles = positions[:, None] * 10000.0 ** (-2 * np.arange(32) / 64)
    assert np.max(np.abs(np.cos(angles) - rope_cos_sin(positions, 64).cos)) > 1e-11


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rope_cos_sin(np.arange(3), 5), "D: got rotary width 5; allowed: an even width >= 2"),
        (lambda: rope_cos_sin(np.arange(3), 0), "D: got rotary width 0"),
        (lambda: rope_cos_sin(np.arange(3), 4, base=-1.0), "base: got -1.0; allowed: a finite number > 0"),
        (
            lambda: rotary_embedding_forward(np.ones((3, 5)), positions=np.arange(3)),
            "x: got rotary width 5; allowed: an even width >= 2",
        ),
        (lambda: rope_forward(X, np.ones((1, 4)), np.ones((1, 4))), r"cos: got shape \(1, 4\)"),
        (lambda: rope_forward(X, np.ones((1, 2)), np.ones((3, 2))), r"sin: got shape \(3, 2\)"),
        (
            lambda: rotary_embedding_forward(X, positions=np.arange(3)),
            r"positions: got shape \(3,\); allowed: a shape that broadcasts to \(1,\)",
        ),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_output_layout_is_a_permutation_and_scores_agree():
    """transformers' DeepSeek-V3 reads pairs and writes halves; DeepSeek's own code writes pairs."""
    q, k = RNG.standard_normal((2, 5, 8))
    cos, sin = rope_cos_sin(np.arange(5), 8)
    pairs = [rope_forward(x, cos, sin)[0] for x in (q, k)]
    halves = [rope_forward(x, cos, sin, interleaved_output=False)[0] for x in (q, k)]
    np.testing.assert_array_equal(halves[0], pairs[0][:, [0, 2, 4, 6, 1, 3, 5, 7]])
    np.testing.assert_allclose(halves[0] @ halves[1].T, pairs[0] @ pairs[1].T, rtol=1e-13)
    back = rope_forward(halves[0], cos, -sin, interleaved=False, interleaved_output=True)[0]
    np.testing.assert_allclose(back, q, rtol=1e-13)


def test_given_frequencies_replace_the_base():
    x, positions = RNG.standard_normal((2, 3, 5, 8)), np.arange(2, 7)
    theta = rope_frequencies(8, base=500.0, xp=np, dtype=np.float64)
    want, _ = rotary_embedding_forward(x, positions=positions, base=500.0)
    got, _ = rotary_embedding_forward(x, theta, positions=positions)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-15)
    per_head, residuals = rotary_embedding_forward(x, np.stack([theta] * 3), positions=positions)
    np.testing.assert_array_equal(per_head, got)
    _, shared, _ = rotary_embedding_backward(x, rotary_embedding_forward(x, theta, positions=positions)[1])
    _, each, _ = rotary_embedding_backward(x, residuals)
    np.testing.assert_allclose(np.sum(each, axis=0), shared, rtol=1e-12, atol=1e-13)


def test_scores_grow_by_the_square_of_the_attention_factor():
    q, k = RNG.standard_normal((2, 5, 8))
    theta = rope_frequencies(8, xp=np, dtype=np.float64)
    turned = [rotary_embedding_forward(x, theta, np.asarray(1.25), positions=np.arange(5))[0] for x in (q, k)]
    plain = [rotary_embedding_forward(x, theta, positions=np.arange(5))[0] for x in (q, k)]
    np.testing.assert_allclose(turned[0] @ turned[1].T, 1.25**2 * plain[0] @ plain[1].T, rtol=1e-12)


def test_attention_factor_belongs_to_frequencies():
    message = "attention_factor: got a factor; allowed: none without frequencies"
    with pytest.raises(ValueError, match=message):
        rotary_embedding_forward(X, None, np.asarray(1.25), positions=np.asarray([0]))
