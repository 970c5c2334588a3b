"""Exact(bits): every operation encloses the true value in a ball."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import arb, ctx

from .array import INT, OBJECT, Array, as_ndarray
from .functions import COMPARISONS, FUNCTIONS, each, matrix_product, maximum, minimum, to_balls
from .namespace import Namespace

FOLDS: dict[str, np.ufunc] = {"sum": np.add, "prod": np.multiply, "max": maximum, "min": minimum}
EMPTY = {"sum": 0, "prod": 1}

is_nan, is_finite, is_exact = (each(f, np.bool_) for f in (arb.is_nan, arb.is_finite, arb.is_exact))


class Undecided(ArithmeticError):
    """Balls overlap, so that a comparison of the reals inside them is open."""


class Balls(Namespace):
    """The steps of the arithmetic on balls, without a profile's rounding."""

    bits: int
    dtype_of_reals = OBJECT

    def settings(self) -> AbstractContextManager[Any]:
        return ctx.workprec(self.bits)

    def enter(self, values: np.ndarray, narrow: bool) -> np.ndarray:
        return to_balls(values.astype(OBJECT))

    def store(self, data: np.ndarray, narrow: bool) -> np.ndarray:
        return data

    def elementwise(self, name: str, *arrays: Array, narrow: bool) -> np.ndarray:
        return as_ndarray(FUNCTIONS[name](*(x.data for x in arrays)))

    def compare(self, name: str, x: np.ndarray, y: np.ndarray) -> Array:
        holds, fails = (np.asarray(comparison(x, y), np.bool_) for comparison in COMPARISONS[name])
        return Array(self, holds) if (holds | fails).all() else self.undecided(name, holds, ~(holds | fails))

    def undecided(self, name: str, holds: np.ndarray, open: np.ndarray) -> Array:
        raise Undecided(f"{name}: {open.sum()} of {open.size} comparisons are open at {self.bits} bits")

    def classify(self, name: str, data: np.ndarray) -> np.ndarray:
        nan, finite = is_nan(data), is_finite(data)
        infinite = is_exact(data) & ~nan & ~finite
        if not (nan | finite | infinite).all():
            raise Undecided(f"{name}: a ball is unbounded at {self.bits} bits")
        return {"isnan": nan, "isfinite": finite, "isinf": infinite}[name]

    def truncated(self, data: np.ndarray) -> np.ndarray:
        integers = [ball.unique_fmpz() for ball in as_ndarray(FUNCTIONS["trunc"](data)).flat]
        if None in integers:
            raise Undecided(f"astype: an integer part is open at {self.bits} bits")
        return np.asarray([int(n) for n in integers], INT).reshape(data.shape)

    def fold(self, name: str, rows: np.ndarray, narrow: bool) -> np.ndarray:
        if not len(rows):
            return np.full(rows.shape[1:], arb(EMPTY[name]), OBJECT)
        return as_ndarray(FOLDS[name].reduce(rows, axis=0))

    def running_sum(self, rows: np.ndarray, narrow: bool) -> np.ndarray:
        return np.add.accumulate(rows, axis=0)

    def product(self, a: np.ndarray, b: np.ndarray, narrow: bool) -> np.ndarray:
        return matrix_product(a, b)

    def scatter(self, ids: np.ndarray, rows: np.ndarray, length: int, narrow: bool) -> np.ndarray:
        sums = np.full((length, *rows.shape[1:]), arb(0), OBJECT)
        np.add.at(sums, ids, rows)
        return sums


@dataclass(frozen=True)
class Exact(Balls):
    """Nothing but enclosures: more bits, smaller balls."""

    bits: int = 128
