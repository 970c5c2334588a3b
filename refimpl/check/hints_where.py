"""Where a result is out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

STEPS = 5  # positions that it takes to see growth
INTEGERS = {256: "bfloat16", 2048: "float16"}  # largest integer below which all are held


def not_finite(got: np.ndarray, want: np.ndarray) -> Iterator[str]:
    """Say where NaN or an infinity came back."""
    bad = ~np.isfinite(got) & ~(got == want)
    if not bad.any() or bad.all():
        return
    what = "NaN" if np.isnan(got[bad]).all() else "not finite" if np.isnan(got[bad]).any() else "infinite"
    empty = _empty_rows(want)
    if not (bad & ~empty).any():
        yield f"{what} in fully masked rows"
    elif not (bad & np.isfinite(want)).any():
        yield f"{what} where the right one is infinite"
    else:
        at = ", ".join(map(str, np.argwhere(bad)[0]))
        yield f"{what} in {np.count_nonzero(bad)} of {bad.size}, first at [{at}]"


def masked_rows(outside: np.ndarray, want: np.ndarray) -> Iterator[str]:
    """Say so where only rows with nothing to keep are out: their right value is 0, or −inf for an lse."""
    empty = _empty_rows(want)
    if empty.any() and not empty.all() and not (outside & ~empty).any():
        yield "differs in fully masked rows only"


def only_at(outside: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """Say on which indices of each axis something is out, unless it is on all of them."""
    for axis, length in enumerate(outside.shape):
        hit = np.flatnonzero(outside.any(axis=tuple(i for i in range(outside.ndim) if i != axis))).tolist()
        if 0 < len(hit) < length:
            name = "" if names[axis].startswith("axis") else f", {names[axis]}"
            yield f"out {_indices(hit, length)} of axis {axis} (length {length}{name})"


def beyond(outside: np.ndarray, where: np.ndarray) -> Iterator[str]:
    """Say so where every element up to some position is right."""
    wrong, right = np.abs(where[outside]), np.abs(where[~outside])
    first = float(np.min(wrong))
    below = right[right < first]
    if below.size and not (first == 1 and below.max() == 0):
        held = next((f", the integers that {name} holds" for n, name in INTEGERS.items() if below.max() == n), "")
        yield f"right up to position {below.max():g}{held}; out from {first:g} on"


def growing(got: np.ndarray, want: np.ndarray, where: np.ndarray) -> Iterator[str]:
    """Say so where the error grows with the position: in the same order, fourfold at least."""
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
    steps = np.unique(np.abs(where))
    if len(steps) < STEPS or not np.isfinite(error).all():
        return
    errors = np.array([np.sqrt(np.mean(error[np.abs(where) == step] ** 2)) for step in steps])
    order = np.argsort(np.argsort(errors))
    if errors[-1] >= 4 * errors[errors > 0].min() and np.corrcoef(order, np.arange(len(steps)))[0, 1] >= 0.9:
        yield f"the error grows with the position, {errors[errors > 0].min():.1e} to {errors[-1]:.1e}"


def first_wrong(outside: np.ndarray, names: Sequence[str]) -> Iterator[str]:
    """Say which element is the first that is out, axis by axis."""
    at = np.argwhere(outside)[0]
    yield "first wrong: " + ", ".join(f"{name} {i}" for name, i in zip(names, at, strict=True))


def _empty_rows(want: np.ndarray) -> np.ndarray:
    return np.isneginf(want) | np.all(want == 0, axis=-1, keepdims=True) if want.ndim else np.isneginf(want)


def _indices(hit: list[int], length: int) -> str:
    """Write a set of indices in words."""
    first, last = hit[0], hit[-1]
    if len(hit) == 1:
        return f"only at index {first}"
    if len(hit) == last - first + 1:
        return f"only from index {first} on" if last == length - 1 else f"only at indices {first} to {last}"
    return f"only at indices {', '.join(map(str, hit[:6]))}{', …' if len(hit) > 6 else ''}"
