"""From given frequencies to cosines and sines, with the gradient of learned frequencies."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Real

from ..angles import CosSin
from ..errors import require
from ..namespace import Array, array_namespace, unbroadcast
from ..signatures import checked


class RopeAnglesResiduals(NamedTuple):
    """What the gradient needs: cos and sin before the attention factor."""

    positions: Real[Array, "*P"]
    frequencies: Float[Array, "..."]
    attention_factor: Float[Array, ""] | None
    cos: Float[Array, "*X F"]
    sin: Float[Array, "*X F"]


@checked
def rope_angles_forward(
    positions: Real[Array, "*P"],
    frequencies: Float[Array, "..."],
    attention_factor: Float[Array, ""] | None = None,
) -> tuple[CosSin, RopeAnglesResiduals]:
    """Return m times the cosine and sine of every position and pair, for frequencies of any rule.

        cos = m cos(p f),  sin = m sin(p f)        m = attention_factor, 1 where absent

    The one table that all frequency rules share, and learned frequencies too. Both cos and sin carry m, for q and for
    k: scores of turned channels grow by m^2, channels that are passed on do not.

    positions: integers or reals. frequencies: (F,), cos and sin are (*P, F); or one row a head, (H, F): then head h
    stands before the time axis, (T,) gives (H, T, F), and (B, 1, T) gives (B, H, T, F).
    p f is one product: at position 2^20 a float64 angle is off by 1e-10 (`rope_cos_sin` is better for its own rule).
    Source: Su et al. 2021 (RoFormer), equation 15; attention factor: Peng et al. 2023 (YaRN), section 3.4.
    Raises ValueError for frequencies that are neither (F,) nor (H, F).
    """
    xp = array_namespace(positions, frequencies, attention_factor)
    require_frequencies(frequencies)
    angle = turn(positions, frequencies)
    cos, sin = xp.cos(angle), xp.sin(angle)
    residuals = RopeAnglesResiduals(positions, frequencies, attention_factor, cos, sin)
    if attention_factor is None:
        return CosSin(cos, sin), residuals
    return CosSin(attention_factor * cos, attention_factor * sin), residuals


@checked
def rope_angles_backward(
    dy: CosSin, residuals: RopeAnglesResiduals
) -> tuple[Real[Array, "*P"] | None, Float[Array, "..."], Float[Array, ""] | None]:
    """Return (dpositions, dfrequencies, dattention_factor); dpositions only for real positions.

    dangle       = m (dsin cos(p f) - dcos sin(p f))
    dpositions   = sum over pairs of dangle f         dfrequencies = sum over positions of dangle p
    dm           = sum of dcos cos(p f) + dsin sin(p f)
    """
    xp = array_namespace(*dy)
    positions, frequencies, m, cos, sin = residuals
    dcos, dsin = (xp.zeros_like(cos) if d is None else d for d in dy)
    dangle = dsin * cos - dcos * sin  # cos(angle), sin(angle)
    dm = None if m is None else xp.sum(dcos * cos + dsin * sin)  # m cos, m sin
    dangle = dangle if m is None else dangle * m
    return *turn_backward(dangle, positions, frequencies), dm


def turn(positions: Real[Array, "*P"], frequencies: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return every position times every frequency, with heads before the time axis."""
    xp = array_namespace(positions, frequencies)
    fits = frequencies.ndim == 1 or positions.shape[-2:-1] in ((), (1,), frequencies.shape[:1])
    require(fits, "positions", f"shape {tuple(positions.shape)}", "(..., 1, T), since heads stand before the time axis")
    return xp.astype(positions, frequencies.dtype)[..., None] * _beside_time(frequencies)


def turn_backward(
    dangle: Float[Array, "..."], positions: Real[Array, "*P"], frequencies: Float[Array, "..."]
) -> tuple[Real[Array, "*P"] | None, Float[Array, "..."]]:
    """Return (dpositions, dfrequencies); integer positions have none."""
    xp = array_namespace(dangle)
    f = _beside_time(frequencies)
    p = xp.astype(positions, frequencies.dtype)[..., None]
    dfrequencies = xp.reshape(unbroadcast(dangle * p, f.shape), frequencies.shape)  # angle = p f
    if not xp.isdtype(positions.dtype, "real floating"):
        return None, dfrequencies
    return unbroadcast(dangle * f, p.shape)[..., 0], dfrequencies


def require_frequencies(frequencies: Array) -> None:
    """Raise ValueError unless frequencies are one row, or one row a head."""
    fits = frequencies.ndim in (1, 2) and 0 not in frequencies.shape
    require(fits, "frequencies", f"shape {tuple(frequencies.shape)}", "(F,) or (H, F)")


def _beside_time(frequencies: Float[Array, "..."]) -> Float[Array, "..."]:
    return frequencies[:, None, :] if frequencies.ndim == 2 else frequencies
