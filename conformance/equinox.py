"""Equinox on the CPU: eqx.nn's modules with the case's arrays as their weights, jax.vjp for every gradient.

refimpl check --entry conformance.equinox:run
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conformance.jax import Array, Ops, jax, jnp, run_op
from conformance.unsupported import no
from refimpl.check import Unsupported

import equinox as eqx  # isort: skip  # after conformance.jax, which sets JAX up

nn: Any = eqx.nn
KEY = np.zeros(2, np.uint32)  # of the initial weights, which are replaced


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    if "positions" in inputs and op == "rotary_embedding":  # they size arrays, so they stay out of the compiled program
        params = {**params, "positions": inputs["positions"]}
        inputs = {name: array for name, array in inputs.items() if name != "positions"}
    return run_op(OPS, op, params, inputs, want)


def over_leading(module: Any, x: Array, axes: int = 1) -> Array:
    """Apply a module that takes `axes` axes to all leading ones."""
    for _ in range(x.ndim - axes):
        module = jax.vmap(module)
    return module(x)


def embedding(ids: Array, weight: Array) -> Array:
    return over_leading(nn.Embedding(weight=weight), ids, 0)


def token_embedding(
    ids: Array,
    weight: Array,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Array:
    no(padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    y = embedding(ids, weight)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def segment_embedding(segments: Array, weight: Array) -> Array:
    return embedding(segments, weight)


def learned_position(positions: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return token_embedding(positions, weight, padding_idx=padding_idx)


def module_of(module: Any, weight: Array | None, bias: Array | None) -> Any:
    """A module with these arrays as its weights."""
    leaves = lambda m: tuple(getattr(m, n) for n in ("weight", "bias") if getattr(m, n) is not None)  # noqa: E731
    return eqx.tree_at(leaves, module, tuple(x for x in (weight, bias) if x is not None))


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    module = nn.LayerNorm(x.shape[-1], eps, weight is not None, bias is not None)
    return over_leading(module_of(module, weight, bias), x)


def rms_norm(x: Array, weight: Array | None = None, eps: float = 1e-6, unit_offset: bool = False) -> Array:
    gain = 1 + weight if unit_offset and weight is not None else weight
    module = nn.RMSNorm(x.shape[-1], eps, gain is not None, use_bias=False)
    return over_leading(module_of(module, gain, None), x)


def rms_qk_norm(x: Array, weight: Array | None = None, over_heads: bool = False, **options: Any) -> Array:
    no(over_heads=over_heads, weight_per_head=weight is not None and weight.ndim > 1)
    return rms_norm(x, weight, **options)


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    module = nn.Linear(*weight.shape, use_bias=bias is not None, key=KEY)  # it stores (out, in)
    return over_leading(module_of(module, weight.T, bias), x)


def rotary_embedding(
    x: Array,
    positions: np.ndarray,
    frequencies: Array | None = None,
    attention_factor: Array | None = None,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Array:
    """RotaryPositionalEmbedding, which counts from 0 and turns halves: tokens are put at their positions."""
    no(interleaved=interleaved, frequencies=frequencies, attention_factor=attention_factor)
    raise_for_positions(positions)
    rows = jnp.zeros((*x.shape[:-2], int(positions.max()) + 1, x.shape[-1]), x.dtype).at[..., positions, :].set(x)
    dtype = jnp.float64 if x.dtype == jnp.float64 else jnp.float32
    module = nn.RotaryPositionalEmbedding(x.shape[-1], base, dtype)
    return over_leading(module, rows, 2)[..., positions, :]


def raise_for_positions(positions: np.ndarray) -> None:
    if (
        positions.ndim > 1
        or positions.min() < 0
        or positions.max() > 4096
        or len(np.unique(positions)) < len(positions)
    ):
        raise Unsupported("positions that are not distinct, from 0 to 4096, the same for all sequences")


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
    no(**{name: True for name, value in options.items() if value is not None}, G=G not in (None, H) or None)
    source = x if context is None else context
    sizes = (x.shape[-1], source.shape[-1], source.shape[-1], w_o.shape[1], w_q.shape[1] // H, w_v.shape[1] // H)
    given = ((w_q, b_q), (w_k, b_k), (w_v, b_v), (w_o, b_o))
    module = nn.MultiheadAttention(H, *sizes, *(bias is not None for _, bias in given), key=KEY)
    of = lambda m: (m.query_proj, m.key_proj, m.value_proj, m.output_proj)  # noqa: E731
    parts = tuple(module_of(part, w.T, b) for part, (w, b) in zip(of(module), given, strict=True))
    module = eqx.tree_at(of, module, parts)
    T, S = x.shape[-2], source.shape[-2]
    visible = None if q_offset is None else jnp.tri(T, S, q_offset, dtype=bool)
    visible = visible if mask is None else mask if visible is None else mask & visible
    if visible is None:
        return jax.vmap(lambda a, b: module(a, b, b))(x, source)
    seen = jnp.broadcast_to(visible, (x.shape[0], H, T, S))
    return jax.vmap(lambda a, b, m: module(a, b, b, m))(x, source, seen)


OPS: Ops = {
    "token_embedding": token_embedding,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "rotary_embedding": rotary_embedding,
    "linear": linear,
    "multi_head_attention": multi_head_attention,
    "rms_qk_norm": rms_qk_norm,
}
