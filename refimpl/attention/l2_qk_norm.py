"""L2 norm of queries and keys: the score is a cosine, at a temperature that is learned."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require, require_number
from ..namespace import Array, array_namespace, constant, unbroadcast
from ..signatures import checked


class L2QkNormResiduals(NamedTuple):
    """What the gradient needs: the unit vectors, the lengths, which of the two bounds held, and the factor."""

    unit: Float[Array, "*B H T D"]
    length: Float[Array, "*B H T 1"]
    long: Float[Array, "*B H T 1"]
    factor: Float[Array, "H 1 1"] | None
    free: Float[Array, "H 1 1"] | None


@checked
def l2_qk_norm_forward(
    x: Float[Array, "*B H T D"],
    logit_scale: Float[Array, " H"] | None = None,
    *,
    max_logit_scale: float | None = None,
    eps: float = 1e-12,
) -> tuple[Float[Array, "*B H T D"], L2QkNormResiduals]:
    """Divide q or k by its length, and multiply by the learned temperature of the head.

        y = exp(min(logit_scale, max_logit_scale)) · x / max(|x|, eps)

    With q and k both of length one their product is the cosine of the angle between them, and D plays no part: call
    attention with scale 1, and give the logit_scale to q or to k, not to both.

    logit_scale: one a head; None is a factor of 1. max_logit_scale: None for no bound.
    Source: Liu et al. 2022 (Swin v2), section 3.3, whose code bounds logit_scale by ln 100; Henry et al. 2020, and
    x-transformers, with one fixed or learned factor.
    Raises ValueError for a logit_scale that is not (H,), eps <= 0, or a bound without logit_scale.
    """
    xp = array_namespace(x, logit_scale)
    require_number("eps", eps, above=0)
    least, norm = constant(eps, like=x), xp.sqrt(xp.sum(x * x, axis=-1, keepdims=True))  # (*B, H, T, 1)
    length, long = xp.maximum(norm, least), xp.maximum(xp.sign(norm - least), 0 * norm)
    unit = x / length
    if logit_scale is None:
        require(max_logit_scale is None, "max_logit_scale", max_logit_scale, "None without logit_scale")
        return unit, L2QkNormResiduals(unit, length, long, None, None)
    bounded, free = _bounded(logit_scale[:, None, None], max_logit_scale)
    factor = xp.exp(bounded)  # (H, 1, 1)
    return factor * unit, L2QkNormResiduals(unit, length, long, factor, free)


@checked
def l2_qk_norm_backward(
    dy: Float[Array, "*B H T D"], residuals: L2QkNormResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, " H"] | None]:
    """Return (dx, dlogit_scale): dx is orthogonal to x, whose length does not count.

        dunit        = dy · factor
        dx           = (dunit - unit · sum of dunit unit) / |x|        where |x| > eps,  dunit / eps elsewhere
        dlogit_scale = sum of dy y                                     up to max_logit_scale,  0 above

    At the bound itself the gradient passes, as in PyTorch's clamp.
    """
    xp = array_namespace(dy)
    unit, length, long, factor, free = residuals
    dunit = dy if factor is None else dy * factor  # y = factor · unit
    dx = (dunit - long * unit * xp.sum(dunit * unit, axis=-1, keepdims=True)) / length  # unit = x / max(|x|, eps)
    if factor is None:
        return dx, None
    dlogit_scale = unbroadcast(dunit * unit * free, factor.shape)  # factor = exp(min(logit_scale, max_logit_scale))
    return dx, dlogit_scale[:, 0, 0]


def _bounded(logit_scale: Float[Array, "H 1 1"], bound: float | None) -> tuple[Array, Array]:
    """Return min(logit_scale, bound), and 1 where logit_scale is free, 0 where the bound holds."""
    xp = array_namespace(logit_scale)
    one = xp.ones_like(logit_scale)
    if bound is None:
        return logit_scale, one
    most = constant(bound, like=logit_scale)
    return xp.minimum(logit_scale, most), xp.minimum(1 + xp.sign(most - logit_scale), one)
