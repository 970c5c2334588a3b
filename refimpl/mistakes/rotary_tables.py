"""Mistakes in tables of cosines and sines: of given frequencies, and of positions with several coordinates."""

from __future__ import annotations

from typing import Any

from ..angles import CosSin
from ..namespace import Array, array_namespace
from ..rotary.angles import RopeAnglesResiduals, rope_angles_backward, rope_angles_forward
from ..rotary.axial import axial_cos_sin
from ..rotary.mixed import mixed_angles_backward, mixed_angles_forward
from ..rotary.mrope import mrope_cos_sin
from .mistake import Mistake, changed, remembering, taking_arguments_of, then
from .positions import in_bfloat16


def _flipped(positions: Array) -> Array:
    return array_namespace(positions).flip(positions, axis=0)


def _first_axis(positions: Array) -> Array:
    return array_namespace(positions).broadcast_to(positions[:1, ...], positions.shape)


def _with_axes_flipped(gradients: tuple[Array | None, Array]) -> tuple[Array | None, Array]:
    dpositions, dfrequencies = gradients
    return None if dpositions is None else _flipped(dpositions), dfrequencies


def _cos_alone(result: tuple[CosSin, RopeAnglesResiduals]) -> Any:
    (cos, _), residuals = result
    return CosSin(cos, residuals.sin), residuals


@taking_arguments_of(rope_angles_backward)
def _cos_alone_backward(dy: CosSin, residuals: RopeAnglesResiduals) -> Any:
    m, cos = residuals.attention_factor, residuals.cos
    if m is None:
        return rope_angles_backward(dy, residuals)
    dcos, dsin = (array_namespace(cos).zeros_like(cos) if d is None else d for d in dy)
    plain = residuals._replace(attention_factor=None)
    dpositions, dfrequencies, _ = rope_angles_backward(CosSin(dcos * m, dsin), plain)
    return dpositions, dfrequencies, array_namespace(cos).sum(dcos * cos)


@taking_arguments_of(rope_angles_backward)
def _frequencies_without_positions(dy: CosSin, residuals: RopeAnglesResiduals) -> Any:
    ones = residuals._replace(positions=residuals.positions * 0 + 1)
    dpositions, _, dm = rope_angles_backward(dy, residuals)
    return dpositions, rope_angles_backward(dy, ones)[1], dm


@taking_arguments_of(rope_angles_backward)
def _mean_over_positions(dy: CosSin, residuals: RopeAnglesResiduals) -> Any:
    dpositions, dfrequencies, dm = rope_angles_backward(dy, residuals)
    return dpositions, dfrequencies / residuals.positions.size, dm


@taking_arguments_of(mixed_angles_backward)
def _of_first_axis(dy: CosSin, residuals: Any) -> Any:
    dpositions, dfrequencies = mixed_angles_backward(dy, residuals)
    return dpositions, _first_axis(dfrequencies)


