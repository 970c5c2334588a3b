"""FIRE: a small network of the distance, as a fraction of how far back the query can look."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require_integer, require_number
from ..namespace import Array, array_namespace, constant, device
from ..signatures import checked
from .gates import relu, relu_slope
from .relative import relative_positions


class FireResiduals(NamedTuple):
    """What the gradient needs; near = ln(1 + |c| n), reach = ln(1 + |c| extent) + eps, x = near / reach."""

    w1: Float[Array, " F"]
    w2: Float[Array, "F H"]
    c: Float[Array, ""]
    m: Float[Array, ""]
    L0: Float[Array, ""]
    distances: Int[Array, "T S"]
    positions: Int[Array, "T 1"]
    extent: Float[Array, "T 1"]
    reach: Float[Array, "T 1"]
    x: Float[Array, "T S"]
    hidden: Float[Array, "T S F"]


@checked
def fire_forward(
    w1: Float[Array, " F"],
    b1: Float[Array, " F"],
    w2: Float[Array, "F H"],
    b2: Float[Array, " H"],
    c: Float[Array, ""],
    m: Float[Array, ""],
    L0: Float[Array, ""],
    *,
    T: int,
    S: int,
    q_offset: int = 0,
    eps: float = 1e-6,
) -> tuple[Float[Array, "H T S"], FireResiduals]:
    """Let a network learn the bias from the relative distance.

        x = ln(1 + |c| |P - j|) / (ln(1 + |c| max(P, |m L0|)) + eps),        P = q_offset + i
        y[h, i, j] = b2[h] + sum over f of w2[f, h] max(x w1[f] + b1[f], 0)

    Under a causal mask x lies in [0, 1] at every length: the network never sees an input it was not trained on. The
    price is that the bias depends on P itself, not on P - j alone. |m L0| keeps short prefixes from being stretched.

    c, m, L0: learned or fixed (the authors start at 0.1, 1, 512, and learn m and c). eps: of the denominator.
    Source: Li et al. 2024 (FIRE), section 3, with F = 32. At a tie of P and |m L0| the slope is 1/2, as PyTorch's.
    Raises ValueError for a negative T, S below 1, q_offset < 0, eps < 0, or weights that do not fit.
    """
    xp = array_namespace(w1, b1, w2, b2, c, m, L0)
    require_integer("q_offset", q_offset, 0)
    require_number("eps", eps, least=0)
    distances = xp.abs(relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(w1)))  # (T, S)
    positions = xp.arange(q_offset, q_offset + T, device=device(w1))[:, None]  # (T, 1)
    extent = xp.maximum(xp.astype(positions, w1.dtype), xp.abs(m * L0))
    near = xp.log1p(xp.abs(c) * xp.astype(distances, w1.dtype))
    reach = xp.log1p(xp.abs(c) * extent) + constant(eps, like=w1)
    x = near / reach
    hidden = x[..., None] * w1 + b1  # (T, S, F)
    y = xp.moveaxis(relu(hidden) @ w2 + b2, -1, 0)
    return y, FireResiduals(w1, w2, c, m, L0, distances, positions, extent, reach, x, hidden)


@checked
def fire_backward(dy: Float[Array, "H T S"], residuals: FireResiduals) -> tuple[Array, ...]:
    """Return (dw1, db1, dw2, db2, dc, dm, dL0): the network first, then through x = near / reach.

    dnear   = dx / reach                          dreach = -sum over j of dx x / reach
    dc      = sign(c) (sum of dnear n / (1 + |c| n) + sum of dreach extent / (1 + |c| extent))
    dextent = dreach |c| / (1 + |c| extent), where |m L0| > P:        dm = dextent sign(m L0) L0,  dL0 likewise
    """
    xp = array_namespace(dy)
    w1, w2, c, m, L0, distances, positions, extent, reach, x, hidden = residuals
    dy = xp.moveaxis(dy, 0, -1)  # (T, S, H)
    dhidden = (dy @ xp.matrix_transpose(w2)) * relu_slope(hidden)  # y = relu(hidden) @ w2 + b2
    dw2 = xp.sum(xp.matrix_transpose(relu(hidden)) @ dy, axis=0)
    dw1, db1 = xp.sum(dhidden * x[..., None], axis=(0, 1)), xp.sum(dhidden, axis=(0, 1))  # hidden = x w1 + b1
    dx = xp.sum(dhidden * w1, axis=-1)  # (T, S)
    dnear = dx / reach  # x = near / reach
    dreach = -xp.sum(dx * x, axis=-1, keepdims=True) / reach  # (T, 1)
    n, size, edge = xp.astype(distances, dy.dtype), xp.abs(c), m * L0
    dsize = xp.sum(dnear * n / (1 + size * n)) + xp.sum(dreach * extent / (1 + size * extent))
    beyond = (1 + xp.sign(xp.abs(edge) - xp.astype(positions, dy.dtype))) / 2  # extent = max(P, |m L0|)
    dedge = xp.sum(dreach * size / (1 + size * extent) * beyond) * xp.sign(edge)
    return dw1, db1, dw2, xp.sum(dy, axis=(0, 1)), dsize * xp.sign(c), dedge * L0, dedge * m
