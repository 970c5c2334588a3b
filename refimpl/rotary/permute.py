"""From one layout of pairs to the other: reorder the channels of a projection once, and turn either way."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace
from .rope import join_pairs, require_pairs, split_pairs


class PermutePairsResiduals(NamedTuple):
    """What the gradient needs: the permutation."""

    H: int
    to_interleaved: bool


def permute_pairs_forward(
    weight: Shaped[Array, "*X N"], *, H: int, to_interleaved: bool = False
) -> tuple[Shaped[Array, "*X N"], PermutePairsResiduals]:
    """Reorder the channels of each head, so that rope in one layout gives what it gave in the other.

        y[head h] = weight[head h][..., (0, 2, 4, ..., 1, 3, 5, ...)]          interleaved to half-split

    Half-split rope after it gives what the interleaved one gave before it, reordered; since q and k are reordered
    alike, scores are the same. Do it to w_q and w_k (and their biases), never to w_v.

    weight: the last axis holds H heads of equal width: (C, H D), a bias (H D,), or q itself.
    to_interleaved: the inverse, y[2i] = weight[i], y[2i+1] = weight[i + D/2].
    Source: the conversion of Meta's Llama weights for transformers, which reorders rows: its weights are (out, in).
    Raises ValueError for a width that H does not divide into heads of even width.
    """
    require(H >= 1 and weight.shape[-1] % H == 0, "H", H, f"a divisor of {weight.shape[-1]}, the width of weight")
    require_pairs("weight", weight.shape[-1] // H)
    return _reorder(weight, H, to_interleaved), PermutePairsResiduals(H, to_interleaved)


def permute_pairs_backward(dy: Shaped[Array, "*X N"], residuals: PermutePairsResiduals) -> Shaped[Array, "*X N"]:
    """Return dweight: the adjoint of a permutation is its inverse.

    dweight[head h][..., (0, 2, 4, ..., 1, 3, 5, ...)] = dy[head h]
    """
    return _reorder(dy, residuals.H, not residuals.to_interleaved)  # y = weight, reordered


def _reorder(x: Shaped[Array, "*X N"], H: int, to_interleaved: bool) -> Shaped[Array, "*X N"]:
    """Read pairs in one layout and write them in the other."""
    xp = array_namespace(x)
    heads = xp.reshape(x, (*x.shape[:-1], H, -1))  # (*X, H, D)
    return xp.reshape(join_pairs(*split_pairs(heads, not to_interleaved), to_interleaved), x.shape)
