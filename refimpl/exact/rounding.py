"""Rounding: to nearest, ties to even, gradual underflow, overflow to infinity, zeros as +0 (IEEE 754)."""

from __future__ import annotations

import math

import numpy as np
from flint import arb, ctx

from .functions import each
from .profiles import FORMATS, Format, format_named

DOUBLE = FORMATS["float64"]
_low = each(lambda ball: float(ball.lower()), np.float64)
_high = each(lambda ball: float(ball.upper()), np.float64)


def round_ball(x: arb, format: str) -> float | None:
    """Round the real inside a ball, or return None while the ends of the ball round apart."""
    target = format_named(format)
    with ctx.workprec(x.bits() + 64):
        low, high = round_point(x.lower(), target), round_point(x.upper(), target)
    return low if low == high else None


def round_point(x: arb, format: Format) -> float:
    """Round an exact number, in integers."""
    if not x.is_finite():
        return float(x)
    signed, exponent = (int(n) for n in x.mid().man_exp())  # x = signed · 2^exponent
    sign, mantissa = (-1.0 if signed < 0 else 1.0), abs(signed)
    top = mantissa.bit_length() + exponent  # |x| < 2^top
    if mantissa == 0 or top < format.min_exponent:  # below half of the least subnormal; exp(-2^34) is never shifted
        return 0.0
    last = max(top - format.precision, format.min_exponent)  # exponent of the last place
    places = last - exponent
    integer = mantissa << -places if places <= 0 else _half_even(mantissa, places)
    if integer.bit_length() + last > format.max_exponent:
        return sign * math.inf
    return sign * math.ldexp(integer, last) if integer else 0.0


def _half_even(n: int, places: int) -> int:
    """n / 2^places, to the nearest integer, ties to even."""
    quotient, rest = divmod(n, 1 << places)
    half = 1 << (places - 1)
    return quotient + (rest > half or (rest == half and quotient % 2 == 1))


def round_ends(data: np.ndarray, format: Format) -> tuple[np.ndarray, np.ndarray]:
    """Round both ends of each ball, at the precision in force.

    For formats narrower than float64, where rounding twice may err, the ends first move one float64 outwards.
    """
    low, high = _low(data), _high(data)
    if format == DOUBLE:
        return low, high
    with np.errstate(over="ignore"):
        return round_floats(np.nextafter(low, -np.inf), format), round_floats(np.nextafter(high, np.inf), format)


def round_balls(data: np.ndarray, format: Format) -> tuple[np.ndarray, np.ndarray]:
    """Round an array of balls: (values float64, decided bool). Undecided values are NaN."""
    low, high = round_ends(data, format)
    values = np.where(low == high, low, np.nan) + 0.0
    if format != DOUBLE:  # what moving outwards has left open is rounded in integers
        for i in map(tuple, np.argwhere(np.isnan(values))):
            rounded = round_ball(data[i], format.name)
            values[i] = math.nan if rounded is None else rounded
    return values, ~np.isnan(values)


def round_floats(x: np.ndarray, format: Format) -> np.ndarray:
    """Round float64 numbers to a narrower format, kept in float64."""
    if format == DOUBLE:
        return x
    last = np.maximum(np.frexp(x)[1] - format.precision, format.min_exponent)
    with np.errstate(over="ignore", invalid="ignore"):
        y = np.ldexp(np.rint(np.ldexp(x, -last)), last)  # scaling by a power of two is exact here; rint ties to even
        return np.where(np.abs(y) > format.max_finite, np.copysign(np.inf, y), y)
