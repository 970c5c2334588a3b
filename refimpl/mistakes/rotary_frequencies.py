"""Mistakes in the frequencies of the pairs, and in rules that slow all of them."""

from __future__ import annotations

from typing import Any

from ..namespace import Array, array_namespace, constant
from ..rotary.frequencies import (
    dynamic_ntk_frequencies,
    linear_frequencies,
    ntk_frequencies,
    proportional_frequencies,
    rope_frequencies,
)
from .mistake import Mistake, changed, round_bits, taking_arguments_of, then


def _times(D: int, factor: Array | int, power: int, base: float, xp: Any, dtype: Any) -> Array:
    """θ_i factor^(-2i/power)"""
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    return theta * xp.pow(factor, xp.arange(D // 2, dtype=dtype) * -2 / power)


@taking_arguments_of(linear_frequencies)
def _multiplied(D: int, *, factor: float, base: float = 10000.0, xp: Any, dtype: Any) -> Array:
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    return theta * constant(factor, like=theta)


@taking_arguments_of(linear_frequencies)
def _base_times_factor(D: int, *, factor: float, base: float = 10000.0, xp: Any, dtype: Any) -> Array:
    return _times(D, constant(factor, like=xp.ones((), dtype=dtype)), D, base, xp, dtype)


@taking_arguments_of(ntk_frequencies)
def _linear(D: int, **options: Any) -> Array:
    return linear_frequencies(D, **options)


@taking_arguments_of(dynamic_ntk_frequencies)
def _not_reduced(
    D: int, *, length: int, trained_length: int, factor: float, base: float = 10000.0, xp: Any, dtype: Any
) -> Array:
    alpha = constant(factor, like=xp.ones((), dtype=dtype)) * max(length, trained_length) / trained_length
    return _times(D, alpha, D - 2, base, xp, dtype)


@taking_arguments_of(dynamic_ntk_frequencies)
def _dynamic_over_width(
    D: int, *, length: int, trained_length: int, factor: float, base: float = 10000.0, xp: Any, dtype: Any
) -> Array:
    alpha = 1 + constant(factor, like=xp.ones((), dtype=dtype)) * max(length - trained_length, 0) / trained_length
    return _times(D, alpha, D, base, xp, dtype)


@taking_arguments_of(dynamic_ntk_frequencies)
def _static(D: int, *, length: int, trained_length: int, **a: Any) -> Array:
    return ntk_frequencies(D, **a)


@taking_arguments_of(proportional_frequencies)
def _partial(D: int, *, proportion: float, factor: float = 1.0, base: float = 10000.0, xp: Any, dtype: Any) -> Array:
    """Exponents over the turned channels alone."""
    turned = 2 * int(proportion * D // 2)
    if not turned:
        return xp.zeros((D // 2,), dtype=dtype)
    theta = rope_frequencies(turned, base=base, xp=xp, dtype=dtype)
    rest = xp.zeros((D // 2 - turned // 2,), dtype=dtype)
    return xp.concat([theta / constant(factor, like=theta), rest])


def _reversed(y: Array) -> Array:
    return array_namespace(y).flip(y)


# fmt: off
FREQUENCIES: dict[str, Mistake] = {
    "frequencies.theta_default": Mistake(
        "rope_frequencies", "SCALE", "base 10000 → the base that is given",
        "pair 0 agrees; long contexts fall apart", ("candle#3746",),
        forward=changed(rope_frequencies, base=lambda a: 10000.0)),
    "frequencies.exponent_halved": Mistake(
        "rope_frequencies", "SCALE", "base^(−i/D) → base^(−2i/D)",
        "pair 0 agrees; there are no slow pairs",
        forward=changed(rope_frequencies, base=lambda a: a.base**0.5)),
    "frequencies.bfloat16": Mistake(
        "rope_frequencies", "PRECISION", "kept in bfloat16 → in float32",
        "angles are off by a radian from position 512 on", ("Modalities#462", "transformers#29496"),
        forward=then(rope_frequencies, lambda y: round_bits(y, 8))),
}

LINEAR_FREQUENCIES: dict[str, Mistake] = {
    "linear_scaling.missing": Mistake(
        "linear_frequencies", "SCALE", "θ → θ / factor",
        "right up to the trained length, nonsense beyond it",
        forward=changed(linear_frequencies, factor=lambda a: 1.0)),
    "linear_scaling.multiplied": Mistake(
        "linear_frequencies", "SCALE", "θ factor → θ / factor",
        "pairs turn faster than ever: nonsense at once",
        forward=_multiplied),
    "linear_scaling.base_scaled": Mistake(
        "linear_frequencies", "SCALE", "base · factor → θ / factor",
        "pair 0 stays, others are slowed too little",
        forward=_base_times_factor),
}

NTK_FREQUENCIES: dict[str, Mistake] = {
    "ntk.exponent_missing": Mistake(
        "ntk_frequencies", "SCALE", "base · factor → base · factor^(D/(D − 2))",
        "the slowest pair is slowed too little",
        forward=_base_times_factor),
    "ntk.linear": Mistake(
        "ntk_frequencies", "SCALE", "every pair by the factor → the slowest by the factor, the fastest not at all",
        "neighbours blur",
        forward=_linear),
    "ntk.factor_ignored": Mistake(
        "ntk_frequencies", "SCALE", "base → base · factor^(D/(D − 2))",
        "right up to the trained length, nonsense beyond it",
        forward=changed(ntk_frequencies, factor=lambda a: 1.0)),
}

DYNAMIC_NTK_FREQUENCIES: dict[str, Mistake] = {
    "dynamic_ntk.static": Mistake(
        "dynamic_ntk_frequencies", "SCALE", "the factor at every length → α, which grows with the length from 1",
        "short texts lose quality, long ones break", ("vllm#5093", "transformers#25104"),
        forward=_static),
    "dynamic_ntk.alpha_not_reduced": Mistake(
        "dynamic_ntk_frequencies", "SCALE", "factor L / trained → factor L / trained − (factor − 1)",
        "a jump at the trained length",
        forward=_not_reduced),
    "dynamic_ntk.exponent_missing": Mistake(
        "dynamic_ntk_frequencies", "SCALE", "base · α → base · α^(D/(D − 2))",
        "the slowest pair is slowed too little",
        forward=_dynamic_over_width),
    "dynamic_ntk.never": Mistake(
        "dynamic_ntk_frequencies", "EDGE", "the base of short texts at any length → a base that grows",
        "a table made for the first call is kept: nonsense beyond the trained length",
        forward=changed(dynamic_ntk_frequencies, length=lambda a: a.trained_length)),
}

PROPORTIONAL_FREQUENCIES: dict[str, Mistake] = {
    "proportional.partial": Mistake(
        "proportional_frequencies", "SCALE", "exponents over the turned channels → over the whole head",
        "pair 0 agrees; the others turn too slowly",
        forward=_partial),
    "proportional.all_turn": Mistake(
        "proportional_frequencies", "LAYOUT", "every pair turns → the slow ones stand still",
        "content blurs over long distances",
        forward=changed(proportional_frequencies, proportion=lambda a: 1.0)),
    "proportional.slow_turn": Mistake(
        "proportional_frequencies", "LAYOUT", "the last pairs turn → the first",
        "position sits in the wrong channels",
        forward=then(proportional_frequencies, _reversed)),
}
