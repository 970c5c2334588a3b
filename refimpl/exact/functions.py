"""Elementwise functions of balls (FLINT's arb, midpoint ± radius), under their Array API names."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import arb, arb_mat

from .array import OBJECT, as_ndarray

SMALL = 64  # integer powers up to here are products


def each(function: Callable[..., Any], dtype: Any = OBJECT, operands: int = 1) -> Callable[..., np.ndarray]:
    """Turn a function of balls into one of object arrays, with results of the given dtype."""
    ufunc = np.frompyfunc(function, operands, 1)
    if dtype == OBJECT:
        return lambda *arrays: as_ndarray(ufunc(*arrays))
    return lambda *arrays: np.asarray(ufunc(*arrays), dtype)


def is_small_integer(x: arb) -> bool:
    return x.is_exact() and x.is_integer() and abs(x) <= SMALL


def _power(x: arb, y: arb) -> arb:
    """x ** y; a small integer power as a product, which holds where the ball of x contains 0, too."""
    if not is_small_integer(y):
        return x**y
    n, power, square = abs(int(float(y))), arb(1), x
    while n:
        power = power * square if n % 2 else power
        square, n = square * square, n // 2
    return power if y >= 0 else 1 / power


def _round(x: arb) -> arb:
    """To the nearest integer, ties to even."""
    tie = x.is_exact() and (2 * x).is_integer() and not x.is_integer()
    return 2 * ((2 * x + 1) / 4).floor() if tie else (x + arb(0.5)).floor()


maximum: Any = np.frompyfunc(arb.max, 2, 1)
minimum: Any = np.frompyfunc(arb.min, 2, 1)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.true_divide,
    "negative": np.negative,
    "abs": np.absolute,
    "square": lambda x: x * x,
    "sqrt": each(arb.sqrt),
    "pow": each(_power, operands=2),
    "maximum": maximum,
    "minimum": minimum,
    "sign": each(arb.sgn),
    "floor": each(arb.floor),
    "ceil": each(arb.ceil),
    "trunc": each(lambda x: x.sgn() * abs(x).floor()),
    "round": each(_round),
    "exp": each(arb.exp),
    "expm1": each(arb.expm1),
    "log": each(arb.log),
    "log1p": each(arb.log1p),
    "log2": each(lambda x: x.log_base(2)),
    "sin": each(arb.sin),
    "cos": each(arb.cos),
    "tan": each(arb.tan),
    "sinh": each(arb.sinh),
    "cosh": each(arb.cosh),
    "tanh": each(arb.tanh),
    "atan": each(arb.atan),
    "erf": each(arb.erf),
}

# Each comparison with its negation. On balls both are false while the balls overlap.
COMPARISONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "less": (operator.lt, operator.ge),
    "less_equal": (operator.le, operator.gt),
    "greater": (operator.gt, operator.le),
    "greater_equal": (operator.ge, operator.lt),
    "equal": (operator.eq, operator.ne),
    "not_equal": (operator.ne, operator.eq),
}

to_balls = each(arb)


def matrix_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., M, K) @ (..., K, N) through arb_mat; each matrix is converted once, however often it is broadcast."""
    m, n = a.shape[-2], b.shape[-1]
    products = as_ndarray(_matrices(a) * _matrices(b))
    entries = np.empty((products.size, m * n), OBJECT)
    for i, product in enumerate(products.flat):
        entries[i] = product.entries()
    return entries.reshape(*products.shape, m, n)


def _matrices(data: np.ndarray) -> np.ndarray:
    """(..., M, K) balls as a (...) array of M × K matrices."""
    *batch, m, k = data.shape
    matrices = np.empty(batch, OBJECT)
    for index in np.ndindex(*batch):
        matrices[index] = arb_mat(m, k, data[index].ravel().tolist())
    return matrices
