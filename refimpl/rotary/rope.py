"""Rotary position embedding: each pair of channels turns by an angle proportional to the position."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Int

from ..angles import CosSin, cos_sin
from ..errors import require, require_broadcastable, require_integer, require_number
from ..namespace import Array, array_namespace, device, rational_powers, real_dtype, unbroadcast
from ..signatures import checked


class RopeResiduals(NamedTuple):
    """What the gradient needs: x only for the gradients of cos and sin."""

    x: Float[Array, "*B T D"]
    cos: Float[Array, "..."]
    sin: Float[Array, "..."]
    interleaved: bool
    interleaved_output: bool


@checked
def rope_forward(
    x: Float[Array, "*B T D"],
    cos: Float[Array, "..."],
    sin: Float[Array, "..."],
    *,
    interleaved: bool = True,
    interleaved_output: bool | None = None,
) -> tuple[Float[Array, "*B T D"], RopeResiduals]:
    """Turn every pair of channels (x1, x2) by its angle.

        y1 = x1 cos - x2 sin
        y2 = x2 cos + x1 sin

    Turning q by p_q θ and k by p_k θ leaves a score that depends on p_q - p_k alone, and lengths as they are: position
    enters the product of q and k, not the vectors that are added up. v is never turned.

    interleaved: pairs (2i, 2i+1), as in the paper, GPT-J, Meta's Llama; False: half-split pairs (i, i + D/2), as in
    GPT-NeoX and most of transformers. The two differ by a fixed permutation of channels.
    interleaved_output: the layout of y, by default that of x. transformers' DeepSeek-V3 reads interleaved pairs and
    writes halves: its scores are DeepSeek's own, its queries and cached keys a permutation of them.
    cos, sin: D/2 wide, (T, D/2) or broadcastable to (*B, T, D/2); not checked to be of one angle.
    Source: Su et al. 2021 (RoFormer), equation 34.
    Raises ValueError for an odd D, or cos and sin that do not fit.
    """
    require_pairs("x", x.shape[-1])
    for name, table in (("cos", cos), ("sin", sin)):
        require_broadcastable(name, table, (*x.shape[:-1], x.shape[-1] // 2))
    x1, x2 = split_pairs(x, interleaved)  # (*B, T, D/2)
    y1 = x1 * cos - x2 * sin
    y2 = x2 * cos + x1 * sin
    output = interleaved if interleaved_output is None else interleaved_output
    return join_pairs(y1, y2, output), RopeResiduals(x, cos, sin, interleaved, output)


@checked
def rope_backward(
    dy: Float[Array, "*B T D"], residuals: RopeResiduals
) -> tuple[Float[Array, "*B T D"], Float[Array, "..."], Float[Array, "..."]]:
    """Return (dx, dcos, dsin): the gradient turns back by the same angle.

    dx1 = dy1 cos + dy2 sin        dcos = sum of dy1 x1 + dy2 x2
    dx2 = dy2 cos - dy1 sin        dsin = sum of dy2 x1 - dy1 x2
    """
    x, cos, sin, interleaved, interleaved_output = residuals
    x1, x2 = split_pairs(x, interleaved)
    dy1, dy2 = split_pairs(dy, interleaved_output)
    dx1 = dy1 * cos + dy2 * sin  # y1 = x1 cos - x2 sin
    dx2 = dy2 * cos - dy1 * sin  # y2 = x2 cos + x1 sin
    dcos = unbroadcast(dy1 * x1 + dy2 * x2, cos.shape)
    dsin = unbroadcast(dy2 * x1 - dy1 * x2, sin.shape)
    return join_pairs(dx1, dx2, interleaved), dcos, dsin


@checked
def rope_cos_sin(positions: Int[Array, "*P"], D: int, *, base: float = 10000.0, dtype: Any = None) -> CosSin:
    """Return the cosine and sine of every position and pair, (*P, D/2) each.

        cos(p θ_i), sin(p θ_i),        θ_i = base^(-2i/D),  i = 0 .. D/2-1

    The first pair is the fastest, one radian a position. The pair (cos, sin) is handed on instead of the angle, since
    a float64 angle at position 2^20 is off by 1e-10, while these are within 2 ulp (see `angles.cos_sin`).

    positions: integers of any sign. D: rotary width, even. dtype: of the result (default: the library's).
    Source: Su et al. 2021 (RoFormer), equation 15.
    Raises ValueError for an odd D, base <= 0, or positions that are not integers.
    """
    xp = array_namespace(positions)
    require_pairs("D", D)
    require_number("base", base, above=0)
    numerators = [-2 * i for i in range(D // 2)]
    dtype = real_dtype(dtype, positions)
    head, tail = rational_powers(base, numerators, D, xp=xp, dtype=dtype, device=device(positions))
    return cos_sin(positions, head, tail)


def split_pairs(x: Float[Array, "*X D"], interleaved: bool) -> tuple[Array, Array]:
    """Return the first and the second channel of every pair, (*X, D/2) each."""
    half = x.shape[-1] // 2
    return (x[..., 0::2], x[..., 1::2]) if interleaved else (x[..., :half], x[..., half:])


def join_pairs(first: Float[Array, "*X F"], second: Float[Array, "*X F"], interleaved: bool) -> Array:
    """Undo `split_pairs`."""
    xp = array_namespace(first)
    if interleaved:
        return xp.reshape(xp.stack([first, second], axis=-1), (*first.shape[:-1], 2 * first.shape[-1]))
    return xp.concat([first, second], axis=-1)


def require_pairs(argument: str, width: int) -> None:
    """Raise ValueError unless the rotary width is even and positive."""
    require_integer(argument, width)
    require(width >= 2 and width % 2 == 0, argument, f"rotary width {width}", "an even width >= 2")
