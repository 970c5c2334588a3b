"""CAPE: sinusoidal positions that are shifted and stretched while training."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Real

from ..namespace import Array, array_namespace, real_dtype
from ..signatures import checked
from .sinusoidal import SinusoidalResiduals, sinusoidal_backward, sinusoidal_forward


class CapeResiduals(NamedTuple):
    """What the gradient needs; `given` says which inputs have one: those that are there, and real."""

    sinusoidal: SinusoidalResiduals
    augmented: Float[Array, "*B T"]
    stretch: Float[Array, "..."]
    given: tuple[bool, ...]


@checked
def cape_forward(
    positions: Real[Array, "*B T"],
    global_shift: Float[Array, "*B"] | None = None,
    local_shift: Float[Array, "*B T"] | None = None,
    log_scale: Float[Array, "*B"] | None = None,
    *,
    C: int,
    base: float = 10000.0,
    dtype: Any = None,
) -> tuple[Float[Array, "*B T C"], CapeResiduals]:
    """Encode positions that were moved together, moved each on its own, and stretched.

        p'[b, t] = (positions[b, t] + global_shift[b] + local_shift[b, t]) exp(log_scale[b])
        y        = sinusoidal(p')

    A model that never meets an absolute position twice has only differences to learn from; the local shifts keep it
    from trusting those to the last digit, the stretch shows it other densities. At inference nothing is moved.

    The moves are inputs, not draws: a seed means nothing in another framework. In training global_shift is uniform in
    ±max_global_shift, one a sequence; local_shift in ±max_local_shift, one a token; log_scale in ±ln(max_scale).
    Source: Likhomanenko et al. 2021 (CAPE), section 3. The authors' code halves the range of the local shifts, and can
    centre the positions first (minus their mean over real tokens).
    Raises ValueError as `sinusoidal`.
    """
    xp = array_namespace(positions, global_shift, local_shift, log_scale)
    inputs = (positions, global_shift, local_shift, log_scale)
    given = tuple(x is not None and xp.isdtype(x.dtype, "real floating") for x in inputs)
    p = xp.astype(positions, real_dtype(dtype, *(x for x in inputs if x is not None)))
    if global_shift is not None:
        p = p + global_shift[..., None]
    if local_shift is not None:
        p = p + local_shift
    stretch = xp.exp(log_scale)[..., None] if log_scale is not None else xp.ones_like(p[..., :1])  # (*B, 1)
    y, residuals = sinusoidal_forward(p * stretch, C, base=base)
    return y, CapeResiduals(residuals, p * stretch, stretch, given)


@checked
def cape_backward(dy: Float[Array, "*B T C"], residuals: CapeResiduals) -> tuple[Array | None, ...]:
    """Return (dpositions, dglobal_shift, dlocal_shift, dlog_scale).

    dpositions[b, t] = dlocal_shift[b, t] = dp'[b, t] exp(log_scale[b])        dp': of the sinusoid
    dglobal_shift[b] = sum over t of dlocal_shift[b, t]
    dlog_scale[b]    = sum over t of dp'[b, t] p'[b, t]
    """
    xp = array_namespace(dy)
    sinusoidal, augmented, stretch, given = residuals
    daugmented = sinusoidal_backward(dy, sinusoidal)  # y = sinusoidal(p')
    dp = daugmented * stretch  # p' = p exp(log_scale)
    gradients = (dp, xp.sum(dp, axis=-1), dp, xp.sum(daugmented * augmented, axis=-1))
    return tuple(gradient if real else None for gradient, real in zip(gradients, given, strict=True))
