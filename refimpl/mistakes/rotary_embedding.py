"""Mistakes in rotary embedding, from positions to turned queries and keys."""

from __future__ import annotations

from typing import Any

from ..namespace import Array, array_namespace
from ..rotary.embedding import RotaryEmbeddingResiduals, rotary_embedding_backward, rotary_embedding_forward
from .mistake import Mistake, changed, rewired, taking_arguments_of
from .positions import from_zero, in_bfloat16, of_first_sequence
from .rotary import turned_forward_again


def _heads_second(x: Array) -> Array:
    return array_namespace(x).moveaxis(x, -3, -2) if x.ndim > 2 else x


@taking_arguments_of(rotary_embedding_forward)
def _along_heads(x: Array, frequencies: Array | None = None, *rest: Array, positions: Array, **options: Any) -> Any:
    xp = array_namespace(x)
    if x.ndim <= 2 or (frequencies is not None and frequencies.ndim > 1):
        return rotary_embedding_forward(x, frequencies, *rest, positions=positions, **options)
    positions = positions[..., :1] + xp.arange(x.shape[-3])
    y, residuals = rotary_embedding_forward(_heads_second(x), frequencies, *rest, positions=positions, **options)
    return _heads_second(y), residuals


@taking_arguments_of(rotary_embedding_backward)
def _along_heads_backward(dy: Array, residuals: RotaryEmbeddingResiduals) -> Any:
    if residuals.rope.x.shape == dy.shape:
        return rotary_embedding_backward(dy, residuals)
    dx, *rest = rotary_embedding_backward(_heads_second(dy), residuals)
    return _heads_second(dx), *rest


@taking_arguments_of(rotary_embedding_forward)
def _by_base(x: Array, frequencies: Array | None = None, attention_factor: Array | None = None, **options: Any) -> Any:
    """Turn by the base, whatever frequencies were given."""
    y, residuals = rotary_embedding_forward(x, **options)
    if frequencies is None:
        return y, residuals
    _, given = rotary_embedding_forward(x, frequencies, attention_factor, **options)
    cos, sin = (array_namespace(x).broadcast_to(t, given.rope.cos.shape) for t in residuals.rope[1:3])
    return y, given._replace(rope=residuals.rope._replace(cos=cos, sin=sin))


@taking_arguments_of(rotary_embedding_backward)
def _detached(dy: Array, residuals: RotaryEmbeddingResiduals) -> Any:
    dx, *gradients = rotary_embedding_backward(dy, residuals)
    return dx, *(None if gradient is None else gradient * 0 for gradient in gradients)


# fmt: off
ROTARY_EMBEDDING: dict[str, Mistake] = {
    "rotary.layout_swapped": Mistake(
        "rotary_embedding", "LAYOUT", "pairs (i, i + D/2) → pairs (2i, 2i + 1)",
        "pretrained weights give fluent nonsense; trained from scratch all is well",
        ("meganeura#38", "nanotron#427"), convention="rope.interleaved",
        forward=changed(rotary_embedding_forward, interleaved=lambda a: False)),
    "rotary.layout_swapped_back": Mistake(
        "rotary_embedding", "LAYOUT", "pairs (2i, 2i + 1) → pairs (i, i + D/2)",
        "pretrained weights give fluent nonsense; trained from scratch all is well",
        ("meganeura#38", "nanotron#427"), convention="rope.half_split",
        forward=changed(rotary_embedding_forward, interleaved=lambda a: True)),
    "rope.axis_heads": Mistake(
        "rotary_embedding", "LAYOUT", "positions number the heads → time",
        "all tokens of a head turn alike: there is no order", ("open_lm#4", "xformers#841"),
        forward=_along_heads, backward=_along_heads_backward),
    "rope.decode_from_zero": Mistake(
        "rotary_embedding", "OFFSET", "positions counted from the start of the call → from the past length",
        "the prompt is right, every later token stands at 0",
        ("executorch#2010", "onnxruntime-genai#2354", "mlx-vlm#1983"),
        forward=changed(rotary_embedding_forward, positions=lambda a: from_zero(a.positions))),
    "rope.offset_plus_one": Mistake(
        "rotary_embedding", "OFFSET", "p + 1 → p",
        "scores agree within a call, not between calls",
        forward=changed(rotary_embedding_forward, positions=lambda a: a.positions + 1)),
    "rope.offset_not_broadcast": Mistake(
        "rotary_embedding", "INDEXING", "all sequences take the positions of the first → each its own",
        "right for a batch of one",
        forward=changed(rotary_embedding_forward, positions=lambda a: of_first_sequence(a.positions))),
    "rotary.bf16_positions": Mistake(
        "rotary_embedding", "PRECISION", "positions in bfloat16 → in integers until the angle is formed",
        "from 257 on, neighbours share a position", ("transformers#29285",),
        forward=changed(rotary_embedding_forward, positions=lambda a: in_bfloat16(a.positions))),
    "rotary.backward_forward_again": Mistake(
        "rotary_embedding", "GRADIENT", "dx turned by +angle → by −angle",
        "position 0 learns, later ones learn noise", ("Megatron-LM#5944",),
        backward=rewired(rotary_embedding_backward, rope_backward=turned_forward_again)),
    "rotary.frequencies_ignored": Mistake(
        "rotary_embedding", "SCALE", "turned by the base → by the frequencies that are given",
        "right up to the trained length, nonsense beyond it", convention="rotary.frequencies_given",
        forward=_by_base, backward=_detached),
    "rotary.frequencies_detached": Mistake(
        "rotary_embedding", "GRADIENT", "tables made without gradient → learned through cos and sin",
        "frequencies stay as they were initialised",
        backward=_detached),
}
