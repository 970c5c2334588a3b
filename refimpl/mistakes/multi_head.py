"""Mistakes in multi-head attention."""

from __future__ import annotations

import inspect
from typing import Any

from ..attention.attention import Attention, AttentionResiduals, attention_backward, attention_forward
from ..attention.multi_head import multi_head_attention_backward, multi_head_attention_forward
from ..namespace import Array, array_namespace
from ..rotary.rope import rope_backward, rope_forward
from .attention import TILED
from .linear import zero
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then


def _cut(argument: str, x: Array, H: int) -> Array:
    """Read (*B, T, H D) as (*B, H, T, D)."""
    *batch, T, width = x.shape
    return array_namespace(x).reshape(x, (*batch, H, T, width // H))


def _glue(x: Array) -> Array:
    """Read (*B, H, T, D) as (*B, T, H D)."""
    *batch, H, T, D = x.shape
    return array_namespace(x).reshape(x, (*batch, T, H * D))


@taking_arguments_of(multi_head_attention_forward)
def _v_turned(*arrays: Array, **options: Any) -> Any:
    given = inspect.signature(multi_head_attention_forward).bind(*arrays, **options)
    given.apply_defaults()
    cos, sin, interleaved = (given.arguments[name] for name in ("cos", "sin", "interleaved"))
    rope_v: list[Any] = []

    def attend(q: Array, k: Array, v: Array, *joined: Array, **options: Any) -> Any:
        if cos is not None and v.shape[-1] == k.shape[-1]:
            v, turned = rope_forward(v, cos, sin, interleaved=interleaved)
            rope_v.append(turned)
        return attention_forward(q, k, v, *joined, **options)

    y, residuals = rewired(multi_head_attention_forward, attention_forward=attend)(*arrays, **options)
    return y, (residuals, rope_v)


def _v_turned_backward(dy: Array, residuals: Any) -> Any:
    residuals, rope_v = residuals
    tables = []

    def attend(dy: Attention, attention: AttentionResiduals) -> Any:
        dq, dk, dv, *rest = attention_backward(dy, attention)
        if rope_v:
            dv, *shares = rope_backward(dv, rope_v[0])
            tables.extend(shares)
        return dq, dk, dv, *rest

    gradients = rewired(multi_head_attention_backward, attention_backward=attend)(dy, residuals)
    return gradients._replace(cos=gradients.cos + tables[0], sin=gradients.sin + tables[1]) if tables else gradients


def _zeroed(part: Any, field: str) -> Any:
    return None if part is None else part._replace(**{field: getattr(part, field) * 0})


# fmt: off
MULTI_HEAD_ATTENTION: dict[str, Mistake] = {
    "multi_head.heads_split_wrong": Mistake(
        "multi_head_attention", "LAYOUT", "(B, T, H D) read as (B, H, T, D) → cut into heads, then heads before time",
        "right for one head; heads mix tokens",
        forward=rewired(multi_head_attention_forward, split_heads=_cut),
        backward=rewired(multi_head_attention_backward, merge_heads=_glue)),
    "multi_head.heads_merged_wrong": Mistake(
        "multi_head_attention", "LAYOUT", "(B, H, T, E) read as (B, T, H E) → time before heads, then joined",
        "right for one head; heads mix tokens",
        forward=rewired(multi_head_attention_forward, merge_heads=_glue),
        backward=rewired(multi_head_attention_backward, split_heads=_cut)),
    "multi_head.scale_d_model": Mistake(
        "multi_head_attention", "SCALE", "1/√(H D) → 1/√D",
        "right for one head; rows too flat",
        forward=changed(multi_head_attention_forward,
                        scale=lambda a: a.w_q.shape[1] ** -0.5 if a.scale is None else a.scale)),
    "multi_head.gqa_tile": Mistake(
        "multi_head_attention", "LAYOUT", "key head h % G → h // (H / G)",
        "right for MHA and MQA; pretrained grouped models give nonsense",
        ("onnx#7274", "axlearn#842"), convention="attention.kv_head_repeat",
        forward=rewired(multi_head_attention_forward, attention_forward=TILED["forward"]),
        backward=rewired(multi_head_attention_backward, attention_backward=TILED["backward"])),
    "multi_head.layout_swapped": Mistake(
        "multi_head_attention", "LAYOUT", "pairs (i, i + D/2) → pairs (2i, 2i + 1)",
        "pretrained weights give fluent nonsense; trained from scratch all is well",
        ("meganeura#38", "nanotron#427"), convention="rope.interleaved",
        forward=changed(multi_head_attention_forward, interleaved=lambda a: False)),
    "rope.also_v": Mistake(
        "multi_head_attention", "LAYOUT", "v turned as well → q and k only",
        "values depend on absolute positions",
        forward=_v_turned, backward=_v_turned_backward),
    "multi_head.causal_ignored": Mistake(
        "multi_head_attention", "MASK", "every key → j ≤ q_offset + i",
        "a training loss too good to be true",
        forward=changed(multi_head_attention_forward, q_offset=lambda a: None)),
    "multi_head.output_bias_missing": Mistake(
        "multi_head_attention", "SCALE", "heads w_o → heads w_o + b_o",
        "pretrained models lose a little everywhere",
        forward=changed(multi_head_attention_forward, b_o=lambda a: zero(a.b_o)),
        backward=then(multi_head_attention_backward, lambda gradients: gradients._replace(b_o=zero(gradients.b_o)))),
    "multi_head.table_gradient_of_q_only": Mistake(
        "multi_head_attention", "GRADIENT", "dcos, dsin of q → of q and of k",
        "learned frequencies learn half",
        backward=remembering(multi_head_attention_backward, rope_k=lambda r: _zeroed(r.rope_k, "x"))),
    "multi_head.share_of_v_missing": Mistake(
        "multi_head_attention", "GRADIENT", "dx through queries and keys → through values too",
        "the layers below learn slowly",
        backward=remembering(multi_head_attention_backward, v=lambda r: _zeroed(r.v, "weight"))),
}
