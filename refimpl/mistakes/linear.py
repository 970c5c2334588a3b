"""Mistakes in the linear layer."""

from __future__ import annotations

from typing import Any

from ..attention.linear import LinearResiduals, linear_backward, linear_forward
from ..namespace import Array, array_namespace
from .mistake import Mistake, changed, round_bits, then


def _square_transposed(weight: Array) -> Array:
    return array_namespace(weight).matrix_transpose(weight) if weight.shape[0] == weight.shape[1] else weight


def zero(x: Array | None) -> Array | None:
    """Return zeros in place of an array, nothing in place of nothing."""
    return None if x is None else x * 0


def _bias_mean(dy: Array, residuals: LinearResiduals) -> Any:
    dx, dweight, dbias = linear_backward(dy, residuals)
    return dx, dweight, None if dbias is None else dbias / (dy.size // dy.shape[-1])


def _weight_of_last(dy: Array, residuals: LinearResiduals) -> Any:
    dx, _, dbias = linear_backward(dy, residuals)
    last = residuals._replace(x=residuals.x[-1:, ...])
    return dx, linear_backward(dy[-1:, ...], last)[1], dbias


# fmt: off
LINEAR: dict[str, Mistake] = {
    "linear.weight_transposed": Mistake(
        "linear", "LAYOUT", "x @ weightᵀ → x @ weight",
        "an error, unless the weight is square",
        forward=changed(linear_forward, weight=lambda a: _square_transposed(a.weight)),
        backward=then(linear_backward, lambda gradient: (gradient[0], _square_transposed(gradient[1]), gradient[2]))),
    "linear.bias_missing": Mistake(
        "linear", "SCALE", "x @ weight → x @ weight + bias",
        "pretrained models lose a little everywhere",
        forward=changed(linear_forward, bias=lambda a: zero(a.bias)),
        backward=then(linear_backward, lambda gradients: (*gradients[:2], zero(gradients[2])))),
    "linear.bias_gradient_mean": Mistake(
        "linear", "GRADIENT", "dbias = mean of dy → sum of dy",
        "biases hardly learn",
        backward=_bias_mean),
    "linear.weight_gradient_of_last": Mistake(
        "linear", "GRADIENT", "dweight of the last batch item → sum over all leading axes",
        "right for a batch of one",
        backward=_weight_of_last),
    "linear.tf32": Mistake(
        "linear", "PRECISION", "x and weight rounded to 11 bits → multiplied as they are",
        "errors of 1e-3 that come and go with the GPU",
        forward=changed(linear_forward, x=lambda a: round_bits(a.x, 11), weight=lambda a: round_bits(a.weight, 11))),
}
