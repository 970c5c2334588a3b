"""Sinusoidal positions: a clock with C/2 hands, the first the fastest."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Shaped

from ..angles import cos_sin
from ..errors import require
from ..namespace import Array, array_namespace, device, rational_powers, real_dtype


class SinusoidalResiduals(NamedTuple):
    """What the gradient needs; `real` is False for integer positions, which have none."""

    cos: Shaped[Array, "*P F"]
    sin: Shaped[Array, "*P F"]
    frequencies: Shaped[Array, " F"]
    real: bool


def sinusoidal_forward(
    positions: Shaped[Array, "*P"], C: int, *, base: float = 10000.0, dtype: Any = None
) -> tuple[Shaped[Array, "*P C"], SinusoidalResiduals]:
    """Return the fixed encoding of every position.

        y[p, 2k]   = sin(p w_k)
        y[p, 2k+1] = cos(p w_k)          w_k = base^(-2k/C),  k = 0 .. ceil(C/2)-1

    Low channels are the fast ones: w_0 = 1 turns once in 2π positions, the last in almost 2π·base. Since each
    (sin, cos) pair turns by n w_k under a shift of n, PE(p+n) is a fixed linear map of PE(p), whatever p is.

    positions: integers or reals (fractional ones are legal), any shape, any sign. An odd C ends on a sine.
    dtype: of the result; default the positions' own, or the library's default where they are integers.
    Source: Vaswani et al. 2017, section 3.5. tensor2tensor, fairseq and Marian divide by C/2 - 1 instead of C/2 and put
    all sines first; fairseq starts at position 2.
    Raises ValueError for C < 1 or base <= 0.
    """
    xp = array_namespace(positions)
    require(C >= 1, "C", C, "an integer >= 1")
    require(base > 0, "base", base, "a number > 0")
    dtype = real_dtype(dtype, positions)
    numerators = [-2 * k for k in range((C + 1) // 2)]
    head, tail = rational_powers(base, numerators, C, xp=xp, dtype=dtype, device=device(positions))
    cos, sin = cos_sin(positions, head, tail)  # (*P, F)
    y = xp.reshape(xp.stack([sin, cos], axis=-1), (*positions.shape, -1))[..., :C]
    return y, SinusoidalResiduals(cos, sin, head + tail, xp.isdtype(positions.dtype, "real floating"))


def sinusoidal_backward(dy: Shaped[Array, "*P C"], residuals: SinusoidalResiduals) -> Shaped[Array, "*P"] | None:
    """Return the gradient of real positions, None for integer ones; the encoding itself has no parameter.

    dp = sum over k of w_k (dy[p, 2k] cos(p w_k) - dy[p, 2k+1] sin(p w_k))
    """
    xp = array_namespace(dy)
    cos, sin, w, real = residuals
    if not real:
        return None
    pairs = dy.shape[-1] // 2
    dp = xp.sum(dy[..., 0::2] * cos * w, axis=-1)  # y[p, 2k] = sin(p w_k)
    return dp - xp.sum(dy[..., 1::2] * (sin * w)[..., :pairs], axis=-1)  # y[p, 2k+1] = cos(p w_k)
