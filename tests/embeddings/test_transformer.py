import numpy as np
import pytest

from refimpl import (
    learned_position_forward,
    sinusoidal_forward,
    transformer_embedding_backward,
    transformer_embedding_forward,
)

RNG = np.random.default_rng(4)
IDS = RNG.integers(0, 11, (3, 5))
WEIGHT = RNG.standard_normal((11, 6))
TABLE = RNG.standard_normal((9, 6))


def test_sum_of_its_parts():
    y, _ = transformer_embedding_forward(IDS, WEIGHT, start=2)
    np.testing.assert_allclose(y, 6**0.5 * WEIGHT[IDS] + sinusoidal_forward(np.arange(2, 7), 6)[0], rtol=1e-15)
    y, _ = transformer_embedding_forward(IDS, WEIGHT, TABLE, position="learned", scale_by_sqrt_width=False, start=4)
    np.testing.assert_array_equal(y, WEIGHT[IDS] + learned_position_forward(np.arange(4, 9), TABLE)[0])
    y, _ = transformer_embedding_forward(IDS, WEIGHT, position="none", scale_by_sqrt_width=False)
    np.testing.assert_array_equal(y, WEIGHT[IDS])


@pytest.mark.parametrize("position", ["sinusoidal", "learned", "none"])
def test_sequence_first_is_the_transpose(position):
    """A position vector that runs along the batch instead is caught: 3 sequences, 5 tokens."""
    table = TABLE if position == "learned" else None
    keep = RNG.random((3, 5, 6)) > 0.1
    dy = RNG.standard_normal((3, 5, 6))
    y, residuals = transformer_embedding_forward(IDS, WEIGHT, table, position=position, keep=keep, p=0.1)
    turned, turned_residuals = transformer_embedding_forward(
        IDS.T, WEIGHT, table, position=position, keep=keep.swapaxes(0, 1), p=0.1, batch_first=False
    )
    np.testing.assert_array_equal(turned, y.swapaxes(0, 1))
    for straight, other in zip(
        transformer_embedding_backward(dy, residuals),
        transformer_embedding_backward(dy.swapaxes(0, 1), turned_residuals),
        strict=True,
    ):
        assert (straight is None) == (other is None)
        if straight is not None:
            np.testing.assert_allclose(straight, other, rtol=1e-13, atol=1e-14)


def test_one_sequence_without_a_batch():
    y, residuals = transformer_embedding_forward(IDS[0], WEIGHT, TABLE, position="learned")
    batched, _ = transformer_embedding_forward(IDS[:1], WEIGHT, TABLE, position="learned")
    np.testing.assert_array_equal(y, batched[0])
    _, dtable = transformer_embedding_backward(np.ones_like(y), residuals)
    np.testing.assert_array_equal(dtable, np.repeat([1.0, 0.0], [5, 4])[:, None] * np.ones(6))


def test_sequence_longer_than_the_table_names_both():
    with pytest.raises(ValueError, match=r"ids: got a sequence of length 5 from start 5.*position_weight has 9 rows"):
        transformer_embedding_forward(IDS, WEIGHT, TABLE, position="learned", start=5)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {"position": "rotary"}, "position: got 'rotary'; allowed: 'sinusoidal', 'learned', 'none'"),
        ((), {"position": "learned"}, "position_weight: got None"),
        ((TABLE,), {"position": "none"}, r"position_weight: got a table of shape \(9, 6\)"),
        ((), {"p": 0.1}, "p: got 0.1; allowed: 0 without keep"),
    ],
)
def test_bad_options(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        transformer_embedding_forward(IDS, WEIGHT, *arguments, **options)
