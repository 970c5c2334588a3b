"""MLX on the CPU: mx.fast, mlx.nn and mx, with mx.vjp for every gradient.

    refimpl check --entry conformance.mlx:run

What MLX has no function for is Unsupported. lse, which its attention keeps to itself, is mx.logsumexp of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import mlx.core as mx
import mlx.nn as nn
import numpy as np

from conformance.unsupported import no
from refimpl.check import Unsupported

Array = Any
Options = Mapping[str, Any]
mx.set_default_device(mx.cpu)  # float64 exists there alone


def run(op: str, params: Options, inputs: Mapping[str, np.ndarray], want: Sequence[str]) -> dict[str, np.ndarray]:
    """Run one op on named arrays, forward and where asked backward; `want` names the results."""
    if op not in OPS:
        raise Unsupported(f"op {op!r}")
    arrays = {name: to_mlx(array) for name, array in inputs.items()}
    cotangents = {name[4:]: arrays.pop(name) for name in inputs if name.startswith("cot.")}
    learned = [name[5:] for name in want if name.startswith("grad.")]
    rest = {name: array for name, array in arrays.items() if name not in learned}
    outputs = [name for name in want if not name.startswith("grad.")]

    def forward(*primals: Array) -> list[Array]:
        found = OPS[op](**dict(zip(learned, primals, strict=True)), **rest, **params)
        return [found[name] for name in outputs] if isinstance(found, dict) else [found]

    if not learned:
        return {name: to_numpy(array) for name, array in zip(outputs, forward(), strict=True)}
    primals = [arrays[name] for name in learned]
    shapes = forward(*primals)
    given = [cotangents.get(name, mx.zeros_like(y)) for name, y in zip(outputs, shapes, strict=True)]
    found, gradients = mx.vjp(forward, primals, given)
    names = [*outputs, *(f"grad.{name}" for name in learned)]
    return {name: to_numpy(array) for name, array in zip(names, [*found, *gradients], strict=True)}


def to_mlx(array: np.ndarray) -> Array:
    if array.dtype == ml_dtypes.bfloat16:
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    return mx.array(array, dtype=mx.float64 if array.dtype == np.float64 else None)


def to_numpy(array: Array) -> np.ndarray:
    if array.dtype == mx.bfloat16:
        return np.array(array.view(mx.uint16)).view(ml_dtypes.bfloat16)
    return np.array(array)


def wide(dtype: Any) -> Any:
    return mx.float64 if dtype == mx.float64 else mx.float32


# door 1


def embedding(ids: Array, weight: Array) -> Array:
    module = nn.Embedding(1, 1)
    module.weight = weight
    return module(ids)


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


def learned_position(positions: Array, weight: Array, padding_idx: int | None = None) -> Array:
    return token_embedding(positions, weight, padding_idx=padding_idx)


def segment_embedding(segments: Array, weight: Array) -> Array:
    return embedding(segments, weight)


def tied_head(h: Array, weight: Array, bias: Array | None = None) -> Array:
    module = nn.Embedding(1, 1)
    module.weight = weight
    y = module.as_linear(h)
    return y if bias is None else y + bias


def interpolate_positions(
    weight: Array,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> Array:
    """nn.Upsample in float32, as models call it; it takes factors, which must give back the size that is asked for."""
    no(float64=weight.dtype == mx.float64)
    scale = (new_height / height, new_width / width)
    if (int(scale[0] * height), int(scale[1] * width)) != (new_height, new_width):
        raise Unsupported("a size that no float factor gives")
    resize = nn.Upsample(scale, mode="cubic", align_corners=False, **({"antialias": True} if antialias else {}))
    grid = weight[prefix:].astype(mx.float32).reshape(1, height, width, -1)
    rows = resize(grid).reshape(new_height * new_width, -1)
    return mx.concatenate([weight[:prefix], rows.astype(weight.dtype)])


def sinusoidal(
    positions: Array,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: str = "float32",
) -> Array:
    """nn.SinusoidalPositionalEncoding: halves, its lowest frequency given."""
    no(odd_width=C % 2 == 1, layout=layout == "interleaved", float64=dtype == "float64")
    waves = C // 2
    lowest = base ** -((waves - 1) / max(waves - frequency_shift, 1))
    encode = nn.SinusoidalPositionalEncoding(C, min_freq=lowest, scale=1.0, cos_first=layout == "cos_sin")
    return encode(positions.astype(mx.float32)).astype(getattr(mx, dtype))


def timestep_embedding(
    timesteps: Array, C: int, scale: float = 1.0, layout: str = "sin_cos", frequency_shift: int = 1, **options: Any
) -> Array:
    no(float64=options.get("dtype") == "float64")
    steps = timesteps.astype(mx.float32) * scale
    return sinusoidal(steps, C, layout=layout, frequency_shift=frequency_shift, **options)


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, eps: float = 1e-5) -> Array:
    return mx.fast.layer_norm(x, weight, bias, eps)


def rms_norm(x: Array, weight: Array | None = None, eps: float = 1e-6, unit_offset: bool = False) -> Array:
    return mx.fast.rms_norm(x, 1 + weight if unit_offset and weight is not None else weight, eps)


# door 2


def rotary_embedding(
    x: Array,
    positions: Array,
    frequencies: Array | None = None,
    attention_factor: Array | None = None,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Array:
    """mx.fast.rope: one token a call, at its offset, where positions are not in a row."""
    no(attention_factor=attention_factor)
    no(frequencies=frequencies)  # it takes periods: 1 / f would be rounded first
    if positions.ndim > 1:
        raise Unsupported("positions of more than one axis")
    given = positions.tolist()
    options: Any = {"dims": x.shape[-1], "traditional": interleaved, "base": base, "scale": 1.0}
    rows = x.reshape(-1, 1, *x.shape[-2:])
    if given == list(range(given[0], given[0] + len(given))):
        return mx.fast.rope(rows, offset=given[0], **options).reshape(x.shape)
    turned = [mx.fast.rope(rows[..., i : i + 1, :], offset=p, **options) for i, p in enumerate(given)]
    return mx.concatenate(turned, axis=-2).reshape(x.shape)


# door 3


def alibi_slopes(H: int, max_bias: float = 8, dtype: str = "float32") -> Array:
    no(max_bias=max_bias != 8)
    return nn.ALiBi.create_alibi_slope(H, getattr(mx, dtype)).reshape(H)


# where the doors open


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    module = nn.Linear(1, 1, bias=bias is not None)
    module.weight = weight.T  # (out, in)
    if bias is not None:
        module.bias = bias
    return module(x)


def causal_mask(T: int, S: int, q_offset: int) -> Array:
    return mx.tril(mx.ones((T, S), dtype=mx.bool_), q_offset)


def window_mask(T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> Array:
    mask = mx.ones((T, S), dtype=mx.bool_)
    mask = mask if right is None else mx.tril(mask, q_offset + right)
    return mask if left is None else mx.triu(mask, q_offset - left)


def softmax(x: Array, mask: Array | None = None) -> Array:
    return mx.softmax(x if mask is None else mx.where(mask, x, -math.inf), axis=-1, precise=True)


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
    no(keep=keep, softcap=softcap)
    T, S = q.shape[-2], k.shape[-2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    visible = mask
    if q_offset is not None:
        causal = causal_mask(T, S, q_offset)
        visible = causal if mask is None else causal & mask
    given: Any = visible if bias is None else bias if visible is None else mx.where(visible, bias, -math.inf)
    if mask is None and bias is None and q_offset == S - T:
        given = "causal"  # lower right
    heads = [x.reshape(-1, *x.shape[-3:]) for x in (q, k, v)]
    y = mx.fast.scaled_dot_product_attention(*heads, scale=scale, mask=given, sinks=sink)
    found = {"y": y.reshape(*q.shape[:-1], v.shape[-1]), "lse": logsumexp(q, k, bias, sink, visible, scale)}
    return found


def logsumexp(q: Array, k: Array, bias: Array | None, sink: Array | None, visible: Array | None, scale: float) -> Array:
    keys = mx.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    scores = (q @ keys.swapaxes(-1, -2)) * scale
    scores = scores if bias is None else scores + bias
    scores = scores if visible is None else mx.where(visible, scores, -math.inf)
    if sink is not None:
        column = mx.broadcast_to(sink[:, None, None], (*scores.shape[:-1], 1))
        scores = mx.concatenate([scores, column], axis=-1)
    return mx.logsumexp(scores, axis=-1)


def attention_decode(
    q: Array, k: Array, v: Array, k_cache: Array, v_cache: Array, mask: Array | None = None, **options: Any
) -> dict[str, Array]:
    keys, values = mx.concatenate([k_cache, k], axis=-2), mx.concatenate([v_cache, v], axis=-2)
    found = attention(q, keys, values, mask=mask, q_offset=k_cache.shape[-2], **options)
    return found | {"k_cache": keys, "v_cache": values}


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
    bias: Array | None = None,
    mask: Array | None = None,
    *,
    H: int,
    G: int | None = None,
    q_offset: int | None = None,
    **options: Any,
) -> Array:
    """nn.MultiHeadAttention: as many heads for keys as for queries, its own scale, a mask or a bias."""
    no(**{name: True for name in options if options[name] is not None}, G=G not in (None, H))
    module = nn.MultiHeadAttention(H, H)
    given = {"query_proj": (w_q, b_q), "key_proj": (w_k, b_k), "value_proj": (w_v, b_v), "out_proj": (w_o, b_o)}
    for name, (weight, shift) in given.items():
        projection = getattr(module, name)
        projection.weight = weight.T
        if shift is not None:
            projection.bias = shift
    source = x if context is None else context
    T, S = x.shape[-2], source.shape[-2]
    visible = mask
    if q_offset is not None:
        causal = causal_mask(T, S, q_offset)
        visible = causal if mask is None else causal & mask
    both = visible if bias is None else bias if visible is None else mx.where(visible, bias, -math.inf)
    return module(x, source, source, both)


OPS: dict[str, Callable[..., Any]] = {
    "token_embedding": token_embedding,
    "segment_embedding": segment_embedding,
    "learned_position": learned_position,
    "tied_head": tied_head,
    "interpolate_positions": interpolate_positions,
    "sinusoidal": sinusoidal,
    "timestep_embedding": timestep_embedding,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "rotary_embedding": rotary_embedding,
    "alibi_slopes": alibi_slopes,
    "linear": linear,
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "softmax": softmax,
    "attention": attention,
    "attention_decode": attention_decode,
    "multi_head_attention": multi_head_attention,
}
