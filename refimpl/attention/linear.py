"""A linear layer: the projections into and out of attention."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..namespace import Array, array_namespace
from ..signatures import checked


class LinearResiduals(NamedTuple):
    """What the gradient needs."""

    x: Float[Array, "*X C"]
    weight: Float[Array, "C F"]
    biased: bool


@checked
def linear_forward(
    x: Float[Array, "*X C"], weight: Float[Array, "C F"], bias: Float[Array, " F"] | None = None
) -> tuple[Float[Array, "*X F"], LinearResiduals]:
    """Multiply by a weight and add a bias.

        y = x @ weight + bias

    The weight is (in, out) as in the papers and in JAX; PyTorch stores its transpose.

    Source: Vaswani et al. 2017, section 3.2.2 (Q W^Q and its like).
    Raises ValueError where the widths do not meet.
    """
    y = x @ weight  # (*X, F)
    return (y if bias is None else y + bias), LinearResiduals(x, weight, bias is not None)


@checked
def linear_backward(
    dy: Float[Array, "*X F"], residuals: LinearResiduals
) -> tuple[Float[Array, "*X C"], Float[Array, "C F"], Float[Array, " F"] | None]:
    """Return (dx, dweight, dbias).

    dx = dy @ weightᵀ        dweight = xᵀ @ dy        dbias = sum of dy        (sums over all leading axes)
    """
    xp = array_namespace(dy)
    x, weight, biased = residuals
    rows_x = xp.reshape(x, (-1, x.shape[-1]))  # (X, C)
    rows_dy = xp.reshape(dy, (-1, dy.shape[-1]))  # (X, F)
    dx = dy @ xp.matrix_transpose(weight)  # y = x @ weight
    dweight = xp.matrix_transpose(rows_x) @ rows_dy
    dbias = xp.sum(rows_dy, axis=0) if biased else None  # y = y + bias
    return dx, dweight, dbias
