"""What every definition needs: exact inputs, a working precision, and the index rule of broadcasting."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from mpmath import mp

DIGITS = 60

Arrays = dict[str, np.ndarray]
Inputs = Mapping[str, np.ndarray]
Params = Mapping[str, Any]


def precise(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    """Evaluate with DIGITS decimal digits, or with the caller's mp.dps where that is more."""

    @functools.wraps(function)
    def evaluate(*arguments: Any) -> Arrays:
        with mp.workdps(max(DIGITS, mp.dps)):
            return function(*arguments)

    return evaluate


def number(x: Any) -> Any:
    """The exact value of a float, an integer or an mpf."""
    return mp.mpf(x.item() if isinstance(x, np.generic) else x)


def exact(array: np.ndarray) -> np.ndarray:
    """The same array, each element at its exact value."""
    array = np.asarray(array)
    result = np.empty(array.shape, dtype=object)
    for at in np.ndindex(array.shape):
        result[at] = number(array[at])
    return result


def zeros(shape: tuple[int, ...]) -> np.ndarray:
    result = np.empty(shape, dtype=object)
    for at in np.ndindex(result.shape):
        result[at] = mp.mpf(0)
    return result


def cotangent(cotangents: Inputs, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """dL/d(output `name`); an output without cotangent does not enter the loss."""
    return exact(cotangents[name]) if cotangents.get(name) is not None else zeros(shape)


def source(at: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    """Index of the element that an array of `shape`, broadcast from the right, shows at `at`."""
    aligned = at[len(at) - len(shape) :]
    return tuple(0 if size == 1 else i for i, size in zip(aligned, shape, strict=True))


def table_row(index: Any, rows: int) -> int:
    """A row number of a table, which never wraps around."""
    if not 0 <= index < rows:
        raise IndexError(f"row {index} of a table of {rows} rows")
    return int(index)
