"""Mistakes in rotary embedding, from positions to turned queries and keys."""

from __future__ import annotations

from typing import Any

from ..namespace import Array, array_namespace
from ..rotary.embedding import RotaryEmbeddingResiduals, rotary_embedding_backward, rotary_embedding_forward
from .mistake import Mistake, changed, rewired
from .positions import from_zero, in_bfloat16, of_first_sequence
from .rotary import turned_forward_again


def _heads_second(x: Array) -> Array:
    return array_namespace(x).moveaxis(x, -3, -2) if x.ndim > 2 else x


def _along_heads(x: Array, *, positions: Array, base: float = 10000.0, interleaved: bool = True) -> Any:
    xp = array_namespace(x)
    if x.ndim > 2:
        positions = positions[..., :1] + xp.arange(x.shape[-3])
    y, residuals = rotary_embedding_forward(_heads_second(x), positions=positions, base=base, interleaved=interleaved)
    return _heads_second(y), residuals


def _along_heads_backward(dy: Array, residuals: RotaryEmbeddingResiduals) -> Array:
    return _heads_second(rotary_embedding_backward(_heads_second(dy), residuals))


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
}
