"""The tools that make an op wrong on purpose."""

from __future__ import annotations

import inspect

import ml_dtypes
import numpy as np
import pytest

from refimpl import exact
from refimpl.attention.attention import attention_backward, attention_forward
from refimpl.attention.linear import linear_backward, linear_forward
from refimpl.mistakes.mistake import changed, precision, remembering, rewired, round_bits, taking_arguments_of, then
from refimpl.mistakes.positions import from_zero, in_bfloat16, of_first_sequence


@pytest.mark.parametrize(("bits", "format"), [(8, ml_dtypes.bfloat16), (11, np.float16)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_round_bits_is_a_cast(bits: int, format: type, dtype: type) -> None:
    x = np.random.default_rng(7).normal(size=5000).astype(np.float32).astype(dtype)
    np.testing.assert_array_equal(round_bits(x, bits), x.astype(format).astype(dtype))


def test_round_bits_keeps_what_is_short() -> None:
    x = np.asarray([0.0, 1.0, -255.0, 2.0**-30])
    np.testing.assert_array_equal(round_bits(x, 8), x)
    np.testing.assert_array_equal(round_bits(x / 3, 53), x / 3)


def test_precision_is_that_of_the_arithmetic() -> None:
    assert precision(np.ones(3)) == 53
    assert precision(np.ones((2, 2), np.float32)) == 24
    for profile, bits in (("f64", 53), ("f32", 24), ("bf16", 8), ("f16", 11)):
        assert precision(exact.Nearest(profile).asarray(np.ones(3))) == bits


def test_positions_in_bfloat16() -> None:
    positions = np.arange(-300, 70000)
    np.testing.assert_array_equal(in_bfloat16(positions), positions.astype(ml_dtypes.bfloat16).astype(np.int64))
    assert in_bfloat16(np.asarray(257)) == 256


def test_positions_from_zero() -> None:
    np.testing.assert_array_equal(from_zero(np.asarray([[5, 6], [9, 8]])), [[0, 1], [1, 0]])
    assert from_zero(np.asarray(7)) == 0
    np.testing.assert_array_equal(of_first_sequence(np.asarray([[5, 6], [9, 8]])), [[5, 6], [5, 6]])


def test_changed_and_then_keep_the_signature() -> None:
    for mutant in (changed(attention_forward, scale=lambda a: 1.0), then(attention_forward, lambda result: result)):
        assert inspect.signature(mutant) == inspect.signature(attention_forward)


def test_changed_sees_every_argument() -> None:
    x, weight = np.ones((2, 3)), np.ones((3, 5))
    y, _ = changed(linear_forward, x=lambda a: a.x * a.weight.shape[1] if a.bias is None else a.x)(x, weight)
    np.testing.assert_array_equal(y, np.full((2, 5), 15.0))


def test_remembering_leaves_the_op_alone() -> None:
    x, weight = np.ones((2, 3)), np.ones((3, 5))
    y, residuals = linear_forward(x, weight)
    wrong = remembering(linear_backward, weight=lambda r: 2 * r.weight)
    np.testing.assert_array_equal(wrong(y, residuals)[0], 2 * linear_backward(y, residuals)[0])


def test_rewired_replaces_one_callee() -> None:
    q = np.ones((1, 2, 3))
    wrong = rewired(attention_forward, softmax_and_lse=lambda x, mask: (x * 0, x[..., 0]))
    assert not wrong(q, q, q)[0].y.any()
    assert attention_forward(q, q, q)[0].y.any()


def test_rewired_refuses_what_is_not_called() -> None:
    with pytest.raises(ValueError, match=r"callees: got \['softmax'\]; allowed: what attention_backward calls by name"):
        rewired(attention_backward, softmax=lambda x: x)


def test_taking_arguments_of() -> None:
    @taking_arguments_of(linear_forward)
    def mutant(*arrays: np.ndarray) -> np.ndarray:
        return arrays[0]

    assert list(inspect.signature(mutant).parameters) == ["x", "weight", "bias"]
