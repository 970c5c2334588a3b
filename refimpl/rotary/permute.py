"""From one layout of pairs to the other: reorder the channels of a projection once, and turn either way."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require, require_integer, require_shape
from ..namespace import Array, array_namespace
from ..signatures import checked
from .rope import join_pairs, require_pairs, split_pairs


class PermutePairsResiduals(NamedTuple):
    """What the gradient needs: the permutation, and the shape."""

    H: int
    to_interleaved: bool
    shape: tuple[int, ...]


@checked
def permute_pairs_forward(
    weight: Float[Array, "*X N"], *, H: int, to_interleaved: bool = False
) -> tuple[Float[Array, "*X N"], PermutePairsResiduals]:
    """Reorder the channels of each head, so that rope in one layout gives what it gave in the other.

        y[head h] = weight[head h][..., (0, 2, 4, ..., 1, 3, 5, ...)]          interleaved to half-split

    Half-split rope after it gives what the interleaved one gave before it, reordered; since q and k are reordered
    alike, scores are the same. Do it to w_q and w_k (and their biases), never to w_v.

    weight: the last axis holds H heads of equal width: (C, H D), a bias (H D,), or q itself.
    to_interleaved: the inverse, y[2i] = weight[i], y[2i+1] = weight[i + D/2].
    Source: the conversion of Meta's Llama weights for transformers, which reorders rows: its weights are (out, in).
    Raises ValueError for a width that H does not divide into heads of even width.
    """
    require_integer("H", H, 1)
    require(weight.shape[-1] % H == 0, "H", H, f"a divisor of {weight.shape[-1]}, the width of weight")
    require_pairs("weight", weight.shape[-1] // H)
    return _reorder(weight, H, to_interleaved), PermutePairsResiduals(H, to_interleaved, tuple(weight.shape))


@checked
def permute_pairs_backward(dy: Float[Array, "*X N"], residuals: PermutePairsResiduals) -> Float[Array, "*X N"]:
    """Return dweight: the adjoint of a permutation is its inverse.

    dweight[head h][..., (0, 2, 4, ..., 1, 3, 5, ...)] = dy[head h]
    """
    require_shape("dy", dy, residuals.shape)
    return _reorder(dy, residuals.H, not residuals.to_interleaved)  # y = weight, reordered


def _reorder(x: Float[Array, "*X N"], H: int, to_interleaved: bool) -> Float[Array, "*X N"]:
    """Read pairs in one layout and write them in the other."""
    xp = array_namespace(x)
    heads = xp.reshape(x, (*x.shape[:-1], H, x.shape[-1] // H))  # (*X, H, D)
    return xp.reshape(join_pairs(*split_pairs(heads, not to_interleaved), to_interleaved), x.shape)
