"""Learned absolute positions: a table with one row a position, and an end."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Int, Shaped

from ..errors import require, require_index, require_shape
from ..namespace import Array, array_namespace, scatter_add
from .token import take_rows


class LearnedPositionResiduals(NamedTuple):
    """What the gradient needs: the positions, and how many rows the table has."""

    positions: Int[Array, "*P"]
    rows: int
    padding_idx: int | None


def learned_position_forward(
    positions: Int[Array, "*P"], weight: Shaped[Array, "N C"], *, padding_idx: int | None = None
) -> tuple[Shaped[Array, "*P C"], LearnedPositionResiduals]:
    """Look up the learned vector of every position.

        y[p, :] = weight[positions[p], :]

    The table has exactly N rows: position N has no vector, and nothing can be extrapolated from the others.

    padding_idx: the row of padding, read like any other, gets no gradient.
    Source: Gehring et al. 2017, section 3.1; BERT, GPT-2. Some systems number from elsewhere (`position_rules`): BART
    adds 2, RoBERTa and OPT count real tokens. Marian clamps to the last row in silence.
    Raises ValueError for a position outside 0 .. N-1, or such a padding_idx.
    """
    require_shape("weight", weight, ("N", "C"))
    rows = weight.shape[0]
    require_index("positions", positions, rows, "weight")
    require(padding_idx is None or 0 <= padding_idx < rows, "padding_idx", padding_idx, f"None or 0 .. {rows - 1}")
    return take_rows(weight, positions), LearnedPositionResiduals(positions, rows, padding_idx)


def learned_position_backward(dy: Shaped[Array, "*P C"], residuals: LearnedPositionResiduals) -> Shaped[Array, "N C"]:
    """Add every gradient to the row of its position.

    dweight[n, :] = sum of dy[p, :] over all p with positions[p] = n        (row padding_idx: 0)
    """
    xp = array_namespace(dy)
    positions, rows, padding_idx = residuals
    require_shape("dy", dy, (*positions.shape, "C"))
    if padding_idx is not None:
        dy = xp.where((positions == padding_idx)[..., None], 0.0, dy)
    return scatter_add(positions, dy, rows)  # y = weight[positions]
