"""Softmax over the keys that are left."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..errors import require_broadcastable
from ..namespace import Array, array_namespace
from ..signatures import checked


class SoftmaxResiduals(NamedTuple):
    """What the gradient needs: the result."""

    y: Float[Array, "*X S"]


@checked
def softmax_forward(
    x: Float[Array, "*X S"], *, mask: Bool[Array, "..."] | None = None
) -> tuple[Float[Array, "*X S"], SoftmaxResiduals]:
    """Turn the scores of each row into weights that sum to one.

        y[j] = exp(x[j]) / sum over kept k of exp(x[k])        where mask keeps j,  0 elsewhere

    A row with nothing to keep gives 0: its sum is empty, not a division of zero by zero.

    mask: True keeps; broadcasts to x.
    Source: Bridle 1990; with a mask: Vaswani et al. 2017, section 3.2.3. PyTorch's softmax of a row of -inf is NaN.
    Raises ValueError for a mask that is not boolean or does not fit.
    """
    if mask is not None:
        require_broadcastable("mask", mask, x.shape)
    y, _ = softmax_and_lse(x, mask)
    return y, SoftmaxResiduals(y)


@checked
def softmax_backward(dy: Float[Array, "*X S"], residuals: SoftmaxResiduals) -> Float[Array, "*X S"]:
    """Return dx: each row of it sums to zero, since softmax ignores a constant.

    dx[j] = y[j] (dy[j] - sum over k of y[k] dy[k])
    """
    xp = array_namespace(dy)
    y = residuals.y
    return y * (dy - xp.sum(y * dy, axis=-1, keepdims=True))  # y = exp(x) / sum of exp(x)


def softmax_and_lse(
    x: Float[Array, "*X S"], mask: Bool[Array, "..."] | None
) -> tuple[Float[Array, "*X S"], Float[Array, "*X"]]:
    """Return the weights and the logarithm of the sum that they were divided by, -inf for an empty row.

        m = max x,   e = exp(x - m),   y = e / sum e,   lse = m + log(sum e)

    Subtracting m changes nothing but keeps exp from overflowing. The mask selects; it is never a large negative number,
    which a legal score could undercut.
    """
    xp = array_namespace(x, mask)
    mask = xp.ones_like(x, dtype=xp.bool) if mask is None else xp.broadcast_to(mask, x.shape)
    some = xp.any(mask, axis=-1, keepdims=True)  # (*X, 1)
    m = xp.max(xp.where(mask, x, -xp.inf), axis=-1, keepdims=True)  # (*X, 1)
    m = xp.where(some, m, 0.0)
    e = xp.where(mask, xp.exp(xp.where(mask, x - m, 0.0)), 0.0)  # (*X, S)
    total = xp.where(some, xp.sum(e, axis=-1, keepdims=True), 1.0)  # (*X, 1)
    return e / total, xp.where(some, m + xp.log(total), -xp.inf)[..., 0]


def softmax_and_lse_backward(
    dweights: Float[Array, "*X S"], dlse: Float[Array, "*X"] | None, weights: Float[Array, "*X S"]
) -> tuple[Float[Array, "*X S"], Float[Array, "*X"]]:
    """Undo `softmax_and_lse`; return dx and the mean of each row, which a sink needs as well.

    row = sum of weights dweights - dlse        dx = weights (dweights - row)
    """
    xp = array_namespace(dweights)
    row = xp.sum(weights * dweights, axis=-1)  # weights = exp(x) / sum of exp(x)
    row = row if dlse is None else row - dlse  # lse = log(sum of exp(x))
    return weights * (dweights - row[..., None]), row
