"""The embedding layer of BERT: words, segments and positions, normalized and dropped."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float, Int

from ..errors import require_broadcastable, require_row
from ..namespace import Array, array_namespace, device, unbroadcast
from ..signatures import checked
from .dropout import DropoutResiduals, dropout_backward, dropout_forward, require_keep
from .layer_norm import LayerNormResiduals, layer_norm_backward, layer_norm_forward
from .learned import LearnedPositionResiduals, learned_position_backward, learned_position_forward
from .segment import SegmentEmbeddingResiduals, segment_embedding_backward, segment_embedding_forward
from .token import TokenEmbeddingResiduals, token_embedding_backward, token_embedding_forward


class BertEmbeddingResiduals(NamedTuple):
    """The residuals of the five parts; dropout is None where there is none."""

    token: TokenEmbeddingResiduals
    segment: SegmentEmbeddingResiduals
    position: LearnedPositionResiduals
    norm: LayerNormResiduals
    dropout: DropoutResiduals | None


@checked
def bert_embedding_forward(
    ids: Int[Array, "*B T"],
    segments: Int[Array, "*B T"],
    weight: Float[Array, "V C"],
    segment_weight: Float[Array, "M C"],
    position_weight: Float[Array, "N C"],
    norm_weight: Float[Array, " C"],
    norm_bias: Float[Array, " C"],
    *,
    positions: Int[Array, "*P"] | None = None,
    padding_idx: int | None = None,
    position_padding_idx: int | None = None,
    eps: float = 1e-12,
    keep: Bool[Array, "..."] | None = None,
    p: float = 0.0,
) -> tuple[Float[Array, "*B T C"], BertEmbeddingResiduals]:
    """Add a token's three vectors, normalize the sum, and drop.

        y = dropout(layer_norm(weight[ids] + segment_weight[segments] + position_weight[positions]))

    The sum comes before the normalization, so that one gradient reaches all three tables; and dropout after it, so that
    what is dropped is really 0. No √C: the normalization takes care of size.

    positions: (T,) or (*B, T), 0 .. T-1 by default; RoBERTa: positions_from_padding(ids != padding_idx), and
    position_padding_idx, the row of position_weight that does not learn.
    keep, p: dropout's keep-mask and probability of dropping; keep=None means no dropout.
    Source: Devlin et al. 2019 (BERT), figure 2, and its code (normalization, eps 1e-12).
    Raises ValueError for ids, segments, positions or padding rows outside their tables, positions that do not fit ids,
    eps < 0, or p > 0 without a mask.
    """
    xp = array_namespace(ids, weight)
    require_keep(keep, p)
    if positions is None:
        positions = xp.arange(ids.shape[-1], device=device(ids))
    require_broadcastable("positions", positions, ids.shape)
    require_row("position_padding_idx", position_padding_idx, position_weight)
    words, token = token_embedding_forward(ids, weight, padding_idx=padding_idx)  # (*B, T, C)
    parts, segment = segment_embedding_forward(segments, segment_weight)
    places, position = learned_position_forward(positions, position_weight, padding_idx=position_padding_idx)
    y, norm = layer_norm_forward(words + parts + places, norm_weight, norm_bias, eps=eps)
    dropped = None
    if keep is not None:
        y, dropped = dropout_forward(y, keep=keep, p=p)
    return y, BertEmbeddingResiduals(token, segment, position, norm, dropped)


@checked
def bert_embedding_backward(
    dy: Float[Array, "*B T C"], residuals: BertEmbeddingResiduals
) -> tuple[Array, Array, Array, Array, Array]:
    """Return (dweight, dsegment_weight, dposition_weight, dnorm_weight, dnorm_bias).

    dweight[v] = sum of g over the places of token v,        g = layer_norm_backward(dropout_backward(dy))
    dsegment_weight, dposition_weight: the same g, by segment and by position
    """
    token, segment, position, norm, dropped = residuals
    if dropped is not None:  # y = dropout(y)
        dy = dropout_backward(dy, dropped)
    g, dnorm_weight, dnorm_bias = layer_norm_backward(dy, norm)  # y = layer_norm(words + parts + places)
    places = unbroadcast(g, (*position.positions.shape, dy.shape[-1]))
    return (
        token_embedding_backward(g, token),
        segment_embedding_backward(g, segment),
        learned_position_backward(places, position),
        dnorm_weight,
        dnorm_bias,
    )
