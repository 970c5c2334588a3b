"""Attention over two sets of keys, from attention over each."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..namespace import Array, array_namespace
from ..signatures import checked
from .attention import Attention


class MergeBlocksResiduals(NamedTuple):
    """What the gradient needs: the two results, and the share of each."""

    y1: Float[Array, "*X E"]
    y2: Float[Array, "*X E"]
    share1: Float[Array, "*X"]
    share2: Float[Array, "*X"]


@checked
def merge_blocks_forward(
    y1: Float[Array, "*X E"], lse1: Float[Array, "*X"], y2: Float[Array, "*X E"], lse2: Float[Array, "*X"]
) -> tuple[Attention, MergeBlocksResiduals]:
    """Join the results of attention over two disjoint sets of keys.

        lse = log(exp(lse1) + exp(lse2))
        y   = exp(lse1 - lse) y1 + exp(lse2 - lse) y2

    lse is all that y has forgotten of its scores. The order of merging does not matter, so keys may lie on different
    devices (ring attention), or be split to use more of one (flash decoding). A sink is a set with y = 0, lse = sink.

    lse1, lse2: natural logarithms; -inf where a query saw no key. Both -inf: y = 0, lse = -inf, all gradients 0.
    Source: Milakov and Gimelshein 2018; Dao et al. 2022, section 3.1; Liu et al. 2023 (ring attention).
    Raises ValueError for shapes that do not meet.
    """
    xp = array_namespace(y1, lse1, y2, lse2)
    some = xp.isfinite(lse1) | xp.isfinite(lse2)  # (*X)
    m = xp.where(some, xp.maximum(lse1, lse2), 0.0)
    e1, e2 = _exp(lse1, m), _exp(lse2, m)
    total = xp.where(some, e1 + e2, 1.0)
    share1, share2 = e1 / total, e2 / total
    y = share1[..., None] * y1 + share2[..., None] * y2
    lse = xp.where(some, m + xp.log(total), -xp.inf)
    return Attention(y, lse), MergeBlocksResiduals(y1, y2, share1, share2)


@checked
def merge_blocks_backward(
    dy: Attention, residuals: MergeBlocksResiduals
) -> tuple[Float[Array, "*X E"], Float[Array, "*X"], Float[Array, "*X E"], Float[Array, "*X"]]:
    """Return (dy1, dlse1, dy2, dlse2): a softmax over two, whose scores are the lse.

        dy1   = share1 dy                                              dy2   = share2 dy
        dlse1 = share1 (y1·dy - y·dy + dlse)                           dlse2 = share2 (y2·dy - y·dy + dlse)

    The block's own backward takes dy1 and dlse1 as its cotangents: without that of lse no merged gradient is right.
    """
    xp = array_namespace(*dy)
    y1, y2, share1, share2 = residuals
    dy_y = xp.zeros_like(y1) if dy.y is None else dy.y
    dlse = xp.zeros_like(share1) if dy.lse is None else dy.lse
    along1, along2 = xp.sum(y1 * dy_y, axis=-1), xp.sum(y2 * dy_y, axis=-1)  # (*X)
    row = share1 * along1 + share2 * along2 - dlse  # y = share1 y1 + share2 y2
    dlse1, dlse2 = share1 * (along1 - row), share2 * (along2 - row)  # share1 = exp(lse1 - lse)
    return share1[..., None] * dy_y, dlse1, share2[..., None] * dy_y, dlse2


def _exp(lse: Float[Array, "*X"], m: Float[Array, "*X"]) -> Float[Array, "*X"]:
    """Return exp(lse - m), 0 for an lse of -inf."""
    xp = array_namespace(lse)
    some = xp.isfinite(lse)
    return xp.where(some, xp.exp(xp.where(some, lse - m, 0.0)), 0.0)
