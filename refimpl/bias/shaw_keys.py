"""Shaw's relative keys: a learned vector for every relative position, added to the key."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..attention.heads import score_scale
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .relative import clipped_rows, picked, picked_backward, relative_positions, sum_to


class ShawKeysResiduals(NamedTuple):
    """What the gradient needs; rows: the row of the table that every pair was read from."""

    q: Float[Array, "*B H T D"]
    table: Float[Array, "N D"]
    rows: Int[Array, "T S"]
    scale: float | None


@checked
def shaw_keys_forward(
    q: Float[Array, "*B H T D"],
    table: Float[Array, "N D"],
    *,
    S: int,
    q_offset: int = 0,
    left: int | None = None,
    scale: float | None = None,
) -> tuple[Float[Array, "*B H T S"], ShawKeysResiduals]:
    """Return the part of the scores that the relative keys add.

        y[i, j] = scale · q[i]·table[clip(j - (q_offset + i), -left, right) + left]

    q·(k + a) = q·k + q·a: what is added to a key may as well join the logits, and no key per query is ever built. All
    beyond `left` or `right` shares the last row. Heads share the table.

    left: rows for keys behind, default (N - 1) / 2; right = N - 1 - left. scale: attention's, default 1/√D.
    Source: Shaw et al. 2018, equation 4 (values: `shaw_values`). Keys alone: wav2vec2-BERT (64 behind, 8 ahead).
    Raises ValueError for a table of another width, an even N without `left`, or `left` outside the table.
    """
    xp = array_namespace(q, table)
    T, D = q.shape[-2:]
    relative = relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(q))
    rows = clipped_rows(relative, table.shape[0], left)  # (T, S)
    y = picked(q @ xp.matrix_transpose(table), rows) * score_scale(scale, D, q)
    return y, ShawKeysResiduals(q, table, rows, scale)


@checked
def shaw_keys_backward(
    dy: Float[Array, "*B H T S"], residuals: ShawKeysResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "N D"]]:
    """Return (dq, dtable); dq joins what attention itself gives for q.

    dq[i] = scale · sum over j of dy[i, j] table[row]
    dtable[n] = scale · sum of dy[i, j] q[i] over all pairs, heads and batch items that read row n
    """
    xp = array_namespace(dy)
    q, table, rows, scale = residuals
    dpicked = dy * score_scale(scale, q.shape[-1], q)  # y = scale picked(q @ tableᵀ, rows)
    dproducts = picked_backward(dpicked, rows, table.shape[0])
    return dproducts @ table, sum_to(xp.matrix_transpose(dproducts) @ q, 2)
