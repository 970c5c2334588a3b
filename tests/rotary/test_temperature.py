import numpy as np
import pytest

from refimpl import query_temperature_backward, query_temperature_forward

RNG = np.random.default_rng(29)


def factor(position: int, **options: float) -> float:
    return query_temperature_forward(np.ones((1, 1)), positions=np.asarray([position]), **options)[0].item()


def test_llama_4_steps_one_position_before_8192():
    assert factor(8190) == 1
    assert factor(8191) == factor(16382) == pytest.approx(1 + 0.1 * np.log(2), rel=1e-15)
    assert factor(131071) == pytest.approx(1 + 0.1 * np.log(17), rel=1e-15)


def test_ministral_steps_at_the_position_itself():
    options = {"offset": 0, "step": 16384, "scale": 0.1}
    assert factor(16383, **options) == 1
    assert factor(16384, **options) == pytest.approx(1 + 0.1 * np.log(2), rel=1e-15)


def test_each_sequence_has_its_own_positions():
    x = RNG.standard_normal((2, 3, 5, 4))
    positions = np.asarray([[[0, 1, 2, 3, 4]], [[7, 8, 9, 10, 11]]])
    y, residuals = query_temperature_forward(x, positions=positions, step=3)
    for b in range(2):
        one, _ = query_temperature_forward(x[b], positions=positions[b, 0], step=3)
        np.testing.assert_array_equal(y[b], one)
    np.testing.assert_array_equal(query_temperature_backward(x, residuals), y)


def test_bad_input():
    x = np.ones((3, 4))
    for positions, options, message in (
        (np.arange(3), {"step": 0}, "step: got 0; allowed: an integer >= 1"),
        (np.arange(3.0), {}, "positions: got dtype float64; allowed: int32 or int64"),
        (np.arange(-2, 1), {}, "positions: got -2; allowed: integers >= -1"),
        (np.arange(2), {}, r"positions: got shape \(2,\); allowed: a shape that broadcasts to \(3,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            query_temperature_forward(x, positions=positions, **options)
