"""Scaled dot-product attention, with the openings through which positions come in."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..embeddings.dropout import DropoutResiduals, dropout_backward, dropout_forward, require_keep
from ..errors import require_cotangents, require_number
from ..namespace import Array, array_namespace, device, unbroadcast
from ..signatures import checked
from .heads import repeat_heads, require_attention, score_scale, sum_heads
from .masks import both, causal_mask
from .softcap import SoftcapResiduals, softcap_backward, softcap_forward
from .softmax import softmax_and_lse, softmax_and_lse_backward
from .softmax_sink import softmax_sink_lse


class Attention(NamedTuple):
    """The two outputs, and in backward their cotangents, None meaning zero."""

    y: Float[Array, "*X E"] | None
    lse: Float[Array, "*X"] | None


class AttentionResiduals(NamedTuple):
    """What the gradient needs; a kernel keeps lse instead of the weights and forms these again."""

    q: Float[Array, "*B H T D"]
    k: Float[Array, "*B G S D"]
    v: Float[Array, "*B G S E"]
    weights: Float[Array, "*B H T S"]
    sink_weights: Float[Array, "*B H T"] | None
    scale: float | None
    bias_shape: tuple[int, ...] | None
    softcap: SoftcapResiduals | None
    dropout: DropoutResiduals | None


@checked
def attention_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B G S D"],
    v: Float[Array, "*B G S E"],
    bias: Float[Array, "..."] | None = None,
    sink: Float[Array, " H"] | None = None,
    *,
    mask: Bool[Array, "..."] | None = None,
    keep: Bool[Array, "..."] | None = None,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Attention, AttentionResiduals]:
    """Let every query take a weighted mean of the values.

        scores = softcap(scale · q kᵀ) + bias
        y      = dropout(softmax(scores where mask keeps, with sink)) v
        lse    = log(sum of exp(scores where mask keeps) + exp(sink))

    Without bias and mask it cannot tell positions apart: permuting the queries permutes the result, permuting keys with
    their values changes nothing. Dividing by √D keeps the variance of a score at that of q and k.

    Query head h reads key and value head h // (H // G): multi-head for G = H, multi-query for G = 1, else grouped.
    bias: broadcasts to (*B, H, T, S), added after scale and softcap. mask: the same, boolean, True keeps.
    sink: one more logit a head, which neither scale, softcap, bias nor mask touches (`softmax_sink_forward`).
    keep, p: dropout of the weights (`dropout_forward`); lse is that of all weights. softcap: see `softcap_forward`.
    q_offset: None for no causal mask; else query i stands at position q_offset + i and sees the keys j <= q_offset + i.
    scale: default 1/√D. A row with no key left: y = 0, lse = -inf (the sink, where there is one), all gradients 0.
    Source: Vaswani et al. 2017, equation 1; grouped queries: Ainslie et al. 2023. Where others differ: PyTorch's
    is_causal and JAX fix q_offset = 0, FlashAttention S - T; JAX gives an empty row the mean of v.
    Raises ValueError for shapes that do not meet, a mask that is not boolean, softcap <= 0, or p without keep.
    """
    xp = array_namespace(q, k, v, bias, sink, mask, keep)
    require_attention(q, k, bias=bias, mask=mask, keep=keep)
    require_keep(keep, p)
    if softcap is not None:
        require_number("softcap", softcap, above=0)
    H, T, D = q.shape[-3:]
    G, S, _ = k.shape[-3:]
    keys, values = repeat_heads(k, H // G), repeat_heads(v, H // G)  # (*B, H, S, D), (*B, H, S, E)
    scores = (q @ xp.matrix_transpose(keys)) * score_scale(scale, D, q)  # (*B, H, T, S)
    scores, capped = (scores, None) if softcap is None else softcap_forward(scores, cap=softcap)
    if bias is not None:
        scores = scores + bias
    kept = both(mask, None if q_offset is None else causal_mask(T, S, q_offset=q_offset, xp=xp, device=device(q)))
    if sink is None:
        (weights, lse), sink_weights = softmax_and_lse(scores, kept), None  # (*B, H, T, S), (*B, H, T)
    else:
        weights, sink_weights, lse = softmax_sink_lse(scores, sink[:, None], kept)
    shares, dropped = (weights, None) if keep is None else dropout_forward(weights, keep=keep, p=p)
    y = shares @ values  # (*B, H, T, E)
    bias_shape = None if bias is None else tuple(bias.shape)
    return Attention(y, lse), AttentionResiduals(q, k, v, weights, sink_weights, scale, bias_shape, capped, dropped)


@checked
def attention_backward(
    dy: Attention, residuals: AttentionResiduals
) -> tuple[
    Float[Array, "*B H T D"],
    Float[Array, "*B G S D"],
    Float[Array, "*B G S E"],
    Float[Array, "..."] | None,
    Float[Array, " H"] | None,
]:
    """Return (dq, dk, dv, dbias, dsink) for the cotangents of y and lse.

        dweights = dropout(dy vᵀ)                                    dv = dropout(weights)ᵀ dy
        row      = sum of weights dweights - dlse
        dscores  = weights (dweights - row)                          dbias = dscores
        draw     = dscores through softcap                           dsink = sum of -sink_weights row
        dq       = scale · draw k                                    dk = scale · drawᵀ q

    dk and dv sum over the query heads that share them; dbias sums over the axes along which the bias was broadcast.
    """
    q, k, v, weights, sink_weights, scale, bias_shape, capped, dropped = residuals
    xp = array_namespace(q)
    require_cotangents(dy, y=(*weights.shape[:-1], v.shape[-1]), lse=weights.shape[:-1])
    group = q.shape[-3] // k.shape[-3]
    keys, values = repeat_heads(k, group), repeat_heads(v, group)
    scaling = score_scale(scale, q.shape[-1], q)
    dy_y = xp.zeros((*weights.shape[:-1], v.shape[-1]), dtype=q.dtype, device=device(q)) if dy.y is None else dy.y
    shares = weights if dropped is None else dropout_forward(weights, keep=dropped.keep, p=dropped.p)[0]
    dvalues = xp.matrix_transpose(shares) @ dy_y  # y = shares @ values
    dshares = dy_y @ xp.matrix_transpose(values)  # (*B, H, T, S)
    dweights = dshares if dropped is None else dropout_backward(dshares, dropped)  # shares = dropout(weights)
    dscores, row = softmax_and_lse_backward(dweights, dy.lse, weights)  # weights, lse = softmax_and_lse(scores)
    dbias = None if bias_shape is None else unbroadcast(dscores, bias_shape)  # scores = capped + bias
    dsink = None if sink_weights is None else unbroadcast(-sink_weights * row, (q.shape[-3], 1))[:, 0]
    draw = dscores if capped is None else softcap_backward(dscores, capped)  # capped = softcap(scale q @ keysᵀ)
    dq, dkeys = (draw @ keys) * scaling, (xp.matrix_transpose(draw) @ q) * scaling
    return dq, sum_heads(dkeys, group), sum_heads(dvalues, group), dbias, dsink
