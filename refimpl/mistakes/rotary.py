"""Mistakes in rotary angles and in the rotation."""

from __future__ import annotations

from typing import Any

from ..angles import CosSin
from ..namespace import Array, array_namespace, rational_powers, unbroadcast
from ..rotary.rope import RopeResiduals, join_pairs, rope_backward, rope_cos_sin, rope_forward, split_pairs
from .mistake import Mistake, changed, remembering, rewired, round_bits, taking_arguments_of, then
from .positions import in_bfloat16


def _bfloat16_powers(*args: Any, **options: Any) -> tuple[Array, Array]:
    head, tail = rational_powers(*args, **options)
    return round_bits(head + tail, 8), tail * 0


def _mixed_tables(*tables: Array) -> tuple[Array, ...]:
    """Repeat each entry for adjacent channels, and cut in halves."""
    xp = array_namespace(*tables)
    return tuple(half for table in tables for half in split_pairs(xp.repeat(table, 2, axis=-1), False))


@taking_arguments_of(rope_forward)
def _mixed(x: Array, cos: Array, sin: Array, *, interleaved: bool = True, **options: Any) -> Any:
    x1, x2 = split_pairs(x, False)
    cos1, cos2, sin1, sin2 = _mixed_tables(cos, sin)
    y = join_pairs(x1 * cos1 - x2 * sin1, x2 * cos2 + x1 * sin2, False)
    return y, RopeResiduals(x, cos, sin, interleaved, interleaved)


def _mixed_backward(dy: Array, residuals: RopeResiduals) -> Any:
    x, cos, sin, *_ = residuals
    (x1, x2), (dy1, dy2) = split_pairs(x, False), split_pairs(dy, False)
    cos1, cos2, sin1, sin2 = _mixed_tables(cos, sin)
    dx = join_pairs(dy1 * cos1 + dy2 * sin2, dy2 * cos2 - dy1 * sin1, False)
    dcos = sum(split_pairs(join_pairs(dy1 * x1, dy2 * x2, False), True))
    dsin = sum(split_pairs(join_pairs(-dy1 * x2, dy2 * x1, False), True))
    return dx, unbroadcast(dcos, cos.shape), unbroadcast(dsin, sin.shape)


@taking_arguments_of(rope_forward)
def _in_place(x: Array, cos: Array, sin: Array, **layouts: Any) -> Any:
    _, residuals = rope_forward(x, cos, sin, **layouts)
    x1, x2 = split_pairs(x, residuals.interleaved)
    y1 = x1 * cos - x2 * sin
    return join_pairs(y1, x2 * cos + y1 * sin, residuals.interleaved_output), residuals


def _in_place_backward(dy: Array, residuals: RopeResiduals) -> Any:
    x, cos, sin, interleaved, interleaved_output = residuals
    (x1, x2), (dy1, dy2) = split_pairs(x, interleaved), split_pairs(dy, interleaved_output)
    dy1 = dy1 + dy2 * sin  # y2 = x2 cos + y1 sin
    dx = join_pairs(dy1 * cos, dy2 * cos - dy1 * sin, interleaved)
    dcos, dsin = dy1 * x1 + dy2 * x2, dy2 * (x1 * cos - x2 * sin) - dy1 * x2
    return dx, unbroadcast(dcos, cos.shape), unbroadcast(dsin, sin.shape)


