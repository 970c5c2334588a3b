"""One sentence for every bad input: which argument, what came, what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .namespace import Array, array_namespace


def require(condition: bool, argument: str, got: object, allowed: str) -> None:
    """Raise ValueError("<argument>: got <got>; allowed: <allowed>") unless the condition holds."""
    if not condition:
        raise ValueError(f"{argument}: got {got}; allowed: {allowed}")


def require_one_of(argument: str, got: object, allowed: Sequence[object]) -> None:
    """Raise ValueError unless `got` is one of the allowed values."""
    require(got in allowed, argument, repr(got), ", ".join(repr(value) for value in allowed) or "nothing")


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
