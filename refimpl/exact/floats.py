"""Nearest(profile): what a plain evaluation in a profile gives, the same on every machine.

Each operation rounds to nearest: + - × ÷ √ as NumPy has them, everything transcendental by FLINT, correctly. Sums run
strictly in sequence, in the wide format. 16-bit values are kept in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import ctx

from .array import INT, OBJECT, Array
from .balls import EMPTY
from .functions import COMPARISONS, FUNCTIONS, to_balls
from .namespace import MIXED, Namespace
from .profiles import Format, Profile, profile_named
from .rounding import round_balls, round_ends, round_floats

IEEE = (MIXED - {"pow"}) | {"divide", "sqrt"}  # NumPy rounds these correctly
FOLDS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
erf = np.vectorize(math.erf, otypes=[np.float64])  # NumPy has none
BITS, TIE_BITS = 128, 2048  # first precision, and the one at which an open rounding is taken for a tie


@dataclass(frozen=True)
class Nearest(Namespace):
    """Plain floating-point numbers of a profile."""

    profile: str

    def __post_init__(self) -> None:
        profile_named(self.profile)

    @property
    def formats(self) -> Profile:
        return profile_named(self.profile)

    @property
    def dtype_of_reals(self) -> np.dtype[Any]:  # type: ignore[override]
        return np.dtype(self.formats.wide.name)

    @contextmanager
    def settings(self) -> Iterator[None]:
        with np.errstate(all="ignore"), ctx.workprec(BITS):
            yield

    def enter(self, values: np.ndarray, narrow: bool) -> np.ndarray:
        format = self.formats.storage if narrow else self.formats.wide
        if values.dtype == OBJECT:
            values = round_balls(to_balls(values), format)[0]
        if values.dtype == INT and not narrow:
            return values.astype(self.dtype_of_reals)
        return round_floats(values.astype(np.float64), format).astype(self.dtype_of_reals)

    def store(self, data: np.ndarray, narrow: bool) -> np.ndarray:
        if not narrow or self.formats.storage == self.formats.wide:
            return data
        return round_floats(data.astype(np.float64), self.formats.storage).astype(self.dtype_of_reals)

    def elementwise(self, name: str, *arrays: Array, narrow: bool) -> np.ndarray:
        operands = [x.data for x in arrays]
        result = getattr(np, name)(*operands) if name in IEEE else function(name, self.formats.wide, *operands)
        return self.store(np.asarray(result), narrow)

    def compare(self, name: str, x: np.ndarray, y: np.ndarray) -> Array:
        return Array(self, np.asarray(COMPARISONS[name][0](x, y)))

    def classify(self, name: str, data: np.ndarray) -> np.ndarray:
        return getattr(np, name)(data)

    def truncated(self, data: np.ndarray) -> np.ndarray:
        return data.astype(INT)

    def fold(self, name: str, rows: np.ndarray, narrow: bool) -> np.ndarray:
        if not len(rows):
            return np.full(rows.shape[1:], EMPTY[name], self.dtype_of_reals)
        result = rows[0]
        for row in rows[1:]:
            result = FOLDS[name](result, row)
        return self.store(np.asarray(result), narrow)

    def running_sum(self, rows: np.ndarray, narrow: bool) -> np.ndarray:
        sums = rows.copy()
        for i in range(1, len(rows)):
            sums[i] = sums[i - 1] + rows[i]
        return self.store(sums, narrow)

    def product(self, a: np.ndarray, b: np.ndarray, narrow: bool) -> np.ndarray:
        shape = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        sums = np.zeros((*shape, a.shape[-2], b.shape[-1]), self.dtype_of_reals)
        for k in range(a.shape[-1]):
            sums = sums + a[..., :, k, None] * b[..., None, k, :]
        return self.store(sums, narrow)

    def scatter(self, ids: np.ndarray, rows: np.ndarray, length: int, narrow: bool) -> np.ndarray:
        sums = np.zeros((length, *rows.shape[1:]), self.dtype_of_reals)
        np.add.at(sums, ids, rows)
        return self.store(sums, narrow)


def function(name: str, format: Format, *operands: np.ndarray) -> np.ndarray:
    """Evaluate a function of floats, correctly rounded; poles, infinities and NaN as IEEE 754 has them."""
    shape = np.broadcast_shapes(*(x.shape for x in operands))
    arguments = [np.atleast_1d(x).astype(np.float64) for x in np.broadcast_arrays(*operands)]
    result = getattr(np, name, erf)(*arguments)  # special values stay, ordinary ones are replaced
    ordinary = _ordinary(name, *arguments)
    result[ordinary] = _rounded(name, format, [x[ordinary] for x in arguments])
    return result.astype(format.name).reshape(shape)


def _ordinary(name: str, x: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
    """Say where the result is a number that a ball can enclose."""
    if y is not None:  # pow
        return np.isfinite(x) & np.isfinite(y) & ((x > 0) | (x < 0) & (y == np.trunc(y)))
    pole = {"log": 0.0, "log2": 0.0, "log1p": -1.0}.get(name, -np.inf)
    return np.isfinite(x) & (x > pole)


def _rounded(name: str, format: Format, points: list[np.ndarray]) -> np.ndarray:
    balls = FUNCTIONS[name](*(to_balls(x.astype(OBJECT)) for x in points))
    values, decided = round_balls(balls, format)
    if decided.all():
        return values
    if ctx.prec >= TIE_BITS:
        low, high = round_ends(balls[~decided], format)
        values[~decided] = round_floats(low / 2 + high / 2, format)  # halfway between neighbours, so to even
        return values
    with ctx.workprec(4 * ctx.prec):
        values[~decided] = _rounded(name, format, [x[~decided] for x in points])
    return values
