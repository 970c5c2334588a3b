"""All that differs between array libraries.

An op's first line is `xp = array_namespace(...)`; the rest of it is plain Array API. Four things are not in the
standard, or are not the same in every arithmetic, and live here: parameters of the caller, the reverse of broadcasting,
sums over repeated indices, and powers that must be known better than the dtype can hold. An array library may bring its
own version of three of them, as attributes of its namespace: `constant`, `scatter_add`, `rational_powers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import array_api_compat
from array_api_compat import device as device

Array = Any  # any array that speaks the Array API standard

HEAD_BITS = {
    64: 32,
    32: 12,
}  # so that an integer position of 21 (12) bits times a head is exact in a dtype of that width
DECIMAL = Context(prec=50)


def array_namespace(*arrays: Array) -> Any:
    """Return the Array API namespace that the arrays share; absent (None) arrays do not count.

    Raises TypeError where there is no array, or where they come from different libraries.
    """
    return array_api_compat.array_namespace(*(array for array in arrays if array is not None))


def constant(value: float, like: Array) -> Array:
    """Return a caller's parameter as a 0-d array of `like`'s dtype and device, at its exact float64 value.

    Give it a bare name: `constant(1 / scale, ...)` would already have rounded before any arithmetic could know of it.
    """
    xp = array_namespace(like)
    if hasattr(xp, "constant"):
        return xp.constant(value)
    return xp.asarray(value, dtype=like.dtype, device=device(like))


def real_dtype(dtype: Any, *arrays: Array) -> Any:
    """Return `dtype`, or where it is None the first real array's, or the library's default real dtype."""
    xp = array_namespace(*arrays)
    real = [array.dtype for array in arrays if xp.isdtype(array.dtype, "real floating")]
    default = xp.__array_namespace_info__().default_dtypes()["real floating"]
    return dtype or [*real, default][0]


def unbroadcast(gradient: Array, shape: tuple[int, ...]) -> Array:
    """Sum a gradient over the axes along which an input of `shape` was broadcast.

    What broadcasting copies, its gradient adds.
    """
    xp = array_namespace(gradient)
    lead = gradient.ndim - len(shape)
    axes = tuple(i for i in range(gradient.ndim) if i < lead or (shape[i - lead] == 1 and gradient.shape[i] != 1))
    return xp.reshape(xp.sum(gradient, axis=axes) if axes else gradient, shape)


def scatter_add(ids: Array, updates: Array, length: int) -> Array:
    """Return sums[n] = sum of updates[i] over all i with ids[i] = n, for n < length: the adjoint of a lookup.

    ids (*I), updates (*I, *U), result (length, *U). An id that comes twice adds twice, where `sums[ids] += updates`
    would add once.
    """
    xp = array_namespace(updates)
    rest = updates.shape[ids.ndim :]
    count = math.prod(ids.shape)
    ids, updates = xp.reshape(ids, (count,)), xp.reshape(updates, (count, *rest))
    sums = xp.zeros((length, *rest), dtype=updates.dtype, device=device(updates))
    if array_api_compat.is_torch_namespace(xp):  # its own scatter_add is another function
        return sums.index_put((ids,), updates, accumulate=True)
    if array_api_compat.is_jax_namespace(xp):
        return sums.at[ids].add(updates)
    if array_api_compat.is_numpy_namespace(xp) or array_api_compat.is_cupy_namespace(xp):
        xp.add.at(sums, ids, updates)
        return sums
    if hasattr(xp, "scatter_add"):
        return xp.scatter_add(ids, updates, length)
    for i in range(ids.shape[0]):  # the standard alone has nothing better; a fresh array, so in place is safe
        sums[int(ids[i]), ...] += updates[i, ...]
    return sums


def rational_powers(
    base: float, numerators: Sequence[int], denominator: int, *, xp: Any, dtype: Any, device: Any = None
) -> tuple[Array, Array]:
    """Return base^(n / denominator) for each integer n, as an unevaluated sum (head, tail).

    One rounded power is not enough where it is multiplied by a position: at position 2^20 a float64 angle is already
    off by 1e-10. The head has so few bits that its product with an integer position is exact (float64: up to 2^21;
    float32: up to 2^12), and the tail carries the rest. Exact arithmetic needs no tail and returns 0 there.
    """
    if hasattr(xp, "rational_powers"):
        return xp.rational_powers(base, numerators, denominator)
    bits = HEAD_BITS[xp.finfo(dtype).bits]
    heads, tails = [], []
    for n in numerators:
        power = DECIMAL.power(Decimal(base), DECIMAL.divide(Decimal(n), Decimal(denominator)))
        mantissa, exponent = math.frexp(power)
        heads.append(math.ldexp(round(math.ldexp(mantissa, bits)), exponent - bits))
        tails.append(float(DECIMAL.subtract(power, Decimal(heads[-1]))))
    return xp.asarray(heads, dtype=dtype, device=device), xp.asarray(tails, dtype=dtype, device=device)
