"""Mistakes in the norms of queries and keys."""

from __future__ import annotations

from typing import Any

from ..attention.l2_qk_norm import L2QkNormResiduals, l2_qk_norm_backward, l2_qk_norm_forward
from ..attention.rms_qk_norm import RmsQkNormResiduals, rms_qk_norm_backward, rms_qk_norm_forward
from ..embeddings.rms_norm import RmsNormResiduals, rms_norm_backward
from ..namespace import Array, array_namespace, constant
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of


@taking_arguments_of(rms_qk_norm_forward)
def _centred(x: Array, weight: Array | None = None, **options: Any) -> Any:
    xp = array_namespace(x)
    return rms_qk_norm_forward(x - xp.mean(x, axis=-1, keepdims=True), weight, **options)


def _centred_backward(dy: Array, residuals: RmsQkNormResiduals) -> Any:
    dx, dweight = rms_qk_norm_backward(dy, residuals)
    return dx - array_namespace(dx).mean(dx, axis=-1, keepdims=True), dweight


@taking_arguments_of(rms_qk_norm_forward)
def _eps_outside(x: Array, weight: Array | None = None, *, eps: float = 1e-6, **options: Any) -> Any:
    """x / (rms + eps) · gain, which is x · inverse · gain with inverse = 1 / (rms + eps)."""
    xp = array_namespace(x)
    over = options.get("over_heads", False)
    rms = xp.sqrt(xp.mean(x * x, axis=(-3, -1) if over else -1, keepdims=True))
    inverse = 1 / (rms + constant(eps, like=x))
    _, right = rms_qk_norm_forward(x, weight, eps=1.0, **options)
    normed = x * inverse
    unit = x / xp.where(rms > 0, rms, 1.0)
    return normed if weight is None else normed * _gain(right), (right._replace(normed=normed), inverse, unit)


def _eps_outside_backward(dy: Array, residuals: Any) -> Any:
    """dx = (dnormed - unit · mean of dnormed normed) · inverse, unit = x / rms."""
    right, inverse, unit = residuals
    xp = array_namespace(dy)
    dnormed = dy if right.weight is None else dy * _gain(right)
    mean = xp.mean(dnormed * right.normed, axis=(-3, -1) if right.over_heads else -1, keepdims=True)
    return (dnormed - unit * mean) * inverse, rms_qk_norm_backward(dy, right)[1]


def _gain(residuals: RmsQkNormResiduals) -> Array:
    weight: Any = residuals.weight
    gain = weight if weight.ndim == 1 else weight[:, None, :]
    return 1 + gain if residuals.unit_offset else gain


def unprojected(dy: Array, residuals: RmsNormResiduals) -> Any:
    """Take the divisor for a constant."""
    _, dweight = rms_norm_backward(dy, residuals)
    return (dy if residuals.gain is None else dy * residuals.gain) * residuals.inverse_rms, dweight


@taking_arguments_of(l2_qk_norm_forward)
def _root_mean_square(x: Array, logit_scale: Array | None = None, **options: Any) -> Any:
    xp = array_namespace(x)
    y, residuals = l2_qk_norm_forward(x, logit_scale, **options)
    root = xp.sqrt(constant(x.shape[-1], like=x))
    return y * root, (residuals, root)


def _root_mean_square_backward(dy: Array, residuals: Any) -> Any:
    right, root = residuals
    return l2_qk_norm_backward(dy * root, right)


@taking_arguments_of(l2_qk_norm_forward)
def _eps_added(x: Array, logit_scale: Array | None = None, *, eps: float = 1e-12, **options: Any) -> Any:
    xp = array_namespace(x)
    _, residuals = l2_qk_norm_forward(x, logit_scale, eps=eps, **options)
    norm = xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True))
    length = norm + constant(eps, like=x)
    unit = x / length
    direction = x / xp.where(norm > 0, norm, 1.0)
    return unit if residuals.factor is None else unit * residuals.factor, (residuals, unit, length, direction)


def _eps_added_backward(dy: Array, residuals: Any) -> Any:
    right, unit, length, direction = residuals
    xp = array_namespace(dy)
    dunit = dy if right.factor is None else dy * right.factor
    dx = (dunit - direction * xp.sum(dunit * unit, axis=-1, keepdims=True)) / length
    if right.factor is None:
        return dx, None
    axes = tuple(i for i in range(dy.ndim) if i != dy.ndim - 3)
    return dx, xp.sum(dunit * unit * right.free, axis=axes)


