"""Does a result look like that of a mutant? Distances in root mean square of the case's tolerances."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

Arrays = Mapping[str, np.ndarray]
ROUNDING = 1.0  # tolerances: not more than rounding
LEFT = 0.1  # of the error may stay unexplained: the roundings of the mistake itself fell elsewhere
NEARER = 0.5  # of the distance from the right answer, at most
FAR = 1e30  # stands for an infinite distance


class Sought(NamedTuple):
    """A wrong result, in float64, and what it should have been."""

    got: Arrays
    want: Arrays
    unit: Arrays  # the tolerances, none of them 0
    wrong: Sequence[str]
    error: Mapping[str, float]  # distance of got from want


def sought(got: Arrays, want: Arrays, tol: Arrays, wrong: Sequence[str], roundoff: float) -> Sought:
    """Return what to look for.

    Where a tolerance is 0, the least other stands in, or one rounding of the largest value.
    """
    unit = {}
    for name, array in tol.items():
        largest = float(np.max(np.abs(want[name]), initial=0.0, where=np.isfinite(want[name])))
        least = float(np.min(array, initial=math.inf, where=array > 0))
        unit[name] = np.where(array > 0, array, least if least < math.inf else roundoff * (largest or 1.0))
    return Sought(got, want, unit, wrong, {name: distance(got[name], want[name], unit[name]) for name in want})


def unexplained(case: Sought, run: Arrays, names: Sequence[str], left: float = LEFT) -> float:
    """Return which share of the error in these outputs a mutant leaves over, 0 to 1; infinity where it is no match."""
    shares = []
    for name in names:
        if name not in run:
            return math.inf
        rest = distance(case.got[name], run[name], case.unit[name])
        whole = max(case.error[name], distance(run[name], case.want[name], case.unit[name]), ROUNDING)
        nearer = name not in case.wrong or _nearer(case, name, run[name])
        if rest > max(ROUNDING, left * whole) or not nearer:
            return math.inf
        shares.append(rest / whole)
    return float(np.mean(shares))


def _nearer(case: Sought, name: str, run: np.ndarray) -> bool:
    """Say whether a mutant is nearer to the result than the right answer is, where that is out of tolerance."""
    got, want, unit = case.got[name], case.want[name], case.unit[name]
    if not got.shape == want.shape == run.shape:
        return distance(got, run, unit) <= NEARER * case.error[name]
    with np.errstate(all="ignore"):
        out = ~((got == want) | (np.abs(got - want) <= unit))
    return distance(got[out], run[out], unit[out]) <= NEARER * distance(got[out], want[out], unit[out])


def resembles(case: Sought, rough: Arrays) -> bool:
    """Say whether a mutant may explain some output; one that is not finite here may be so in the profile."""
    for name in (name for name in case.wrong if name in rough):
        rest = distance(case.got[name], rough[name], case.unit[name])
        if rest <= max(4 * ROUNDING, NEARER * case.error[name]) or _overflows(rough[name], case.want[name]):
            return True
    return False


def alike(case: Sought, one: Arrays, other: Arrays, names: Sequence[str]) -> bool:
    """Say whether two mutants give the same in these outputs."""
    return all(
        distance(one[name], other[name], case.unit[name])
        <= max(ROUNDING, LEFT * distance(one[name], case.want[name], case.unit[name]))
        for name in names
    )


def distance(a: np.ndarray, b: np.ndarray, unit: np.ndarray) -> float:
    """Return the root mean square of (a − b) / unit; a NaN is near a NaN alone. FAR for another shape."""
    if a.shape != b.shape or a.shape != unit.shape:
        return FAR
    with np.errstate(all="ignore"):
        apart = np.abs(a - b) / unit
    apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.where(np.isfinite(apart), apart, FAR))
    return float(np.sqrt(np.mean(np.minimum(apart, FAR) ** 2))) if apart.size else 0.0


def _overflows(rough: np.ndarray, want: np.ndarray) -> bool:
    return rough.shape == want.shape and bool((~np.isfinite(rough) & np.isfinite(want)).any())
