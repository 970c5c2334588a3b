"""Partial RoPE: the first channels of a head carry position, the rest only content."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float

from ..errors import require, require_shape
from ..namespace import Array, array_namespace
from ..signatures import checked
from .rope import RopeResiduals, rope_backward, rope_forward


class PartialRopeResiduals(NamedTuple):
    """What the gradient needs: the rotation of the first channels, and the width of all."""

    rope: RopeResiduals
    D: int


@checked
def partial_rope_forward(
    x: Float[Array, "*B T D"], cos: Float[Array, "..."], sin: Float[Array, "..."], *, interleaved: bool = True
) -> tuple[Float[Array, "*B T D"], PartialRopeResiduals]:
    """Turn the first R channels by given cosines and sines, and pass the rest on.

        y = [rope(x[:R], cos, sin) | x[R:]],        R = 2 · width of cos

    Passed channels match content at any distance. Frequencies that go with it have the exponent -2i/R, as
    `rope_cos_sin(positions, R)` gives, and half-split pairs are (i, i + R/2); to turn only some pairs of the whole head
    is another function (`proportional_frequencies`). An attention factor in cos and sin leaves passed channels alone.

    cos, sin: (T, R/2), or broadcastable to (*B, T, R/2).
    Source: Wang and Komatsuzaki 2021 (GPT-J, R = 64 of 256); GPT-NeoX, Phi, GLM; ONNX RotaryEmbedding.
    Raises ValueError for tables wider than D/2, or cos and sin that do not fit.
    """
    xp = array_namespace(x, cos, sin)
    R = 2 * cos.shape[-1]
    require(x.shape[-1] >= R, "cos", f"shape {tuple(cos.shape)}", f"at most {x.shape[-1] // 2} pairs, the width of x")
    turned, rope = rope_forward(x[..., :R], cos, sin, interleaved=interleaved)
    return xp.concat([turned, x[..., R:]], axis=-1), PartialRopeResiduals(rope, x.shape[-1])


@checked
def partial_rope_backward(
    dy: Float[Array, "*B T D"], residuals: PartialRopeResiduals
) -> tuple[Float[Array, "*B T D"], Float[Array, "..."], Float[Array, "..."]]:
    """Return (dx, dcos, dsin).

    dx = [rope(dy[:R], cos, -sin) | dy[R:]]
    """
    xp = array_namespace(dy)
    *rows, R = residuals.rope.x.shape
    require_shape("dy", dy, (*rows, residuals.D))
    dturned, dcos, dsin = rope_backward(dy[..., :R], residuals.rope)  # turned = rope(x[:R], cos, sin)
    return xp.concat([dturned, dy[..., R:]], axis=-1), dcos, dsin  # y = [turned | x[R:]]
