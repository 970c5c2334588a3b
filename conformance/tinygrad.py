"""tinygrad: Tensor's functions and tinygrad.nn's modules, with its own autograd.

    refimpl check --entry conformance.tinygrad:run

On its CPU device where clang is installed, which that compiles with; else on its PYTHON device, which interprets.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from conformance.unsupported import no
from refimpl.check import Unsupported

os.environ.setdefault("DEV", "CPU" if shutil.which("clang") else "PYTHON")
from tinygrad import Tensor, dtypes, nn

Array = Any


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    if op not in OPS:
        raise Unsupported(f"op {op!r}")
    arrays = {name: to_tinygrad(array) for name, array in inputs.items()}
    cotangents = {name[4:]: arrays.pop(name) for name in inputs if name.startswith("cot.")}
    learned = [name[5:] for name in want if name.startswith("grad.")]
    result = OPS[op](**arrays, **params)
    found: dict[str, Array] = result if isinstance(result, dict) else {"y": result}
    if learned:
        loss = sum((found[name] * cotangents[name]).sum() for name in cotangents)
        gradients = loss.gradient(*(arrays[name] for name in learned))
        found |= {f"grad.{name}": gradient for name, gradient in zip(learned, gradients, strict=True)}
    return {name: to_numpy(found[name]) for name in want}


def to_tinygrad(array: np.ndarray) -> Array:
    if array.dtype == ml_dtypes.bfloat16:
        return Tensor(array.view(np.uint16)).bitcast(dtypes.bfloat16).realize()
    return Tensor(np.ascontiguousarray(array)).realize()


def to_numpy(tensor: Array) -> np.ndarray:
    if tensor.dtype == dtypes.bfloat16:
        return tensor.bitcast(dtypes.uint16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


# door 1


def token_embedding(
    ids: Array,
    weight: Array,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Array:
    no(padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    module = nn.Embedding(*weight.shape)
    module.weight = weight
    y = module(ids)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def segment_embedding(segments: Array, weight: Array) -> Array:
    return token_embedding(segments, weight)


def learned_position(positions: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return token_embedding(positions, weight, padding_idx=padding_idx)


def tied_head(h: Array, weight: Array, bias: Array | None = None) -> Array:
    return h.linear(weight.T, bias)


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    """nn.LayerNorm, whose gain and shift come together or not at all."""
    no(one_of_two=(weight is None) != (bias is None))
    module = nn.LayerNorm(x.shape[-1], eps, elementwise_affine=False)
    module.weight, module.bias = weight, bias
    return module(x)


def rms_norm(x: Array, weight: Array | None = None, eps: float = 1e-6, unit_offset: bool = False) -> Array:
    module = nn.RMSNorm(x.shape[-1], eps, elementwise_affine=False)
    module.weight = weight + 1 if unit_offset and weight is not None else weight
    return module(x)


# where the doors open


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    return x.linear(weight, bias)


def causal_mask(T: int, S: int, q_offset: int) -> Array:
    return Tensor.ones(T, S, dtype=dtypes.bool).tril(q_offset)


def window_mask(T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> Array:
    mask = Tensor.ones(T, S, dtype=dtypes.bool)
    mask = mask if right is None else mask.tril(q_offset + right)
    return mask if left is None else mask.triu(q_offset - left)


def softmax(x: Array, mask: Array | None = None) -> Array:
    return (x if mask is None else mask.where(x, -math.inf)).softmax(-1)


def attention(
    q: Array,
    k: Array,
    v: Array,
    bias: Array | None = None,
    sink: Array | None = None,
    mask: Array | None = None,
    keep: Array | None = None,
    p: float = 0.0,
    q_offset: int | None = None,
    scale: float | None = None,
    softcap: float | None = None,
) -> dict[str, Array]:
    """Tensor.scaled_dot_product_attention; lse, which it keeps to itself, is Tensor.logsumexp of the scores."""
    no(sink=sink, keep=keep, scale=scale, softcap=softcap)
    T, S = q.shape[-2], k.shape[-2]
    causal = None if q_offset is None else causal_mask(T, S, q_offset)
    visible = mask if causal is None else causal if mask is None else causal & mask
    given = visible if bias is None else bias if visible is None else visible.where(bias, -math.inf)
    options = {"enable_gqa": q.shape[-3] != k.shape[-3]}
    if q_offset == 0 and mask is None and bias is None:
        y = q.scaled_dot_product_attention(k, v, is_causal=True, **options)
    else:
        y = q.scaled_dot_product_attention(k, v, attn_mask=given, **options)
    keys = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
    scores = q.matmul(keys.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    scores = scores if bias is None else scores + bias
    scores = scores if visible is None else visible.where(scores, -math.inf)
    return {"y": y, "lse": scores.logsumexp(-1)}


OPS: dict[str, Callable[..., Any]] = {
    "token_embedding": token_embedding,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "tied_head": tied_head,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "linear": linear,
    "softmax": softmax,
    "attention": attention,
}
