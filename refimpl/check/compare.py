"""Is an array the expected one? The one comparator below the command, the controls and pytest."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..exact.profiles import PROFILES
from ..fixtures.budget import budgets

SUSPICIOUS = 16  # × honest


class Comparison(NamedTuple):
    """What is known of one output. Where shapes differ, only `reason` is."""

    ok: bool
    reason: str = ""  # why not ok
    budget: float = math.inf  # max of |got − want| / tol; above 1 no rounding of the model gets there
    honest: float = math.inf  # max |got − want| over the error of an honest naive run
    at: tuple[int, ...] | None = None  # index of the worst element
    got: float = math.nan
    want: float = math.nan
    tol: float = math.nan
    out: int = 0  # elements outside their tolerance
    size: int = 0
    cosine: float = math.nan  # similarity of got and want as vectors; NaN where one is 0 or not finite

    @property
    def off(self) -> bool:
        """Shape or values are wrong, whatever the dtype."""
        return self.out > 0 or (not self.ok and self.at is None)

    @property
    def suspicious(self) -> bool:
        """Within tolerance, yet worse than any honest run would be."""
        return self.ok and self.honest > SUSPICIOUS


def compare(got: np.ndarray, want: np.ndarray, tol: np.ndarray | None, *, profile: str, honest: float) -> Comparison:
    """Compare an output with its golden value: shape, then dtype, then |got − want| <= tol in float64.

    NaN is never right. Infinities are compared by their sign; integers and booleans, which have no tol, exactly.
    honest: the largest error of the nearest arithmetic.
    """
    if got.shape != want.shape:
        return Comparison(False, f"shape {got.shape}, want {want.shape}", size=want.size)
    dtypes = accepted_dtypes(want.dtype, profile)
    wrong_dtype = "" if got.dtype.name in dtypes else f"dtype {got.dtype.name}, want {' or '.join(dtypes)}"
    if not numeric(got.dtype):
        return Comparison(False, wrong_dtype, size=want.size)
    if got.dtype.kind in "iub" and want.dtype.kind in "iub":
        found = _exactly(got, want)
    else:
        tol = np.zeros(want.shape) if tol is None else tol
        found = _within(got.astype(np.float64), want.astype(np.float64), tol.astype(np.float64), profile, honest)
    if not wrong_dtype:
        return found
    return found._replace(ok=False, reason=wrong_dtype if found.ok else f"{wrong_dtype}; {found.reason}")


def numeric(dtype: np.dtype) -> bool:
    """Say whether a dtype holds real numbers; those of ml_dtypes are registered with NumPy from outside (2)."""
    return dtype.kind in "biuf" or dtype.isbuiltin == 2


def accepted_dtypes(want: np.dtype, profile: str) -> tuple[str, ...]:
    """Return the dtypes that an output may have. In 16 bits float32 is one: accumulators like lse stay there."""
    if want.kind == "b":
        return ("bool",)
    if want.kind in "iu":
        return ("int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8")
    return tuple(dict.fromkeys((PROFILES[profile].dtype, PROFILES[profile].wide.name)))


def cosine(got: np.ndarray, want: np.ndarray) -> float:
    """Return the cosine of the angle between two arrays; NaN where one of them is 0 or not finite."""
    scales = [float(np.max(np.abs(array), initial=0.0)) for array in (got, want)]
    if not all(0 < scale < math.inf for scale in scales):
        return math.nan
    a, b = (array.ravel() / scale for array, scale in zip((got, want), scales, strict=True))
    return float(a @ b / math.sqrt(float(a @ a) * float(b @ b)))


def _within(got: np.ndarray, want: np.ndarray, tol: np.ndarray, profile: str, honest: float) -> Comparison:
    """Compare reals, each with its own tolerance."""
    with np.errstate(all="ignore"):
        error = np.abs(got - want)
        inside = (got == want) | ((error <= tol) & (tol < np.inf))  # False for NaN
    error = np.where(got == want, 0.0, np.where(np.isnan(error), np.inf, error))
    found = _describe(got, want, tol, inside, budgets(got, want, tol), error)
    largest = float(np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))
    normal = max(honest, PROFILES[profile].storage.unit_roundoff * largest)
    worst = float(np.max(error, initial=0.0))
    ratio = 0.0 if worst == 0 else worst / normal if normal else math.inf
    return found._replace(honest=ratio, cosine=cosine(got, want))


def _exactly(got: np.ndarray, want: np.ndarray) -> Comparison:
    """Compare integers or booleans."""
    inside = got == want
    error = np.where(inside, 0.0, np.abs(got.astype(np.float64) - want.astype(np.float64)))
    found = _describe(got, want, np.zeros(want.shape), inside, np.where(inside, 0.0, np.inf), error)
    return found._replace(honest=0.0 if found.ok else math.inf, cosine=cosine(got.astype(float), want.astype(float)))


def _describe(
    got: np.ndarray, want: np.ndarray, tol: np.ndarray, inside: np.ndarray, budget: np.ndarray, error: np.ndarray
) -> Comparison:
    """Report the worst element: the largest budget, and among equal ones the largest error."""
    if want.size == 0:
        return Comparison(True, budget=0.0, honest=0.0)
    worst = float(np.max(budget))
    place = int(np.argmax(np.where(budget == worst, error, -1.0)))
    index = tuple(int(i) for i in np.unravel_index(place, want.shape))
    out = int(np.count_nonzero(~inside))
    reason = "" if not out else "NaN" if np.any(np.isnan(got)) else "out of tolerance"
    values = (float(got[index]), float(want[index]), float(tol[index]))
    return Comparison(not out, reason, worst, math.inf, index, *values, out, want.size)
