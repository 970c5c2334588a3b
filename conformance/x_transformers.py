"""x-transformers: its position modules, its softclamp and its bias-less norm, by their public names.

    refimpl check --entry conformance.x_transformers:run

Queries are the last of the keys there. Every gradient is torch.autograd's.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from x_transformers import x_transformers as xt

from conformance.torch_arrays import Function, answer
from conformance.unsupported import require

__version__ = importlib.metadata.version("x-transformers")


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


# door 1: added to the embeddings


def sinusoidal(
    positions: Tensor,
    *,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    dtype: str = "float64",
    **other: Any,
) -> Tensor:
    """Its learned scale is 1 here."""
    require(layout == "sin_cos" and C % 2 == 0 and not any(other.values()), "sines first, even widths")
    require(positions.ndim == 1, "one row of positions")
    module, x = xt.ScaledSinusoidalEmbedding(C, theta=base), torch.zeros(1, len(positions))
    given = {"pos": positions.to(torch.float32)}
    return functional_call(module, {"scale": torch.ones(1)}, (x,), given).to(getattr(torch, dtype))


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    require(weight is not None and bias is None and eps == 1e-5, "a gain, no bias, eps 1e-5")
    return functional_call(xt.LayerNorm(x.shape[-1]), {"gamma": weight}, (x,))


# door 2: turns q and k


def rope_frequencies(*, D: int, base: float = 10000.0, dtype: str = "") -> Tensor:
    return xt.RotaryEmbedding(D, base=base).inv_freq


def ntk_frequencies(*, D: int, factor: float, base: float = 10000.0, dtype: str = "") -> Tensor:
    return xt.RotaryEmbedding(D, base=base, base_rescale_factor=factor).inv_freq


def rotary_embedding(
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor | None = None,
    attention_factor: Tensor | None = None,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    require(interleaved and frequencies is None, "pairs, frequencies of a base")
    require(x.shape[-1] > 2, "a base rescaled with the exponent D / (D - 2)")
    rows = positions.reshape(-1, positions.shape[-1])  # (B, T)
    angles, scale = xt.RotaryEmbedding(x.shape[-1], base=base)(rows)
    return xt.apply_rotary_pos_emb(x, angles, scale)


def xpos(
    x: Tensor,
    positions: Tensor,
    *,
    centre: int,
    keys: bool = False,
    scale_base: float = 512.0,
    gamma: float = 0.4,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    require(interleaved and gamma == 0.4, "pairs, gamma 0.4")
    require(centre == (int(positions.max()) + 1) // 2, "the centre is half the length, rounded down")
    module = xt.RotaryEmbedding(x.shape[-1], use_xpos=True, scale_base=scale_base, base=base)
    angles, scale = module(positions)
    return xt.apply_rotary_pos_emb(x, angles, scale**-1 if keys else scale)


# door 3: joins the logits


def alibi_slopes(*, H: int, max_bias: float = 8, dtype: str = "float64") -> Tensor:
    require(max_bias == 8, "the last slope is 2^-8")
    return torch.tensor(xt.AlibiPositionalBias._get_slopes(H), dtype=getattr(torch, dtype))


def alibi(slopes: Tensor, *, T: int, S: int, q_offset: int = 0, key_only: bool = False) -> Tensor:
    require(not key_only, "distances to the query")
    module = xt.AlibiPositionalBias(len(slopes))
    module.slopes = slopes.view(-1, 1, 1)
    return module.forward_custom_pos(torch.arange(q_offset, q_offset + T), torch.arange(S))


def t5_buckets(relative: Tensor, *, N: int = 32, max_distance: int = 128, bidirectional: bool = True) -> Tensor:
    rule = xt.RelativePositionBias._relative_position_bucket
    return rule(relative, causal=not bidirectional, num_buckets=N, max_distance=max_distance)


def t5_bias(
    weight: Tensor, *, T: int, S: int, q_offset: int = 0, max_distance: int = 128, bidirectional: bool = True
) -> Tensor:
    """Its bias is multiplied by the scale of the logits, 1 here."""
    require(q_offset == S - T, "queries are the last of the keys")
    N, H = weight.shape
    module = xt.RelativePositionBias(1.0, causal=not bidirectional, num_buckets=N, max_distance=max_distance, heads=H)
    return functional_call(module, {"relative_attention_bias.weight": weight}, (T, S))


def cope(q: Tensor, k: Tensor, table: Tensor, *, q_offset: int = 0, scale: float | None = None) -> Tensor:
    """It is handed the scaled logits with the mask already in them."""
    (N, D), (H, T), S = table.shape, q.shape[-3:-1], k.shape[-2]
    module, heads = xt.CoPE(D, H, N), q.reshape(-1, H, T, D)
    logits = heads @ k.reshape(-1, H, S, D).mT * (D**-0.5 if scale is None else scale)
    ahead = torch.ones(T, S, dtype=torch.bool).triu(q_offset + 1)
    logits = logits.masked_fill(ahead, -torch.finfo(q.dtype).max)
    return functional_call(module, {"pos_emb": table}, (heads, logits)).reshape(*q.shape[:-1], S)


def fox(gate_logits: Tensor, *, T: int, q_offset: int = 0) -> Tensor:
    """Its own projection to gates is the identity here."""
    require(gate_logits.ndim == 3 and q_offset == 0 and gate_logits.shape[-1] == T, "a square, with a batch")
    H = gate_logits.shape[-2]
    eye = {"to_forget_gates.0.weight": torch.eye(H), "to_forget_gates.0.bias": torch.zeros(H)}
    given = {name: tensor.to(gate_logits.dtype) for name, tensor in eye.items()}
    return functional_call(xt.DataDependentAlibi(H, H), given, (gate_logits.mT,))


# where the doors open


def softcap(x: Tensor, *, cap: float) -> Tensor:
    return xt.softclamp(x, cap)


OPS: dict[str, Function] = {
    "sinusoidal": sinusoidal,
    "layer_norm": layer_norm,
    "rope_frequencies": rope_frequencies,
    "ntk_frequencies": ntk_frequencies,
    "rotary_embedding": rotary_embedding,
    "xpos": xpos,
    "alibi_slopes": alibi_slopes,
    "alibi": alibi,
    "t5_buckets": t5_buckets,
    "t5_bias": t5_bias,
    "cope": cope,
    "fox": fox,
    "softcap": softcap,
}
