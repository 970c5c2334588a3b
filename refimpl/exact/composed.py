"""Functions of the Array API that are formulas over others: each of their steps is one step of the arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .array import BOOL, INT, Array
from .steps import Steps


class Composed(Steps):
    """What holds in any arithmetic, because it only calls the namespace itself."""

    def positive(self, x: Array, /) -> Array:
        return self._array(x)

    def reciprocal(self, x: Array, /) -> Array:
        return self.divide(1, x)

    def clip(self, x: Array, /, min: Any = None, max: Any = None) -> Array:
        x = x if min is None else self.maximum(x, min)
        return x if max is None else self.minimum(x, max)

    def floor_divide(self, x1: Any, x2: Any, /) -> Array:
        if self.result_type(x1, x2) == INT:
            return self._discrete("floor_divide", x1, x2)
        return self.floor(self.divide(x1, x2))

    def remainder(self, x1: Any, x2: Any, /) -> Array:
        if self.result_type(x1, x2) == INT:
            return self._discrete("remainder", x1, x2)
        return self.subtract(x1, self.multiply(x2, self.floor_divide(x1, x2)))

    def logaddexp(self, x1: Array, x2: Array, /) -> Array:
        distance = self.abs(self.subtract(x1, x2))
        return self.add(self.maximum(x1, x2), self.log1p(self.exp(self.negative(distance))))

    def mean(self, x: Array, /, *, axis: Any = None, keepdims: bool = False) -> Array:
        total = self.sum(x, axis=axis, keepdims=keepdims)
        return self.divide(total, x.size // math.prod(total.shape))

    def var(self, x: Array, /, *, axis: Any = None, correction: int = 0, keepdims: bool = False) -> Array:
        squares = self.square(self.subtract(x, self.mean(x, axis=axis, keepdims=True)))
        total = self.sum(squares, axis=axis, keepdims=keepdims)
        return self.divide(total, x.size // math.prod(total.shape) - correction)

    def std(self, x: Array, /, *, axis: Any = None, correction: int = 0, keepdims: bool = False) -> Array:
        return self.sqrt(self.var(x, axis=axis, correction=correction, keepdims=keepdims))

    def vecdot(self, x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
        rows, columns = self.moveaxis(x1, axis, -1), self.moveaxis(x2, axis, -1)
        return self.squeeze(self.matmul(rows[..., None, :], columns[..., :, None]), (-2, -1))

    def tensordot(self, x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
        left, right = (range(-axes, 0), range(axes)) if isinstance(axes, int) else axes
        left, right = [i % x1.ndim for i in left], [i % x2.ndim for i in right]
        kept = [[i for i in range(x.ndim) if i not in axes] for x, axes in ((x1, left), (x2, right))]
        shape = [x.shape[i] for x, free in ((x1, kept[0]), (x2, kept[1])) for i in free]
        n = math.prod(x1.shape[i] for i in left)
        a = self.reshape(self.permute_dims(x1, (*kept[0], *left)), (-1, n))
        b = self.reshape(self.permute_dims(x2, (*right, *kept[1])), (n, -1))
        return self.reshape(self.matmul(a, b), tuple(shape))

    def tril(self, x: Array, /, *, k: int = 0) -> Array:
        return self.where(Array(self, np.tri(x.shape[-2], x.shape[-1], k, dtype=np.bool_)), x, self.zeros_like(x))

    def triu(self, x: Array, /, *, k: int = 0) -> Array:
        return self.where(Array(self, np.tri(x.shape[-2], x.shape[-1], k - 1, dtype=np.bool_)), self.zeros_like(x), x)

    def broadcast_arrays(self, *arrays: Array) -> list[Array]:
        shape = np.broadcast_shapes(*(x.shape for x in arrays))
        return [self.broadcast_to(x, shape) for x in arrays]

    def meshgrid(self, *arrays: Array, indexing: Any = "xy") -> list[Array]:
        grids = np.meshgrid(*(np.arange(x.size) for x in arrays), indexing=indexing)
        return [x[grid] for x, grid in zip(arrays, grids, strict=True)]

    def unstack(self, x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
        rows = self.moveaxis(x, axis, 0)
        return tuple(rows[i, ...] for i in range(rows.shape[0]))

    def nonzero(self, x: Array, /) -> tuple[Array, ...]:
        return tuple(Array(self, i.astype(INT)) for i in np.nonzero(self.astype(x, BOOL).data))
