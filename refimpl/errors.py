"""One sentence for every bad input: which argument, what came, what is allowed."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any, NoReturn

from .namespace import Array, array_namespace

BOUNDS = {
    "above": (">", operator.gt),
    "least": (">=", operator.ge),
    "below": ("<", operator.lt),
    "most": ("<=", operator.le),
}


def require(condition: bool, argument: str, got: object, allowed: str) -> None:
    """Raise ValueError("<argument>: got <got>; allowed: <allowed>") unless the condition holds."""
    if not condition:
        refuse(argument, got, allowed)


def refuse(argument: str, got: object, allowed: str) -> NoReturn:
    """Raise ValueError("<argument>: got <got>; allowed: <allowed>")."""
    raise ValueError(f"{argument}: got {got}; allowed: {allowed}")


def require_one_of(argument: str, got: object, allowed: Sequence[object]) -> None:
    """Raise ValueError unless `got` is one of the allowed values."""
    known = any(isinstance(got, type(value)) and got == value for value in allowed)
    require(known, argument, repr(got), ", ".join(repr(value) for value in allowed) or "nothing")


def require_integer(argument: str, value: Any, least: int | None = None) -> None:
    """Raise ValueError unless a parameter is an integer, and not below `least`; a bool or a whole float is none."""
    integer = isinstance(value, Integral) and not isinstance(value, bool)
    allowed = "an integer" if least is None else f"an integer >= {least}"
    require(integer and (least is None or value >= least), argument, repr(value), allowed)


def require_even(argument: str, value: int, least: int = 2) -> None:
    """Raise ValueError unless a parameter is an even integer, and not below `least`."""
    require(value >= least and value % 2 == 0, argument, repr(value), f"an even integer >= {least}")


def require_sizes(least: int = 1, **sizes: object) -> None:
    """Raise ValueError unless every parameter is an integer, and not below `least`."""
    for argument, size in sizes.items():
        require_integer(argument, size, least)


def require_number(argument: str, value: Any, **bounds: float) -> None:
    """Raise ValueError unless a parameter is a finite number, within bounds named in BOUNDS."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    within = number and _is_finite(value) and all(BOUNDS[name][1](value, bound) for name, bound in bounds.items())
    signs = [f"{BOUNDS[name][0]} {bound:g}" for name, bound in bounds.items()]
    require(within, argument, repr(value), " ".join(["a finite number", " and ".join(signs)]).strip())


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer that no float64 holds
        return False


def require_shape(argument: str, array: Array, shape: tuple[object, ...]) -> None:
    """Raise ValueError unless an array has this shape; a letter in it stands for any length."""
    got = tuple(array.shape)
    fits = len(got) == len(shape) and all(isinstance(s, str) or g == s for g, s in zip(got, shape, strict=True))
    require(fits, argument, f"shape {got}", shape_of(shape))


def require_cotangents(dy: Any, **shapes: tuple[int, ...]) -> None:
    """Raise ValueError unless those parts of dy that are there have the shapes of their outputs."""
    for name, shape in shapes.items():
        if getattr(dy, name) is not None:
            require_shape(f"dy.{name}", getattr(dy, name), tuple(shape))


def shape_of(lengths: Iterable[object]) -> str:
    """Write a shape, letters standing for any length."""
    written = [str(length) for length in lengths]
    return f"shape ({', '.join(written)}{',' if len(written) == 1 else ''})"


def require_index(argument: str, ids: Array, rows: int, table: str) -> None:
    """Raise ValueError unless every id names a row of `table`; a negative id would silently wrap in NumPy."""
    xp = array_namespace(ids)
    if 0 in ids.shape:
        return
    lowest, highest = int(xp.min(ids)), int(xp.max(ids))
    outside = lowest if lowest < 0 else highest
    require(0 <= outside < rows, argument, outside, f"0 .. {rows - 1} ({table} has {rows} rows)")


def require_row(argument: str, row: int | None, table: Array) -> None:
    """Raise ValueError unless a row is None or one of the table's."""
    rows = table.shape[0]
    require(row is None or 0 <= row < rows, argument, row, f"None or 0 .. {rows - 1}")


def require_broadcastable(argument: str, array: Any, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless the array broadcasts to `shape`."""
    got = tuple(array.shape)
    fits = len(got) <= len(shape) and all(g in (1, s) for g, s in zip(got[::-1], shape[::-1], strict=False))
    require(fits, argument, f"shape {got}", f"a shape that broadcasts to {tuple(shape)}")
