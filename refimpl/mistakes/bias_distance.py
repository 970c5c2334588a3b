"""Mistakes in biases of the distance alone: T5, KERPLE, FIRE, Sandwich."""

from __future__ import annotations

from typing import Any

from ..angles import CosSin
from ..bias.buckets import log_bucket_starts
from ..bias.fire import fire_backward, fire_forward
from ..bias.kerple import (
    KerpleResiduals,
    distances_of,
    kerple_log_backward,
    kerple_log_forward,
    kerple_power_backward,
    kerple_power_forward,
)
from ..bias.relative import relative_positions
from ..bias.sandwich import sandwich
from ..bias.t5 import t5_bias_backward, t5_bias_forward, t5_buckets
from ..namespace import Array, array_namespace, rational_powers
from .embeddings import _last_write_wins
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then


def _late_at_boundaries(exact: int, limit: int, steps: int, powers: range, *, strict: bool) -> list[int]:
    return log_bucket_starts(exact, limit, steps, powers, strict=True)


def _one_step_less(exact: int, limit: int, steps: int, powers: range, *, strict: bool) -> list[int]:
    return log_bucket_starts(exact, limit, steps - 1, powers, strict=strict)


def negated(T: int, S: int, **options: Any) -> Array:
    """Return query minus key where key minus query is asked for."""
    return -relative_positions(T, S, **options)


def _heads_last_first(x: Array) -> Array:
    return array_namespace(x).flip(x, axis=0)


def _none_ahead(T: int, S: int, **options: Any) -> Array:
    relative = relative_positions(T, S, **options)
    return array_namespace(relative).minimum(relative, relative * 0)


_behind_only = rewired(distances_of, relative_positions=_none_ahead)


def _in_base_two(x: Array) -> Array:
    return x / array_namespace(x).log(x * 0 + 2)


def _zero_to_any_power(dy: Array, residuals: KerpleResiduals) -> tuple[Array, Array]:
    xp = array_namespace(dy)
    a, _, distances, bend = residuals
    dbend, log_n = -dy * a[:, None, None], xp.log(xp.astype(distances, dy.dtype))
    return -xp.sum(dy * bend, axis=(-2, -1)), xp.sum(dbend * bend * log_n, axis=(-2, -1))


def _from_zero(base: float, numerators: list[int], denominator: int, **options: Any) -> tuple[Array, Array]:
    return rational_powers(base, [n + 2 for n in numerators], denominator, **options)


def _without_cosine(positions: Array, head: Array, tail: Array) -> CosSin:
    xp = array_namespace(positions, head)
    angles = abs(xp.astype(positions, head.dtype))[..., None] * head
    return CosSin(1 - angles, angles)


# fmt: off
T5_BUCKETS: dict[str, Mistake] = {
    "t5.sign": Mistake(
        "t5_buckets", "OFFSET", "query − key → key − query",
        "both sides change places; a decoder sees all keys at distance 0", ("gluon-nlp#1470",),
        forward=changed(t5_buckets, relative=lambda a: -a.relative)),
    "t5.causal_in_encoder": Mistake(
        "t5_buckets", "MASK", "buckets of keys behind only → half of the buckets for either side",
        "right in the decoder; the encoder cannot see ahead",
        forward=changed(t5_buckets, bidirectional=lambda a: False)),
    "t5.boundary_round": Mistake(
        "t5_buckets", "PRECISION", "a rounded logarithm just below k → k, where a bucket begins",
        "distances like 64 or 128 lie a bucket too low, in some orders of operations and on some devices",
        forward=rewired(t5_buckets, log_bucket_starts=_late_at_boundaries)),
    "t5.last_bucket_at_max_distance": Mistake(
        "t5_buckets", "INDEXING", "the last bucket begins at max_distance → one logarithmic step before it",
        "all far buckets are off",
        forward=rewired(t5_buckets, log_bucket_starts=_one_step_less)),
    "t5.max_distance_ignored": Mistake(
        "t5_buckets", "EDGE", "max_distance 128 → the one that is given",
        "right by default",
        forward=changed(t5_buckets, max_distance=lambda a: 128)),
}

T5_BIAS: dict[str, Mistake] = {
    "t5.bias_sign": Mistake(
        "t5_bias", "OFFSET", "row of query − key → of key − query",
        "both sides change places", ("gluon-nlp#1470",),
        forward=rewired(t5_bias_forward, relative_positions=negated)),
    "t5.bias_causal_in_encoder": Mistake(
        "t5_bias", "MASK", "rows of keys behind only → half of the rows for either side",
        "right in the decoder; the encoder cannot see ahead",
        forward=changed(t5_bias_forward, bidirectional=lambda a: False)),
    "t5.bias_offset_ignored": Mistake(
        "t5_bias", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(t5_bias_forward, q_offset=lambda a: 0)),
    "t5.bias_max_distance_ignored": Mistake(
        "t5_bias", "EDGE", "max_distance 128 → the one that is given",
        "right by default",
        forward=changed(t5_bias_forward, max_distance=lambda a: 128)),
    "t5.table_grad_overwrite": Mistake(
        "t5_bias", "GRADIENT", "dweight[bucket] = dy → dweight[bucket] += dy",
        "a row learns from one of its pairs",
        backward=rewired(t5_bias_backward, scatter_add=_last_write_wins)),
}

