"""Learned frequencies over several axes at once: a pair turns with a direction in the plane."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Real

from ..angles import CosSin
from ..errors import require
from ..namespace import Array, array_namespace
from ..signatures import checked
from .angles import turn, turn_backward


class MixedAnglesResiduals(NamedTuple):
    """What the gradient needs."""

    positions: Real[Array, "A *P"]
    frequencies: Float[Array, "A *HF"]
    cos: Float[Array, "*X F"]
    sin: Float[Array, "*X F"]


@checked
def mixed_angles_forward(
    positions: Real[Array, "A *P"], frequencies: Float[Array, "A *HF"]
) -> tuple[CosSin, MixedAnglesResiduals]:
    """Return the cosine and sine of angles that all axes share.

        angle[p, f] = sum over axes a of positions[a, p] · frequencies[a, f],        cos angle, sin angle

    Axial frequencies see one axis each, and no pair tells a diagonal from its mirror image; a mixed one is a plane wave
    in any direction. The frequencies are learned, a set of them for each head.

    positions: (A, *P), integers or reals; x and y of a patch for A = 2. frequencies: (A, F) or (A, H, F): heads stand
    before the last axis of positions, as in `rope_angles`: (2, T) gives (H, T, F).
    Source: Heo et al. 2024 (RoPE-ViT), section 3 (RoPE-Mixed).
    Raises ValueError for frequencies of other shapes, or of another number of axes.
    """
    xp = array_namespace(positions, frequencies)
    A = positions.shape[0]
    fits = frequencies.ndim in (2, 3) and 0 not in frequencies.shape
    require(fits, "frequencies", f"shape {tuple(frequencies.shape)}", f"({A}, F) or ({A}, H, F) for {A} axes")
    angle = turn(positions[0, ...], frequencies[0, ...])
    for a in range(1, A):
        angle = angle + turn(positions[a, ...], frequencies[a, ...])
    cos, sin = xp.cos(angle), xp.sin(angle)
    return CosSin(cos, sin), MixedAnglesResiduals(positions, frequencies, cos, sin)


@checked
def mixed_angles_backward(
    dy: CosSin, residuals: MixedAnglesResiduals
) -> tuple[Float[Array, "A *P"] | None, Float[Array, "A *HF"]]:
    """Return (dpositions, dfrequencies); dpositions only for real positions.

    dangle          = dsin cos(angle) - dcos sin(angle)
    dpositions[a]   = sum over pairs of dangle frequencies[a]
    dfrequencies[a] = sum over positions of dangle positions[a]
    """
    xp = array_namespace(*dy)
    positions, frequencies, cos, sin = residuals
    dcos, dsin = (xp.zeros_like(cos) if d is None else d for d in dy)
    dangle = dsin * cos - dcos * sin  # cos(angle), sin(angle)
    axes = range(positions.shape[0])
    gradients = [turn_backward(dangle, positions[a, ...], frequencies[a, ...]) for a in axes]  # angle = sum of p f
    dfrequencies = xp.stack([df for _, df in gradients])
    if not xp.isdtype(positions.dtype, "real floating"):
        return None, dfrequencies
    return xp.stack([dp for dp, _ in gradients]), dfrequencies
