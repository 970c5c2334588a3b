"""Attention with a cache: new queries over old and new keys."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..errors import require_cotangents
from ..namespace import Array, array_namespace
from ..signatures import checked
from .attention import Attention, AttentionResiduals, attention_backward, attention_forward


class Decoded(NamedTuple):
    """The result of attention, and the cache for the next step; in backward their cotangents, None meaning zero."""

    y: Float[Array, "*B H T E"] | None
    lse: Float[Array, "*B H T"] | None
    k_cache: Float[Array, "*B G S D"] | None
    v_cache: Float[Array, "*B G S E"] | None


class AttentionDecodeResiduals(NamedTuple):
    """What the gradient needs: attention's, and how many keys were old."""

    attention: AttentionResiduals
    past: int


@checked
def attention_decode_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B G T D"],
    v: Float[Array, "*B G T E"],
    k_cache: Float[Array, "*B G P D"],
    v_cache: Float[Array, "*B G P E"],
    bias: Float[Array, "..."] | None = None,
    sink: Float[Array, " H"] | None = None,
    *,
    mask: Bool[Array, "..."] | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> tuple[Decoded, AttentionDecodeResiduals]:
    """Attend from T new tokens to P cached ones and to themselves.

        k_cache' = [k_cache | k]        v_cache' = [v_cache | v]
        y, lse   = attention(q, k_cache', v_cache', bias, sink),        q_offset = P

    Rows P .. P + T - 1 of the causal pass over the whole sequence, to the last bit of mathematics: a past token's key
    and value do not depend on what comes after it. That holds for an encoding only if it gives position p the same
    vector at every length. It fails for dynamic NTK and LongRoPE, whose frequencies depend on the length so far, and
    for xPos centred on the middle of the sequence: their cached keys were turned for a shorter text. Fix the table
    (or the centre) for the longest text, or cache keys before they are turned.

    k, v: encoded at positions P .. P + T - 1. P may be 0. bias, mask: broadcast to (*B, H, T, P + T).
    Source: Shazeer 2019, section 2.4 (incremental); the past of ONNX Attention.
    Raises ValueError as `attention_forward` does, or for a cache that does not fit the new keys and values.
    """
    xp = array_namespace(q, k, v, k_cache, v_cache)
    past = k_cache.shape[-2]
    keys, values = xp.concat([k_cache, k], axis=-2), xp.concat([v_cache, v], axis=-2)  # (*B, G, P + T, D), (..., E)
    options = {"mask": mask, "q_offset": past, "scale": scale, "softcap": softcap}
    (y, lse), residuals = attention_forward(q, keys, values, bias, sink, **options)
    return Decoded(y, lse, keys, values), AttentionDecodeResiduals(residuals, past)


@checked
def attention_decode_backward(
    dy: Decoded, residuals: AttentionDecodeResiduals
) -> tuple[
    Float[Array, "*B H T D"],
    Float[Array, "*B G T D"],
    Float[Array, "*B G T E"],
    Float[Array, "*B G P D"],
    Float[Array, "*B G P E"],
    Float[Array, "..."] | None,
    Float[Array, " H"] | None,
]:
    """Return (dq, dk, dv, dk_cache, dv_cache, dbias, dsink).

        [dk_cache | dk] = attention's dk + dk_cache'        [dv_cache | dv] = attention's dv + dv_cache'

    The cotangent of the returned cache is what later steps made of these keys and values. Run backward from the last
    step to the first, handing dk_cache and dv_cache on, the steps add up to the gradient of the whole pass.
    """
    attention, past = residuals
    xp = array_namespace(*dy)
    require_cotangents(dy, k_cache=attention.k.shape, v_cache=attention.v.shape)
    nothing = xp.zeros_like(attention.q[..., 0])  # (*B, H, T)
    cotangents = Attention(dy.y, nothing if dy.y is None and dy.lse is None else dy.lse)
    dq, dkeys, dvalues, dbias, dsink = attention_backward(cotangents, attention)
    dkeys = dkeys if dy.k_cache is None else dkeys + dy.k_cache  # k_cache' = [k_cache | k]
    dvalues = dvalues if dy.v_cache is None else dvalues + dy.v_cache  # v_cache' = [v_cache | v]
    dk_cache, dk = dkeys[..., :past, :], dkeys[..., past:, :]
    dv_cache, dv = dvalues[..., :past, :], dvalues[..., past:, :]
    return dq, dk, dv, dk_cache, dv_cache, dbias, dsink
