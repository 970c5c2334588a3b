"""Every op on every case, to 60 digits, against mpmath: the same source on mparray, an independent array library."""

import operator
from collections.abc import Sequence
from typing import Any

import mparray
import mpmath
import numpy as np
import pytest
from flint import arb

from refimpl.exact import Exact
from refimpl.ops import run
from tests.cases import IDS, arguments
from tests.exact.formulas import FORMULAS

DIGITS = 60


def rational_powers(base: float, numerators: Sequence[int], denominator: int) -> tuple[Any, Any]:
    powers = [mpmath.mpf(base) ** (mpmath.mpf(int(n)) / denominator) for n in numerators]
    return mparray.asarray(np.asarray(powers, object), dtype=mparray.float64), mparray.zeros((len(powers),))


def of_integers(original: Any, takes_first: Any) -> Any:
    """Return maximum or minimum with integers allowed: mparray's own makes integers of infinities, and fails."""

    def either(x: Any, y: Any) -> Any:
        first, second = mparray.asarray(x), mparray.asarray(y)
        if mparray.isdtype(first.dtype, "integral") and mparray.isdtype(second.dtype, "integral"):
            return mparray.where(takes_first(first, second), first, second)
        return original(x, y)

    return either


@pytest.fixture(autouse=True)
def sixty_digits(monkeypatch):
    for name, hook in (("rational_powers", rational_powers), ("constant", mparray.asarray)):
        monkeypatch.setattr(mparray, name, hook, raising=False)
    monkeypatch.setattr(mparray, "maximum", of_integers(mparray.maximum, operator.gt))
    monkeypatch.setattr(mparray, "minimum", of_integers(mparray.minimum, operator.lt))
    monkeypatch.setattr(mpmath.mp, "log2", lambda x: mpmath.log(x, 2), raising=False)
    with mpmath.workdps(DIGITS + 15):
        monkeypatch.setattr(mparray, "pi", mparray.asarray(np.asarray(+mpmath.pi, object), dtype=mparray.float64))
        yield


def assert_same(got: Any, want: Any, where: str) -> None:
    """Compare an exact array with mparray's."""
    assert got.shape == want.shape, where
    if got.dtype != np.float64:
        assert np.array_equal(got.data, np.asarray(want._data)), where
        return
    with got.xp.settings():
        for ball, number in zip(got.data.flat, want._data.flat, strict=True):
            reference = arb(mpmath.nstr(number, DIGITS + 10))
            if not reference.is_finite():
                assert ball == reference, where
                continue
            assert abs(ball - reference) < arb(10) ** -DIGITS * max(1, float(abs(number))), f"{where}: {ball}"


@pytest.mark.parametrize("id", IDS)
def test_op_agrees_with_mpmath(id):
    op, params, inputs, names = arguments(id)
    xp = Exact(300)
    got = run(op, params, {name: xp.asarray(array) for name, array in inputs.items()}, names, xp=xp)
    want = run(op, params, {name: mparray.asarray(array) for name, array in inputs.items()}, names, xp=mparray)
    for name in names:
        assert_same(got[name], want[name], name)


@pytest.mark.parametrize("name", FORMULAS)
def test_formula_agrees_with_mpmath(name):
    formula, arrays = FORMULAS[name]
    got, want = (formula(xp, *(xp.asarray(a) for a in arrays)) for xp in (Exact(300), mparray))
    assert_same(got, want, name)
