"""Axial RoPE: each axis of an image turns its own share of the pairs."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Real

from ..angles import CosSin, cos_sin
from ..errors import require, require_broadcastable, require_number, require_one_of
from ..namespace import Array, array_namespace, device, rational_powers, real_dtype
from ..signatures import checked
from .rope import RopeResiduals, rope_backward, rope_forward

LAYOUTS = ("interleaved", "halves", "halves_per_axis", "even_odd")


class AxialRopeResiduals(NamedTuple):
    """What the gradient needs: the rotation, and the number of parts that were turned side by side."""

    rope: RopeResiduals
    parts: int


@checked
def axial_rope_forward(
    x: Float[Array, "*B T D"], *, positions: Real[Array, "A *P"], layout: str = "interleaved", base: float = 10000.0
) -> tuple[Float[Array, "*B T D"], AxialRopeResiduals]:
    """Turn the channels of a patch by its coordinates, an equal share of the pairs for each axis.

        y = rope(x, cos, sin),        cos, sin = [axis 0 | axis 1 | ...] of `axial_cos_sin`, D/2 wide

    A score depends on the differences of coordinates, each on its own: it sees Δx and Δy, through separate pairs.

    layout: which channels are a pair, and so where the axes lie:
        interleaved       (2i, 2i+1)            x x | y y          RoPE-ViT (base 100), Llama 4's vision tower
        halves            (i, i + D/2)          h w | h w          Qwen2-VL, DINOv3
        halves_per_axis   halves of each part   h h | w w          Gemma 4's vision tower
        even_odd          (i, i + D/2)          h w | h w          Pixtral: one list of frequencies dealt out in turn
    positions: (A, *P) integers or reals, *P is (T,) or broadcastable to (*B, T); order of the axes is the caller's.
    Source: Heo et al. 2024 (RoPE-ViT), section 3; the layouts: code of the models named.
    Raises ValueError for a D that 2A does not divide, an unknown layout, base <= 0, or positions that do not fit.
    """
    xp = array_namespace(x, positions)
    require_one_of("layout", layout, LAYOUTS)
    A, D = positions.shape[0], x.shape[-1]
    require_axes("x", D, A)
    require_broadcastable("positions", positions[0, ...], x.shape[:-1])
    table = axial_cos_sin(positions, D, split_frequencies=layout == "even_odd", base=base, dtype=x.dtype)
    if layout != "halves_per_axis":
        y, rope = rope_forward(x, *table, interleaved=layout == "interleaved")
        return y, AxialRopeResiduals(rope, 1)
    parts = xp.reshape(x, (*x.shape[:-1], A, D // A))  # (*B, T, A, D/A)
    cos, sin = (xp.reshape(t, (*t.shape[:-1], A, D // A // 2)) for t in table)
    y, rope = rope_forward(parts, cos, sin, interleaved=False)
    return xp.reshape(y, x.shape), AxialRopeResiduals(rope, A)


@checked
def axial_rope_backward(dy: Float[Array, "*B T D"], residuals: AxialRopeResiduals) -> Float[Array, "*B T D"]:
    """Return dx: turn the gradient back by the same coordinates.

    dx = rope(dy, cos, -sin)
    """
    xp = array_namespace(dy)
    rope, A = residuals
    if A == 1:
        return rope_backward(dy, rope)[0]  # y = rope(x, cos, sin)
    parts = xp.reshape(dy, (*dy.shape[:-1], A, dy.shape[-1] // A))  # y = the parts, side by side
    return xp.reshape(rope_backward(parts, rope)[0], dy.shape)


@checked
def axial_cos_sin(
    positions: Real[Array, "A *P"],
    D: int,
    *,
    split_frequencies: bool = False,
    base: float = 10000.0,
    dtype: Any = None,
) -> CosSin:
    """Return the cosine and sine of every coordinate, axis after axis, (*P, D/2) each.

        angle = positions[a] base^(-2Aj/D),  a = 0 .. A-1,  j = 0 .. D/2A - 1
        angle = positions[a] base^(-2(Aj+a)/D)                                    with split_frequencies

    Each axis is RoPE of width D/A, with the same frequencies for all. Split, the D/2 frequencies of the whole width are
    dealt out in turn, so that later axes are slower.

    positions: (A, *P), integers or reals, A = 2 for an image.
    Source: Heo et al. 2024 (RoPE-ViT), section 3. Split: Pixtral, whose height takes the even entries.
    Raises ValueError for a D that 2A does not divide, or base <= 0.
    """
    xp = array_namespace(positions)
    A = positions.shape[0]
    require_axes("D", D, A)
    require_number("base", base, above=0)
    dtype, tables = real_dtype(dtype, positions), []
    for a in range(A):
        numerators = [-2 * (A * j + a * split_frequencies) for j in range(D // (2 * A))]
        head, tail = rational_powers(base, numerators, D, xp=xp, dtype=dtype, device=device(positions))
        tables.append(cos_sin(positions[a, ...], head, tail))  # (*P, D/2A)
    return CosSin(*(xp.concat(axes, axis=-1) for axes in zip(*tables, strict=True)))


def require_axes(argument: str, D: int, A: int) -> None:
    """Raise ValueError unless every axis gets its share of whole pairs."""
    require(D >= 2 * A and D % (2 * A) == 0, argument, f"width {D}", f"a multiple of {2 * A}: pairs for {A} axes")
