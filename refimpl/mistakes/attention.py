"""Mistakes in attention: heads, scale, bias, causal mask."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, AttentionResiduals, attention_backward, attention_forward
from ..attention.heads import score_scale
from ..namespace import Array, array_namespace
from .linear import zero
from .mistake import Function, Mistake, Pair, changed, rewired, taking_arguments_of, then


def _tile_heads(x: Array, group: int) -> Array:
    return array_namespace(x).concat([x] * group, axis=-3)


def _sum_tiles(dx: Array, group: int) -> Array:
    *batch, H, S, D = dx.shape
    xp = array_namespace(dx)
    return xp.sum(xp.reshape(dx, (*batch, group, H // group, S, D)), axis=-4)


def _if_causal(corner: Function) -> Pair:
    wrong = changed(attention_forward, q_offset=lambda a: None if a.q_offset is None else corner(a))
    return {"forward": wrong}


def _if_no_scale(scale: Function) -> Pair:
    return {"forward": changed(attention_forward, scale=lambda a: scale(a) if a.scale is None else a.scale)}


@taking_arguments_of(attention_forward)
def _scale_split(q: Array, k: Array, *others: Any, **options: Any) -> Any:
    root = array_namespace(q).sqrt(score_scale(options.get("scale"), q.shape[-1], q))
    y, residuals = attention_forward(q * root, k * root, *others, **{**options, "scale": 1.0})
    return y, (residuals, root)


def _scale_split_backward(dy: Attention, residuals: Any) -> Any:
    scaled, root = residuals
    dq, dk, *others = attention_backward(dy, scaled)
    return dq * root, dk * root, *others


def _scaled(bias: Array | None, q: Array, scale: float | None) -> Array | None:
    return None if bias is None else bias * score_scale(scale, q.shape[-1], q)


def _scaled_bias_backward(dy: Attention, residuals: AttentionResiduals) -> Any:
    *gradients, dbias, dsink = attention_backward(dy, residuals)
    return *gradients, _scaled(dbias, residuals.q, residuals.scale), dsink


def _first_head(bias: Array | None) -> Array | None:
    return bias if bias is None or bias.ndim < 3 else bias[..., :1, :, :] + bias * 0


def _to_first_head(gradients: Any) -> Any:
    *others, dbias, dsink = gradients
    if dbias is None or dbias.ndim < 3:
        return gradients
    xp = array_namespace(dbias)
    total = xp.sum(dbias, axis=-3, keepdims=True)
    return *others, xp.concat([total, dbias[..., 1:, :, :] * 0], axis=-3), dsink


TILED: Pair = {
    "forward": rewired(attention_forward, repeat_heads=_tile_heads),
    "backward": rewired(attention_backward, repeat_heads=_tile_heads, sum_heads=_sum_tiles),
}

# fmt: off
ATTENTION: dict[str, Mistake] = {
    "attention.gqa_tile": Mistake(
        "attention", "LAYOUT", "key head h % G → h // (H / G)",
        "right for MHA and MQA; pretrained grouped models give nonsense",
        ("onnx#7274", "axlearn#842"), convention="attention.kv_head_repeat",
        **TILED),
    "attention.scale_none": Mistake(
        "attention", "SCALE", "q·k → q·k / √D",
        "rows too peaky, gradients vanish",
        **_if_no_scale(lambda a: 1.0)),
    "attention.scale_twice": Mistake(
        "attention", "SCALE", "q·k / D → q·k / √D: scaled inside and outside",
        "rows too flat",
        forward=changed(attention_forward, scale=lambda a: 1 / a.q.shape[-1] if a.scale is None else a.scale**2)),
    "attention.scale_split": Mistake(
        "attention", "SCALE", "√scale times q, √scale times k → scale times q·k",
        "the same but for rounding, which shows where scores are exact",
        convention="attention.scale_inverse_sqrt_width",
        forward=_scale_split, backward=_scale_split_backward),
    "attention.scale_of_values": Mistake(
        "attention", "SCALE", "1/√(width of v) → 1/√(width of q)",
        "right while all widths are equal",
        **_if_no_scale(lambda a: a.v.shape[-1] ** -0.5)),
    "alibi.scaled_with_qk": Mistake(
        "attention", "SCALE", "(q·k + bias) / √D → q·k / √D + bias",
        "positions count √D times too little; Falcon means it",
        forward=changed(attention_forward, bias=lambda a: _scaled(a.bias, a.q, a.scale)),
        backward=_scaled_bias_backward),
    "attention.bias_ignored": Mistake(
        "attention", "EDGE", "a fast path without bias → the bias joins the logits",
        "the model does not know positions",
        forward=changed(attention_forward, bias=lambda a: zero(a.bias)),
        backward=then(attention_backward, lambda gradients: (*gradients[:3], zero(gradients[3]), gradients[4]))),
    "attention.bias_first_head": Mistake(
        "attention", "INDEXING", "the bias of head 0 for all → of each head",
        "right for a shared bias",
        forward=changed(attention_forward, bias=lambda a: _first_head(a.bias)),
        backward=then(attention_backward, _to_first_head)),
    "attention.causal_top_left": Mistake(
        "attention", "OFFSET", "j ≤ i → j ≤ q_offset + i",
        "with a cache, new tokens see the oldest keys only",
        ("onnx#8068",), convention="attention.q_offset",
        **_if_causal(lambda a: 0)),
    "attention.causal_bottom_right": Mistake(
        "attention", "OFFSET", "j ≤ S − T + i → j ≤ q_offset + i",
        "with more queries than keys, the first see nothing",
        ("flash-attention#1778",), convention="attention.q_offset",
        **_if_causal(lambda a: a.k.shape[-2] - a.q.shape[-2])),
    "attention.causal_strict": Mistake(
        "attention", "MASK", "j < q_offset + i → j ≤ q_offset + i",
        "no token sees itself, the first sees nothing",
        **_if_causal(lambda a: a.q_offset - 1)),
    "attention.not_causal": Mistake(
        "attention", "MASK", "every key is seen → j ≤ q_offset + i",
        "training loss falls to nothing, and generation is nonsense",
        **_if_causal(lambda a: None)),
    "attention.mask_ignored_when_causal": Mistake(
        "attention", "MASK", "causal in place of the mask → causal and the mask",
        "padding is seen, in decoders only",
        forward=rewired(attention_forward, both=lambda mask, causal: mask if causal is None else causal)),
    "attention.polarity": Mistake(
        "attention", "MASK", "True drops → True keeps",
        "a causal model sees the future alone", ("pytorch#170415", "LLMs-from-scratch#1061"),
        convention="attention.mask_true_keeps",
        forward=changed(attention_forward, mask=lambda a: None if a.mask is None else ~a.mask)),
}
