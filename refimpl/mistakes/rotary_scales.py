"""Mistakes in xPos, in the temperature of queries, and in the permutation of weights."""

from __future__ import annotations

from typing import Any

from ..namespace import Array, array_namespace, constant
from ..rotary.permute import permute_pairs_backward, permute_pairs_forward
from ..rotary.rope import RopeResiduals, rope_backward
from ..rotary.temperature import (
    QueryTemperatureResiduals,
    query_temperature_backward,
    query_temperature_forward,
)
from ..rotary.xpos import xpos_backward, xpos_forward
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of
from .positions import from_zero
from .rotary import turned_forward_again


def _inverse(dy: Array, residuals: RopeResiduals) -> Any:
    """z R, transposed, over z^2: the inverse."""
    cos, sin = residuals.cos, residuals.sin
    squared = cos * cos + sin * sin
    return rope_backward(dy, residuals._replace(cos=cos / squared, sin=sin / squared))


@taking_arguments_of(query_temperature_forward)
def _not_floored(x: Array, *, positions: Array, scale: float = 0.1, step: int = 8192, offset: int = 1) -> Any:
    xp = array_namespace(x)
    steps = xp.astype(positions + offset, x.dtype) / step
    factor = (1 + constant(scale, like=x) * xp.log1p(steps))[..., None]
    return x * factor, QueryTemperatureResiduals(factor, tuple(x.shape))


@taking_arguments_of(query_temperature_backward)
def _as_if_one(dy: Array, residuals: Any) -> Array:
    return dy * 1


# fmt: off
XPOS: dict[str, Mistake] = {
    "xpos.backward_inverse": Mistake(
        "xpos", "GRADIENT", "dx = R dy / z, the inverse → R dy · z, the transpose",
        "tokens far from the centre learn too much or too little",
        backward=rewired(xpos_backward, rope_backward=_inverse)),
    "xpos.backward_forward_again": Mistake(
        "xpos", "GRADIENT", "dx turned by +angle → by −angle",
        "position 0 learns, later ones learn noise",
        backward=rewired(xpos_backward, rope_backward=turned_forward_again)),
    "xpos.keys_like_queries": Mistake(
        "xpos", "SCALE", "keys scaled like queries → by the reciprocal",
        "scores depend on the sum of positions",
        forward=changed(xpos_forward, keys=lambda a: False)),
    "xpos.queries_like_keys": Mistake(
        "xpos", "SCALE", "queries scaled like keys → by the reciprocal",
        "scores grow with distance, or depend on the sum of positions",
        forward=changed(xpos_forward, keys=lambda a: True)),
    "xpos.centre_ignored": Mistake(
        "xpos", "OFFSET", "p → p − centre",
        "scores agree, long texts overflow", convention="xpos.centre_given",
        forward=changed(xpos_forward, centre=lambda a: 0)),
    "xpos.centre_from_the_call": Mistake(
        "xpos", "OFFSET", "centre = half the length of this call → the same for queries and keys",
        "right in one pass, wrong with a cache", convention="xpos.centre_given",
        forward=changed(xpos_forward, centre=lambda a: a.positions.shape[-1] // 2)),
    "xpos.scale_base_default": Mistake(
        "xpos", "SCALE", "scale_base 512 → the scale_base that is given",
        "scores fade too slowly",
        forward=changed(xpos_forward, scale_base=lambda a: 512.0)),
}

PERMUTE_PAIRS: dict[str, Mistake] = {
    "permute.inverse": Mistake(
        "permute_pairs", "LAYOUT", "the inverse permutation → the permutation",
        "heads of 2 and 4 channels are right, others give nonsense",
        forward=changed(permute_pairs_forward, to_interleaved=lambda a: not a.to_interleaved)),
    "permute.across_heads": Mistake(
        "permute_pairs", "LAYOUT", "over the whole width → within each head",
        "right for one head",
        forward=changed(permute_pairs_forward, H=lambda a: 1)),
    "permute.backward_again": Mistake(
        "permute_pairs", "GRADIENT", "permuted once more → permuted back",
        "weights learn from the wrong channels",
        backward=remembering(permute_pairs_backward, to_interleaved=lambda r: not r.to_interleaved)),
}

QUERY_TEMPERATURE: dict[str, Mistake] = {
    "temperature.offset_missing": Mistake(
        "query_temperature", "OFFSET", "floor(p / step) → floor((p + 1) / step)",
        "off at every last position before a step", convention="temperature.offset",
        forward=changed(query_temperature_forward, offset=lambda a: 0)),
    "temperature.offset_one": Mistake(
        "query_temperature", "OFFSET", "floor((p + 1) / step) → floor(p / step)",
        "off at every last position before a step", convention="temperature.offset",
        forward=changed(query_temperature_forward, offset=lambda a: 1)),
    "temperature.from_zero": Mistake(
        "query_temperature", "OFFSET", "positions counted from the start of the call → from the past length",
        "decoding never gets warmer",
        forward=changed(query_temperature_forward, positions=lambda a: from_zero(a.positions))),
    "temperature.not_floored": Mistake(
        "query_temperature", "SCALE", "ln(1 + (p + 1)/step) → ln(1 + floor((p + 1)/step))",
        "a little too warm everywhere",
        forward=_not_floored),
    "temperature.gradient_missing": Mistake(
        "query_temperature", "GRADIENT", "dx = dy → dy · factor",
        "queries far into the text learn too slowly",
        backward=_as_if_one),
}
