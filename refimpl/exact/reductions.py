"""Functions along axes: sums, extremes, products of matrices."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from .array import BOOL, INT, REAL, Array
from .steps import Steps


class Reductions(Steps):
    """Reductions and matrix products of the Array API, and the hook `scatter_add`."""

    def sum(self, x: Array, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("sum", x if dtype is None else self.astype(x, dtype), axis, keepdims)

    def prod(self, x: Array, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("prod", x if dtype is None else self.astype(x, dtype), axis, keepdims)

    def max(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("max", x, axis, keepdims)

    def min(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("min", x, axis, keepdims)

    def any(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("any", self.astype(x, BOOL), axis, keepdims)

    def all(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        return self._reduced("all", self.astype(x, BOOL), axis, keepdims)

    def _reduced(self, name: str, x: Any, axis: Any, keepdims: bool) -> Array:
        x = self._array(x)
        axes = _axes(axis, x.ndim)
        if x.dtype != REAL:
            discrete = np.asarray(getattr(np, name)(x.data, axis=axes, keepdims=keepdims))
            return Array(self, discrete if discrete.dtype == BOOL else discrete.astype(INT))
        lengths = [math.prod(x.shape[i] for i in axes), *(n for i, n in enumerate(x.shape) if i not in axes)]
        if name in {"max", "min"} and not lengths[0]:
            raise ValueError(f"{name}: got shape {x.shape}; allowed: at least one element along axis {axis}")
        rows = np.moveaxis(x.data, axes, range(len(axes))).reshape(lengths)
        result = self._compute(partial(self.fold, name), rows, narrow=not x.wide)
        return self.expand_dims(result, axes) if keepdims else result

    def cumulative_sum(
        self, x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
    ) -> Array:
        x = self._array(x) if dtype is None else self.astype(x, dtype)
        axis = 0 if axis is None else axis
        if include_initial:
            first = self.zeros_like(self.take(x, np.asarray([0]), axis=axis))
            x = self.concat([first, x], axis=axis)
        if x.dtype != REAL:
            return Array(self, np.cumsum(x.data, axis=axis, dtype=INT))
        rows = np.moveaxis(x.data, axis, 0)
        return self.moveaxis(self._compute(self.running_sum, rows, narrow=not x.wide), 0, axis)

    def matmul(self, x1: Array, x2: Array, /) -> Array:
        x, y = self._array(x1), self._array(x2)
        if x.ndim == 0 or y.ndim == 0 or x.shape[-1] != y.shape[-2:][0]:
            raise ValueError(f"matmul: got shapes {x.shape} and {y.shape}; allowed: (..., M, K) and (..., K, N)")
        if x.dtype != REAL and y.dtype != REAL:
            return Array(self, np.asarray(np.matmul(x.data, y.data)).astype(INT))
        x, y = self._real(x), self._real(y)
        a = x.data[None, :] if x.ndim == 1 else x.data
        b = y.data[:, None] if y.ndim == 1 else y.data
        result = self._compute(self.product, a, b, narrow=not (x.wide and y.wide))
        return self.squeeze(result, (-2,) * (x.ndim == 1) + (-1,) * (y.ndim == 1))

    def scatter_add(self, ids: Array, updates: Array, length: int) -> Array:
        """Return sums[n] = sum of updates[i] over all i with ids[i] = n; shape (length, *updates.shape[ids.ndim:])."""
        ids, updates = self._array(ids), self._array(updates)
        flat = np.broadcast_to(ids.data, updates.shape[: ids.ndim]).reshape(-1)
        if flat.size and not (flat.min() >= 0 and flat.max() < length):
            raise ValueError(f"ids: got {flat.min()} .. {flat.max()}; allowed: 0 .. {length - 1}")
        rows = updates.data.reshape(flat.size, *updates.shape[ids.ndim :])
        if updates.dtype == REAL:
            return self._compute(partial(self.scatter, flat, length=length), rows, narrow=not updates.wide)
        sums = np.zeros((length, *rows.shape[1:]), INT)
        np.add.at(sums, flat, rows)
        return Array(self, sums)


def _axes(axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple(int(i) % ndim for i in (axis if isinstance(axis, tuple) else (axis,)))
