"""Flax on the CPU: flax.nnx's modules with the case's arrays as their weights, jax.vjp for every gradient.

    refimpl check --entry conformance.flax:run

Its attention function is jax.nn.dot_product_attention (conformance/jax.py); here is what it adds to JAX.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.jax import Array, Ops, jnp, run_op
from conformance.unsupported import no

from flax import nnx  # isort: skip  # after conformance.jax, which sets JAX up


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    return run_op(OPS, op, params, inputs, want)


def of_dtype(array: Array) -> dict[str, Any]:
    """Options of a module: weights and arithmetic in the array's dtype; its first weights are replaced."""
    return {"dtype": array.dtype, "param_dtype": array.dtype, "rngs": nnx.Rngs(0)}


def embed(ids: Array, weight: Array) -> Any:
    module = nnx.Embed(*weight.shape, **of_dtype(weight))
    module.embedding = nnx.Param(weight)
    return module


def token_embedding(
    ids: Array,
    weight: Array,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Array:
    no(padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    y = embed(ids, weight)(ids)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def segment_embedding(segments: Array, weight: Array) -> Array:
    return token_embedding(segments, weight)


def learned_position(positions: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return token_embedding(positions, weight, padding_idx=padding_idx)


def tied_head(h: Array, weight: Array, bias: Array | None = None) -> Array:
    y = embed(h, weight).attend(h)
    return y if bias is None else y + bias


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    options = {"epsilon": eps, "use_scale": weight is not None, "use_bias": bias is not None}
    module = nnx.LayerNorm(x.shape[-1], **options, **of_dtype(x))
    if weight is not None:
        module.scale = nnx.Param(weight)
    if bias is not None:
        module.bias = nnx.Param(bias)
    return module(x)


def rms_norm(x: Array, weight: Array | None = None, eps: float = 1e-6, unit_offset: bool = False) -> Array:
    module = nnx.RMSNorm(x.shape[-1], epsilon=eps, use_scale=weight is not None, **of_dtype(x))
    if weight is not None:
        module.scale = nnx.Param(1 + weight if unit_offset else weight)
    return module(x)


def rms_qk_norm(x: Array, weight: Array | None = None, over_heads: bool = False, **options: Any) -> Array:
    no(over_heads=over_heads, weight_per_head=weight is not None and weight.ndim > 1)
    return rms_norm(x, weight, **options)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    module = nnx.Linear(*weight.shape, use_bias=bias is not None, **of_dtype(weight))
    module.kernel = nnx.Param(weight)
    if bias is not None:
        module.bias = nnx.Param(bias)
    return module(x)


def causal_mask(T: int, S: int, q_offset: int) -> Array:
    no(T_unlike_S=T != S, q_offset=q_offset != 0)
    return nnx.make_causal_mask(jnp.ones(T), dtype=bool)[0]


def document_mask(q_documents: Array, k_documents: Array | None = None) -> Array:
    keys = q_documents if k_documents is None else k_documents
    return nnx.make_attention_mask(q_documents, keys, pairwise_fn=jnp.equal, dtype=bool)


def multi_head_attention(
    x: Array,
    w_q: Array,
    w_k: Array,
    w_v: Array,
    w_o: Array,
    b_q: Array | None = None,
    b_k: Array | None = None,
    b_v: Array | None = None,
    b_o: Array | None = None,
    context: Array | None = None,
    mask: Array | None = None,
    *,
    H: int,
    G: int | None = None,
    q_offset: int | None = None,
    **options: Any,
) -> Array:
    """nnx.MultiHeadAttention: one width of heads, as many for keys as for queries."""
    wide = w_q.shape[1]
    no(**{name: True for name, value in options.items() if value is not None}, G=G not in (None, H))
    no(value_width=w_v.shape[1] != wide, some_biases=len({b is None for b in (b_q, b_k, b_v, b_o)}) > 1)
    source = x if context is None else context
    module = nnx.MultiHeadAttention(
        H, x.shape[-1], wide, w_o.shape[1], in_kv_features=source.shape[-1], use_bias=b_q is not None,
        decode=False, **of_dtype(x),
    )  # fmt: skip
    given = {"query": (w_q, b_q), "key": (w_k, b_k), "value": (w_v, b_v)}
    for name, (weight, bias) in given.items():
        part = getattr(module, name)
        part.kernel = nnx.Param(weight.reshape(-1, H, wide // H))
        if bias is not None:
            part.bias = nnx.Param(bias.reshape(H, -1))
    module.out.kernel = nnx.Param(w_o.reshape(H, wide // H, -1))
    if b_o is not None:
        module.out.bias = nnx.Param(b_o)
    visible = None if q_offset is None else jnp.tri(x.shape[-2], source.shape[-2], q_offset, dtype=bool)[None, None]
    visible = visible if mask is None else mask if visible is None else mask & visible
    return module(x, source, mask=visible)


OPS: Ops = {
    "token_embedding": token_embedding,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "tied_head": tied_head,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "causal_mask": causal_mask,
    "document_mask": document_mask,
    "linear": linear,
    "multi_head_attention": multi_head_attention,
    "rms_qk_norm": rms_qk_norm,
}
