"""Wrong softmaxes, for softmax itself and for attention.

Each is a wrong softmax(x, mask) -> (weights, lse, saved), a wrong gradient(dweights, dlse, saved) -> dx, or both.
"""

from __future__ import annotations

from typing import Any

from ..attention.softmax import softmax_and_lse
from ..namespace import Array, array_namespace, constant
from .mistake import Function


def right(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Softmax as it should be."""
    weights, lse = softmax_and_lse(x, mask)
    return weights, lse, weights


def gradient(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Undo `right`."""
    dx = weights * (dweights - array_namespace(weights).sum(weights * dweights, axis=-1, keepdims=True))
    return dx if dlse is None else dx + weights * dlse[..., None]


def where(mask: Array | None, x: Array, other: Any) -> Array:
    """Take x where mask keeps, everywhere without a mask."""
    return x if mask is None else array_namespace(x).where(mask, x, other)


def mask_after(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Mask the weights, not the scores."""
    weights, lse = softmax_and_lse(x, None)
    return where(mask, weights, 0.0), lse, (weights, mask)


def mask_after_gradient(dweights: Array, dlse: Array | None, saved: Any) -> Array:
    """Undo `mask_after`."""
    weights, mask = saved
    return gradient(where(mask, dweights, 0.0), dlse, weights)


def filled_with(score: float) -> Function:
    """Give masked keys a finite score."""

    def softmax(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
        weights, lse = softmax_and_lse(where(mask, x, score), None)
        return weights, lse, (weights, mask)

    return softmax


def filled_gradient(dweights: Array, dlse: Array | None, saved: Any) -> Array:
    """Undo `filled_with`: nothing flows into what was filled."""
    weights, mask = saved
    return where(mask, gradient(dweights, dlse, weights), 0.0)


def minus_1e4(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Subtract a number where keys are masked."""
    return right(where(mask, x, x - 10000), None)


def added(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Add a boolean mask as if it were a bias: 1 where it keeps."""
    return right(x if mask is None else where(mask, x + 1, x), None)


def zero_times_inf(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Add (1 - mask) · (-inf), which is NaN where the mask keeps."""
    xp = array_namespace(x)
    return right(where(mask, x + xp.nan, x - xp.inf) if mask is not None else x, None)


def full_row_nan(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Divide 0 by 0."""
    weights, lse = softmax_and_lse(x, mask)
    xp = array_namespace(x)
    weights = where(xp.isfinite(lse)[..., None], weights, xp.nan)
    return weights, lse, weights


def full_row_uniform(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Let every masked key have the same large negative score."""
    weights, lse = softmax_and_lse(x, mask)
    some = array_namespace(x).isfinite(lse)[..., None]
    return where(some, weights, 1 / constant(x.shape[-1], like=x)), lse, weights


def without_max(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Leave the maximum in the exponent."""
    xp = array_namespace(x)
    e = where(mask, xp.exp(where(mask, x, 0.0)), 0.0)
    some = xp.any(xp.ones_like(x, dtype=xp.bool) if mask is None else mask, axis=-1, keepdims=True)
    weights = e / xp.where(some, xp.sum(e, axis=-1, keepdims=True), 1.0)
    return weights, xp.log(xp.sum(e, axis=-1)), weights


def over(axis: int) -> Function:
    """Normalise over another axis than the last, where there is one."""

    def softmax(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
        keep = None if mask is None else _exchanged(array_namespace(x).broadcast_to(mask, x.shape), axis)
        columns, _ = softmax_and_lse(_exchanged(x, axis), keep)
        weights, lse = softmax_and_lse(x, mask)
        return _exchanged(columns, axis), lse, (columns, weights)

    return softmax


def over_gradient(axis: int) -> Function:
    """Undo `over`."""

    def gradient_of(dweights: Array, dlse: Array | None, saved: Any) -> Array:
        columns, weights = saved
        dx = _exchanged(gradient(_exchanged(dweights, axis), None, columns), axis)
        return dx if dlse is None else dx + weights * dlse[..., None]

    return gradient_of


def _exchanged(x: Array, axis: int) -> Array:
    """Exchange the last axis and another, counted from the end."""
    axes = list(range(x.ndim))
    if x.ndim >= -axis:
        axes[-1], axes[axis] = axes[axis], axes[-1]
    return array_namespace(x).permute_dims(x, tuple(axes))


def no_row_sum(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Forget that the weights of a row sum to one."""
    dx = weights * dweights
    return dx if dlse is None else dx + weights * dlse[..., None]


def diagonal(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Take the diagonal of the Jacobian alone."""
    dx = weights * (1 - weights) * dweights
    return dx if dlse is None else dx + weights * dlse[..., None]