@taking_arguments_of(l2_qk_norm_forward)
def _not_exponential(x: Array, logit_scale: Array | None = None, **options: Any) -> Any:
    xp = array_namespace(x)
    y, residuals = l2_qk_norm_forward(x, logit_scale, **options)
    if logit_scale is None:
        return y, residuals
    return residuals.unit * xp.log(residuals.factor), residuals


def _not_exponential_backward(dy: Array, residuals: L2QkNormResiduals) -> Any:
    if residuals.factor is None:
        return l2_qk_norm_backward(dy, residuals)
    xp = array_namespace(dy)
    dx, _ = l2_qk_norm_backward(dy, residuals._replace(factor=xp.log(residuals.factor)))
    axes = tuple(i for i in range(dy.ndim) if i != dy.ndim - 3)
    return dx, xp.sum(dy * residuals.unit * residuals.free, axis=axes)


# fmt: off
RMS_QK_NORM: dict[str, Mistake] = {
    "qk_norm.over_other_axes": Mistake(
        "rms_qk_norm", "LAYOUT", "one mean for all heads → one a head, and the other way round",
        "right for one head; OLMo 2 and Qwen 3 differ in it", convention="rms_qk_norm.per_head",
        forward=changed(rms_qk_norm_forward, over_heads=lambda a: not a.over_heads)),
    "qk_norm.centred": Mistake(
        "rms_qk_norm", "SCALE", "(x − mean) / rms → x / rms",
        "LayerNorm in place of RMS norm", forward=_centred, backward=_centred_backward),
    "qk_norm.eps_outside": Mistake(
        "rms_qk_norm", "EDGE", "x / (rms + eps) → x / sqrt(mean of x² + eps)",
        "right while x is not small", convention="rms_qk_norm.eps_inside",
        forward=_eps_outside, backward=_eps_outside_backward),
    "qk_norm.unit_offset_forgotten": Mistake(
        "rms_qk_norm", "SCALE", "weight → 1 + weight",
        "Gemma's weights are near 0, so is y", convention="rms_qk_norm.unit_offset",
        forward=changed(rms_qk_norm_forward, unit_offset=lambda a: False)),
    "qk_norm.not_projected": Mistake(
        "rms_qk_norm", "GRADIENT", "dx = dnormed / rms → (dnormed − normed · mean of dnormed normed) / rms",
        "the length of x, which does not count, is pushed about",
        backward=rewired(rms_qk_norm_backward, rms_norm_backward=unprojected)),
    "qk_norm.gain_missing_in_gradient": Mistake(
        "rms_qk_norm", "GRADIENT", "dnormed = dy → dy · gain",
        "right for a weight of ones",
        backward=rewired(rms_qk_norm_backward, _gain=lambda weight, unit_offset: 0 * weight + 1
                         if weight.ndim == 1 else 0 * weight[:, None, :] + 1)),
}

L2_QK_NORM: dict[str, Mistake] = {
    "l2_qk_norm.root_mean_square": Mistake(
        "l2_qk_norm", "SCALE", "x √D / |x| → x / |x|",
        "cosines D times too large", forward=_root_mean_square, backward=_root_mean_square_backward),
    "l2_qk_norm.eps_added": Mistake(
        "l2_qk_norm", "EDGE", "x / (|x| + eps) → x / max(|x|, eps)",
        "right while x is not short",
        forward=_eps_added, backward=_eps_added_backward),
    "l2_qk_norm.bound_ignored": Mistake(
        "l2_qk_norm", "EDGE", "exp(logit_scale) → exp(min(logit_scale, bound))",
        "right until a head's temperature has been learned",
        forward=changed(l2_qk_norm_forward, max_logit_scale=lambda a: None)),
    "l2_qk_norm.not_exponential": Mistake(
        "l2_qk_norm", "SCALE", "logit_scale · x / |x| → exp(logit_scale) · x / |x|",
        "pretrained heads are flat", forward=_not_exponential, backward=_not_exponential_backward),
    "l2_qk_norm.gradient_above_bound": Mistake(
        "l2_qk_norm", "GRADIENT", "dlogit_scale above the bound → 0",
        "the parameter runs away while y stays",
        backward=remembering(l2_qk_norm_backward,
                             free=lambda r: None if r.free is None else 0 * r.free + 1)),
    "l2_qk_norm.not_projected": Mistake(
        "l2_qk_norm", "GRADIENT", "dx = dunit / |x| → (dunit − unit · sum of dunit unit) / |x|",
        "the length of x, which does not count, is pushed about",
        backward=remembering(l2_qk_norm_backward, long=lambda r: r.long * 0)),
}
