"""Decomposed two-dimensional bias: the query meets one vector for the row offset and one for the column offset."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require, require_shape, require_sizes
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .grid import grid_offsets
from .relative import picked, picked_backward, sum_to


class Decomposed2dBiasResiduals(NamedTuple):
    """What the gradient needs; rows_h, rows_w: the row of its table that every pair was read from."""

    q: Float[Array, "*B H T D"]
    table_h: Float[Array, "Nh D"]
    table_w: Float[Array, "Nw D"]
    rows_h: Int[Array, "T T"]
    rows_w: Int[Array, "T T"]


@checked
def decomposed_2d_bias_forward(
    q: Float[Array, "*B H T D"],
    table_h: Float[Array, "Nh D"],
    table_w: Float[Array, "Nw D"],
    *,
    height: int,
    width: int,
) -> tuple[Float[Array, "*B H T T"], Decomposed2dBiasResiduals]:
    """Let every query weigh how far a key lies below and beside it.

        y[t, s] = q[t]·table_h[row of t - row of s + height - 1] + q[t]·table_w[column of t - column of s + width - 1]

    2 height + 2 width - 2 vectors in place of (2 height - 1)(2 width - 1): the two axes add up. Unlike Swin's, this
    bias depends on what the query holds; heads share the tables.

    q: (*B, H, height · width, D), not scaled; y joins the scaled scores.
    Source: Li et al. 2022 (MViTv2), section 4; ViTDet, SAM. They stretch the tables linearly to other sizes first.
    Raises ValueError for a grid or tables that do not fit.
    """
    xp = array_namespace(q, table_h, table_w)
    T, D = q.shape[-2:]
    require_sizes(height=height, width=width)
    require(height * width == T, "q", f"{T} queries", f"height · width = {height * width}")
    require_shape("table_h", table_h, (2 * height - 1, D))
    require_shape("table_w", table_w, (2 * width - 1, D))
    dh, dw = grid_offsets(height, width, xp=xp, device=device(q))  # (T, T)
    rows_h, rows_w = dh + height - 1, dw + width - 1
    y = picked(q @ xp.matrix_transpose(table_h), rows_h) + picked(q @ xp.matrix_transpose(table_w), rows_w)
    return y, Decomposed2dBiasResiduals(q, table_h, table_w, rows_h, rows_w)


@checked
def decomposed_2d_bias_backward(
    dy: Float[Array, "*B H T T"], residuals: Decomposed2dBiasResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "Nh D"], Float[Array, "Nw D"]]:
    """Return (dq, dtable_h, dtable_w).

    dq[t] = sum over s of dy[t, s] (table_h[row] + table_w[row])
    dtable_h[n] = sum of dy[t, s] q[t] over all pairs, heads and batch items that read row n; dtable_w likewise
    """
    xp = array_namespace(dy)
    q, table_h, table_w, rows_h, rows_w = residuals
    dh = picked_backward(dy, rows_h, table_h.shape[0])  # y = picked(q @ table_hᵀ, rows_h) + ...
    dw = picked_backward(dy, rows_w, table_w.shape[0])
    dq = dh @ table_h + dw @ table_w
    return dq, sum_to(xp.matrix_transpose(dh) @ q, 2), sum_to(xp.matrix_transpose(dw) @ q, 2)
