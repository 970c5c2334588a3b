"""Frequencies and angles, shared by the sinusoids that are added (door 1) and those that turn q and k (door 2)."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Real

from .namespace import Array, array_namespace


class CosSin(NamedTuple):
    """The cosine and the sine of the same angles."""

    cos: Float[Array, "*X F"]
    sin: Float[Array, "*X F"]


def cos_sin(positions: Real[Array, "*P"], head: Float[Array, " F"], tail: Float[Array, " F"]) -> CosSin:
    """Return the cosine and sine of every position times every frequency.

        cos(p (head + tail)) = cos(p head) cos(p tail) - sin(p head) sin(p tail)
        sin(p (head + tail)) = sin(p head) cos(p tail) + cos(p head) sin(p tail)

    Two rotations rather than one angle: p · head is exact for an integer p, so a float64 table at position 2^20 is as
    good as at position 1, while the single product p · (head + tail) would have lost 1e-10 (`rational_powers`).

    positions: any shape, integers or reals; head, tail: radians a position. Result: (*P, F) each.
    """
    return cos_sin_of(positions[..., None], head, tail)


def cos_sin_of(positions: Real[Array, "*P"], head: Float[Array, " F"], tail: Float[Array, " F"]) -> CosSin:
    """Return the same where each frequency has a position of its own: positions (..., F) or (..., 1)."""
    xp = array_namespace(positions, head)
    p = xp.astype(positions, head.dtype)
    cos_head, sin_head = xp.cos(p * head), xp.sin(p * head)  # (*P, F)
    cos_tail, sin_tail = xp.cos(p * tail), xp.sin(p * tail)
    return CosSin(cos_head * cos_tail - sin_head * sin_tail, sin_head * cos_tail + cos_head * sin_tail)
