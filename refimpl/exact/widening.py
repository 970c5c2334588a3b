"""The model: how far the roundings of a format may carry an operation, or a sum in any order (docs/arithmetic.md).

u is the format's unit roundoff, half the spacing of numbers just above 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb

from .array import OBJECT, Data
from .functions import to_balls
from .profiles import Format
from .representable import abs_upper, fits, outside

UNIT: Any = arb(0, 1)  # the ball [-1, 1]
UNBOUNDED: Any = arb.nan()

# Errors in units of u; relative but for the sine and the cosine, and (4 + 2|x|) u for exponentials.
RELATIVE = {"add": 1, "subtract": 1, "multiply": 1, "square": 1, "divide": 2, "sqrt": 2}
RELATIVE |= dict.fromkeys(("log", "log1p", "log2", "tanh", "tan", "sinh", "cosh", "atan", "erf"), 8)
ABSOLUTE = {"sin": 4, "cos": 4}
EXPONENTIAL = {"exp": (4, 2), "expm1": (4, 2)}
POWER = 4  # an integer power is a product of |y| factors, and this for a library's own way to it


def model(name: str, x: Data, format: Format) -> tuple[Any, Any]:
    """Return (factor, offset): a computed value lies in the true one · factor + offset."""
    u = format.unit_roundoff
    if name in ABSOLUTE:
        return 1, arb(0, ABSOLUTE[name] * u)
    if name in EXPONENTIAL:
        least, slope = EXPONENTIAL[name]
        return (abs_upper(x) * (slope * u) + least * u) * UNIT + 1, 0
    return arb(1, RELATIVE[name] * u), 0


def widened(
    x: Data, format: Format, factor: Any = None, offset: Any = 0, *, keep: Any = False, gradual: bool = True
) -> Data:
    """Widen to x · factor + offset, by default one rounding, what is no number of the format.

    keep: where the result is an operand times a power of two, which only underflow can change.
    gradual: the operation can underflow; sums of numbers of a format cannot.
    """
    shape, x = np.shape(x), np.atleast_1d(x)  # arithmetic would turn 0-d arrays into scalars
    exact = fits(x, format)
    if exact.all():
        return x.reshape(shape)
    wider = x * (arb(1, format.unit_roundoff) if factor is None else factor)
    wider = wider if offset == 0 else wider + offset
    wider = np.where(keep, x, wider) if np.any(keep) else wider
    tiny, huge = outside(wider, format)
    if gradual and tiny.any():
        wider = np.where(tiny, wider + half_least(format) * UNIT, wider)
    return np.where(exact, x, np.where(huge, UNBOUNDED, wider)).reshape(shape)


def widened_sum(
    total: Data, size: Data, count: np.ndarray, last_bit: np.ndarray, format: Format, *, products: bool
) -> Data:
    """Widen sums of `count` nonzero terms by γ · size, size = Σ|term|, which holds in any order.

    The terms are integers times 2^last_bit. If size < 2^(last_bit + precision), every partial sum in every order is a
    number of the format, and nothing is added.
    """
    total, shape = np.atleast_1d(total), total.shape
    size, count, last_bit = np.atleast_1d(size), np.atleast_1d(count), np.atleast_1d(last_bit)
    n = np.arange(count.max(initial=0) + 1)  # the errors are looked up by the number of terms
    gamma, magnitude = gammas(n, format), size.astype(np.float64)
    reach = np.ldexp(1.0, np.clip(last_bit + format.precision, -1074, 1023))
    exact = (last_bit >= format.min_exponent) & (magnitude < reach)
    error = size * (to_balls(gamma.astype(OBJECT)) * UNIT)[count]
    if products:
        error = error + (n.astype(OBJECT) * (half_least(format) * UNIT))[count]
    else:
        exact = exact | (count <= 1)
    greatest = np.where(exact, magnitude, magnitude * (1 + gamma[count]) * (1 + 2.0**-50))
    wider = np.where(exact, total, total + error)
    return np.where(greatest <= format.max_finite, wider, UNBOUNDED).reshape(shape)


def gammas(n: np.ndarray, format: Format) -> np.ndarray:
    """γ_n = n u / (1 - n u), rounded up; infinite above n u = 1/2."""
    nu = n * format.unit_roundoff
    return np.where(nu <= 0.5, nu / (1 - np.minimum(nu, 0.5)) * (1 + 2.0**-50), np.inf)


def half_least(format: Format) -> arb:
    """Half the least subnormal, the greatest error of gradual underflow."""
    return arb(2) ** (format.min_exponent - 1)
