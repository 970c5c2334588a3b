"""Mistakes in sinusoids of other layouts, the map of a shift, grids, timesteps and augmented positions."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..embeddings.cape import cape_backward, cape_forward
from ..embeddings.relative_shift import relative_shift_matrix
from ..embeddings.sinusoidal import sinusoidal_forward
from ..embeddings.sinusoidal_2d import sinusoidal_2d_backward, sinusoidal_2d_forward
from ..embeddings.timestep import timestep_embedding_backward, timestep_embedding_forward
from ..namespace import Array, array_namespace
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then
from .positions import in_bfloat16
from .sinusoidal import _truncated

OTHER_HALF = {"interleaved": "interleaved", "sin_cos": "cos_sin", "cos_sin": "sin_cos"}
ANOTHER = {"interleaved": "sin_cos", "sin_cos": "interleaved", "cos_sin": "interleaved"}


def _nothing(gradient: Array | None) -> Array | None:
    return None if gradient is None else gradient * 0


@taking_arguments_of(relative_shift_matrix)
def _padding_maps_to_zero(shift: Array, C: int, **options: Any) -> Array:
    matrix = relative_shift_matrix(shift, C, **options)
    xp = array_namespace(matrix)
    return matrix if C % 2 == 0 else xp.where(xp.arange(C)[:, None] == C - 1, 0.0, matrix)


@taking_arguments_of(cape_forward)
def _stretched_first(
    positions: Array, global_shift: Any = None, local_shift: Any = None, log_scale: Any = None, **options: Any
) -> Any:
    """p exp(l) + D + e: the shifts are divided by what they will be multiplied by."""
    if log_scale is None:
        return cape_forward(positions, global_shift, local_shift, log_scale, **options)
    stretch = array_namespace(log_scale).exp(log_scale)
    global_shift = None if global_shift is None else global_shift / stretch
    local_shift = None if local_shift is None else local_shift / stretch[..., None]
    y, residuals = cape_forward(positions, global_shift, local_shift, log_scale, **options)
    return y, residuals._replace(augmented=positions * stretch[..., None])


def _stretched_first_backward(dy: Array, residuals: Any) -> Any:
    dpositions, dglobal, dlocal, dlog = cape_backward(dy, residuals)
    dglobal = None if dglobal is None else dglobal / residuals.stretch[..., 0]
    return dpositions, dglobal, None if dlocal is None else dlocal / residuals.stretch, dlog


def _global_mean(dy: Array, residuals: Any) -> Any:
    dpositions, dglobal, *rest = cape_backward(dy, residuals)
    return dpositions, None if dglobal is None else dglobal / dy.shape[-2], *rest


def _minus(x: Array | None) -> Array | None:
    return None if x is None else -x


# fmt: off
EMBEDDING_WAVES: dict[str, Mistake] = {
    "sinusoidal.layout_ignored": Mistake(
        "sinusoidal", "LAYOUT", "sine and cosine in turn → the layout that is given",
        "right by default",
        forward=changed(sinusoidal_forward, layout=lambda a: "interleaved")),
    "sinusoidal.halves_exchanged": Mistake(
        "sinusoidal", "LAYOUT", "[cos | sin] → [sin | cos], and the other way round",
        "pretrained weights give nonsense; trained from scratch all is well",
        forward=changed(sinusoidal_forward, layout=lambda a: OTHER_HALF[a.layout])),
    "sinusoidal.shift_ignored": Mistake(
        "sinusoidal", "SCALE", "base^(−2k/C) → base^(−k/(C/2 − 1)) where it is asked for",
        "the first wave agrees, the others drift",
        convention="sinusoidal.frequency_to_inverse_base",
        forward=changed(sinusoidal_forward, frequency_shift=lambda a: 0)),
    "sinusoidal.padding_missing": Mistake(
        "sinusoidal", "EDGE", "an odd width has one more wave → that of C − 1 and zeros, where it is asked for",
        "every frequency is a little off",
        convention="sinusoidal.odd_width_padded",
        forward=changed(sinusoidal_forward, pad_odd=lambda a: False)),
    "relative_shift.transposed": Mistake(
        "relative_shift_matrix", "OFFSET", "M_−n → M_n",
        "the encoding goes back instead of on",
        forward=changed(relative_shift_matrix, shift=lambda a: -a.shift)),
    "relative_shift.layout_ignored": Mistake(
        "relative_shift_matrix", "LAYOUT", "blocks for sine and cosine in turn → for the layout that is given",
        "PE(p + n) = M PE(p) holds in no place",
        forward=changed(relative_shift_matrix, layout=lambda a: ANOTHER[a.layout])),
    "relative_shift.padding_to_zero": Mistake(
        "relative_shift_matrix", "EDGE", "0 → 1 for the column of zeros",
        "M is not orthogonal; PE(p + n) = M PE(p) still holds",
        forward=_padding_maps_to_zero),
    "relative_shift.base_ignored": Mistake(
        "relative_shift_matrix", "SCALE", "w_k = 10000^(−k/C) → base^(−2k/C)",
        "right for the first wave alone",
        forward=changed(relative_shift_matrix, base=lambda a: a.base ** 0.5)),
    "relative_shift.bf16_shift": Mistake(
        "relative_shift_matrix", "PRECISION", "n in bfloat16 → exact until the angle is formed",
        "from 257 on, steps are off by one",
        forward=changed(relative_shift_matrix, shift=lambda a: in_bfloat16(a.shift))),
    "sinusoidal_2d.xy_swapped": Mistake(
        "sinusoidal_2d", "LAYOUT", "[column | row] → [row | column], and the other way round",
        "right on the diagonal; a square picture is mirrored", ("transformers#41380",),
        convention="sinusoidal_2d.rows_first",
        forward=changed(sinusoidal_2d_forward, columns_first=lambda a: not a.columns_first)),
    "sinusoidal_2d.frequency_over_full_width": Mistake(
        "sinusoidal_2d", "SCALE", "base^(−2k/C) → base^(−2k/(C/2)): a coordinate has C/2 channels",
        "the slow half of the waves is missing",
        forward=changed(sinusoidal_2d_forward, base=lambda a: a.base ** 0.5)),
    "sinusoidal_2d.from_zero": Mistake(
        "sinusoidal_2d", "OFFSET", "positions less 1 → as they are given (DETR counts from 1)",
        "pretrained weights give a little less",
        forward=changed(sinusoidal_2d_forward, positions=lambda a: a.positions - 1)),
    "sinusoidal_2d.gradient_swapped": Mistake(
        "sinusoidal_2d", "GRADIENT", "drow from the half of the columns → from its own",
        "right along the diagonal",
        backward=remembering(sinusoidal_2d_backward, columns_first=lambda r: not r.columns_first)),
    "timestep.flipped": Mistake(
        "timestep_embedding", "LAYOUT", "[cos | sin] → [sin | cos], and the other way round",
        "a pretrained model paints noise",
        forward=changed(timestep_embedding_forward, layout=lambda a: OTHER_HALF[a.layout])),
    "timestep.other_shift": Mistake(
        "timestep_embedding", "SCALE", "C/2 − 1 → C/2 in the exponent, and the other way round",
        "the first wave agrees, the others drift",
        convention="sinusoidal.frequency_to_inverse_base",
        forward=changed(timestep_embedding_forward, frequency_shift=lambda a: 1 - a.frequency_shift)),
    "timestep.scale_ignored": Mistake(
        "timestep_embedding", "SCALE", "PE(t) → PE(scale t)",
        "all moments look alike",
        forward=changed(timestep_embedding_forward, scale=lambda a: 1.0)),
    "timestep.truncated": Mistake(
        "timestep_embedding", "EDGE", "t cut down to an integer → fractional t is legal",
        "the steps between the trained ones are lost",
        forward=changed(timestep_embedding_forward, timesteps=lambda a: _truncated(a.timesteps)),
        backward=then(timestep_embedding_backward, _nothing)),
    "timestep.scale_missing_in_gradient": Mistake(
        "timestep_embedding", "GRADIENT", "dt = that of the position → times scale",
        "a learned schedule moves scale times too slowly",
        backward=remembering(timestep_embedding_backward, scale=lambda r: 1.0)),
    "cape.stretched_first": Mistake(
        "cape", "SCALE", "p exp(l) + shifts → (p + shifts) exp(l)",
        "shifts do not grow with the scale",
        forward=_stretched_first, backward=_stretched_first_backward),
    "cape.stretch_inverted": Mistake(
        "cape", "SCALE", "(p + shifts) / exp(l) → (p + shifts) exp(l)",
        "none while training: the range of l is symmetric",
        forward=changed(cape_forward, log_scale=lambda a: _minus(a.log_scale)),
        backward=then(cape_backward, lambda g: (*g[:3], _minus(g[3])))),
    "cape.halves": Mistake(
        "cape", "LAYOUT", "[sin | cos] → sine and cosine in turn",
        "pretrained weights give nonsense; trained from scratch all is well",
        convention="sinusoidal.interleaved",
        forward=rewired(cape_forward, sinusoidal_forward=partial(sinusoidal_forward, layout="sin_cos"))),
    "cape.stretch_missing_in_gradient": Mistake(
        "cape", "GRADIENT", "dp = dp' → dp' exp(l)",
        "shifts learn at another rate in every sequence",
        backward=remembering(cape_backward, stretch=lambda r: r.stretch * 0 + 1)),
    "cape.gradient_of_scale_itself": Mistake(
        "cape", "GRADIENT", "dlog_scale = sum of dp' (p + shifts) → sum of dp' p': d exp(l) = exp(l) dl",
        "off by exp(l)",
        backward=remembering(cape_backward, augmented=lambda r: r.augmented / r.stretch)),
    "cape.global_gradient_mean": Mistake(
        "cape", "GRADIENT", "dglobal_shift: mean over the tokens → sum",
        "the shift of a sequence learns T times too slowly",
        backward=_global_mean),
}
