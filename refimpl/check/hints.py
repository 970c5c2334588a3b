"""What a wrong result looks like, where no known mistake explains it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import ml_dtypes
import numpy as np

from ..exact.profiles import FORMATS, PROFILES
from ..fixtures.budget import worst
from .compare import Comparison

Arrays = Mapping[str, np.ndarray]
NEAR = 2.0  # tolerances: what is multiplied or moved has been rounded once more
NARROWER = {"bfloat16": ml_dtypes.bfloat16, "float16": np.float16, "float32": np.float32}


def hints(
    got: Arrays, want: Arrays, tol: Arrays, found: Mapping[str, Comparison], inputs: Arrays, *, profile: str
) -> tuple[str, ...]:
    """Return short remarks, most telling first. `found` holds the comparisons of `got`, in float64, with `want`."""
    wrong = [name for name in found if found[name].off]
    said: dict[str, list[str]] = {}
    for name in wrong:
        for remark in _of_one(got[name], want[name], tol[name], inputs, PROFILES[profile].storage.precision):
            said.setdefault(remark, []).append(name)
    only = ["only gradients differ"] if len(wrong) < len(found) and all(n.startswith("grad.") for n in wrong) else []
    return (*only, *(f"{', '.join(names)}: {remark}" for remark, names in said.items()))


def _of_one(got: np.ndarray, want: np.ndarray, tol: np.ndarray, inputs: Arrays, precision: int) -> Iterator[str]:
    """Remark on one output: what it is instead, and where it is out."""
    if got.shape != want.shape:
        yield from _moved_axes(got, want, tol)
        return
    lengths = {n for array in (*inputs.values(), want) for n in array.shape}
    whole = itertools.chain(
        _copied(got, inputs),
        _rounded(got, want, [name for name in NARROWER if FORMATS[name].precision < precision]),
        _factor(got, want, tol, lengths),
        _shift(got, want, tol),
        _moved_axes(got, want, tol),
    )
    yield from itertools.islice(whole, 1)
    with np.errstate(all="ignore"):
        outside = ~((got == want) | (np.abs(got - want) <= tol))
    yield from _masked_rows(outside, want, inputs)
    yield from _where(outside)


def _copied(got: np.ndarray, inputs: Arrays) -> Iterator[str]:
    if np.isnan(got).all():
        yield "all NaN"
    for name, array in inputs.items():
        if array.size > 1 and array.dtype.kind == "f" and np.array_equal(got, array):
            yield f"a copy of the input {name}"


def _factor(got: np.ndarray, want: np.ndarray, tol: np.ndarray, lengths: set[int]) -> Iterator[str]:
    """Say so where got is a constant times want; the element known best gives the constant."""
    if got.size < 3 or not (np.isfinite(got).all() and np.isfinite(want).all() and want.any()):
        return
    with np.errstate(all="ignore"):
        best = np.nanargmin(np.where(want != 0, tol / np.abs(want), np.nan))
    factor = float(got.flat[best] / want.flat[best])
    if factor == 0 and not got.any():
        yield "all 0"
    elif worst(got, factor * want, tol * max(1.0, abs(factor))) <= NEAR:
        yield f"{_named(factor, lengths)} × the right one"


def _named(factor: float, lengths: set[int]) -> str:
    """Write a factor, and what it may be: a length of the case, its root, or one over them."""
    names = {-1.0: "−1", 2.0: "2", 0.5: "1/2", 1 / math.log(2): "1/ln 2", math.log(2): "ln 2"}
    for n in sorted(lengths - {0, 1}):
        for value, name in ((n, f"{n}"), (1 / n, f"1/{n}"), (math.sqrt(n), f"√{n}"), (1 / math.sqrt(n), f"1/√{n}")):
            names.setdefault(float(value), name)
    near = min(names, key=lambda value: abs(factor / value - 1))
    if abs(factor / near - 1) > 2e-3:
        return f"{factor:.5g}"
    return names[near] if near in (-1.0, 2.0, 0.5) or near == int(near) else f"{factor:.5g} ({names[near]})"


def _shift(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> Iterator[str]:
    """Say so where got is want and a constant."""
    if got.size < 3 or not (np.isfinite(got).all() and np.isfinite(want).all()):
        return
    best = np.argmin(tol + np.abs(want) * 1e-300)
    shift = float(got.flat[best] - want.flat[best])
    if shift and worst(got, want + shift, tol + np.spacing(abs(shift))) <= NEAR:
        yield f"the right one {'+' if shift > 0 else '−'} {abs(shift):.5g}"


def _moved_axes(got: np.ndarray, want: np.ndarray, tol: np.ndarray) -> Iterator[str]:
    """Say so where got is want with its axes in another order."""
    if sorted(got.shape) != sorted(want.shape) or not 2 <= got.ndim <= 5:
        return
    for axes in itertools.permutations(range(got.ndim)):
        moved = want.transpose(axes)
        if (
            axes != tuple(range(got.ndim))
            and moved.shape == got.shape
            and worst(got, moved, tol.transpose(axes)) <= NEAR
        ):
            yield f"the right one with its axes in the order {axes}"
            return


def _rounded(got: np.ndarray, want: np.ndarray, formats: Sequence[str]) -> Iterator[str]:
    """Say so where every value is a number of a narrower format, and most are the right one rounded to it."""
    with np.errstate(all="ignore"):
        held = [name for name in formats if np.array_equal(got.astype(NARROWER[name]).astype(np.float64), got)]
        right = {name: np.mean(want.astype(NARROWER[name]).astype(np.float64) == got) for name in held}
    best = max(right, key=right.__getitem__, default=None)
    if best and right[best] > 0.5 and not np.array_equal(got, want):
        yield f"every value is a {best} number: rounded to it on the way"


def _masked_rows(outside: np.ndarray, want: np.ndarray, inputs: Arrays) -> Iterator[str]:
    """Say so where only rows with nothing to keep are out: their right value is 0, or −inf for an lse."""
    if "mask" not in inputs or not want.ndim:
        return
    empty = np.isneginf(want) | np.all(want == 0, axis=-1, keepdims=True)
    if empty.any() and not empty.all() and not (outside & ~empty).any():
        yield "differs in fully masked rows only"


def _where(outside: np.ndarray) -> Iterator[str]:
    """Say on which indices of each axis something is out, unless it is on all of them, or a single element."""
    if np.count_nonzero(outside) == 1:
        return
    for axis, length in enumerate(outside.shape):
        hit = np.flatnonzero(outside.any(axis=tuple(i for i in range(outside.ndim) if i != axis))).tolist()
        if 0 < len(hit) < length:
            yield f"out {_indices(hit, length)} of axis {axis} (length {length})"


def _indices(hit: list[int], length: int) -> str:
    """Write a set of indices in words."""
    first, last = hit[0], hit[-1]
    if len(hit) == 1:
        return f"only at index {first}"
    if len(hit) == last - first + 1:
        return f"only from index {first} on" if last == length - 1 else f"only at indices {first} to {last}"
    return f"only at indices {', '.join(map(str, hit[:6]))}{', …' if len(hit) > 6 else ''}"
