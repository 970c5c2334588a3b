"""From integer positions to turned queries and keys: RoPE as models call it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Int, Shaped

from ..namespace import Array
from .rope import RopeResiduals, rope_backward, rope_cos_sin, rope_forward


class RotaryEmbeddingResiduals(NamedTuple):
    """What the gradient needs: the tables, built once from the positions."""

    cos: Shaped[Array, "..."]
    sin: Shaped[Array, "..."]
    rope: RopeResiduals


def rotary_embedding_forward(
    x: Shaped[Array, "*B T D"], *, positions: Int[Array, "..."], base: float = 10000.0, interleaved: bool = True
) -> tuple[Shaped[Array, "*B T D"], RotaryEmbeddingResiduals]:
    """Turn q or k by its positions.

        y = rope(x, cos(p θ), sin(p θ)),        θ_i = base^(-2i/D)

    Positions stay integers until the angle is formed; 16 bits would already confuse 256 with 257. With a cache, the
    positions of the new tokens start at the length of the past.

    positions: (T,), or broadcastable to (*B, T): for x (B, H, T, D) one row a sequence is (B, 1, T).
    Source: Su et al. 2021 (RoFormer), equations 15 and 34.
    Raises ValueError as `rope_cos_sin` and `rope_forward` do.
    """
    cos, sin = rope_cos_sin(positions, x.shape[-1], base=base, dtype=x.dtype)
    y, rope = rope_forward(x, cos, sin, interleaved=interleaved)
    return y, RotaryEmbeddingResiduals(cos, sin, rope)


def rotary_embedding_backward(
    dy: Shaped[Array, "*B T D"], residuals: RotaryEmbeddingResiduals
) -> Shaped[Array, "*B T D"]:
    """Return dx: turn the gradient back by the same positions.

    dx = rope(dy, cos(p θ), -sin(p θ))
    """
    dx, _, _ = rope_backward(dy, residuals.rope)  # y = rope(x, cos, sin)
    return dx
