"""The Array API over one arithmetic. Integers, booleans and shapes are NumPy's; reals go to the arithmetic's steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from .array import INT, REAL, Array, as_ndarray
from .composed import Composed
from .creation import Creation
from .inspection import Inspection
from .reductions import Reductions


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# NumPy's own, whatever the array holds.
REARRANGING = _names(
    "reshape permute_dims matrix_transpose expand_dims squeeze broadcast_to flip roll moveaxis repeat tile"
    " take take_along_axis"
)
# NumPy's own, on integers and booleans only.
DISCRETE = _names(
    "bitwise_and bitwise_or bitwise_xor bitwise_invert bitwise_left_shift bitwise_right_shift"
    " logical_and logical_or logical_not logical_xor argmax argmin argsort sort searchsorted count_nonzero"
)
# Steps of the arithmetic, elementwise; on integers NumPy's own where MIXED. All but erf are in the standard.
MIXED = _names("add subtract multiply negative abs sign square pow maximum minimum floor ceil trunc round")
REAL_VALUED = _names("divide sqrt exp expm1 log log1p log2 sin cos tan sinh cosh tanh atan erf")
COMPARISONS = _names("less less_equal greater greater_equal equal not_equal")
CLASSES = _names("isfinite isinf isnan")

SELECTING = frozenset({"maximum", "minimum"})  # return one of their operands
STORED_NARROW = frozenset({"sin", "cos"})  # tables are stored in 16 bits, whatever the angles are kept in


class Namespace(Creation, Reductions, Composed, Inspection):
    """What the three arithmetics share; `Steps` lists what each of them defines."""

    def __getattr__(self, name: str) -> Any:
        if name in REARRANGING:
            return partial(self._rearranged, getattr(np, name))
        if name in MIXED or name in REAL_VALUED:
            return partial(self._elementwise, name)
        if name in COMPARISONS:
            return partial(self._compared, name)
        if name in CLASSES:
            return partial(self._classified, name)
        if name in DISCRETE:
            return partial(self._discrete, name)
        return super().__getattr__(name)

    def _rearranged(self, function: Callable[..., Any], x: Any, /, *args: Any, **kwargs: Any) -> Array:
        x, args = self._array(x), tuple(a.data if isinstance(a, Array) else a for a in args)
        kwargs = {key: a.data if isinstance(a, Array) else a for key, a in kwargs.items()}
        return Array(self, as_ndarray(function(x.data, *args, **kwargs), x.data.dtype), x.wide)

    def _elementwise(self, name: str, /, *operands: Any) -> Array:
        arrays = [self._array(x) for x in operands]
        if name in MIXED and not any(x.dtype == REAL for x in arrays):
            return self._discrete(name, *arrays)
        reals = self._unified(*arrays) if name in SELECTING else [self._real(x) for x in arrays]
        narrow = name in STORED_NARROW or not all(x.wide for x in reals)
        return self._compute(partial(self.elementwise, name), *reals, narrow=narrow)

    def _discrete(self, name: str, /, *operands: Any, **options: Any) -> Array:
        arrays = [self._array(x) for x in operands]
        if any(x.dtype == REAL for x in arrays):
            raise TypeError(f"{name}: got reals; allowed: integers and booleans")
        result = np.asarray(getattr(np, name)(*(x.data for x in arrays), **options))
        return Array(self, result if result.dtype == np.bool_ else result.astype(INT))

    def _compared(self, name: str, x1: Any, x2: Any, /) -> Array:
        x, y = self._array(x1), self._array(x2)
        if x.dtype != REAL and y.dtype != REAL:
            return self._discrete(name, x, y)
        x, y = self._real(x), self._real(y)
        with self.settings():
            return self.compare(name, x.data, y.data)

    def _classified(self, name: str, x: Any, /) -> Array:
        x = self._array(x)
        return Array(self, np.asarray(self.classify(name, x.data) if x.dtype == REAL else getattr(np, name)(x.data)))

    def where(self, condition: Array, x1: Any, x2: Any, /) -> Array:
        x, y = self._unified(x1, x2)
        return Array(self, np.where(self._array(condition).data, x.data, y.data), x.wide)

    def concat(self, arrays: Any, /, *, axis: int | None = 0) -> Array:
        unified = self._unified(*arrays)
        return Array(self, np.concatenate([x.data for x in unified], axis=axis), unified[0].wide)

    def stack(self, arrays: Any, /, *, axis: int = 0) -> Array:
        unified = self._unified(*arrays)
        return Array(self, np.stack([x.data for x in unified], axis=axis), unified[0].wide)

    def astype(self, x: Array, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
        kind = np.dtype(dtype).kind
        if kind == "f":
            return self._real(x)
        if x.dtype != REAL:
            return Array(self, x.data.astype(np.bool_ if kind == "b" else INT))
        if kind == "b":
            return self._compared("not_equal", x, 0)
        with self.settings():
            return Array(self, self.truncated(x.data))
