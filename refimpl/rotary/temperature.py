"""Queries that grow with their position, in place of or besides a rotation."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require, require_broadcastable, require_integer, require_shape
from ..namespace import Array, array_namespace, constant
from ..signatures import checked


class QueryTemperatureResiduals(NamedTuple):
    """What the gradient needs: the factor of every position."""

    factor: Float[Array, "..."]
    shape: tuple[int, ...]  # of x


@checked
def query_temperature_forward(
    x: Float[Array, "*B T D"], *, positions: Int[Array, "..."], scale: float = 0.1, step: int = 8192, offset: int = 1
) -> tuple[Float[Array, "*B T D"], QueryTemperatureResiduals]:
    """Scale queries up as the text grows longer.

        y = x (1 + scale · ln(1 + floor((p + offset) / step)))

    Softmax over more keys is flatter; larger scores sharpen it again. Nothing happens before position step - offset. In
    layers without positions (NoPE) it is the only thing that knows how far the text has come.

    positions: integers >= -offset, (T,) or broadcastable to (*B, T); the floor is a division of integers, exact.
    offset: 1 in Llama 4 (scale 0.1, step 8192, layers without RoPE only), 0 in Ministral 3 (all layers).
    Source: Llama 4 and Ministral 3 in transformers; the idea: Nakanishi 2025 (Scalable-Softmax).
    Raises ValueError for step < 1, or positions that are not integers, lie below -offset, or do not fit x.
    """
    xp = array_namespace(x, positions)
    require_integer("step", step, 1)
    require_broadcastable("positions", positions, x.shape[:-1])
    lowest = int(xp.min(positions)) if 0 not in positions.shape else -offset
    require(lowest >= -offset, "positions", lowest, f"integers >= {-offset}")
    steps = xp.astype((positions + offset) // step, x.dtype)  # (..., T)
    factor = (1 + constant(scale, like=x) * xp.log1p(steps))[..., None]  # (..., T, 1)
    return x * factor, QueryTemperatureResiduals(factor, tuple(x.shape))


@checked
def query_temperature_backward(
    dy: Float[Array, "*B T D"], residuals: QueryTemperatureResiduals
) -> Float[Array, "*B T D"]:
    """Return dx: the same factor.

    dx = dy (1 + scale · ln(1 + floor((p + offset) / step)))
    """
    require_shape("dy", dy, residuals.shape)
    return dy * residuals.factor  # y = x factor
