"""KERPLE: kernels of the distance with learned parameters, a logarithm or a power."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .relative import relative_positions


class KerpleResiduals(NamedTuple):
    """What the gradient needs; the bend is log(1 + a n), or n^p."""

    a: Float[Array, " H"]
    p: Float[Array, " H"]
    distances: Int[Array, "T S"]
    bend: Float[Array, "H T S"]


@checked
def kerple_log_forward(
    a: Float[Array, " H"], p: Float[Array, " H"], *, T: int, S: int, q_offset: int = 0
) -> tuple[Float[Array, "H T S"], KerpleResiduals]:
    """Penalise the logarithm of the distance.

        y[h, i, j] = -p[h] ln(1 + a[h] |q_offset + i - j|)

    After softmax a key weighs (1 + a n)^-p: a power law of the distance, where ALiBi's weight falls exponentially.

    a, p: > 0, one for each head; the authors clamp both to at least 0.01 after every step, outside the gradient.
    Source: Chi et al. 2022 (KERPLE), logarithmic variant (r1 = p, r2 = a); the authors' code gives 0 for keys ahead.
    Raises ValueError for a negative T, S below 1, or a and p of unlike shapes.
    """
    distances, n = distances_of(a, p, T, S, q_offset)
    bend = array_namespace(a).log1p(a[:, None, None] * n)  # (H, T, S)
    return -p[:, None, None] * bend, KerpleResiduals(a, p, distances, bend)


@checked
def kerple_log_backward(
    dy: Float[Array, "H T S"], residuals: KerpleResiduals
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    """Return (da, dp).

    da = -sum over i, j of dy p n / (1 + a n)        dp = -sum over i, j of dy ln(1 + a n)
    """
    xp = array_namespace(dy)
    a, p, distances, bend = residuals
    n = xp.astype(distances, dy.dtype)
    dbend = -dy * p[:, None, None]  # y = -p bend
    da = xp.sum(dbend * (n / (1 + a[:, None, None] * n)), axis=(-2, -1))  # bend = log(1 + a n)
    return da, -xp.sum(dy * bend, axis=(-2, -1))


@checked
def kerple_power_forward(
    a: Float[Array, " H"], p: Float[Array, " H"], *, T: int, S: int, q_offset: int = 0
) -> tuple[Float[Array, "H T S"], KerpleResiduals]:
    """Penalise a power of the distance.

        y[h, i, j] = -a[h] |q_offset + i - j|^p[h]

    p = 1 is ALiBi with slope a, p = 2 a Gaussian window. At distance 0 it is 0 for every p > 0, and so is its gradient;
    0^p ln 0 would be NaN.

    a: > 0. p: in (0, 2], where the kernel is conditionally positive definite. One for each head; not checked.
    Source: Chi et al. 2022 (KERPLE), power variant (r1 = a, r2 = p).
    Raises ValueError for a negative T, S below 1, or a and p of unlike shapes.
    """
    xp = array_namespace(a, p)
    distances, n = distances_of(a, p, T, S, q_offset)
    power = xp.pow(xp.maximum(n, xp.ones_like(n)), p[:, None, None])  # (H, T, S)
    bend = xp.where(distances == 0, xp.zeros_like(power), power)
    return -a[:, None, None] * bend, KerpleResiduals(a, p, distances, bend)


@checked
def kerple_power_backward(
    dy: Float[Array, "H T S"], residuals: KerpleResiduals
) -> tuple[Float[Array, " H"], Float[Array, " H"]]:
    """Return (da, dp).

    da = -sum over i, j of dy n^p        dp = -sum over i, j of dy a n^p ln n        (n = 0 gives 0)
    """
    xp = array_namespace(dy)
    a, _, distances, bend = residuals
    log_n = xp.log(xp.astype(xp.maximum(distances, xp.ones_like(distances)), dy.dtype))  # bend is 0 where n is
    dbend = -dy * a[:, None, None]  # y = -a bend
    return -xp.sum(dy * bend, axis=(-2, -1)), xp.sum(dbend * bend * log_n, axis=(-2, -1))  # bend = n^p


def distances_of(a: Array, p: Array, T: int, S: int, q_offset: int) -> tuple[Array, Array]:
    """Return |q_offset + i - j| as integers and as reals, (T, S) each."""
    xp = array_namespace(a, p)
    distances = xp.abs(relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(a)))
    return distances, xp.astype(distances, a.dtype)
