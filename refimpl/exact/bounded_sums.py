"""Sums, products and matrix products of Bound: enclosures of every order of summation."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb, ctx

from .array import Data, as_ndarray
from .balls import Balls
from .functions import matrix_product, maximum, minimum
from .profiles import Format
from .representable import ZERO, abs_lower, abs_upper, common_last_bit, is_zero, last_bits
from .widening import UNBOUNDED, gammas, widened, widened_sum

ROUGH = 30  # bits are enough for the size of an error


class BoundedSums(Balls):
    """Everything is accumulated in the wide format and stored once."""

    wide: Format

    def fold(self, name: str, rows: np.ndarray, narrow: bool) -> np.ndarray:
        exact = super().fold(name, rows, narrow)
        if name in {"max", "min"} or not len(rows):
            return exact
        if name == "prod":
            return self.store(self._product_of(exact, rows), narrow)
        size, count = np.add.reduce(abs_upper(rows), axis=0), np.sum(~is_zero(rows), axis=0)
        return self._sum(exact, size, count, common_last_bit(rows, 0), narrow)

    def _product_of(self, exact: Data, rows: Data) -> Data:
        """A product of n factors by γ_n, where no partial product in any order leaves the normal range."""
        one: Any = arb(1)
        greatest = np.multiply.reduce(maximum(abs_upper(rows), one), axis=0)
        least = np.multiply.reduce(minimum(np.where(is_zero(rows), one, abs_lower(rows)), one), axis=0)
        inside = np.asarray((greatest <= self.wide.max_finite) & (least >= self.wide.least_normal), np.bool_)
        gamma = float(gammas(np.asarray(len(rows)), self.wide))
        return np.where(inside, widened(exact, self.wide, arb(1, gamma)), UNBOUNDED)

    def running_sum(self, rows: np.ndarray, narrow: bool) -> np.ndarray:
        size, count = np.add.accumulate(abs_upper(rows)), np.add.accumulate(~is_zero(rows), dtype=np.int64)
        last_bit = np.minimum.accumulate(last_bits(rows))
        return self._sum(super().running_sum(rows, narrow), size, count, last_bit, narrow)

    def scatter(self, ids: np.ndarray, rows: np.ndarray, length: int, narrow: bool) -> np.ndarray:
        size = super().scatter(ids, abs_upper(rows), length, narrow)
        count, last_bit = np.zeros(size.shape, np.int64), np.full(size.shape, ZERO)
        np.add.at(count, ids, ~is_zero(rows))
        np.minimum.at(last_bit, ids, last_bits(rows))
        return self._sum(super().scatter(ids, rows, length, narrow), size, count, last_bit, narrow)

    def _sum(self, total: Data, size: Data, count: Any, last_bit: Any, narrow: bool) -> Data:
        sums = widened_sum(as_ndarray(total), size, count, last_bit, self.wide, products=False)
        return self.store(sums, narrow, keep=count <= 1, gradual=False)

    def product(self, a: np.ndarray, b: np.ndarray, narrow: bool) -> np.ndarray:
        with ctx.workprec(ROUGH):
            size = abs_upper(matrix_product(abs_upper(a), abs_upper(b)))
        count = np.matmul((~is_zero(a)).astype(np.float64), (~is_zero(b)).astype(np.float64)).astype(np.int64)
        last_bit = common_last_bit(a, -1)[..., :, None] + common_last_bit(b, -2)[..., None, :]
        sums = widened_sum(matrix_product(a, b), size, count, last_bit, self.wide, products=True)
        return self.store(sums, narrow)

    def store(self, data: np.ndarray, narrow: bool, keep: Any = False, gradual: bool = True) -> np.ndarray:
        raise NotImplementedError
