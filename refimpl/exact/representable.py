"""Which balls are numbers of a format, and which come near its ends; on whole arrays."""

from __future__ import annotations

import numpy as np
from flint import arb

from .balls import is_exact
from .functions import each
from .profiles import Format

INEXACT, ZERO = -(2**40), 2**40  # in place of the last bit's exponent, which only points other than 0 have

abs_upper, abs_lower = each(arb.abs_upper), each(arb.abs_lower)
is_zero = each(arb.is_zero, np.bool_)
_significant_bits = each(arb.bits, np.int64)  # of the midpoint; none for 0 and ±inf
_accuracy = each(arb.rel_accuracy_bits, np.int64)
_last_bit = each(lambda x: int(x.man_exp()[1]), np.int64)


def is_power_of_two(x: np.ndarray) -> np.ndarray:
    """Say where x is a point ± 2^k."""
    exact = is_exact(x)
    return exact & (_significant_bits(x) == 1) if exact.any() else exact


def fits(x: np.ndarray, format: Format) -> np.ndarray:
    """Say where x is a number of the format, or an infinity."""
    result = is_exact(x)
    if result.any():
        result[result] = _points_fit(x[result], format)
    return result


def _points_fit(points: np.ndarray, format: Format) -> np.ndarray:
    bits, size = _significant_bits(points), np.abs(points.astype(np.float64))
    result = (bits == 0) | (bits <= format.precision) & (size <= format.max_finite)
    subnormal = result & (bits > 0) & (size <= format.least_normal)
    result[subnormal] = _last_bit(points[subnormal]) >= format.min_exponent
    return result


def outside(x: np.ndarray, format: Format) -> tuple[np.ndarray, np.ndarray]:
    """Say which balls reach below the least normal number, and which above the greatest finite one."""
    middle = np.abs(x.astype(np.float64))
    inside = (middle > 4 * format.least_normal) & (middle < format.max_finite / 4)
    near = ~(inside & (_accuracy(x) > 0))  # accuracy > 0: the radius is below half the midpoint
    tiny, huge = near.copy(), near.copy()
    tiny[near] = ~(abs_lower(x[near]).astype(np.float64) > format.least_normal)
    huge[near] = ~(abs_upper(x[near]).astype(np.float64) < format.max_finite)
    return tiny, huge


def last_bits(x: np.ndarray) -> np.ndarray:
    """Return the exponent q of each point's last bit, so that the point is an integer times 2^q."""
    zero, bits, size = is_zero(x), _significant_bits(x), np.abs(x.astype(np.float64))
    point = is_exact(x) & (bits > 0)
    plain = point & (bits <= 53) & (size > 2.0**-1000) & (size < 2.0**1000)  # float64 holds it
    result = np.where(zero, ZERO, np.where(plain, np.frexp(size)[1] - bits, INEXACT))
    result[point & ~plain] = _last_bit(x[point & ~plain])
    return result


def common_last_bit(x: np.ndarray, axis: int) -> np.ndarray:
    """Return the least exponent q along an axis: all of a line's points are integers times 2^q."""
    lines = np.moveaxis(x, axis, -1)
    exact = is_exact(lines).all(axis=-1)
    result = np.full(exact.shape, INEXACT)
    result[exact] = last_bits(lines[exact]).min(axis=-1, initial=ZERO)
    return result
