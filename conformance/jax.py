"""JAX on the CPU, its own functions: jax.nn, jax.image and jnp, with jax.vjp for every gradient.

    refimpl check --entry conformance.jax:run

What JAX has no function for is Unsupported. Cases are compiled without
LLVM's optimizations, which halves the time.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from conformance.unsupported import no
from refimpl.check import Unsupported

os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
import jax
import jax.numpy as jnp

Array = Any
Arrays = dict[str, Array]
Ops = Mapping[str, Callable[..., Any]]
jax.config.update("jax_platforms", "cpu")


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    return run_op(OPS, op, params, inputs, want)


def run_op(
    ops: Ops, op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Run an op of a table; 64-bit JAX for float64 alone, as everybody runs the rest without it."""
    if op not in ops:
        raise Unsupported(f"op {op!r}")
    double = params.get("dtype") == "float64" or any(array.dtype == np.float64 for array in inputs.values())
    with jax.enable_x64(double):
        return _run(ops[op], params, inputs, want)


def _run(
    forward: Callable[..., Any], params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    """Compile outputs and gradients of a case together: op by op, a shape at a time, takes ten times longer."""
    learned = {name[5:]: inputs[name[5:]] for name in want if name.startswith("grad.")}
    given = {name[4:]: array for name, array in inputs.items() if name.startswith("cot.")}
    rest = {name: array for name, array in inputs.items() if name not in learned and not name.startswith("cot.")}
    outputs = [name for name in want if not name.startswith("grad.")]

    def differentiable(learnable: Arrays, rest: Arrays) -> tuple[Arrays, Arrays]:
        found = forward(**rest, **learnable, **params)
        found = found if isinstance(found, dict) else {"y": found}
        through = {name: found.get(f"differentiable {name}", found[name]) for name in outputs}
        return through, {name: found[name] for name in outputs}

    def everything(learnable: Arrays, rest: Arrays, given: Arrays) -> Arrays:
        through, pullback, found = jax.vjp(lambda x: differentiable(x, rest), learnable, has_aux=True)
        (gradients,) = pullback({name: given.get(name, jnp.zeros_like(y)) for name, y in through.items()})
        return found | {f"grad.{name}": gradient for name, gradient in gradients.items()}

    if learned:
        results = jax.jit(everything)(learned, rest, given)
    else:
        results = jax.jit(lambda rest: differentiable({}, rest)[1])(rest)
    return {name: np.asarray(results[name]) for name in want}


# door 1


def token_embedding(
    ids: Array,
    weight: Array,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Array:
    no(padding_idx=padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    y = jnp.take(weight, ids, axis=0)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def segment_embedding(segments: Array, weight: Array) -> Array:
    return token_embedding(segments, weight)


def learned_position(positions: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return token_embedding(positions, weight, padding_idx=padding_idx)


def interpolate_positions(
    weight: Array,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> Array:
    """jax.image.resize in float32 at least, as models call it: in 16 bits its weights suffer."""
    wide = jnp.promote_types(weight.dtype, jnp.float32)
    grid = weight[prefix:].astype(wide).reshape(height, width, -1)
    size = (new_height, new_width, grid.shape[-1])
    rows = jax.image.resize(grid, size, "cubic", antialias=antialias).reshape(new_height * new_width, -1)
    return jnp.concatenate([weight[:prefix], rows.astype(weight.dtype)])


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    y = jax.nn.standardize(x, axis=-1, epsilon=eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def tied_head(h: Array, weight: Array, bias: Array | None = None) -> Array:
    return linear(h, weight.T, bias)


# where the doors open


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    y = jnp.matmul(x, weight)
    return y if bias is None else y + bias


def causal_mask(T: int, S: int, q_offset: int) -> Array:
    return jnp.tri(T, S, q_offset, dtype=bool)


def window_mask(T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> Array:
    mask = jnp.ones((T, S), dtype=bool) if right is None else jnp.tri(T, S, q_offset + right, dtype=bool)
    return mask if left is None else jnp.triu(mask, q_offset - left)


def softmax(x: Array, mask: Array | None = None) -> Array:
    return jax.nn.softmax(x, axis=-1, where=mask)


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
    """jax.nn.dot_product_attention; it wants one width for keys and values, so the narrower is padded with zeros.

    Its lse has no gradient (stop_gradient): where one is asked for, it is jax.nn.logsumexp's of the scores.
    """
    no(sink=sink, keep=keep, softcap=softcap)
    T, S, D, E = q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1]
    scale = D**-0.5 if scale is None else scale
    visible = mask if q_offset in (None, 0) else both(mask, jnp.tri(T, S, q_offset, dtype=bool))
    wide = [jnp.swapaxes(padded(x, max(D, E)), -3, -2) for x in (q, k, v)]
    heads = [x.reshape(-1, *x.shape[-3:]) for x in wide]
    openings = [None if x is None else x.reshape(-1, *x.shape[-3:]) if x.ndim > 3 else x for x in (bias, visible)]
    options = {"scale": scale, "is_causal": q_offset == 0, "return_residual": True}
    y, lse = jax.nn.dot_product_attention(*heads, *openings, **options)  # (B, T, H, D), (B, T, H)
    y = jnp.swapaxes(y, -3, -2)[..., :E].reshape(*q.shape[:-1], E)
    causal = None if q_offset is None else jnp.tri(T, S, q_offset, dtype=bool)
    through = logsumexp(q, k, bias, both(mask, causal), scale)
    return {"y": y, "lse": jnp.swapaxes(lse, -2, -1).reshape(q.shape[:-1]), "differentiable lse": through}


def padded(x: Array, width: int) -> Array:
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, width - x.shape[-1])])


def both(mask: Array | None, causal: Array | None) -> Array | None:
    return causal if mask is None else mask if causal is None else mask & causal


def logsumexp(q: Array, k: Array, bias: Array | None, visible: Array | None, scale: float) -> Array:
    keys = jnp.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    scores = jnp.matmul(q, jnp.swapaxes(keys, -1, -2)) * scale
    scores = scores if bias is None else scores + bias
    return jax.nn.logsumexp(scores if visible is None else jnp.where(visible, scores, -jnp.inf), axis=-1)


OPS: Ops = {
    "token_embedding": token_embedding,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "interpolate_positions": interpolate_positions,
    "layer_norm": layer_norm,
    "tied_head": tied_head,
    "linear": linear,
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "softmax": softmax,
    "attention": attention,
}