def _table_mean(dy: Array, residuals: RopeResiduals) -> Any:
    dx, dcos, dsin = rope_backward(dy, residuals)
    pairs = dy.size // 2
    return dx, dcos / (pairs // dcos.size), dsin / (pairs // dsin.size)


turned_forward_again = remembering(rope_backward, sin=lambda r: -r.sin)

# fmt: off
ROPE_COS_SIN: dict[str, Mistake] = {
    "rope.theta_default": Mistake(
        "rope_cos_sin", "SCALE", "base 10000 → the base that is given",
        "pair 0 agrees; long contexts fall apart", ("candle#3746",),
        forward=changed(rope_cos_sin, base=lambda a: 10000.0)),
    "rope.exponent_halved": Mistake(
        "rope_cos_sin", "SCALE", "base^(−i/D) → base^(−2i/D)",
        "pair 0 agrees; there are no slow pairs",
        forward=changed(rope_cos_sin, base=lambda a: a.base**0.5)),
    "rope.bf16_positions": Mistake(
        "rope_cos_sin", "PRECISION", "positions in bfloat16 → in integers until the angle is formed",
        "from 257 on, neighbours share a position", ("transformers#29285",),
        forward=changed(rope_cos_sin, positions=lambda a: in_bfloat16(a.positions))),
    "rope.bf16_inv_freq": Mistake(
        "rope_cos_sin", "PRECISION", "frequencies in bfloat16 → in float32",
        "angles are off by a radian from position 512 on", ("Modalities#462", "transformers#29496"),
        forward=rewired(rope_cos_sin, rational_powers=_bfloat16_powers)),
    "rope.bf16_table": Mistake(
        "rope_cos_sin", "PRECISION", "cos and sin stored in bfloat16, used in float32 → stored in float32",
        "scores keep 8 bits",
        forward=then(rope_cos_sin, lambda table: CosSin(round_bits(table.cos, 8), round_bits(table.sin, 8)))),
    "rope.negative_position_abs": Mistake(
        "rope_cos_sin", "EDGE", "|p| → p: a negative position turns backwards",
        "right until positions are shifted below 0",
        forward=changed(rope_cos_sin, positions=lambda a: abs(a.positions))),
    "rope.table_too_short": Mistake(
        "rope_cos_sin", "EDGE", "positions beyond 4095 read the last row of a table → their own angle",
        "long prompts lose their order",
        forward=changed(rope_cos_sin, positions=lambda a: array_namespace(a.positions).minimum(a.positions, 4095))),
    "rope.sin_cos_swapped": Mistake(
        "rope_cos_sin", "LAYOUT", "(sin, cos) → (cos, sin)",
        "scores still depend on distances alone, mirrored",
        forward=then(rope_cos_sin, lambda table: CosSin(table.sin, table.cos))),
}

ROPE: dict[str, Mistake] = {
    "rope.layout_swapped": Mistake(
        "rope", "LAYOUT", "pairs (i, i + D/2) → pairs (2i, 2i + 1)",
        "pretrained weights give fluent nonsense; trained from scratch all is well",
        ("meganeura#38", "nanotron#427"), convention="rope.interleaved",
        forward=changed(rope_forward, interleaved=lambda a: False)),
    "rope.layout_swapped_back": Mistake(
        "rope", "LAYOUT", "pairs (2i, 2i + 1) → pairs (i, i + D/2)",
        "pretrained weights give fluent nonsense; trained from scratch all is well",
        ("meganeura#38", "nanotron#427"), convention="rope.half_split",
        forward=changed(rope_forward, interleaved=lambda a: True)),
    "rope.layout_mixed": Mistake(
        "rope", "LAYOUT", "angles repeated for adjacent channels, halves turned → one layout for both",
        "no rotation: scores depend on absolute positions", ("how-to-train-your-gpt#6",),
        forward=_mixed, backward=_mixed_backward),
    "rope.deinterleaved_output": Mistake(
        "rope", "LAYOUT", "reads pairs (2i, 2i + 1), writes halves → writes where it read",
        "scores agree, cached keys are permuted", convention="rope.interleaved",
        forward=changed(rope_forward, interleaved_output=lambda a: False)),
    "rope.output_layout_ignored": Mistake(
        "rope", "LAYOUT", "writes where it read → in the layout that is asked for",
        "scores agree, cached keys are permuted", convention="rope.output_layout",
        forward=changed(rope_forward, interleaved_output=lambda a: None)),
    "rope.conjugate": Mistake(
        "rope", "LAYOUT", "x1 cos + x2 sin → x1 cos − x2 sin: turned by −angle",
        "right until the keys come from elsewhere",
        forward=changed(rope_forward, sin=lambda a: -a.sin),
        backward=then(rope_backward, lambda gradients: (*gradients[:2], -gradients[2]))),
    "rope.in_place": Mistake(
        "rope", "INDEXING", "y2 = x2 cos + y1 sin, x1 overwritten before it is read → x2 cos + x1 sin",
        "lengths change, more with each layer",
        forward=_in_place, backward=_in_place_backward),
    "rope.tables_swapped": Mistake(
        "rope", "LAYOUT", "x1 sin − x2 cos: sin and cos handed over in the wrong order → x1 cos − x2 sin",
        "position 0 is turned by 90 degrees, and later ones backwards",
        forward=changed(rope_forward, cos=lambda a: a.sin, sin=lambda a: a.cos),
        backward=then(rope_backward, lambda gradients: (gradients[0], gradients[2], gradients[1]))),
    "rope.backward_forward_again": Mistake(
        "rope", "GRADIENT", "dx turned by +angle → by −angle",
        "position 0 learns, later ones learn noise", ("Megatron-LM#5944",),
        backward=turned_forward_again),
    "rope.table_gradient_mean": Mistake(
        "rope", "GRADIENT", "dcos, dsin: mean over batch and heads → sum",
        "learned frequencies hardly move",
        backward=_table_mean),
}
