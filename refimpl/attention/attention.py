"""Scaled dot-product attention, with the openings through which positions come in."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Shaped

from ..errors import require, require_broadcastable, require_mask
from ..namespace import Array, array_namespace, constant, device, unbroadcast
from .masks import both, causal_mask
from .softmax import softmax_and_lse


class Attention(NamedTuple):
    """The two outputs, and in backward their cotangents, None meaning zero."""

    y: Shaped[Array, "*B H T E"] | None
    lse: Shaped[Array, "*B H T"] | None


class AttentionResiduals(NamedTuple):
    """What the gradient needs; a kernel keeps lse instead of the weights and forms these again."""

    q: Shaped[Array, "*B H T D"]
    k: Shaped[Array, "*B G S D"]
    v: Shaped[Array, "*B G S E"]
    weights: Shaped[Array, "*B H T S"]
    scale: float | None
    bias_shape: tuple[int, ...] | None


def attention_forward(
    q: Shaped[Array, "*B H T D"],
    k: Shaped[Array, "*B G S D"],
    v: Shaped[Array, "*B G S E"],
    bias: Shaped[Array, "..."] | None = None,
    *,
    mask: Bool[Array, "..."] | None = None,
    q_offset: int | None = None,
    scale: float | None = None,
) -> tuple[Attention, AttentionResiduals]:
    """Let every query take a weighted mean of the values.

        scores = scale · q kᵀ + bias
        y      = softmax(scores where mask keeps) v
        lse    = log sum exp(scores where mask keeps)

    Without bias and mask it cannot tell positions apart: permuting the queries permutes the result, permuting keys with
    their values changes nothing. Dividing by √D keeps the variance of a score at that of q and k.

    Query head h reads key and value head h // (H // G): multi-head for G = H, multi-query for G = 1, else grouped.
    bias: broadcasts to (*B, H, T, S), added after the scale. mask: the same, boolean, True keeps.
    q_offset: None for no causal mask; else query i stands at position q_offset + i and sees the keys j <= q_offset + i.
    scale: default 1/√D. A row with no key left: y = 0, lse = -inf, all gradients 0.
    Source: Vaswani et al. 2017, equation 1; grouped queries: Ainslie et al. 2023. Where others differ: PyTorch's
    is_causal and JAX fix q_offset = 0, FlashAttention S - T; JAX gives an empty row the mean of v.
    Raises ValueError for shapes that do not meet, or a mask that is not boolean.
    """
    xp = array_namespace(q, k, v, bias, mask)
    _require_shapes(q, k, v, bias, mask)
    H, T, D = q.shape[-3:]
    G, S, _ = k.shape[-3:]
    keys, values = _repeat_heads(k, H // G), _repeat_heads(v, H // G)  # (*B, H, S, D), (*B, H, S, E)
    scores = (q @ xp.matrix_transpose(keys)) * _scale(scale, D, q)  # (*B, H, T, S)
    if bias is not None:
        scores = scores + bias
    causal = None if q_offset is None else causal_mask(T, S, q_offset=q_offset, xp=xp, device=device(q))
    weights, lse = softmax_and_lse(scores, both(mask, causal))  # (*B, H, T, S), (*B, H, T)
    y = weights @ values  # (*B, H, T, E)
    return Attention(y, lse), AttentionResiduals(q, k, v, weights, scale, None if bias is None else bias.shape)


def attention_backward(
    dy: Attention, residuals: AttentionResiduals
) -> tuple[
    Shaped[Array, "*B H T D"], Shaped[Array, "*B G S D"], Shaped[Array, "*B G S E"], Shaped[Array, "..."] | None
]:
    """Return (dq, dk, dv, dbias) for the cotangents of y and lse.

        dweights = dy vᵀ                                             dv = weightsᵀ dy
        dscores  = weights (dweights - sum of weights dweights + dlse)
        dq       = scale · dscores k                                 dk = scale · dscoresᵀ q        dbias = dscores

    dk and dv sum over the query heads that share them; dbias sums over the axes along which the bias was broadcast.
    """
    xp = array_namespace(*dy)
    q, k, v, weights, scale, bias_shape = residuals
    group = q.shape[-3] // k.shape[-3]
    keys, values = _repeat_heads(k, group), _repeat_heads(v, group)
    scaling = _scale(scale, q.shape[-1], q)
    dy_y = xp.zeros((*weights.shape[:-1], v.shape[-1]), dtype=q.dtype, device=device(q)) if dy.y is None else dy.y
    dvalues = xp.matrix_transpose(weights) @ dy_y  # y = weights @ values
    dweights = dy_y @ xp.matrix_transpose(values)  # (*B, H, T, S)
    dscores = weights * (dweights - xp.sum(weights * dweights, axis=-1, keepdims=True))  # weights = softmax(scores)
    if dy.lse is not None:
        dscores = dscores + weights * dy.lse[..., None]  # lse = log sum exp(scores)
    dbias = None if bias_shape is None else unbroadcast(dscores, bias_shape)  # scores = scores + bias
    dq = (dscores @ keys) * scaling  # scores = scale q @ keysᵀ
    dkeys = (xp.matrix_transpose(dscores) @ q) * scaling
    return dq, _sum_heads(dkeys, group), _sum_heads(dvalues, group), dbias


def _scale(scale: float | None, D: int, like: Array) -> Array:
    """Return the caller's scale, or 1/√D."""
    xp = array_namespace(like)
    return 1 / xp.sqrt(constant(D, like=like)) if scale is None else constant(scale, like=like)


def _repeat_heads(x: Shaped[Array, "*B G S D"], group: int) -> Shaped[Array, "*B H S D"]:
    """Give every query head its key or value head: h reads h // group."""
    return array_namespace(x).repeat(x, group, axis=-3)


def _sum_heads(dx: Shaped[Array, "*B H S D"], group: int) -> Shaped[Array, "*B G S D"]:
    """Undo `_repeat_heads`: what was copied adds up."""
    xp = array_namespace(dx)
    *batch, H, S, D = dx.shape
    return xp.sum(xp.reshape(dx, (*batch, H // group, group, S, D)), axis=-3)


def _require_shapes(q: Array, k: Array, v: Array, bias: Array | None, mask: Array | None) -> None:
    """Raise ValueError where the shapes of attention do not meet."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        require(array.ndim >= 3, name, f"shape {tuple(array.shape)}", "(..., heads, length, width)")
    H, T, D = q.shape[-3:]
    G, S, _ = k.shape[-3:]
    batch = tuple(q.shape[:-3])
    require(tuple(k.shape) == (*batch, G, S, D), "k", f"shape {tuple(k.shape)}", f"{(*batch, 'G', 'S', D)} to fit q")
    fits = f"{(*batch, G, S, 'E')} to fit k"
    require(tuple(v.shape[:-1]) == (*batch, G, S), "v", f"shape {tuple(v.shape)}", fits)
    require(G >= 1 and H % G == 0, "k", f"{G} key heads", f"a divisor of the {H} query heads")
    if bias is not None:
        require_broadcastable("bias", bias, (*batch, H, T, S))
    if mask is not None:
        require_mask("mask", mask, (*batch, H, T, S))
