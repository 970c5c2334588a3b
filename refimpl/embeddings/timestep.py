"""Timestep embedding: the sinusoid of diffusion models, read at a moment instead of a place."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Real

from ..namespace import Array, array_namespace, constant, real_dtype
from ..signatures import checked
from .sinusoidal import SinusoidalResiduals, sinusoidal_backward, sinusoidal_forward


class TimestepEmbeddingResiduals(NamedTuple):
    """The residuals of the sinusoid, the factor before it, and whether the timesteps were reals."""

    sinusoidal: SinusoidalResiduals
    scale: float
    real: bool


@checked
def timestep_embedding_forward(
    timesteps: Real[Array, "*P"],
    C: int,
    *,
    base: float = 10000.0,
    scale: float = 1.0,
    layout: str = "sin_cos",
    frequency_shift: int = 1,
    dtype: Any = None,
) -> tuple[Float[Array, "*P C"], TimestepEmbeddingResiduals]:
    """Encode the noise level, a real number, as a sinusoidal position.

        y = [sin(scale t w_k), cos(scale t w_k)]          w_k = base^(-k / (C/2 - frequency_shift))

    One moment belongs to a whole picture, so there is no axis of places. A sampler asks for moments between the
    trained ones: t may be fractional, and cut down to an integer it would be another schedule.

    timesteps: integers or reals, any shape. scale: for t in 0 .. 1, say 1000. An odd C ends on a column of zeros.
    layout: "cos_sin" is flip_sin_to_cos of diffusers, and frequency_shift its downscale_freq_shift.
    Source: Ho et al. 2020 (DDPM), appendix B, and its code: frequency_shift 1, sines first. Dhariwal and Nichol 2021
    and Stable Diffusion: frequency_shift 0, "cos_sin".
    Raises ValueError as `sinusoidal`.
    """
    xp = array_namespace(timesteps)
    t = xp.astype(timesteps, real_dtype(dtype, timesteps))
    y, residuals = sinusoidal_forward(
        t * constant(scale, like=t), C, base=base, layout=layout, frequency_shift=frequency_shift, pad_odd=True
    )
    return y, TimestepEmbeddingResiduals(residuals, scale, xp.isdtype(timesteps.dtype, "real floating"))


@checked
def timestep_embedding_backward(
    dy: Float[Array, "*P C"], residuals: TimestepEmbeddingResiduals
) -> Real[Array, "*P"] | None:
    """Return the gradient of real timesteps, None for integer ones.

    dtimesteps = scale · (gradient of the position at which the sinusoid is read)
    """
    sinusoidal, scale, real = residuals
    dt = sinusoidal_backward(dy, sinusoidal)  # y = PE(scale t)
    return constant(scale, like=dy) * dt if real else None
