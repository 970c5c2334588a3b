"""What attention opens for and is made of, in PyTorch: masks, sinks, softcap, norms of q, k, caches, blocks, latents.

PyTorch has none of these under one name but the norms and the masks' building blocks; the rest is written as models
write it, over its own functions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from conformance.formulas_frequencies import wide
from conformance.formulas_rotary import rope
from conformance.torch_arrays import both


def causal_mask(*, T: int, S: int, q_offset: int) -> Tensor:
    return torch.ones(T, S, dtype=torch.bool).tril(q_offset)


def window_mask(*, T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> Tensor:
    mask = torch.ones(T, S, dtype=torch.bool)
    mask = mask if right is None else mask.tril(q_offset + right)
    return mask if left is None else mask.triu(q_offset - left)


def chunked_mask(*, T: int, S: int, chunk: int, q_offset: int, left_padding: int = 0) -> Tensor:
    chunks = torch.div(torch.arange(max(T + q_offset, S)) - left_padding, chunk, rounding_mode="floor")
    return (chunks[q_offset : q_offset + T, None] == chunks[:S]).tril(q_offset)


def prefix_mask(*, T: int, S: int, prefix: int, q_offset: int) -> Tensor:
    return causal_mask(T=T, S=S, q_offset=q_offset).index_fill(1, torch.arange(min(prefix, S)), True)


def padding_mask(lengths: Tensor, *, S: int, left_padded: bool = False) -> Tensor:
    tokens = torch.arange(S).expand(*lengths.shape, S) < lengths.unsqueeze(-1)
    return (tokens.flip(-1) if left_padded else tokens).unsqueeze(-2).unsqueeze(-2)


def document_mask(q_documents: Tensor, k_documents: Tensor | None = None) -> Tensor:
    keys = q_documents if k_documents is None else k_documents
    return (q_documents.unsqueeze(-1) == keys.unsqueeze(-2)).unsqueeze(-3)


def with_sink(scores: Tensor, sink: Tensor) -> Tensor:
    """Scores with the sink as a last column, as gpt-oss has it."""
    return torch.cat((scores, sink.unsqueeze(-1).expand(*scores.shape[:-1], 1)), dim=-1)


def softmax_sink(x: Tensor, sink: Tensor, mask: Tensor | None = None) -> Tensor:
    x = x if mask is None else x.masked_fill(~mask, -math.inf)
    return F.softmax(with_sink(x, sink), dim=-1)[..., :-1]


def softcap(x: Tensor, *, cap: float) -> Tensor:
    return cap * torch.tanh(x / cap)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    visible: Tensor | None = None,
    keep: Tensor | None = None,
    p: float = 0.0,
    scale: float | None = None,
    cap: float | None = None,
) -> dict[str, Tensor]:
    """Eager attention as transformers has it, with every opening; an empty row is 0."""
    groups = q.shape[-3] // k.shape[-3]
    keys, values = k.repeat_interleave(groups, dim=-3), v.repeat_interleave(groups, dim=-3)
    scores = q @ keys.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = scores if cap is None else softcap(scores, cap=cap)
    scores = scores if bias is None else scores + bias
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    columns = scores if sink is None else with_sink(scores, sink[:, None].expand(*scores.shape[-3:-1]))
    empty = torch.isneginf(columns).all(dim=-1, keepdim=True)
    weights = F.softmax(columns.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)[..., : k.shape[-2]]
    weights = weights if keep is None else keep * weights * (1.0 / (1.0 - p))
    return {"y": weights @ values, "lse": torch.logsumexp(columns, dim=-1)}


def rms_qk_norm(
    x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False, over_heads: bool = False
) -> Tensor:
    rows = x.transpose(-3, -2).flatten(-2) if over_heads else x
    y = F.rms_norm(rows, rows.shape[-1:], eps=eps)
    y = y.unflatten(-1, (x.shape[-3], x.shape[-1])).transpose(-3, -2) if over_heads else y
    if weight is None:
        return y
    gain = 1 + weight if unit_offset else weight
    return y * (gain if gain.ndim == 1 else gain.unsqueeze(1))


def l2_qk_norm(
    x: Tensor, logit_scale: Tensor | None = None, *, max_logit_scale: float | None = None, eps: float = 1e-12
) -> Tensor:
    unit = F.normalize(x, dim=-1, eps=eps)
    if logit_scale is None:
        return unit
    bounded = logit_scale if max_logit_scale is None else torch.clamp(logit_scale, max=max_logit_scale)
    return unit * bounded.exp()[:, None, None]


def attention_decode(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    scale: float | None = None,
    softcap: float | None = None,
) -> dict[str, Tensor]:
    keys, values = torch.cat((k_cache, k), dim=-2), torch.cat((v_cache, v), dim=-2)
    causal = causal_mask(T=q.shape[-2], S=keys.shape[-2], q_offset=k_cache.shape[-2])
    visible = causal if mask is None else causal & mask
    found = attend(q, keys, values, bias, sink, visible, scale=scale, cap=softcap)
    return found | {"k_cache": keys, "v_cache": values}


def blocked_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    block: int,
    q_offset: int | None = None,
    scale: float | None = None,
) -> dict[str, Tensor]:
    """Attention block by block, merged by lse in float32 at least: what ring attention does."""
    T, S = q.shape[-2], k.shape[-2]
    visible = torch.ones(T, S, dtype=torch.bool) if q_offset is None else causal_mask(T=T, S=S, q_offset=q_offset)
    visible = (visible if mask is None else visible & mask).expand(*q.shape[:-1], S)
    bias = None if bias is None else bias.expand(*q.shape[:-1], S)
    found: dict[str, Tensor] | None = None
    for start in range(0, S, block):
        at = slice(start, start + block)
        part = attend(
            q,
            k[..., at, :],
            v[..., at, :],
            None if bias is None else bias[..., at],
            None,
            visible[..., at],
            scale=scale,
        )
        part = {name: tensor.to(wide(q.dtype)) for name, tensor in part.items()}
        found = part if found is None else merge_blocks(found["y"], found["lse"], part["y"], part["lse"])
    assert found is not None
    return {name: tensor.to(q.dtype) for name, tensor in found.items()}


def merge_blocks(y1: Tensor, lse1: Tensor, y2: Tensor, lse2: Tensor) -> dict[str, Tensor]:
    both = torch.stack((lse1, lse2), dim=-1)
    empty = torch.isneginf(both).all(dim=-1, keepdim=True)
    shares = F.softmax(both.masked_fill(empty, 0.0), dim=-1).masked_fill(empty, 0.0)
    largest = both.amax(dim=-1, keepdim=True).masked_fill(empty, 0.0).detach()
    total = torch.exp(both.masked_fill(empty, 0.0) - largest).sum(dim=-1)  # logsumexp's gradient of -inf alone is NaN
    lse = largest[..., 0] + torch.log(total)
    return {"y": shares[..., :1] * y1 + shares[..., 1:] * y2, "lse": lse.masked_fill(empty[..., 0], -math.inf)}


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    mask: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> dict[str, Tensor]:
    visible = both(mask, q_offset, q.shape[-2], k.shape[-2])
    return attend(q, k, v, bias, sink, visible, keep, p, scale, softcap)


def multi_head_attention(
    x: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    b_q: Tensor | None = None,
    b_k: Tensor | None = None,
    b_v: Tensor | None = None,
    b_o: Tensor | None = None,
    context: Tensor | None = None,
    cos: Tensor | None = None,
    sin: Tensor | None = None,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    mask: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    H: int,
    G: int | None = None,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    interleaved: bool = True,
) -> Tensor:
    """F.linear around attention, as models do."""
    source = x if context is None else context
    q = F.linear(x, w_q.T, b_q).unflatten(-1, (H, -1)).transpose(-3, -2)
    k = F.linear(source, w_k.T, b_k).unflatten(-1, (G or H, -1)).transpose(-3, -2)
    v = F.linear(source, w_v.T, b_v).unflatten(-1, (G or H, -1)).transpose(-3, -2)
    if cos is not None and sin is not None:
        q, k = rope(q, cos, sin, interleaved=interleaved), rope(k, cos, sin, interleaved=interleaved)
    options: dict[str, Any] = {"p": p, "q_offset": q_offset, "scale": scale, "softcap": softcap}
    y = attention(q, k, v, bias, sink, mask, keep, **options)["y"]
    return F.linear(y.transpose(-3, -2).flatten(-2), w_o.T, b_o)


def mla_attention(
    q: Tensor,
    latent: Tensor,
    k_rope: Tensor,
    norm_weight: Tensor,
    w_uk: Tensor,
    w_uv: Tensor,
    cos: Tensor,
    sin: Tensor,
    mask: Tensor | None = None,
    *,
    q_offset: int,
    eps: float = 1e-6,
    scale: float | None = None,
    interleaved: bool = True,
) -> dict[str, Tensor]:
    """DeepSeek's attention, unpacked: one latent a token, and one turned key for all heads."""
    H, T, width = q.shape[-3:]
    N = width - k_rope.shape[-1]
    c = F.rms_norm(latent, latent.shape[-1:], norm_weight, eps=eps)
    k_nope = F.linear(c, w_uk.T).unflatten(-1, (H, -1)).transpose(-3, -2)
    v = F.linear(c, w_uv.T).unflatten(-1, (H, -1)).transpose(-3, -2)
    k_turned = rope(k_rope.unsqueeze(-3), cos, sin, interleaved=interleaved)
    k = torch.cat((k_nope, k_turned.expand(*k_nope.shape[:-1], -1)), dim=-1)
    rows = slice(q_offset, q_offset + T)
    q_turned = rope(q[..., N:].contiguous(), cos[rows], sin[rows], interleaved=interleaved)
    return attention(torch.cat((q[..., :N], q_turned), dim=-1), k, v, mask=mask, q_offset=q_offset, scale=scale)


OPS: dict[str, Callable[..., Tensor | dict[str, Tensor]]] = {
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "chunked_mask": chunked_mask,
    "prefix_mask": prefix_mask,
    "padding_mask": padding_mask,
    "document_mask": document_mask,
    "softmax_sink": softmax_sink,
    "softcap": softcap,
    "rms_qk_norm": rms_qk_norm,
    "l2_qk_norm": l2_qk_norm,
    "attention_decode": attention_decode,
    "blocked_attention": blocked_attention,
    "merge_blocks": merge_blocks,
    "attention": attention,
    "multi_head_attention": multi_head_attention,
    "mla_attention": mla_attention,
}
