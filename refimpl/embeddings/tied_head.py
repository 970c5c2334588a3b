"""The tied head: the embedding table once more, as the last layer."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..namespace import Array, array_namespace
from ..signatures import checked


class TiedHeadResiduals(NamedTuple):
    """What the gradient needs: both factors."""

    h: Float[Array, "*B C"]
    weight: Float[Array, "V C"]
    biased: bool


@checked
def tied_head_forward(
    h: Float[Array, "*B C"], weight: Float[Array, "V C"], bias: Float[Array, " V"] | None = None
) -> tuple[Float[Array, "*B V"], TiedHeadResiduals]:
    """Score every token of the vocabulary by the product of its row with the last hidden vector.

        y[b, v] = sum over c of h[b, c] weight[v, c]  (+ bias[v])

    The table learns from both ends: its gradient is this one plus the lookup's. Here every row takes part, also the
    padding row, which padding_idx keeps from learning in the lookup only.

    Source: Press and Wolf 2017; Inan et al. 2017. The √C of the lookup has no counterpart here (fairseq, Gemma). T5
    divides h by √C first; Gemma 2 caps the logits afterwards, Cohere multiplies them by a constant.
    Raises ValueError for widths that differ, or a bias of another length.
    """
    y = h @ weight.mT  # (*B, V)
    return (y if bias is None else y + bias), TiedHeadResiduals(h, weight, bias is not None)


@checked
def tied_head_backward(
    dy: Float[Array, "*B V"], residuals: TiedHeadResiduals
) -> tuple[Float[Array, "*B C"], Float[Array, "V C"], Float[Array, " V"] | None]:
    """Return (dh, dweight, dbias); dweight is the head's share, to be added to the lookup's.

    dh = dy weight        dweight[v, :] = sum over b of dy[b, v] h[b, :]        dbias[v] = sum over b of dy[b, v]
    """
    xp = array_namespace(dy)
    h, weight, biased = residuals
    rows = xp.reshape(dy, (-1, weight.shape[0]))  # (b, V)
    dweight = rows.mT @ xp.reshape(h, (-1, weight.shape[1]))  # y = h @ weight.mT
    return dy @ weight, dweight, xp.sum(rows, axis=0) if biased else None
