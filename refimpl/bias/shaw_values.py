"""Shaw's relative values: a learned vector for every relative position, added to the value. It fits no door."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .relative import clipped_rows, picked, picked_backward, relative_positions, sum_to


class ShawValuesResiduals(NamedTuple):
    """What the gradient needs; mass: the weights summed by row of the table."""

    weights: Float[Array, "*B H T S"]
    v: Float[Array, "*B H S E"]
    table: Float[Array, "N E"]
    rows: Int[Array, "T S"]
    mass: Float[Array, "*B H T N"]


@checked
def shaw_values_forward(
    weights: Float[Array, "*B H T S"],
    v: Float[Array, "*B H S E"],
    table: Float[Array, "N E"],
    *,
    q_offset: int = 0,
    left: int | None = None,
) -> tuple[Float[Array, "*B H T E"], ShawValuesResiduals]:
    """Take the weighted mean of values that know where they lie.

        y[i] = sum over j of weights[i, j] (v[j] + table[clip(j - (q_offset + i), -left, right) + left])

    What a bias cannot do: the result itself says from how far away it came. Of the table only the sum of the weights
    that fall on each row matters.

    weights: of attention's softmax. left: rows for keys behind, default (N - 1) / 2; right = N - 1 - left.
    Source: Shaw et al. 2018, equation 3 (keys: `shaw_keys`).
    Raises ValueError for shapes that do not meet, an even N without `left`, or `left` outside the table.
    """
    xp = array_namespace(weights, v, table)
    T, S = weights.shape[-2:]
    relative = relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(v))
    rows = clipped_rows(relative, table.shape[0], left)  # (T, S)
    mass = picked_backward(weights, rows, table.shape[0])  # (*B, H, T, N)
    return weights @ v + mass @ table, ShawValuesResiduals(weights, v, table, rows, mass)


@checked
def shaw_values_backward(
    dy: Float[Array, "*B H T E"], residuals: ShawValuesResiduals
) -> tuple[Float[Array, "*B H T S"], Float[Array, "*B H S E"], Float[Array, "N E"]]:
    """Return (dweights, dv, dtable).

    dweights[i, j] = dy[i]·(v[j] + table[row])        dv[j] = sum over i of weights[i, j] dy[i]
    dtable[n] = sum of weights[i, j] dy[i] over all pairs, heads and batch items that read row n
    """
    xp = array_namespace(dy)
    weights, v, table, rows, mass = residuals
    dmass = dy @ xp.matrix_transpose(table)  # y = weights @ v + mass @ table
    dweights = dy @ xp.matrix_transpose(v) + picked(dmass, rows)
    return dweights, xp.matrix_transpose(weights) @ dy, sum_to(xp.matrix_transpose(mass) @ dy, 2)
