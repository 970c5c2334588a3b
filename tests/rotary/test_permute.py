import numpy as np
import pytest

from refimpl import permute_pairs_backward, permute_pairs_forward, rope_cos_sin, rope_forward

RNG = np.random.default_rng(23)
H, D, T, C = 3, 6, 5, 7


def heads(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x.reshape(T, H, D), 1, 0)


def test_scores_of_permuted_weights_are_the_same():
    x, w_q, w_k = RNG.standard_normal((T, C)), *RNG.standard_normal((2, C, H * D))
    cos, sin = rope_cos_sin(np.arange(T), D)
    pairs = [rope_forward(heads(x @ w), cos, sin, interleaved=True)[0] for w in (w_q, w_k)]
    permuted = [permute_pairs_forward(w, H=H)[0] for w in (w_q, w_k)]
    halves = [rope_forward(heads(x @ w), cos, sin, interleaved=False)[0] for w in permuted]
    np.testing.assert_allclose(halves[0] @ halves[1].mT, pairs[0] @ pairs[1].mT, rtol=1e-12)
    mixed = [rope_forward(heads(x @ w), cos, sin, interleaved=True)[0] for w in permuted]
    assert not np.allclose(mixed[0] @ mixed[1].mT, pairs[0] @ pairs[1].mT)


def test_order_of_channels():
    y, _ = permute_pairs_forward(np.arange(12.0), H=2)
    assert y.tolist() == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]


def test_back_and_forth():
    weight = RNG.standard_normal((C, H * D))
    there, _ = permute_pairs_forward(weight, H=H)
    back, _ = permute_pairs_forward(there, H=H, to_interleaved=True)
    np.testing.assert_array_equal(back, weight)


@pytest.mark.parametrize("to_interleaved", [True, False])
def test_backward_is_the_inverse(to_interleaved):
    weight, dy = RNG.standard_normal((2, C, H * D))
    y, residuals = permute_pairs_forward(weight, H=H, to_interleaved=to_interleaved)
    np.testing.assert_array_equal(permute_pairs_backward(y, residuals), weight)
    np.testing.assert_allclose(np.sum(dy * y), np.sum(permute_pairs_backward(dy, residuals) * weight), rtol=1e-12)


def test_rows_as_transformers_converts_them():
    """Weights (out, in): view as heads, pairs, 2; swap the last two."""
    weight = RNG.standard_normal((H * D, C))
    theirs = weight.reshape(H, D // 2, 2, C).swapaxes(1, 2).reshape(H * D, C)
    np.testing.assert_array_equal(permute_pairs_forward(weight.T, H=H)[0].T, theirs)


def test_bad_input():
    for weight, count, message in (
        (np.ones((2, 10)), 3, "H: got 3; allowed: a divisor of 10, the width of weight"),
        (np.ones((2, 10)), 0, "H: got 0"),
        (np.ones((2, 9)), 3, "weight: got rotary width 3; allowed: an even width >= 2"),
    ):
        with pytest.raises(ValueError, match=message):
            permute_pairs_forward(weight, H=count)