def _cyclable(sections: Any) -> list[int]:
    """Return counts that cycle over as many pairs: what is left goes to the first axis."""
    A, pairs = len(sections), sum(sections)
    return [pairs - (A - 1) * (pairs // A), *[pairs // A] * (A - 1)]


# fmt: off
ROPE_ANGLES: dict[str, Mistake] = {
    "angles.factor_on_cos_alone": Mistake(
        "rope_angles", "SCALE", "m cos, sin → m cos, m sin",
        "no rotation any more: lengths depend on position",
        forward=then(rope_angles_forward, _cos_alone), backward=_cos_alone_backward),
    "angles.bf16_positions": Mistake(
        "rope_angles", "PRECISION", "positions in bfloat16 → in integers until the angle is formed",
        "from 257 on, neighbours share a position", ("transformers#29285",),
        forward=changed(rope_angles_forward, positions=lambda a: in_bfloat16(a.positions))),
    "angles.one_based": Mistake(
        "rope_angles", "OFFSET", "p + 1 → p",
        "scores agree within a call, not between calls",
        forward=changed(rope_angles_forward, positions=lambda a: a.positions + 1)),
    "angles.frequency_gradient_without_position": Mistake(
        "rope_angles", "GRADIENT", "dθ: Σ dangle → Σ p · dangle",
        "learned frequencies follow the near tokens alone",
        backward=_frequencies_without_positions),
    "angles.frequency_gradient_mean": Mistake(
        "rope_angles", "GRADIENT", "dθ: mean over positions → sum",
        "learned frequencies hardly move",
        backward=_mean_over_positions),
    "angles.cotangents_swapped": Mistake(
        "rope_angles", "GRADIENT", "dsin sin − dcos cos → dsin cos − dcos sin",
        "learned frequencies wander off",
        backward=remembering(rope_angles_backward, cos=lambda r: r.sin, sin=lambda r: r.cos)),
}

MIXED_ANGLES: dict[str, Mistake] = {
    "mixed.axes_swapped": Mistake(
        "mixed_angles", "LAYOUT", "y fx + x fy → x fx + y fy",
        "pretrained weights see the image mirrored at its diagonal",
        forward=changed(mixed_angles_forward, positions=lambda a: _flipped(a.positions)),
        backward=then(mixed_angles_backward, _with_axes_flipped)),
    "mixed.one_based": Mistake(
        "mixed_angles", "OFFSET", "coordinates from 1 → from 0",
        "scores agree: only what was turned before is off",
        forward=changed(mixed_angles_forward, positions=lambda a: a.positions + 1)),
    "mixed.gradient_of_first_axis": Mistake(
        "mixed_angles", "GRADIENT", "every axis takes the gradient of the first → each its own",
        "frequencies of x and y grow alike",
        backward=_of_first_axis),
}

MROPE_COS_SIN: dict[str, Mistake] = {
    "mrope.sectioned": Mistake(
        "mrope_cos_sin", "LAYOUT", "blocks of pairs for each axis → axes in turn",
        "text is right, images are scrambled", ("vllm-gaudi#1437",), convention="mrope.cycled",
        forward=changed(mrope_cos_sin, cycled=lambda a: False)),
    "mrope.cycled": Mistake(
        "mrope_cos_sin", "LAYOUT", "axes in turn → blocks of pairs for each axis",
        "text is right, images are scrambled", ("vllm-gaudi#1437",), convention="mrope.sectioned",
        forward=changed(
            mrope_cos_sin, cycled=lambda a: True,
            sections=lambda a: a.sections if a.cycled else _cyclable(a.sections))),
    "mrope.time_alone": Mistake(
        "mrope_cos_sin", "INDEXING", "all pairs read the first axis → each its own",
        "text is right, patches of one frame share a place",
        forward=changed(mrope_cos_sin, positions=lambda a: _first_axis(a.positions))),
    "mrope.axes_reversed": Mistake(
        "mrope_cos_sin", "LAYOUT", "positions in the order width, height, time → time, height, width",
        "text is right, images and time are exchanged",
        forward=changed(mrope_cos_sin, positions=lambda a: _flipped(a.positions))),
}

AXIAL_COS_SIN: dict[str, Mistake] = {
    "axial.axes_swapped": Mistake(
        "axial_cos_sin", "LAYOUT", "positions as (y, x) → in the order given",
        "pretrained weights see the image mirrored at its diagonal",
        forward=changed(axial_cos_sin, positions=lambda a: _flipped(a.positions))),
    "axial.exponent_of_whole_width": Mistake(
        "axial_cos_sin", "SCALE", "base^(−2j/D) → base^(−2Aj/D): each axis runs through all frequencies",
        "no slow pairs: far patches alias",
        forward=changed(axial_cos_sin, base=lambda a: a.base ** (1 / a.positions.shape[0]))),
    "axial.split_ignored": Mistake(
        "axial_cos_sin", "SCALE", "the same frequencies for every axis → dealt out in turn",
        "the second axis turns too fast", convention="axial.frequencies_split",
        forward=changed(axial_cos_sin, split_frequencies=lambda a: False)),
    "axial.split": Mistake(
        "axial_cos_sin", "SCALE", "frequencies dealt out in turn → the same for every axis",
        "the second axis turns too slowly", convention="axial.frequencies_shared",
        forward=changed(axial_cos_sin, split_frequencies=lambda a: True)),
    "axial.one_based": Mistake(
        "axial_cos_sin", "OFFSET", "coordinates from 1 → as given",
        "scores agree: only what was turned before is off",
        forward=changed(axial_cos_sin, positions=lambda a: a.positions + 1)),
}
