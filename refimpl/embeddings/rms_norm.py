"""RMS normalization: every vector to root mean square 1, then a learned gain a channel."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require, require_number
from ..namespace import Array, array_namespace, constant
from ..signatures import checked


class RmsNormResiduals(NamedTuple):
    """What the gradient needs: the normalized vectors, what they were multiplied by, and the gain."""

    normalized: Float[Array, "*B C"]
    inverse_rms: Float[Array, "*B 1"]
    gain: Float[Array, " C"] | None


@checked
def rms_norm_forward(
    x: Float[Array, "*B C"],
    weight: Float[Array, " C"] | None = None,
    *,
    eps: float = 1e-6,
    unit_offset: bool = False,
) -> tuple[Float[Array, "*B C"], RmsNormResiduals]:
    """Divide every vector by its root mean square over the channels.

        y = x / sqrt(mean of x^2 + eps) · weight            (· (1 + weight) with unit_offset)

    Layer normalization without the mean: nothing is subtracted, and the lengths alone are made equal.

    unit_offset: weights are kept as their distance from 1, so that decay pulls the gain to 1 (Gemma).
    Source: Zhang and Sennrich 2019, equation 4. eps: 1e-6 in T5 and Llama 1, 1e-5 in Llama 2 and 3; PyTorch
    by default takes the dtype's machine epsilon.
    Raises ValueError for eps < 0, a weight that is not one number a channel, or unit_offset without a weight.
    """
    xp = array_namespace(x)
    require_number("eps", eps, least=0)
    require(weight is not None or not unit_offset, "unit_offset", unit_offset, "False without a weight")
    inverse_rms = 1 / xp.sqrt(xp.mean(x * x, axis=-1, keepdims=True) + constant(eps, like=x))  # (*B, 1)
    normalized = x * inverse_rms
    gain = weight if weight is None or not unit_offset else 1 + weight
    return (normalized if gain is None else normalized * gain), RmsNormResiduals(normalized, inverse_rms, gain)


@checked
def rms_norm_backward(
    dy: Float[Array, "*B C"], residuals: RmsNormResiduals
) -> tuple[Float[Array, "*B C"], Float[Array, " C"] | None]:
    """Return (dx, dweight).

    dx = (g - n · mean of g n) / sqrt(mean of x^2 + eps),        n = x / sqrt(mean of x^2 + eps),  g = dy · gain
    dweight = sum of dy n        (over all leading axes)
    """
    xp = array_namespace(dy)
    n, inverse_rms, gain = residuals
    lead = tuple(range(dy.ndim - 1))
    dweight = xp.sum(dy * n, axis=lead) if gain is not None else None  # y = normalized · gain
    g = dy if gain is None else dy * gain
    return (g - n * xp.mean(g * n, axis=-1, keepdims=True)) * inverse_rms, dweight  # normalized = x · inverse_rms
