"""From integer positions to turned queries and keys: RoPE as models call it."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..angles import CosSin
from ..errors import require, require_broadcastable, require_number, require_shape
from ..namespace import Array
from ..signatures import checked
from .angles import RopeAnglesResiduals, require_frequencies, rope_angles_backward, rope_angles_forward
from .rope import RopeResiduals, require_pairs, rope_backward, rope_cos_sin, rope_forward


class RotaryEmbeddingResiduals(NamedTuple):
    """What the gradient needs: the rotation, and where frequencies were given what made its tables."""

    rope: RopeResiduals
    angles: RopeAnglesResiduals | None


@checked
def rotary_embedding_forward(
    x: Float[Array, "*B T D"],
    frequencies: Float[Array, "..."] | None = None,
    attention_factor: Float[Array, ""] | None = None,
    *,
    positions: Int[Array, "..."],
    base: float = 10000.0,
    interleaved: bool = True,
) -> tuple[Float[Array, "*B T D"], RotaryEmbeddingResiduals]:
    """Turn q or k by its positions.

        y = rope(x, cos(p θ), sin(p θ)),        θ_i = base^(-2i/D), or the given frequencies

    Positions stay integers until the angle is formed; 16 bits would already confuse 256 with 257. With a cache, the
    positions of the new tokens start at the length of the past.

    positions: (T,), or broadcastable to (*B, T): for x (B, H, T, D) one row a sequence is (B, 1, T).
    frequencies: those of any rule (`yarn_frequencies`, ...), or learned, (D/2,) or (H, D/2), instead of base.
    attention_factor: what comes with them in YaRN and LongRoPE; it multiplies cos and sin.
    Source: Su et al. 2021 (RoFormer), equations 15 and 34.
    Raises ValueError for an attention_factor without frequencies, and as `rope_cos_sin` and `rope_forward` do.
    """
    D = x.shape[-1]
    require_pairs("x", D)
    require_number("base", base, above=0)
    require_broadcastable("positions", positions, x.shape[:-1])
    if frequencies is None:
        require(attention_factor is None, "attention_factor", "a factor", "none without frequencies")
        cos, sin = rope_cos_sin(positions, D, base=base, dtype=x.dtype)
        angles = None
    else:
        require_frequencies(frequencies)
        require_shape(
            "frequencies", frequencies, (x.shape[-3] if frequencies.ndim == 2 else 1, D // 2)[-frequencies.ndim :]
        )
        (cos, sin), angles = rope_angles_forward(positions, frequencies, attention_factor)
    y, rope = rope_forward(x, cos, sin, interleaved=interleaved)
    return y, RotaryEmbeddingResiduals(rope, angles)


@checked
def rotary_embedding_backward(
    dy: Float[Array, "*B T D"], residuals: RotaryEmbeddingResiduals
) -> tuple[Float[Array, "*B T D"], Float[Array, "..."] | None, Float[Array, ""] | None]:
    """Return (dx, dfrequencies, dattention_factor): turn the gradient back by the same positions.

    dx = rope(dy, cos(p θ), -sin(p θ)),        and the gradients of the table, passed on to what made it
    """
    dx, dcos, dsin = rope_backward(dy, residuals.rope)  # y = rope(x, cos, sin)
    if residuals.angles is None:
        return dx, None, None
    _, dfrequencies, dattention_factor = rope_angles_backward(CosSin(dcos, dsin), residuals.angles)
    return dx, dfrequencies, dattention_factor
