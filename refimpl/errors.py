"""One sentence for every bad input: which argument, what came, what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from .namespace import Array, array_namespace


def require(condition: bool, argument: str, got: object, allowed: str) -> None:
    """Raise ValueError("<argument>: got <got>; allowed: <allowed>") unless the condition holds."""
    if not condition:
        raise ValueError(f"{argument}: got {got}; allowed: {allowed}")


def require_one_of(argument: str, got: object, allowed: Sequence[object]) -> None:
    """Raise ValueError unless `got` is one of the allowed values."""
    require(got in allowed, argument, repr(got), ", ".join(repr(value) for value in allowed) or "nothing")


def require_integer(argument: str, value: object, least: int | None = None) -> None:
    """Raise ValueError unless a parameter is an integer, and not below `least`; a bool or a whole float is none."""
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    allowed = "an integer" if least is None else f"an integer >= {least}"
    require(integer and (least is None or value >= least), argument, repr(value), allowed)  # type: ignore[operator]


def require_number(argument: str, value: object, *, above: float = -math.inf) -> None:
    """Raise ValueError unless a parameter is a finite number above `above`."""
    finite = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    allowed = "a finite number" if above == -math.inf else f"a finite number > {above:g}"
    require(finite and value > above, argument, repr(value), allowed)  # type: ignore[operator]


def require_shape(argument: str, array: Array, shape: tuple[object, ...]) -> None:
    """Raise ValueError unless an array has this shape; a letter in it stands for any length."""
    got = tuple(array.shape)
    fits = len(got) == len(shape) and all(isinstance(s, str) or g == s for g, s in zip(got, shape, strict=True))
    require(fits, argument, f"shape {got}", f"shape ({', '.join(map(str, shape))})")


def require_integers(argument: str, array: Array) -> None:
    """Raise ValueError unless the array holds integers."""
    xp = array_namespace(array)
    require(xp.isdtype(array.dtype, "integral"), argument, f"dtype {array.dtype}", "an integer dtype")


def require_index(argument: str, ids: Array, rows: int, table: str) -> None:
    """Raise ValueError unless every id names a row of `table`; a negative id would silently wrap in NumPy."""
    xp = array_namespace(ids)
    require_integers(argument, ids)
    if 0 in ids.shape:
        return
    lowest, highest = int(xp.min(ids)), int(xp.max(ids))
    outside = lowest if lowest < 0 else highest
    require(0 <= outside < rows, argument, outside, f"0 .. {rows - 1} ({table} has {rows} rows)")


def require_mask(argument: str, mask: Array, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the mask is boolean and broadcasts to `shape`."""
    xp = array_namespace(mask)
    require(xp.isdtype(mask.dtype, "bool"), argument, f"dtype {mask.dtype}", "bool (True keeps)")
    require_broadcastable(argument, mask, shape)


def require_broadcastable(argument: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the array broadcasts to `shape`."""
    got = tuple(array.shape)
    fits = len(got) <= len(shape) and all(g in (1, s) for g, s in zip(got[::-1], shape[::-1], strict=False))
    require(fits, argument, f"shape {got}", f"a shape that broadcasts to {tuple(shape)}")
