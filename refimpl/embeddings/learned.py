"""Learned absolute positions: a table with one row a position, and an end."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Int, Shaped

from ..errors import require_index
from ..namespace import Array, scatter_add
from .token import take_rows


class LearnedPositionResiduals(NamedTuple):
    """What the gradient needs: the positions, and how many rows the table has."""

    positions: Int[Array, "*P"]
    rows: int


def learned_position_forward(
    positions: Int[Array, "*P"], weight: Shaped[Array, "N C"]
) -> tuple[Shaped[Array, "*P C"], LearnedPositionResiduals]:
    """Look up the learned vector of every position.

        y[p, :] = weight[positions[p], :]

    The table has exactly N rows: position N has no vector, and nothing can be extrapolated from the others.

    Source: Gehring et al. 2017, section 3.1; BERT, GPT-2. Some systems number from elsewhere: OPT and BART add 2,
    RoBERTa counts real tokens from padding_idx + 1. Marian clamps to the last row in silence.
    Raises ValueError for a position outside 0 .. N-1.
    """
    require_index("positions", positions, weight.shape[0], "weight")
    return take_rows(weight, positions), LearnedPositionResiduals(positions, weight.shape[0])


def learned_position_backward(dy: Shaped[Array, "*P C"], residuals: LearnedPositionResiduals) -> Shaped[Array, "N C"]:
    """Add every gradient to the row of its position.

    dweight[n, :] = sum of dy[p, :] over all p with positions[p] = n
    """
    positions, rows = residuals
    return scatter_add(positions, dy, rows)  # y = weight[positions]
