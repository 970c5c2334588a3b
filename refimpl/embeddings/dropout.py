"""Dropout with the mask as an input: the only kind that two implementations can agree on."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..errors import require, require_broadcastable, require_number, require_shape
from ..namespace import Array, array_namespace, constant
from ..signatures import checked


class DropoutResiduals(NamedTuple):
    """What the gradient needs: the same mask again."""

    keep: Bool[Array, "..."]
    p: float
    shape: tuple[int, ...]  # of x


@checked
def dropout_forward(
    x: Float[Array, "*X"], *, keep: Bool[Array, "..."], p: float
) -> tuple[Float[Array, "*X"], DropoutResiduals]:
    """Drop the entries that `keep` leaves out, and make up for them.

        y = x / (1 - p)  where keep,  0 elsewhere

    Dividing by 1 - p at training time keeps the expectation (inverted dropout), so that nothing is left to do later.
    A seed means nothing in another framework; a mask does.

    p: probability of dropping, 0 <= p < 1, at its exact float64 value. keep: broadcasts to x.
    Source: Srivastava et al. 2014, section 10 (there the weights are scaled at test time instead).
    Raises ValueError for p outside [0, 1), or a mask that is not boolean or does not fit.
    """
    xp = array_namespace(x, keep)
    require_number("p", p, least=0, below=1)
    require_broadcastable("keep", keep, x.shape)
    return xp.where(keep, x / (1 - constant(p, like=x)), 0.0), DropoutResiduals(keep, p, tuple(x.shape))


@checked
def dropout_backward(dy: Float[Array, "*X"], residuals: DropoutResiduals) -> Float[Array, "*X"]:
    """Send the gradient through the entries that were kept.

    dx = dy / (1 - p)  where keep,  0 elsewhere
    """
    xp = array_namespace(dy)
    keep, p, shape = residuals
    require_shape("dy", dy, shape)
    return xp.where(keep, dy / (1 - constant(p, like=dy)), 0.0)  # y = where(keep, x / (1 - p), 0)


def require_keep(keep: Bool[Array, "..."] | None, p: float) -> None:
    """Raise ValueError for a probability of dropping without a mask that says what is dropped."""
    require(keep is not None or p == 0, "p", p, "0 without keep")
