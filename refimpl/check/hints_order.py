"""Is a result the right one in another order, or with a factor for each index of an axis?"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from ..fixtures.budget import worst
from .figures import short

NEAR = 2.0  # tolerances
LONGEST = 64  # indices of an axis that are tried


def moved_axes(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> Iterator[str]:
    """Say so where got is want with its axes in another order."""
    if sorted(got.shape) != sorted(want.shape) or not 2 <= got.ndim <= 5:
        return
    for axes in itertools.permutations(range(got.ndim)):
        moved = want.transpose(axes)
        other = axes != tuple(range(got.ndim)) and moved.shape == got.shape
        if other and worst(got, moved, tol.transpose(axes)) <= NEAR:
            yield f"the right one with its axes in the order {axes}"
            return


def reordered(got: np.ndarray, want: np.ndarray, tol: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """Say so where each slice of got along an axis is some slice of want."""
    for axis, length in enumerate(want.shape):
        if 2 <= length <= LONGEST and want.size > length:
            order = _order(np.moveaxis(got, axis, 0), np.moveaxis(want, axis, 0), np.moveaxis(tol, axis, 0))
            if order is not None and order != list(range(length)):
                yield f"the right one with {_name(names[axis])} in the order {_described(order)}"
                return


def own_factors(got: np.ndarray, want: np.ndarray, tol: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """Say so where each slice along an axis is the right one times a factor of its own."""
    if not (np.isfinite(got).all() and np.isfinite(want).all()):
        return
    for axis, length in enumerate(want.shape):
        if not (2 <= length <= LONGEST and want.size >= 3 * length):
            continue
        g, w, t = (np.moveaxis(array, axis, 0).reshape(length, -1) for array in (got, want, tol))
        best = np.argmax(np.abs(w), axis=1)[:, None]
        right = np.take_along_axis(w, best, axis=1)
        if right.all():
            factor = np.take_along_axis(g, best, axis=1) / right
            if worst(g, factor * w, t * np.maximum(1.0, np.abs(factor))) <= NEAR:
                listed = ", ".join(short(float(f)) for f in factor[:6, 0])
                yield f"each {_name(names[axis], 1)} has a factor of its own: {listed}{', …' if length > 6 else ''}"
                return


def _order(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> list[int] | None:
    """Return which slice of want each slice of got is, None where one is none."""
    order = []
    for i, slice_ in enumerate(got):
        near = (j for j in (i, *range(len(want))) if worst(slice_, want[j], tol[j]) <= NEAR)
        found = next(near, None)
        if found is None:
            return None
        order.append(found)
    return order


def _described(order: list[int]) -> str:
    n = len(order)
    listed = ", ".join(map(str, order[:8])) + (", …" if n > 8 else "")
    if order == list(range(n))[::-1]:
        return f"{listed}: reversed"
    if order == [*range(order[0], n), *range(order[0])]:
        return f"{listed}: rolled"
    if order == [*range(0, n, 2), *range(1, n, 2)]:
        return f"{listed}: even, then odd"
    return listed


def _name(name: str, number: int = 2) -> str:
    if name.startswith("axis"):
        return name if number > 1 else f"index of {name}"
    return name if number == 1 else f"{name}s"
