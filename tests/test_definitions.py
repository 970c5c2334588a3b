"""Every case against the independent definition of its op: loops straight from the papers (tests/definitions)."""

import flint
import mpmath
import numpy as np
import pytest

from refimpl import exact
from refimpl.fixtures.golden import computation
from refimpl.ops import OPS
from tests.cases import IDS, arguments
from tests.definitions import DEFINITIONS, GRADIENTS

DIGITS = 40


def test_every_op_has_a_definition_and_every_gradient_too():
    assert list(DEFINITIONS) == sorted(OPS, key=list(DEFINITIONS).index)
    assert set(DEFINITIONS) == set(OPS)
    assert set(GRADIENTS) == {name for name, op in OPS.items() if op.backward}


@pytest.mark.parametrize("id", IDS)
def test_case_agrees_with_the_definition(id):
    op, params, inputs, want = arguments(id)
    arrays = {name: array for name, array in inputs.items() if not name.startswith("cot.")}
    cotangents = {name[4:]: array for name, array in inputs.items() if name.startswith("cot.")}
    expected = dict(DEFINITIONS[op](arrays, params))
    if cotangents:
        expected |= {f"grad.{name}": value for name, value in GRADIENTS[op](arrays, params, cotangents).items()}
    found = computation(op, params, inputs, want)(exact.Exact(256))
    for name in want:
        assert found[name].shape == np.shape(expected[name]), name
        for index in np.ndindex(found[name].shape):
            assert_close(found[name].data[index], expected[name][index], f"{name}{list(index)}")


def assert_close(ball: flint.arb, number: mpmath.mpf, where: str) -> None:
    if mpmath.isinf(number):
        assert flint.arb(mpmath.nstr(number)) == ball, where
        return
    with flint.ctx.workprec(256):
        value = flint.arb(mpmath.nstr(number, DIGITS + 15))
        allowed = flint.arb(10) ** -DIGITS * float(max(1, abs(number)))
        assert abs(ball - value) < allowed, f"{where}: {ball} is not {number}"


def test_the_comparison_can_fail():
    with pytest.raises(AssertionError, match=r"y\[0\]"), mpmath.workdps(60):
        assert_close(flint.arb(1), mpmath.mpf(1) + mpmath.mpf(10) ** -38, "y[0]")
