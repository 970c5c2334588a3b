"""What an arithmetic must define, and how operands are admitted to it. Everything else is built on these steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from .array import BOOL, INT, REAL, Array, as_ndarray


class Steps:
    """The steps on reals. Each works on bare data (balls or floats); `narrow` asks for the storage format."""

    dtype_of_reals: np.dtype[Any]

    def settings(self) -> AbstractContextManager[Any]:
        """The context of all work on reals: precision, floating-point warnings."""
        raise NotImplementedError

    def enter(self, values: np.ndarray, narrow: bool) -> np.ndarray:
        """Numbers (float64, integers, balls) to reals, rounded once."""
        raise NotImplementedError

    def store(self, data: np.ndarray, narrow: bool) -> np.ndarray:
        """Reals of the wide format to the storage format, rounded once."""
        raise NotImplementedError

    def elementwise(self, name: str, *arrays: Array, narrow: bool) -> np.ndarray:
        raise NotImplementedError

    def compare(self, name: str, x: np.ndarray, y: np.ndarray) -> Array:
        raise NotImplementedError

    def classify(self, name: str, data: np.ndarray) -> np.ndarray:
        """isnan, isfinite, isinf."""
        raise NotImplementedError

    def truncated(self, data: np.ndarray) -> np.ndarray:
        """The integer parts, as int64."""
        raise NotImplementedError

    def fold(self, name: str, rows: np.ndarray, narrow: bool) -> np.ndarray:
        """sum, prod, max or min of rows[0], rows[1], ..."""
        raise NotImplementedError

    def running_sum(self, rows: np.ndarray, narrow: bool) -> np.ndarray:
        raise NotImplementedError

    def product(self, a: np.ndarray, b: np.ndarray, narrow: bool) -> np.ndarray:
        """(..., M, K) @ (..., K, N)"""
        raise NotImplementedError

    def scatter(self, ids: np.ndarray, rows: np.ndarray, length: int, narrow: bool) -> np.ndarray:
        """sums[n] = sum of rows[i] over ids[i] = n"""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__} has no function {name!r}")

    def _compute(self, step: Callable[..., Any], *args: Any, narrow: bool) -> Array:
        """Run one step: the only place where the precision is set and where an array of reals is made."""
        with self.settings():
            return Array(self, as_ndarray(step(*args, narrow=narrow), self.dtype_of_reals), wide=not narrow)

    def _array(self, value: Any) -> Array:
        """Admit an operand: an array of this namespace, or a Python number that no rounding has touched."""
        if isinstance(value, Array):
            if value.xp is not self and value.xp != self:
                raise TypeError(f"{self!r} got an array of {value.xp!r}; arrays of two arithmetics do not mix")
            return value
        if isinstance(value, bool | np.bool_):
            return Array(self, np.asarray(value, BOOL))
        if isinstance(value, int | np.integer) and -(2**63) <= value < 2**63:
            return Array(self, np.asarray(value, INT))
        if isinstance(value, int | float | np.floating):
            refuse_rounded(value)
            return self._compute(self.enter, np.asarray(value), narrow=False)
        raise TypeError(f"got {type(value).__name__}; allowed: arrays of {self!r}, Python integers, infinities")

    def _real(self, x: Array) -> Array:
        return x if x.dtype == REAL else self._compute(self.enter, x.data, narrow=False)

    def _unified(self, *values: Any) -> list[Array]:
        """Bring operands to one kind; narrow reals beside wide ones mean that all of them are stored narrow."""
        arrays = [self._array(value) for value in values]
        if not any(x.dtype == REAL for x in arrays):
            return arrays
        reals = [self._real(x) for x in arrays]
        return reals if all(x.wide for x in reals) else [self.leaving(x) for x in reals]

    def leaving(self, x: Array) -> Array:
        """Return an array as an output keeps it: reals in the storage format."""
        return self._compute(self.store, x.data, narrow=True) if x.wide and x.dtype == REAL else x


def refuse_rounded(*numbers: Any) -> None:
    """Raise TypeError for a Python float that is no integer: it may have been rounded before it came here."""
    for number in numbers:
        if isinstance(number, float | np.floating) and math.isfinite(number) and number != int(number):
            raise TypeError(
                f"the Python float {float(number)!r} may be a rounded number, and the result exact for the wrong one;"
                " write constant(name, like=x) for a caller's parameter, or compute it from integers"
            )
