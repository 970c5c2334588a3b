"""Gates and bends: functions with two branches, written without one, and their slopes."""

from __future__ import annotations

from jaxtyping import Float

from ..namespace import Array, array_namespace


def sigmoid(x: Float[Array, "*X"]) -> Float[Array, "*X"]:
    """Return 1 / (1 + exp(-x)), without exp of a large number on either side.

        sigmoid(x) = exp(min(x, 0)) / (1 + exp(-|x|))

    1 - sigmoid(x) is sigmoid(-x), which keeps its digits where the difference loses them.
    """
    xp = array_namespace(x)
    return xp.exp(xp.minimum(x, xp.zeros_like(x))) / (1 + xp.exp(-xp.abs(x)))


def log_sigmoid(x: Float[Array, "*X"]) -> Float[Array, "*X"]:
    """Return log sigmoid(x) = min(x, 0) - log(1 + exp(-|x|)); its slope is sigmoid(-x)."""
    xp = array_namespace(x)
    return xp.minimum(x, xp.zeros_like(x)) - xp.log1p(xp.exp(-xp.abs(x)))


def relu(x: Float[Array, "*X"]) -> Float[Array, "*X"]:
    """Return max(x, 0)."""
    xp = array_namespace(x)
    return xp.maximum(x, xp.zeros_like(x))


def relu_slope(x: Float[Array, "*X"]) -> Float[Array, "*X"]:
    """Return the slope of max(x, 0): 1 above 0, 0 below and at 0, as PyTorch has it there."""
    return relu(array_namespace(x).sign(x))
