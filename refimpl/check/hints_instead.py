"""What a wrong result is instead of the right one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import ml_dtypes
import numpy as np

from ..exact.profiles import FORMATS
from ..fixtures.budget import worst
from .hints_order import moved_axes, own_factors, reordered

Arrays = Mapping[str, np.ndarray]
NEAR = 2.0  # tolerances: what is multiplied or moved has been rounded once more
NARROWER = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def instead(
    got: np.ndarray,
    want: np.ndarray,
    tol: np.ndarray,
    inputs: Arrays,
    lengths: set[int],
    names: Sequence[str],
) -> Iterator[str]:
    """Say what a result is as a whole, most telling first. names: of its axes."""
    if got.shape != want.shape:
        yield from moved_axes(got, want, tol)
        return
    yield from itertools.chain(
        _copied(got, inputs),
        _factor(got, want, tol, lengths),
        _shift(got, want, tol),
        moved_axes(got, want, tol),
        reordered(got, want, tol, names),
    )


def in_part(
    got: np.ndarray, want: np.ndarray, tol: np.ndarray, precision: int, lengths: set[int], names: Sequence[str]
) -> Iterator[str]:
    """Say what a result is in part. precision: bits of the profile."""
    yield from _rounded(got, want, [name for name in NARROWER if FORMATS[name].precision < precision])
    yield from _factor_where_out(got, want, tol, lengths)
    yield from own_factors(got, want, tol, names)
    yield from _row_shifts(got, want, tol)


def _copied(got: np.ndarray, inputs: Arrays) -> Iterator[str]:
    if np.isnan(got).all():
        yield "all NaN"
    for name, array in inputs.items():
        if array.size > 1 and array.dtype.kind == "f" and np.array_equal(got, array):
            yield f"a copy of the input {name}"


def _factor(got: np.ndarray, want: np.ndarray, tol: np.ndarray, lengths: set[int]) -> Iterator[str]:
    """Say so where got is a constant times want; the element known best gives the constant."""
    if got.size < 3 or not (np.isfinite(got).all() and np.isfinite(want).all() and want.any()):
        return
    with np.errstate(all="ignore"):
        best = np.nanargmin(np.where(want != 0, tol / np.abs(want), np.nan))
    factor = float(got.flat[best] / want.flat[best])
    if factor == 0 and not got.any():
        yield "all 0"
    elif worst(got, factor * want, tol * max(1.0, abs(factor))) <= NEAR:
        yield f"{_named(factor, lengths)} × the right one"


def _named(factor: float, lengths: set[int]) -> str:
    """Write a factor, and what it may be: a length of the case, its root, or one over them."""
    names = {-1.0: "−1", 2.0: "2", 0.5: "1/2", 1 / math.log(2): "1/ln 2", math.log(2): "ln 2"}
    for n in sorted(lengths - {0, 1}):
        for value, name in ((n, f"{n}"), (1 / n, f"1/{n}"), (math.sqrt(n), f"√{n}"), (1 / math.sqrt(n), f"1/√{n}")):
            names.setdefault(float(value), name)
    near = min(names, key=lambda value: abs(factor / value - 1))
    if abs(factor / near - 1) > 2e-3:
        return f"{factor:.5g}"
    return names[near] if near in (-1.0, 2.0, 0.5) or near == int(near) else f"{factor:.5g} ({names[near]})"


def _shift(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> Iterator[str]:
    """Say so where got is want and a constant."""
    if got.size < 3 or not (np.isfinite(got).all() and np.isfinite(want).all()):
        return
    best = np.argmin(tol + np.abs(want) * 1e-300)
    shift = float(got.flat[best] - want.flat[best])
    if shift and worst(got, want + shift, tol + np.spacing(abs(shift))) <= NEAR:
        yield f"the right one {'+' if shift > 0 else '−'} {abs(shift):.5g}"


def _rounded(got: np.ndarray, want: np.ndarray, formats: Sequence[str]) -> Iterator[str]:
    """Say so where every value is a number of a narrower format, and most are the right one rounded to it."""
    with np.errstate(all="ignore"):
        held = [name for name in formats if np.array_equal(got.astype(NARROWER[name]).astype(np.float64), got)]
        right = {name: np.mean(want.astype(NARROWER[name]).astype(np.float64) == got) for name in held}
    best = max(right, key=right.__getitem__, default=None)
    if best and right[best] > 0.5 and not np.array_equal(got, want):
        yield f"every value is a {best} number: rounded to it on the way"


def _factor_where_out(got: np.ndarray, want: np.ndarray, tol: np.ndarray, lengths: set[int]) -> Iterator[str]:
    """Say so where what is out is a constant times the right one, and the rest is right."""
    with np.errstate(all="ignore"):
        outside = ~((got == want) | (np.abs(got - want) <= tol))
    if 3 <= np.count_nonzero(outside) < got.size:
        for remark in _factor(got[outside], want[outside], tol[outside], lengths):
            yield f"{remark} where it is out"


def _row_shifts(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> Iterator[str]:
    """Say so where every row is the right one and a constant of its own: the softmax of it is the same."""
    if got.ndim < 2 or got.shape[-1] < 3 or not (np.isfinite(got).all() and np.isfinite(want).all()):
        return
    best = np.argmin(tol, axis=-1)[..., None]
    shift = np.take_along_axis(got - want, best, axis=-1)
    if shift.any() and worst(got, want + shift, tol + np.spacing(np.abs(shift))) <= NEAR:
        yield "each row of the last axis is the right one and a constant of its own"
