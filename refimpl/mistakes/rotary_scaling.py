"""Mistakes in rules that slow some pairs: NTK-by-parts, Llama 3, YaRN, LongRoPE."""

from __future__ import annotations

import inspect
from typing import Any

from ..namespace import Array, array_namespace, constant
from ..rotary.frequencies import linear_frequencies, rope_frequencies
from ..rotary.frequencies_by_parts import llama3_frequencies, ntk_by_parts_frequencies
from ..rotary.frequencies_longrope import longrope_frequencies
from ..rotary.frequencies_yarn import ScaledFrequencies, yarn_attention_factor, yarn_bounds, yarn_frequencies
from .mistake import Function, Mistake, changed, rewired, taking_arguments_of, then


def _ends(function: Function, D: int, options: dict[str, Any]) -> tuple[Array, Array]:
    """Frequencies left as they are, and those slowed by the factor."""
    bound = inspect.signature(function).bind(D, **options)
    bound.apply_defaults()
    factor, given = bound.arguments["factor"], {name: bound.arguments[name] for name in ("base", "xp", "dtype")}
    return rope_frequencies(D, **given), linear_frequencies(D, factor=factor, **given)


def _mirrored(function: Function) -> Function:
    """Slow what should stay, and keep what should be slowed: kept + slowed - right."""

    @taking_arguments_of(function)
    def mutant(D: int, **options: Any) -> Any:
        right, (kept, slowed) = function(D, **options), _ends(function, D, options)
        if isinstance(right, ScaledFrequencies):
            return right._replace(frequencies=kept + slowed - right.frequencies)
        return kept + slowed - right

    return mutant


@taking_arguments_of(ntk_by_parts_frequencies)
def _ramp_over_index(D: int, **options: Any) -> Array:
    return yarn_frequencies(D, truncate=False, **options).frequencies


@taking_arguments_of(ntk_by_parts_frequencies)
def _everywhere(D: int, **options: Any) -> Array:
    return _ends(ntk_by_parts_frequencies, D, options)[1]


@taking_arguments_of(llama3_frequencies)
def _unscaled(D: int, **options: Any) -> Array:
    return _ends(llama3_frequencies, D, options)[0]


