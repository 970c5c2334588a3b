"""Arrays out of numbers: the doors through which values enter an arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb

from .array import INT, REAL, Array, as_ndarray
from .steps import Steps, refuse_rounded


class Creation(Steps):
    """Creation functions of the Array API, and the hooks `constant` and `rational_powers`."""

    @property
    def pi(self) -> Array:
        return self._compute(lambda narrow: self.enter(as_ndarray(arb.pi()), narrow), narrow=False)

    @property
    def e(self) -> Array:
        return self._compute(lambda narrow: self.enter(as_ndarray(arb.const_e()), narrow), narrow=False)

    def constant(self, value: float) -> Array:
        """Admit a caller's parameter at its exact float64 value; a profile rounds it once."""
        return self._compute(self.enter, np.asarray(value), narrow=False)

    def rational_powers(self, base: float, numerators: Sequence[int], denominator: int) -> tuple[Array, Array]:
        """Return base^(n / denominator) for every n, and zeros: nothing is left for a tail."""
        exponents = self.divide(self.asarray(np.asarray(numerators, INT)), denominator)
        power = self.pow(self.constant(base), exponents)
        return power, self.zeros_like(power)

    def asarray(
        self, obj: Any, /, *, dtype: Any = None, device: Any = None, copy: Any = None, wide: bool = False
    ) -> Array:
        """Admit data at its exact values. wide: reals that a 16-bit profile keeps in float32 (positions)."""
        if isinstance(obj, Array):
            return obj if dtype is None else self.astype(obj, dtype)
        values = np.asarray(obj)
        if not isinstance(obj, np.ndarray):
            refuse_rounded(*values.ravel().tolist())
        if values.dtype.kind == "O":
            raise TypeError("asarray: got objects; allowed: floats, integers, booleans")
        if values.dtype.kind in "bui":
            array = Array(self, values if values.dtype.kind == "b" else values.astype(INT))
        else:
            array = self._compute(self.enter, values.astype(np.float64), narrow=not wide)
        return array if dtype is None else self.astype(array, dtype)

    def full(self, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
        value = self._array(fill_value)
        return self.broadcast_to(value if dtype is None else self.astype(value, dtype), shape)

    def zeros(self, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
        return self.full(shape, 0, dtype=dtype or REAL)

    def ones(self, shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
        return self.full(shape, 1, dtype=dtype or REAL)

    def full_like(self, x: Array, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
        filled = self.full(x.shape, fill_value, dtype=dtype or x.dtype)
        return filled if x.wide else self.leaving(filled)

    def zeros_like(self, x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
        return self.full_like(x, 0, dtype=dtype)

    def ones_like(self, x: Array, /, *, dtype: Any = None, device: Any = None) -> Array:
        return self.full_like(x, 1, dtype=dtype)

    empty, empty_like = zeros, zeros_like

    def arange(self, start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Array:
        start, stop = (0, start) if stop is None else (start, stop)
        refuse_rounded(start, stop, step)
        whole = all(isinstance(bound, int | np.integer) for bound in (start, stop, step))
        values = Array(self, np.arange(int(start), int(stop), int(step), dtype=INT))
        return self.astype(values, dtype or (INT if whole else REAL))

    def linspace(
        self, start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None, endpoint: bool = True
    ) -> Array:
        steps = max(num - 1, 1) if endpoint else num
        return self.arange(num, dtype=REAL) * (stop - start) / steps + start

    def eye(
        self, n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
    ) -> Array:
        return self.astype(Array(self, np.eye(n_rows, n_cols, k=k, dtype=INT)), dtype or REAL)
