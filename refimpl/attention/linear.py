"""A linear layer: the projections into and out of attention."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require, require_shape
from ..namespace import Array, array_namespace


class LinearResiduals(NamedTuple):
    """What the gradient needs."""

    x: Shaped[Array, "*X C"]
    weight: Shaped[Array, "C F"]
    biased: bool


def linear_forward(
    x: Shaped[Array, "*X C"], weight: Shaped[Array, "C F"], bias: Shaped[Array, " F"] | None = None
) -> tuple[Shaped[Array, "*X F"], LinearResiduals]:
    """Multiply by a weight and add a bias.

        y = x @ weight + bias

    The weight is (in, out) as in the papers and in JAX; PyTorch stores its transpose.

    Source: Vaswani et al. 2017, section 3.2.2 (Q W^Q and its like).
    Raises ValueError where the widths do not meet.
    """
    require(x.ndim >= 1, "x", f"shape {tuple(x.shape)}", "(..., in)")
    require(weight.ndim == 2, "weight", f"shape {tuple(weight.shape)}", "a matrix (in, out)")
    fits = f"{weight.shape[0]} (weight has shape {tuple(weight.shape)})"
    require(x.shape[-1] == weight.shape[0], "x", f"width {x.shape[-1]}", fits)
    if bias is not None:
        require(bias.shape == (weight.shape[1],), "bias", f"shape {tuple(bias.shape)}", f"({weight.shape[1]},)")
    y = x @ weight  # (*X, F)
    return (y if bias is None else y + bias), LinearResiduals(x, weight, bias is not None)


def linear_backward(
    dy: Shaped[Array, "*X F"], residuals: LinearResiduals
) -> tuple[Shaped[Array, "*X C"], Shaped[Array, "C F"], Shaped[Array, " F"] | None]:
    """Return (dx, dweight, dbias).

    dx = dy @ weightᵀ        dweight = xᵀ @ dy        dbias = sum of dy        (sums over all leading axes)
    """
    xp = array_namespace(dy)
    x, weight, biased = residuals
    require_shape("dy", dy, (*x.shape[:-1], weight.shape[1]))
    rows_x = xp.reshape(x, (-1, x.shape[-1]))  # (X, C)
    rows_dy = xp.reshape(dy, (-1, dy.shape[-1]))  # (X, F)
    dx = dy @ xp.matrix_transpose(weight)  # y = x @ weight
    dweight = xp.matrix_transpose(rows_x) @ rows_dy
    dbias = xp.sum(rows_dy, axis=0) if biased else None  # y = y + bias
    return dx, dweight, dbias
