"""One array class for every arithmetic: a wrapper around a NumPy array that lets nothing leak into NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

BOOL, INT, REAL = np.dtype(np.bool_), np.dtype(np.int64), np.dtype(np.float64)
OBJECT = np.dtype(object)
Data = Any  # a NumPy array of balls (objects) or floats: reals without their arithmetic


class Array:
    """Reals, integers or booleans of one arithmetic `xp`.

    data: reals as the arithmetic keeps them (balls or floats), integers as int64, booleans as bool.
    wide: the reals are in the profile's wide format. Only the 16-bit profiles have two formats.
    """

    __array_ufunc__ = None  # an operator with a NumPy operand comes to the methods below, which refuse it
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, xp: Any, data: np.ndarray, wide: bool = True) -> None:
        self.xp, self.data, self.wide = xp, data, wide

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self.xp

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def dtype(self) -> np.dtype[Any]:
        """float64 stands for the reals of every arithmetic."""
        return {"b": BOOL, "i": INT}.get(self.data.dtype.kind, REAL)

    @property
    def device(self) -> str:
        return "cpu"

    def to_device(self, device: str, /, *, stream: Any = None) -> Array:
        return self

    @property
    def mT(self) -> Array:
        return self.xp.matrix_transpose(self)

    @property
    def T(self) -> Array:
        if self.ndim != 2:
            raise ValueError(f"x.T: got {self.ndim} dimensions; allowed: 2 (x.mT transposes the last two)")
        return self.mT

    def __getitem__(self, key: Any) -> Array:
        keys = key if isinstance(key, tuple) else (key,)
        indices = tuple(k.data if isinstance(k, Array) else k for k in keys)
        return Array(self.xp, as_ndarray(self.data[indices], self.data.dtype), self.wide)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError("an exact array is never written in place; use xp.where, xp.concat or xp.stack")

    def __len__(self) -> int:
        return len(self.data)

    def __repr__(self) -> str:
        with self.xp.settings():
            return f"Array({self.data!r}, xp={self.xp!r})"

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("an exact array does not become a NumPy array; it leaves through prove, bound or nearest")

    def __float__(self) -> float:
        raise TypeError("an exact array does not become a float; it leaves through prove, bound or nearest")

    def __bool__(self) -> bool:
        return bool(self.xp.not_equal(self, 0).data) if self.dtype == REAL else bool(self.data)

    def __index__(self) -> int:
        if self.dtype != INT:
            raise TypeError(f"an index is an integer array, got dtype {self.dtype}")
        return self.data.__index__()

    __int__ = __index__


def as_ndarray(value: Any, dtype: Any = OBJECT) -> np.ndarray:
    """Undo NumPy's habit of returning a scalar in place of a 0-d array."""
    if isinstance(value, np.ndarray):
        return value
    array = np.empty((), dtype)
    array[()] = value
    return array


_UNARY = {"neg": "negative", "pos": "positive", "abs": "abs", "invert": "bitwise_invert"}
_BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
_COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}


def _operator(function: str, reflected: bool = False) -> Callable[..., Array]:
    """Return the method that calls a function of the namespace."""

    def operator(*operands: Any) -> Array:
        return getattr(operands[0].xp, function)(*(operands[::-1] if reflected else operands))

    return operator


for _name, _function in (_UNARY | _BINARY | _COMPARISONS).items():
    setattr(Array, f"__{_name}__", _operator(_function))
for _name, _function in _BINARY.items():
    setattr(Array, f"__r{_name}__", _operator(_function, reflected=True))
