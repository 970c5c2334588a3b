"""Partial RoPE: the first channels of a head carry position, the rest only content."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace
from .rope import RopeResiduals, rope_backward, rope_forward


class PartialRopeResiduals(NamedTuple):
    """What the gradient needs: the rotation of the first channels."""

    rope: RopeResiduals


def partial_rope_forward(
    x: Shaped[Array, "*B T D"], cos: Shaped[Array, "..."], sin: Shaped[Array, "..."], *, interleaved: bool = True
) -> tuple[Shaped[Array, "*B T D"], PartialRopeResiduals]:
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
    return xp.concat([turned, x[..., R:]], axis=-1), PartialRopeResiduals(rope)


def partial_rope_backward(
    dy: Shaped[Array, "*B T D"], residuals: PartialRopeResiduals
) -> tuple[Shaped[Array, "*B T D"], Shaped[Array, "..."], Shaped[Array, "..."]]:
    """Return (dx, dcos, dsin).

    dx = [rope(dy[:R], cos, -sin) | dy[R:]]
    """
    xp = array_namespace(dy)
    R = residuals.rope.x.shape[-1]
    dturned, dcos, dsin = rope_backward(dy[..., :R], residuals.rope)  # turned = rope(x[:R], cos, sin)
    return xp.concat([dturned, dy[..., R:]], axis=-1), dcos, dsin  # y = [turned | x[R:]]
