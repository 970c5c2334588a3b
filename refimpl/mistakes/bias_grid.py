"""Mistakes in biases on a grid: Swin, Swin v2, decomposed."""

from __future__ import annotations

from typing import Any

from ..bias.decomposed import decomposed_2d_bias_backward, decomposed_2d_bias_forward
from ..bias.gates import sigmoid
from ..bias.grid import grid_offsets
from ..bias.swin import swin_bias_backward, swin_bias_forward
from ..bias.swin_v2 import SwinV2BiasResiduals, swin_v2_bias_backward, swin_v2_bias_forward
from ..embeddings.token import take_rows
from ..namespace import Array, array_namespace, constant
from .embeddings import _last_write_wins
from .mistake import Mistake, changed, rewired, taking_arguments_of, then


def _key_minus_query(height: int, width: int, **options: Any) -> tuple[Array, Array]:
    rows, columns = grid_offsets(height, width, **options)
    return -rows, -columns


def _column_by_column(height: int, width: int, *, xp: Any, device: Any = None) -> tuple[Array, Array]:
    """Number tokens down the columns."""
    t = xp.arange(height * width, device=device)
    row, column = t % height, t // height
    return row[:, None] - row[None, :], column[:, None] - column[None, :]


def _over_sixteen(result: tuple[Array, Any]) -> tuple[Array, Any]:
    return result[0] / 16, result[1]


def _without_sign(d: Array, extent: int, like: Array) -> Array:
    xp = array_namespace(like)
    return xp.log2(1 + xp.astype(8 * abs(d), like.dtype) / max(extent - 1, 1)) / 3


def _linear_offsets(d: Array, extent: int, like: Array) -> Array:
    return array_namespace(like).astype(d, like.dtype) / max(extent - 1, 1)


def _sigmoid_for_its_slope(dy: Array, residuals: SwinV2BiasResiduals) -> tuple[Array, ...]:
    """Divide by 1 - s what the backward pass multiplies by it."""
    xp = array_namespace(dy)
    short = xp.moveaxis(take_rows(sigmoid(-residuals.z), residuals.rows), -1, 0)  # (H, T, T)
    return swin_v2_bias_backward(dy / short, residuals)


def _over_root_of_width(q: Array) -> Array:
    width = q.shape[-1]
    return q / array_namespace(q).sqrt(constant(width, like=q))


def _first_head_only(dx: Array, keep: int) -> Array:
    return dx[(0,) * (dx.ndim - keep)]


# fmt: off
SWIN_BIAS: dict[str, Mistake] = {
    "swin.key_minus_query": Mistake(
        "swin_bias", "OFFSET", "key minus query → query minus key",
        "the window is turned by 180 degrees; nothing shows in training from scratch",
        forward=rewired(swin_bias_forward, grid_offsets=_key_minus_query)),
    "swin.columns_first": Mistake(
        "swin_bias", "LAYOUT", "tokens numbered down the columns → along the rows",
        "right for windows of one row or one column",
        forward=rewired(swin_bias_forward, grid_offsets=_column_by_column)),
    "swin.table_grad_overwrite": Mistake(
        "swin_bias", "GRADIENT", "dweight[row] = dy → dweight[row] += dy",
        "a row learns from one of its pairs",
        backward=rewired(swin_bias_backward, scatter_add=_last_write_wins)),
}

SWIN_V2_BIAS: dict[str, Mistake] = {
    "swin_v2.key_minus_query": Mistake(
        "swin_v2_bias", "OFFSET", "key minus query → query minus key",
        "the window is turned by 180 degrees; nothing shows in training from scratch",
        forward=rewired(swin_v2_bias_forward, grid_offsets=_key_minus_query)),
    "swin_v2.pretrained_window_ignored": Mistake(
        "swin_v2_bias", "SCALE", "offsets divided by the window's own extent → by that of the window trained on",
        "right until the window changes, which is what the method is for",
        forward=changed(swin_v2_bias_forward, pretrained_height=lambda a: None, pretrained_width=lambda a: None)),
    "swin_v2.sign_missing": Mistake(
        "swin_v2_bias", "SCALE", "log2(1 + 8 |d|) / 3 → times the sign of d",
        "left and right are the same",
        forward=rewired(swin_v2_bias_forward, _log_offsets=_without_sign)),
    "swin_v2.linear_offsets": Mistake(
        "swin_v2_bias", "SCALE", "d / (n − 1) → its logarithm",
        "bias of a larger window is extrapolated far",
        forward=rewired(swin_v2_bias_forward, _log_offsets=_linear_offsets)),
    "swin_v2.sixteen_missing": Mistake(
        "swin_v2_bias", "SCALE", "sigmoid → 16 · sigmoid",
        "cosine attention is left with almost no bias",
        forward=then(swin_v2_bias_forward, _over_sixteen),
        backward=changed(swin_v2_bias_backward, dy=lambda a: a.dy / 16)),
    "swin_v2.sigmoid_gradient_missing": Mistake(
        "swin_v2_bias", "GRADIENT", "dz = 16 s dy → 16 s (1 − s) dy",
        "saturated offsets still learn",
        backward=taking_arguments_of(swin_v2_bias_backward)(_sigmoid_for_its_slope)),
}

DECOMPOSED_2D_BIAS: dict[str, Mistake] = {
    "decomposed.key_minus_query": Mistake(
        "decomposed_2d_bias", "OFFSET", "key minus query → query minus key",
        "the grid is turned by 180 degrees; nothing shows in training from scratch",
        forward=rewired(decomposed_2d_bias_forward, grid_offsets=_key_minus_query)),
    "decomposed.columns_first": Mistake(
        "decomposed_2d_bias", "LAYOUT", "tokens numbered down the columns → along the rows",
        "right for grids of one row or one column",
        forward=rewired(decomposed_2d_bias_forward, grid_offsets=_column_by_column)),
    "decomposed.scaled_query": Mistake(
        "decomposed_2d_bias", "SCALE", "q/√D times the tables → q, not scaled",
        "the bias is √D times too weak",
        forward=changed(decomposed_2d_bias_forward, q=lambda a: _over_root_of_width(a.q)),
        backward=then(decomposed_2d_bias_backward, lambda g: (_over_root_of_width(g[0]), *g[1:]))),
    "decomposed.gradient_of_first_head": Mistake(
        "decomposed_2d_bias", "GRADIENT", "tables learn from one head and batch item → from all, summed",
        "right for one head",
        backward=rewired(decomposed_2d_bias_backward, sum_to=_first_head_only)),
}