KERPLE_LOG: dict[str, Mistake] = {
    "kerple.log_base_two": Mistake(
        "kerple_log", "SCALE", "log2(1 + a n) → ln(1 + a n)",
        "the bias is 1.44 times too strong",
        forward=then(kerple_log_forward, lambda result: (_in_base_two(result[0]), result[1])),
        backward=then(kerple_log_backward, lambda g: (_in_base_two(g[0]), _in_base_two(g[1])))),
    "kerple.log_offset_ignored": Mistake(
        "kerple_log", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(kerple_log_forward, q_offset=lambda a: 0)),
    "kerple.log_keys_ahead_free": Mistake(
        "kerple_log", "MASK", "0 for keys ahead → by their distance, as for keys behind",
        "the same under a causal mask; without it all that is ahead is near",
        convention="kerple.both_sides", forward=rewired(kerple_log_forward, distances_of=_behind_only)),
    "kerple.dead": Mistake(
        "kerple_log", "SCALE", "a is a constant 0 → a parameter",
        "the bias is 0 everywhere, and stays so",
        forward=changed(kerple_log_forward, a=lambda a: a.a * 0),
        backward=then(kerple_log_backward, lambda g: (g[0] * 0, g[1]))),
    "kerple.log_gradient_without_p": Mistake(
        "kerple_log", "GRADIENT", "da = −sum of dy n/(1 + a n) → p times that",
        "a learns at a rate that does not depend on p",
        backward=remembering(kerple_log_backward, p=lambda r: r.p * 0 + 1)),
}

KERPLE_POWER: dict[str, Mistake] = {
    "kerple.zero_nan": Mistake(
        "kerple_power", "GRADIENT", "0^p ln 0 = 0 · (−inf) → 0 at distance 0",
        "dp is NaN after the first step",
        backward=taking_arguments_of(kerple_power_backward)(_zero_to_any_power)),
    "kerple.power_keys_ahead_free": Mistake(
        "kerple_power", "MASK", "0 for keys ahead → by their distance, as for keys behind",
        "the same under a causal mask; without it all that is ahead is near",
        convention="kerple.both_sides", forward=rewired(kerple_power_forward, distances_of=_behind_only)),
    "kerple.parameters_swapped": Mistake(
        "kerple_power", "INDEXING", "−p n^a → −a n^p",
        "right while a = p, as they are drawn alike",
        forward=changed(kerple_power_forward, a=lambda a: a.p, p=lambda a: a.a),
        backward=then(kerple_power_backward, lambda g: g[::-1])),
    "kerple.power_offset_ignored": Mistake(
        "kerple_power", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(kerple_power_forward, q_offset=lambda a: 0)),
}

FIRE: dict[str, Mistake] = {
    "fire.threshold_ignored": Mistake(
        "fire", "EDGE", "ψ(|c| P) → ψ(|c| max(P, |m L0|)) below the fraction",
        "right for long prefixes; the first queries stretch theirs",
        forward=changed(fire_forward, m=lambda a: a.m * 0)),
    "fire.offset_ignored": Mistake(
        "fire", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(fire_forward, q_offset=lambda a: 0)),
    "fire.relu_missing": Mistake(
        "fire", "SCALE", "w2·(x w1 + b1) + b2, a straight line → with max(·, 0) between",
        "the bias is linear in ln of the distance, whatever is learned",
        forward=rewired(fire_forward, relu=lambda x: x),
        backward=rewired(fire_backward, relu=lambda x: x, relu_slope=lambda x: x * 0 + 1)),
    "fire.relu_gradient_missing": Mistake(
        "fire", "GRADIENT", "dhidden through every unit → where the unit is above 0",
        "silent units learn",
        backward=rewired(fire_backward, relu_slope=lambda x: x * 0 + 1)),
    "fire.threshold_gradient_everywhere": Mistake(
        "fire", "GRADIENT", "dm from every query → from those at P < |m L0|",
        "the threshold learns from queries that do not use it",
        backward=remembering(fire_backward, positions=lambda r: r.positions * 0 - 1)),
}

SANDWICH: dict[str, Mistake] = {
    "sandwich.from_zero": Mistake(
        "sandwich", "INDEXING", "n = 0 .. C/2 − 1, as in the sinusoidal encoding → n = 1 .. C/2",
        "near keys weigh too little",
        forward=rewired(sandwich, rational_powers=_from_zero)),
    "sandwich.cosine_missing": Mistake(
        "sandwich", "SCALE", "the angle itself, linear in the distance → its cosine",
        "ALiBi under another name",
        forward=rewired(sandwich, cos_sin=_without_cosine)),
    "sandwich.heads_reversed": Mistake(
        "sandwich", "INDEXING", "head h takes the factor of head H + 1 − h → its own",
        "pretrained heads look at the wrong distance",
        forward=then(sandwich, _heads_last_first)),
    "sandwich.offset_ignored": Mistake(
        "sandwich", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(sandwich, q_offset=lambda a: 0)),
    "sandwich.base_ignored": Mistake(
        "sandwich", "SCALE", "base 10000 → the one that is given",
        "right by default",
        forward=changed(sandwich, base=lambda a: 10000.0)),
}
