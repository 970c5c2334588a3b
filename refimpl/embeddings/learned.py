"""Learned absolute positions: a table with one row a position, and an end."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require_index, require_row
from ..namespace import Array, array_namespace, scatter_add
from ..signatures import checked
from .token import take_rows


class LearnedPositionResiduals(NamedTuple):
    """What the gradient needs: the positions, and the shape of the table."""

    positions: Int[Array, "*P"]
    padding_idx: int | None
    N: int
    C: int


@checked
def learned_position_forward(
    positions: Int[Array, "*P"], weight: Float[Array, "N C"], *, padding_idx: int | None = None
) -> tuple[Float[Array, "*P C"], LearnedPositionResiduals]:
    """Look up the learned vector of every position.

        y[p, :] = weight[positions[p], :]

    The table has exactly N rows: position N has no vector, and nothing can be extrapolated from the others.

    padding_idx: the row of padding, read like any other, gets no gradient.
    Source: Gehring et al. 2017, section 3.1; BERT, GPT-2. Some systems number from elsewhere (`position_rules`): BART
    adds 2, RoBERTa and OPT count real tokens. Marian clamps to the last row in silence.
    Raises ValueError for a position outside 0 .. N-1, or such a padding_idx.
    """
    require_index("positions", positions, weight.shape[0], "weight")
    require_row("padding_idx", padding_idx, weight)
    return take_rows(weight, positions), LearnedPositionResiduals(positions, padding_idx, *weight.shape)


@checked
def learned_position_backward(dy: Float[Array, "*P C"], residuals: LearnedPositionResiduals) -> Float[Array, "N C"]:
    """Add every gradient to the row of its position.

    dweight[n, :] = sum of dy[p, :] over all p with positions[p] = n        (row padding_idx: 0)
    """
    xp = array_namespace(dy)
    positions, padding_idx, N, _ = residuals
    if padding_idx is not None:
        dy = xp.where((positions == padding_idx)[..., None], 0.0, dy)
    return scatter_add(positions, dy, N)  # y = weight[positions]
