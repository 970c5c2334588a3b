"""PyTorch, as its users run it: its own functions where it has them, else the modules that everybody writes by hand.

    refimpl check --entry conformance.pytorch:run

Every gradient is torch.autograd's. What PyTorch does differently stands in conformance/README.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention.bias import causal_lower_right

from conformance import pytorch_attention, pytorch_bias
from conformance.pytorch_embeddings import EMBEDDING_OPS, sinusoidal, token_embedding
from conformance.pytorch_rotary import ROTARY, rope, wide
from refimpl.check import Unsupported


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    if op not in OPS:
        raise Unsupported(f"op {op!r}")
    tensors = {name: to_torch(array) for name, array in inputs.items()}
    cotangents = {name[4:]: tensors.pop(name) for name in inputs if name.startswith("cot.")}
    learned = [name[5:] for name in want if name.startswith("grad.")]
    for name in learned:
        tensors[name].requires_grad_()
    result = OPS[op](**tensors, **params)
    found: dict[str, Tensor] = result if isinstance(result, dict) else {"y": result}
    if learned:
        given = [found[name] for name in cotangents]
        gradients = torch.autograd.grad(
            given, [tensors[name] for name in learned], list(cotangents.values()), materialize_grads=True
        )
        found |= {f"grad.{name}": gradient for name, gradient in zip(learned, gradients, strict=True)}
    if unknown := [name for name in want if name not in found]:
        raise Unsupported(f"{', '.join(unknown)}: PyTorch returns {', '.join(found)} only")
    return {name: to_numpy(found[name]) for name in want}


def to_torch(array: np.ndarray) -> Tensor:
    """Copy an array; torch.tensor does not know ml_dtypes, so bfloat16 goes through its bits."""
    if array.dtype == ml_dtypes.bfloat16:
        return torch.tensor(array.view(np.uint16)).view(torch.bfloat16)
    return torch.tensor(array)


def to_numpy(tensor: Tensor) -> np.ndarray:
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().numpy()


# door 1: added to the embeddings


def dropout(x: Tensor, keep: Tensor, *, p: float) -> Tensor:
    """F.dropout draws its own mask; this is what it then does with it."""
    return keep * x * (1.0 / (1.0 - p))


def transformer_embedding(
    ids: Tensor,
    weight: Tensor,
    position_weight: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    position: str = "sinusoidal",
    scale_by_sqrt_width: bool = True,
    padding_idx: int | None = None,
    start: int = 0,
    base: float = 10000.0,
    p: float = 0.0,
    batch_first: bool = True,
) -> Tensor:
    C, T = weight.shape[1], ids.shape[-1 if batch_first else 0]
    x = token_embedding(ids, weight, scale_by_sqrt_width=scale_by_sqrt_width, padding_idx=padding_idx)
    along_time = (T, C) if batch_first else (T, *(1,) * (ids.ndim - 1), C)
    positions = torch.arange(start, start + T)
    if position_weight is not None:
        x = x + F.embedding(positions, position_weight).view(along_time)
    elif position == "sinusoidal":
        dtype = str(weight.dtype).removeprefix("torch.")
        x = x + sinusoidal(positions, C=C, base=base, dtype=dtype).view(along_time)
    return x if keep is None else dropout(x, keep, p=p)


# door 3: joins the logits


def alibi_slopes(*, H: int, max_bias: float = 8, dtype: str = "float64") -> Tensor:
    """The list that models build once, in Python floats."""
    n = 2 ** math.floor(math.log2(H))
    slopes = [2 ** (-max_bias * h / n) for h in range(1, n + 1)]
    slopes += [2 ** (-max_bias * h / (2 * n)) for h in range(1, 2 * n, 2)][: H - n]
    return torch.tensor(slopes, dtype=getattr(torch, dtype))


def alibi(slopes: Tensor, *, T: int, S: int, q_offset: int = 0, key_only: bool = False) -> Tensor:
    i, j = torch.arange(q_offset, q_offset + T).unsqueeze(1), torch.arange(S)
    distance = (j.expand(T, S) if key_only else -(i - j).abs()).to(wide(slopes.dtype))
    return (slopes.to(distance.dtype).view(-1, 1, 1) * distance).to(slopes.dtype)


# where the doors open


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(x, weight.T, bias)  # torch stores (out, in)


def softmax(x: Tensor, mask: Tensor | None = None) -> Tensor:
    # a row of -inf alone gives NaN; the fixtures, and scaled_dot_product_attention, give 0
    return F.softmax(x if mask is None else x.masked_fill(~mask, -math.inf), dim=-1)


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
    T, S = q.shape[-2], k.shape[-2]
    options: dict[str, Any] = {"scale": scale, "enable_gqa": q.shape[-3] != k.shape[-3]}
    visible = both(mask, q_offset, T, S)
    if sink is not None or keep is not None or softcap is not None:  # scaled_dot_product_attention has none of them
        return pytorch_attention.attend(q, k, v, bias, sink, visible, keep, p, scale, softcap)
    if mask is None and bias is None and q_offset == 0:
        options["is_causal"] = True  # top-left: query 0 sees key 0 alone
    elif mask is None and bias is None and q_offset == S - T and T <= S:
        options["attn_mask"] = causal_lower_right(T, S)  # with T > S it warns that rows are empty
    elif bias is not None:
        options["attn_mask"] = bias if visible is None else bias.masked_fill(~visible, -math.inf)
    else:
        options["attn_mask"] = visible
    return {"y": F.scaled_dot_product_attention(q, k, v, **options), "lse": logsumexp(q, k, bias, visible, scale)}


def both(mask: Tensor | None, q_offset: int | None, T: int, S: int) -> Tensor | None:
    """Return the boolean mask that keeps what mask and causality both keep."""
    if q_offset is None:
        return mask
    causal = torch.arange(S) <= torch.arange(T).unsqueeze(1) + q_offset
    return causal if mask is None else mask & causal


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
    """torch.nn.MultiheadAttention where it can; else, as models do, F.linear around attention."""
    weights, biases = (w_q, w_k, w_v, w_o), (b_q, b_k, b_v, b_o)
    plain = all(option is None for option in (cos, scale, sink, keep, softcap))
    if plain and fits_module(x, weights, biases, H):
        visible = both(mask, q_offset, x.shape[1], (x if context is None else context).shape[1])
        return multi_head_module(x, context, weights, biases, H, visible, bias)
    source = x if context is None else context
    q = F.linear(x, w_q.T, b_q).unflatten(-1, (H, -1)).transpose(-3, -2)
    k = F.linear(source, w_k.T, b_k).unflatten(-1, (G or H, -1)).transpose(-3, -2)
    v = F.linear(source, w_v.T, b_v).unflatten(-1, (G or H, -1)).transpose(-3, -2)
    if cos is not None and sin is not None:
        q, k = rope(q, cos, sin, interleaved=interleaved), rope(k, cos, sin, interleaved=interleaved)
    options: dict[str, Any] = {"p": p, "q_offset": q_offset, "scale": scale, "softcap": softcap}
    y = attention(q, k, v, bias, sink, mask, keep, **options)["y"]
    return F.linear(y.transpose(-3, -2).flatten(-2), w_o.T, b_o)


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


OPS: dict[str, Any] = {
    **EMBEDDING_OPS,
    "dropout": dropout,
    "transformer_embedding": transformer_embedding,
    **ROTARY,
    "alibi_slopes": alibi_slopes,
    "alibi": alibi,
    **pytorch_bias.OPS,
    "linear": linear,
    "softmax": softmax,
    "attention": attention,
    "multi_head_attention": multi_head_attention,
    "mla_attention": mla_attention,
    **pytorch_attention.OPS,
}
