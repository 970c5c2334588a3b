"""Segment embedding: a learned vector for the part of the input that a token belongs to."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require_index
from ..namespace import Array, scatter_add
from ..signatures import checked
from .token import take_rows


class SegmentEmbeddingResiduals(NamedTuple):
    """What the gradient needs: the segments, and the shape of the table."""

    segments: Int[Array, "*B T"]
    N: int
    C: int


@checked
def segment_embedding_forward(
    segments: Int[Array, "*B T"], weight: Float[Array, "N C"]
) -> tuple[Float[Array, "*B T C"], SegmentEmbeddingResiduals]:
    """Look up the vector of every token's segment.

        y[b, t, :] = weight[segments[b, t], :]

    The coarsest of positions: it says which sentence, not where. A table of two or three rows takes the gradient of
    every token there is, so nothing else adds up as many terms in one place.

    segments: 0 .. N-1, as a rule 0 for the first sentence with its closing separator, 1 for the second.
    Source: Devlin et al. 2019 (BERT), section 3.2. RoBERTa has one row, always read; XLNet compares segments instead.
    Raises ValueError for a segment outside 0 .. N-1.
    """
    require_index("segments", segments, weight.shape[0], "weight")
    return take_rows(weight, segments), SegmentEmbeddingResiduals(segments, *weight.shape)


@checked
def segment_embedding_backward(dy: Float[Array, "*B T C"], residuals: SegmentEmbeddingResiduals) -> Float[Array, "N C"]:
    """Add every token's gradient to the row of its segment.

    dweight[n, :] = sum of dy[b, t, :] over all (b, t) with segments[b, t] = n
    """
    segments, N, _ = residuals
    return scatter_add(segments, dy, N)  # y = weight[segments]