def _between_pairs(D: int, *, like: Array, truncate: bool, **a: Any) -> tuple[Array, Array]:
    """Bounds limited to the last pair."""
    xp = array_namespace(like)
    low, high = yarn_bounds(D, like=like, truncate=truncate, **a)
    return low, xp.maximum(xp.minimum(high, xp.ones_like(high) * (D // 2 - 1)), low + xp.ones_like(low) / 1000)


def _factor(change: Function) -> Function:
    """Change the attention factor alone."""

    def changed_factor(result: ScaledFrequencies) -> ScaledFrequencies:
        return result._replace(attention_factor=change(result.attention_factor))

    return changed_factor


def _one(y: Array) -> Array:
    return array_namespace(y).ones_like(y)


@taking_arguments_of(yarn_attention_factor)
def _unguarded(factor: float, *, mscale: float = 1.0, mscale_all_dim: float = 0.0, xp: Any, dtype: Any) -> Array:
    one = xp.ones((), dtype=dtype)
    stretch = xp.log(constant(factor, like=one)) / 10
    return (1 + constant(mscale, like=one) * stretch) / (1 + constant(mscale_all_dim, like=one) * stretch)


# fmt: off
NTK_BY_PARTS_FREQUENCIES: dict[str, Mistake] = {
    "by_parts.ramp_over_index": Mistake(
        "ntk_by_parts_frequencies", "SCALE", "ramp linear in the index of the pair → in its rotations",
        "YaRN's code instead of its paper: only the blended pairs differ",
        convention="frequencies.ramp_over_rotations",
        forward=_ramp_over_index),
    "by_parts.mirrored": Mistake(
        "ntk_by_parts_frequencies", "SCALE", "fast pairs slowed, slow ones kept → the other way round",
        "neighbours blur, and far tokens are out of range",
        forward=_mirrored(ntk_by_parts_frequencies)),
    "by_parts.everywhere": Mistake(
        "ntk_by_parts_frequencies", "SCALE", "every pair by the factor → only those that turned too little",
        "neighbours blur",
        forward=_everywhere),
}

LLAMA3_FREQUENCIES: dict[str, Mistake] = {
    "llama3.missing": Mistake(
        "llama3_frequencies", "SCALE", "plain RoPE → the scaled frequencies",
        "short prompts are right, long ones wander", ("transformers#32330", "unsloth#6197"),
        forward=_unscaled),
    "llama3.smooth_reversed": Mistake(
        "llama3_frequencies", "SCALE", "s and 1 − s exchanged → s keeps, 1 − s slows",
        "fast pairs are slowed", ("transformers#32330",),
        forward=_mirrored(llama3_frequencies)),
    "llama3.blend_missing": Mistake(
        "llama3_frequencies", "SCALE", "blended pairs kept as they are → blended",
        "only the pairs between the two bands differ",
        forward=changed(
            llama3_frequencies, high_frequency_factor=lambda a: a.low_frequency_factor * (1 + 2.0**-20))),
}

YARN_FREQUENCIES: dict[str, Mistake] = {
    "yarn.truncated": Mistake(
        "yarn_frequencies", "SCALE", "bounds rounded to whole pairs → left fractional",
        "some middle pairs are off by a few hundredths", ("vllm#27722", "vllm#46280"),
        convention="frequencies.yarn_bounds_fractional",
        forward=changed(yarn_frequencies, truncate=lambda a: True)),
    "yarn.not_truncated": Mistake(
        "yarn_frequencies", "SCALE", "bounds left fractional → rounded to whole pairs",
        "some middle pairs are off by a few hundredths", convention="frequencies.yarn_bounds_truncated",
        forward=changed(yarn_frequencies, truncate=lambda a: False)),
    "yarn.clamped_to_last_pair": Mistake(
        "yarn_frequencies", "EDGE", "the upper bound limited to D/2 − 1 → to D − 1",
        "the last pair is slowed by the whole factor",
        forward=rewired(yarn_frequencies, yarn_bounds=_between_pairs)),
    "yarn.mirrored": Mistake(
        "yarn_frequencies", "SCALE", "fast pairs slowed, slow ones kept → the other way round",
        "neighbours blur, and far tokens are out of range",
        forward=_mirrored(yarn_frequencies)),
    "yarn.factor_ignored": Mistake(
        "yarn_frequencies", "SCALE", "attention factor 1 → 1 + ln(factor)/10",
        "scores are too flat over long texts", ("sglang#33558",),
        forward=then(yarn_frequencies, _factor(_one))),
    "yarn.factor_squared": Mistake(
        "yarn_frequencies", "SCALE", "the attention factor squared on each of q and k → on their product",
        "scores are too sharp", ("Megatron-LM#1429",),
        forward=then(yarn_frequencies, _factor(lambda y: y * y))),
}

YARN_ATTENTION_FACTOR: dict[str, Mistake] = {
    "yarn.unguarded": Mistake(
        "yarn_attention_factor", "EDGE", "below 1 for a factor below 1 → 1",
        "a model that was shortened attends too flatly",
        forward=_unguarded),
    "yarn.mscale_all_dim_ignored": Mistake(
        "yarn_attention_factor", "SCALE", "m(mscale) → m(mscale) / m(mscale_all_dim)",
        "scores of turned channels are scaled twice",
        forward=changed(yarn_attention_factor, mscale_all_dim=lambda a: 0.0)),
    "yarn.mscale_ignored": Mistake(
        "yarn_attention_factor", "SCALE", "m(1) → m(mscale)",
        "right for the many models whose mscale is 1",
        forward=changed(yarn_attention_factor, mscale=lambda a: 1.0)),
    "yarn.attention_factor_missing": Mistake(
        "yarn_attention_factor", "SCALE", "1 → 1 + ln(factor)/10",
        "scores are too flat over long texts",
        forward=then(yarn_attention_factor, _one)),
    "yarn.attention_factor_squared": Mistake(
        "yarn_attention_factor", "SCALE", "the factor of a score → of q and of k alone, its root",
        "scores are too sharp", ("Megatron-LM#1429",),
        forward=then(yarn_attention_factor, lambda y: y * y)),
}

LONGROPE_FREQUENCIES: dict[str, Mistake] = {
    "longrope.capacity": Mistake(
        "longrope_frequencies", "EDGE", "the long factors always, since long texts may come → by this text's length",
        "short prompts lose quality", ("optimum-intel#1504",),
        forward=changed(longrope_frequencies, length=lambda a: a.trained_length + 1)),
    "longrope.always_short": Mistake(
        "longrope_frequencies", "EDGE", "the short factors always → by the length of the text",
        "texts beyond the trained length turn into noise",
        forward=changed(longrope_frequencies, length=lambda a: 1)),
    "longrope.multiplied": Mistake(
        "longrope_frequencies", "SCALE", "θ_i · factor_i → θ_i / factor_i",
        "slow pairs turn faster than ever",
        forward=changed(
            longrope_frequencies,
            short_factors=lambda a: 1 / a.short_factors, long_factors=lambda a: 1 / a.long_factors)),
    "longrope.factor_ignored": Mistake(
        "longrope_frequencies", "SCALE", "attention factor 1 → √(1 + ln factor / ln trained_length)",
        "scores are too flat",
        forward=then(longrope_frequencies, _factor(_one))),
}
