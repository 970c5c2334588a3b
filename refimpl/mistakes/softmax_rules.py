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


def over_queries(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    """Normalise over the axis before the last."""
    keep = None if mask is None else swapped(array_namespace(x).broadcast_to(mask, x.shape))
    columns, _ = softmax_and_lse(swapped(x), keep)
    weights, lse = softmax_and_lse(x, mask)
    return swapped(columns), lse, (columns, weights)


def over_queries_gradient(dweights: Array, dlse: Array | None, saved: Any) -> Array:
    """Undo `over_queries`."""
    columns, weights = saved
    dx = swapped(gradient(swapped(dweights), None, columns))
    return dx if dlse is None else dx + weights * dlse[..., None]


def swapped(x: Array) -> Array:
    """Swap the last two axes where there are two."""
    return array_namespace(x).moveaxis(x, -1, -2) if x.ndim > 1 else x


def no_row_sum(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Forget that the weights of a row sum to one."""
    dx = weights * dweights
    return dx if dlse is None else dx + weights * dlse[..., None]


def diagonal(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Take the diagonal of the Jacobian alone."""
    dx = weights * (1 - weights) * dweights
    return dx if dlse is None else dx + weights * dlse[..., None]
