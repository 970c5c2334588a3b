"""Attention without the T × S matrix: online softmax over blocks of keys."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..errors import require_cotangents, require_integer
from ..namespace import Array, array_namespace, device, unbroadcast
from ..signatures import checked
from .attention import Attention
from .heads import repeat_heads, require_attention, score_scale, sum_heads
from .masks import both, causal_mask


class BlockedAttentionResiduals(NamedTuple):
    """What the gradient needs: inputs and outputs, and nothing of T × S but what came in."""

    q: Float[Array, "*B H T D"]
    k: Float[Array, "*B G S D"]
    v: Float[Array, "*B G S E"]
    bias: Float[Array, "..."] | None
    kept: Bool[Array, "*B H T S"]
    y: Float[Array, "*B H T E"]
    lse: Float[Array, "*B H T"]
    scale: float | None
    block: int


class Running(NamedTuple):
    """What is known after some blocks: the largest score, sum and values relative to it, and whether a key was kept."""

    m: Float[Array, "*B H T"]
    total: Float[Array, "*B H T"]
    y: Float[Array, "*B H T E"]
    some: Bool[Array, "*B H T"]


@checked
def blocked_attention_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B G S D"],
    v: Float[Array, "*B G S E"],
    bias: Float[Array, "..."] | None = None,
    *,
    block: int,
    mask: Bool[Array, "..."] | None = None,
    q_offset: int | None = None,
    scale: float | None = None,
) -> tuple[Attention, BlockedAttentionResiduals]:
    """Return what `attention_forward` does, looking at `block` keys at a time.

        m' = max(m, scores of the block),   e = exp(scores - m'),   f = exp(m - m')
        total' = f total + sum of e         acc' = f acc + e v
        y  = acc / total                    lse = m + log(total)            after the last block

    A sum relative to the largest score so far stays right when a larger one comes: all of it shrinks by the factor f.
    A block with no key kept changes nothing, and must not: exp(-inf - (-inf)) is no number.

    bias, mask, q_offset, scale: as in `attention_forward`. block: keys at a time; the last block may be short.
    Source: Milakov and Gimelshein 2018, algorithm 3; Rabe and Staats 2021; Dao et al. 2022 (FlashAttention), alg. 1.
    Raises ValueError as `attention_forward` does, or for block below 1.
    """
    xp = array_namespace(q, k, v, bias, mask)
    require_attention(q, k, bias=bias, mask=mask)
    require_integer("block", block, 1)
    rows, S = tuple(q.shape[:-1]), k.shape[-2]
    causal = None if q_offset is None else causal_mask(rows[-1], S, q_offset=q_offset, xp=xp, device=device(q))
    kept = both(mask, causal)
    everything = xp.ones((*rows, S), dtype=xp.bool, device=device(q))
    kept = everything if kept is None else kept & everything  # (*B, H, T, S)
    values = repeat_heads(v, rows[-2] // v.shape[-3])  # (*B, H, S, E)
    zero = xp.zeros_like(q[..., 0])  # (*B, H, T)
    state = Running(
        zero, zero, xp.zeros((*rows, v.shape[-1]), dtype=q.dtype, device=device(q)), everything[..., 0] & False
    )
    for keys in _blocks(S, block):
        state = _absorb(state, _scores(q, k, bias, scale, keys), kept[..., keys], values[..., keys, :])
    total = xp.where(state.some, state.total, 1.0)
    y = state.y / total[..., None]
    lse = xp.where(state.some, state.m + xp.log(total), -xp.inf)
    return Attention(y, lse), BlockedAttentionResiduals(q, k, v, bias, kept, y, lse, scale, block)


@checked
def blocked_attention_backward(
    dy: Attention, residuals: BlockedAttentionResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "*B G S D"], Float[Array, "*B G S E"], Float[Array, "..."] | None]:
    """Return (dq, dk, dv, dbias), forming the weights of each block again from lse.

        row     = sum of dy y - dlse
        weights = exp(scores - lse)                   dscores = weights (dy vᵀ - row)
        dq      = sum over blocks of scale · dscores k        dk = scale · dscoresᵀ q,  dv = weightsᵀ dy  of each block

    The row sum that softmax needs, sum of weights dweights, is dy·y: it needs no weights.
    """
    xp = array_namespace(*dy)
    q, k, v, bias, kept, y, lse, scale, block = residuals
    require_cotangents(dy, y=y.shape, lse=lse.shape)
    group, scaling = q.shape[-3] // k.shape[-3], score_scale(scale, q.shape[-1], q)
    keys, values = repeat_heads(k, group), repeat_heads(v, group)
    dy_y = xp.zeros_like(y) if dy.y is None else dy.y
    row = xp.sum(dy_y * y, axis=-1)  # (*B, H, T)
    row = (row if dy.lse is None else row - dy.lse)[..., None]
    dq, dkeys, dvalues, dscores = xp.zeros_like(q), [], [], []
    for at in _blocks(k.shape[-2], block):
        here = kept[..., at]
        weights = xp.where(here, xp.exp(xp.where(here, _scores(q, k, bias, scale, at) - lse[..., None], 0.0)), 0.0)
        dscores.append(weights * (dy_y @ xp.matrix_transpose(values[..., at, :]) - row))  # (*B, H, T, block)
        dq = dq + (dscores[-1] @ keys[..., at, :]) * scaling
        dkeys.append((xp.matrix_transpose(dscores[-1]) @ q) * scaling)
        dvalues.append(xp.matrix_transpose(weights) @ dy_y)
    dk, dv = sum_heads(xp.concat(dkeys, axis=-2), group), sum_heads(xp.concat(dvalues, axis=-2), group)
    return dq, dk, dv, None if bias is None else unbroadcast(xp.concat(dscores, axis=-1), tuple(bias.shape))


def _absorb(state: Running, scores: Array, kept: Array, values: Array) -> Running:
    """Add a block of keys to what is known."""
    xp = array_namespace(scores)
    some = state.some | xp.any(kept, axis=-1)
    m = xp.max(xp.where(kept, scores, -xp.inf), axis=-1)  # (*B, H, T)
    m = xp.where(some, xp.maximum(xp.where(state.some, state.m, -xp.inf), m), 0.0)
    e = xp.where(kept, xp.exp(xp.where(kept, scores - m[..., None], 0.0)), 0.0)
    forget = xp.exp(xp.where(state.some, state.m - m, 0.0))  # nothing to forget before the first key: total is 0
    total = forget * state.total + xp.sum(e, axis=-1)
    return Running(m, total, forget[..., None] * state.y + e @ values, some)


def _scores(q: Array, k: Array, bias: Array | None, scale: float | None, keys: slice) -> Array:
    """Return the scores of one block of keys, (*B, H, T, block)."""
    xp = array_namespace(q)
    H, _, D = q.shape[-3:]
    block = repeat_heads(k[..., keys, :], H // k.shape[-3])
    scores = (q @ xp.matrix_transpose(block)) * score_scale(scale, D, q)
    return scores if bias is None else scores + xp.broadcast_to(bias, (*q.shape[:-1], k.shape[-2]))[..., keys]


def _blocks(S: int, block: int) -> list[slice]:
    """Cut S keys into blocks."""
    return [slice(start, min(start + block, S)) for start in range(0, S, block)]
