"""The tied head: the embedding table once more, as the last layer."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace


class TiedHeadResiduals(NamedTuple):
    """What the gradient needs: both factors."""

    h: Shaped[Array, "*B C"]
    weight: Shaped[Array, "V C"]
    biased: bool


def tied_head_forward(
    h: Shaped[Array, "*B C"], weight: Shaped[Array, "V C"], bias: Shaped[Array, " V"] | None = None
) -> tuple[Shaped[Array, "*B V"], TiedHeadResiduals]:
    """Score every token of the vocabulary by the product of its row with the last hidden vector.

        y[b, v] = sum over c of h[b, c] weight[v, c]  (+ bias[v])

    The table learns from both ends: its gradient is this one plus the lookup's. Here every row takes part, also the
    padding row, which padding_idx keeps from learning in the lookup only.

    Source: Press and Wolf 2017; Inan et al. 2017. The √C of the lookup has no counterpart here (fairseq, Gemma). T5
    divides h by √C first; Gemma 2 caps the logits afterwards, Cohere multiplies them by a constant.
    Raises ValueError for widths that differ, or a bias of another length.
    """
    V, C = weight.shape
    require(h.shape[-1] == C, "h", f"width {h.shape[-1]}", f"{C}, the width of weight")
    if bias is not None:
        require(bias.shape == (V,), "bias", f"shape {tuple(bias.shape)}", f"({V},), one entry a row of weight")
    y = h @ weight.mT  # (*B, V)
    return (y if bias is None else y + bias), TiedHeadResiduals(h, weight, bias is not None)


def tied_head_backward(
    dy: Shaped[Array, "*B V"], residuals: TiedHeadResiduals
) -> tuple[Shaped[Array, "*B C"], Shaped[Array, "V C"], Shaped[Array, " V"] | None]:
    """Return (dh, dweight, dbias); dweight is the head's share, to be added to the lookup's.

    dh = dy weight        dweight[v, :] = sum over b of dy[b, v] h[b, :]        dbias[v] = sum over b of dy[b, v]
    """
    xp = array_namespace(dy)
    h, weight, biased = residuals
    rows = xp.reshape(dy, (-1, weight.shape[0]))  # (b, V)
    dweight = rows.mT @ xp.reshape(h, (-1, weight.shape[1]))  # y = h @ weight.mT
    return dy @ weight, dweight, xp.sum(rows, axis=0) if biased else None
