"""Layer normalization: every vector to mean 0 and variance 1, then a learned gain and bias a channel."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require_number
from ..namespace import Array, array_namespace, constant
from ..signatures import checked


class LayerNormResiduals(NamedTuple):
    """What the gradient needs: the normalized vectors, and what they were multiplied by."""

    normalized: Float[Array, "*B C"]
    inverse_deviation: Float[Array, "*B 1"]
    weight: Float[Array, " C"] | None
    biased: bool


@checked
def layer_norm_forward(
    x: Float[Array, "*B C"],
    weight: Float[Array, " C"] | None = None,
    bias: Float[Array, " C"] | None = None,
    *,
    eps: float = 1e-5,
) -> tuple[Float[Array, "*B C"], LayerNormResiduals]:
    """Normalize every vector over its channels.

        y = (x - mean) / sqrt(var + eps) · weight + bias        mean = mean of x,  var = mean of (x - mean)^2

    The variance divides by C, not by C - 1. What is added to all channels alike, or multiplies them all, is gone
    afterwards, but for eps.

    Source: Ba et al. 2016, section 3. eps stands under the root: 1e-5 in PyTorch, 1e-12 in BERT, 1e-6 in flax and
    tensor2tensor. The Annotated Transformer adds it to the root instead, and its variance divides by C - 1.
    Raises ValueError for eps < 0, or a weight or bias that is not one number a channel.
    """
    xp = array_namespace(x)
    require_number("eps", eps, least=0)
    centred = x - xp.mean(x, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)  # (*B, 1)
    inverse_deviation = 1 / xp.sqrt(variance + constant(eps, like=x))
    y = normalized = centred * inverse_deviation
    if weight is not None:
        y = y * weight
    if bias is not None:
        y = y + bias
    return y, LayerNormResiduals(normalized, inverse_deviation, weight, bias is not None)


@checked
def layer_norm_backward(
    dy: Float[Array, "*B C"], residuals: LayerNormResiduals
) -> tuple[Float[Array, "*B C"], Float[Array, " C"] | None, Float[Array, " C"] | None]:
    """Return (dx, dweight, dbias).

    dx = (g - mean of g - n · mean of g n) / sqrt(var + eps),        n = (x - mean) / sqrt(var + eps),  g = dy · weight
    dweight = sum of dy n        dbias = sum of dy        (sums over all leading axes)
    """
    xp = array_namespace(dy)
    n, inverse_deviation, weight, biased = residuals
    lead = tuple(range(dy.ndim - 1))
    dbias = xp.sum(dy, axis=lead) if biased else None  # y = y + bias
    dweight = xp.sum(dy * n, axis=lead) if weight is not None else None  # y = normalized · weight
    g = dy if weight is None else dy * weight
    along = n * xp.mean(g * n, axis=-1, keepdims=True)  # variance = mean of centred^2
    dx = (g - xp.mean(g, axis=-1, keepdims=True) - along) * inverse_deviation  # centred = x - mean
    return dx, dweight, dbias
