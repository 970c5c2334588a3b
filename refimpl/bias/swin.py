"""Swin's bias: one learned number for each head and each two-dimensional offset within a window."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..embeddings.token import take_rows
from ..errors import require
from ..namespace import Array, array_namespace, device, scatter_add
from ..signatures import checked
from .grid import grid_offsets


class SwinBiasResiduals(NamedTuple):
    """What the gradient needs: the row that every pair was read from, and the table's shape."""

    rows: Int[Array, "T T"]
    N: int
    H: int


@checked
def swin_bias_forward(
    weight: Float[Array, "N H"], *, height: int, width: int
) -> tuple[Float[Array, "H T T"], SwinBiasResiduals]:
    """Look up the bias of every pair of a window by its offset, query minus key.

        y[h, (a, b), (c, d)] = weight[(a - c + height - 1) (2 width - 1) + (b - d + width - 1), h]

    (2 height - 1)(2 width - 1) rows for (height · width)^2 pairs: pairs that lie alike share a row, whose gradient is
    their sum.

    Tokens are numbered row by row. y is added to the scaled scores of every window alike.
    Source: Liu et al. 2021 (Swin), equation 4. BEiT adds three rows for its class token.
    Raises ValueError for a table that has not (2 height - 1)(2 width - 1) rows.
    """
    xp = array_namespace(weight)
    N = (2 * height - 1) * (2 * width - 1)
    dh, dw = grid_offsets(height, width, xp=xp, device=device(weight))  # (T, T)
    require(weight.shape[0] == N, "weight", f"{weight.shape[0]} rows", f"(2·{height} - 1)(2·{width} - 1) = {N}")
    rows = (dh + height - 1) * (2 * width - 1) + dw + width - 1
    return xp.moveaxis(take_rows(weight, rows), -1, 0), SwinBiasResiduals(rows, *weight.shape)


@checked
def swin_bias_backward(dy: Float[Array, "H T T"], residuals: SwinBiasResiduals) -> Float[Array, "N H"]:
    """Add the gradient of every pair to the row of its offset.

    dweight[n, h] = sum of dy[h, t, s] over all pairs with offset n
    """
    xp = array_namespace(dy)
    return scatter_add(residuals.rows, xp.moveaxis(dy, 0, -1), residuals.N)  # y = weight[rows]
