"""Which key a query may see: integer facts, True keeps."""

from __future__ import annotations

from typing import Any

from jaxtyping import Bool

from ..namespace import Array


def causal_mask(T: int, S: int, *, q_offset: int, xp: Any, device: Any = None) -> Bool[Array, "T S"]:
    """Return True where key j is not after query i.

        keep[i, j] = j <= q_offset + i

    With T = S nobody notices the offset. With a cache, or in cross-attention, it decides everything: q_offset = 0 lines
    up the top left corners (torch's is_causal, JAX), S - T the bottom right ones (FlashAttention since 2.1).
    """
    i = xp.arange(T, device=device)[:, None]  # (T, 1)
    j = xp.arange(S, device=device)[None, :]  # (1, S)
    return j <= i + q_offset


def both(first: Bool[Array, "..."] | None, second: Bool[Array, "..."] | None) -> Bool[Array, "..."] | None:
    """Return the mask that keeps what both keep; None keeps all."""
    if first is None or second is None:
        return second if first is None else first
    return first & second
