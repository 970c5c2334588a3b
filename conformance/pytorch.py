"""PyTorch's own functions and modules: torch.nn.functional and torch.nn.

    refimpl check --entry conformance.pytorch:run

What PyTorch has no function for is no business of this adapter; `pytorch_formulas` writes it out over PyTorch's arrays.
Every gradient is torch.autograd's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from conformance.torch_arrays import Function, answer, both
from conformance.unsupported import require

__version__ = str(torch.__version__)


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


# door 1: added to the embeddings


def token_embedding(
    ids: Tensor,
    weight: Tensor,
    *,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    # its gradient adds up in 16 bits where the weight has 16, on the CPU
    y = F.embedding(ids, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def renorm_table(ids: Tensor, weight: Tensor, *, max_norm: float, eps: float = 1e-7) -> Tensor:
    require(eps == 1e-7, "F.embedding renorms with eps = 1e-7")
    table = weight.clone()
    F.embedding(ids, table, max_norm=max_norm)  # in place
    return table


def tied_head(h: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(h, weight, bias)


def segment_embedding(segments: Tensor, weight: Tensor) -> Tensor:
    return F.embedding(segments, weight)


def learned_position(positions: Tensor, weight: Tensor, *, padding_idx: int | None = None) -> Tensor:
    return F.embedding(positions, weight, padding_idx)


def interpolate_positions(
    weight: Tensor,
    *,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> Tensor:
    """F.interpolate on the grid as a picture, in float32 at least, as DINOv2 and timm do: in 16 bits weights suffer."""
    wide = torch.promote_types(weight.dtype, torch.float32)
    grid = weight[prefix:].to(wide).reshape(1, height, width, -1).permute(0, 3, 1, 2)
    size = (new_height, new_width)
    resized = F.interpolate(grid, size=size, mode="bicubic", align_corners=False, antialias=antialias)
    rows = resized.permute(0, 2, 3, 1).reshape(new_height * new_width, -1)
    return torch.cat([weight[:prefix], rows.to(weight.dtype)])


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], 1 + weight if unit_offset and weight is not None else weight, eps)


# where the doors open


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight.T, bias)  # torch stores (out, in)


def softmax(x: Tensor, mask: Tensor | None = None) -> Tensor:
    # a row of -inf alone gives NaN; the fixtures, and scaled_dot_product_attention, give 0
    return F.softmax(x if mask is None else x.masked_fill(~mask, -math.inf), dim=-1)


def rms_qk_norm(
    x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False, over_heads: bool = False
) -> Tensor:
    require(not over_heads and (weight is None or weight.ndim == 1), "F.rms_norm has one gain for the last axis")
    return rms_norm(x, weight, eps=eps, unit_offset=unit_offset)


def l2_qk_norm(x: Tensor, logit_scale: Tensor | None = None, *, eps: float = 1e-12, **scale: float) -> Tensor:
    require(logit_scale is None, "F.normalize has no learned scale")
    return F.normalize(x, dim=-1, eps=eps)


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
    """F.scaled_dot_product_attention; it returns no lse, which is torch.logsumexp of the scores here."""
    T, S = q.shape[-2], k.shape[-2]
    options: dict[str, Any] = {"scale": scale, "enable_gqa": q.shape[-3] != k.shape[-3]}
    visible = both(mask, q_offset, T, S)
    plain = sink is None and keep is None and softcap is None
    require(plain, "scaled_dot_product_attention has no sink, no softcap, and draws its own dropout")
    if mask is None and bias is None and q_offset == 0:
        options["is_causal"] = True  # top-left: query 0 sees key 0 alone
    elif mask is None and bias is None and q_offset == S - T and T <= S:
        options["attn_mask"] = causal_lower_right(T, S)  # with T > S it warns that rows are empty
    elif bias is not None:
        options["attn_mask"] = bias if visible is None else bias.masked_fill(~visible, -math.inf)
    else:
        options["attn_mask"] = visible
    return {"y": F.scaled_dot_product_attention(q, k, v, **options), "lse": logsumexp(q, k, bias, visible, scale)}


def logsumexp(q: Tensor, k: Tensor, bias: Tensor | None, keep: Tensor | None, scale: float | None) -> Tensor:
    """The lse that scaled_dot_product_attention keeps to itself."""
    keys = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
    scores = q @ keys.mT * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    scores = scores if bias is None else scores + bias
    return torch.logsumexp(scores if keep is None else scores.masked_fill(~keep, -math.inf), dim=-1)


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
    """torch.nn.MultiheadAttention: one width, and no opening but a mask and a bias."""
    weights, biases = (w_q, w_k, w_v, w_o), (b_q, b_k, b_v, b_o)
    plain = all(option is None for option in (G, cos, scale, sink, keep, softcap))
    require(plain and fits_module(x, weights, biases, H), "torch.nn.MultiheadAttention knows one width and no openings")
    visible = both(mask, q_offset, x.shape[1], (x if context is None else context).shape[1])
    return multi_head_module(x, context, weights, biases, H, visible, bias)


def fits_module(x: Tensor, weights: Sequence[Tensor], biases: Sequence[Tensor | None], H: int) -> bool:
    """The module knows one width, C = H · D = H · E, and biases on all projections or on none."""
    widths = {x.shape[-1], weights[3].shape[0], *(weight.shape[1] for weight in weights)}
    return x.ndim == 3 and len(widths) == 1 and x.shape[-1] % H == 0 and len({bias is None for bias in biases}) == 1


def multi_head_module(
    x: Tensor,
    context: Tensor | None,
    weights: Sequence[Tensor],
    biases: Sequence[Tensor | None],
    H: int,
    keep: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """torch.nn.MultiheadAttention with these tensors as its parameters."""
    source = x if context is None else context
    (B, T, C), (_, S, K) = x.shape, source.shape
    q, k, v, out = (weight.T for weight in weights)
    given = [b for b in biases if b is not None]
    parameters = {"in_proj_bias": torch.cat(given[:3]), "out_proj.bias": given[3]} if given else {}
    parameters |= {"out_proj.weight": out}
    if K == C:
        parameters |= {"in_proj_weight": torch.cat((q, k, v))}
    else:
        parameters |= {"q_proj_weight": q, "k_proj_weight": k, "v_proj_weight": v}
    attn_mask = None if keep is None else ~keep  # True drops here, and keeps in scaled_dot_product_attention
    if bias is not None:
        attn_mask = bias if keep is None else bias.masked_fill(~keep, -math.inf)
    if attn_mask is not None:
        attn_mask = attn_mask.expand(B, H, T, S).flatten(0, 1)
    module = torch.nn.MultiheadAttention(C, H, bias=bool(given), kdim=K, vdim=K, batch_first=True, dtype=x.dtype)
    options = {"need_weights": False, "attn_mask": attn_mask}  # with weights a row without keys is NaN, not 0
    return torch.func.functional_call(module, parameters, (x, source, source), options)[0]


OPS: dict[str, Function] = {
    "token_embedding": token_embedding,
    "renorm_table": renorm_table,
    "tied_head": tied_head,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "interpolate_positions": interpolate_positions,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "linear": linear,
    "softmax": softmax,
    "rms_qk_norm": rms_qk_norm,
    "l2_qk_norm": l2_qk_norm,
    "attention": attention,
    "multi_head_attention": multi_head_attention,
}
