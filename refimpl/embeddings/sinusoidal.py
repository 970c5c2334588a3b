"""Sinusoidal positions: a clock with C/2 hands, the first the fastest."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float, Real

from ..angles import cos_sin
from ..namespace import Array, array_namespace
from ..signatures import checked
from .waves import join_waves, split_waves, wave_frequencies


class SinusoidalResiduals(NamedTuple):
    """What the gradient needs; `real` is False for integer positions, which have none."""

    cos: Float[Array, "*P F"]
    sin: Float[Array, "*P F"]
    frequencies: Float[Array, " F"]
    layout: str
    pad_odd: bool
    real: bool
    C: int


@checked
def sinusoidal_forward(
    positions: Real[Array, "*P"],
    C: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: Any = None,
) -> tuple[Float[Array, "*P C"], SinusoidalResiduals]:
    """Return the fixed encoding of every position.

        y[p, 2k]   = sin(p w_k)
        y[p, 2k+1] = cos(p w_k)          w_k = base^(-2k/C),  k = 0 .. ceil(C/2)-1

    Low channels are the fast ones: w_0 = 1 turns once in 2π positions, the last in almost 2π·base. Since each
    (sin, cos) pair turns by n w_k under a shift of n, PE(p+n) is a fixed linear map of PE(p), whatever p is
    (`relative_shift_matrix`).

    positions: integers or reals (fractional ones are legal), any shape, any sign.
    layout: "interleaved" as above, or all of one kind first: "sin_cos", "cos_sin".
    frequency_shift: 1 for w_k = base^(-k/(C/2 - 1)), whose slowest wave takes just 2π·base positions.
    pad_odd: an odd C lacks the last column of the second kind; True makes it C - 1 columns and one of zeros.
    dtype: of the result; default the positions' own, or the library's default where they are integers.
    Source: Vaswani et al. 2017, section 3.5. tensor2tensor, fairseq and Marian: "sin_cos" with frequency_shift 1 and
    pad_odd; fairseq counts from padding_idx + 1 (`positions_from_padding`).
    Raises ValueError for C < 1, base <= 0, or an option that is none of these.
    """
    xp = array_namespace(positions)
    head, tail = wave_frequencies(
        positions, C, base=base, frequency_shift=frequency_shift, pad_odd=pad_odd, dtype=dtype
    )  # (F,)
    cos, sin = cos_sin(positions, head, tail)  # (*P, F)
    y = join_waves(sin, cos, C, layout, pad_odd)
    real = xp.isdtype(positions.dtype, "real floating")
    return y, SinusoidalResiduals(cos, sin, head + tail, layout, pad_odd, real, C)


@checked
def sinusoidal_backward(dy: Float[Array, "*P C"], residuals: SinusoidalResiduals) -> Real[Array, "*P"] | None:
    """Return the gradient of real positions, None for integer ones; the encoding itself has no parameter.

    dp = sum over k of w_k (dsin_k cos(p w_k) - dcos_k sin(p w_k)),    dsin, dcos the sine and cosine columns of dy
    """
    xp = array_namespace(dy)
    cos, sin, w, layout, pad_odd, real, _ = residuals
    if not real:
        return None
    dsin, dcos = split_waves(dy, layout, pad_odd)  # y = join_waves(sin, cos)
    dp = xp.sum(dsin * (cos * w)[..., : dsin.shape[-1]], axis=-1)  # sin = sin(p w)
    return dp - xp.sum(dcos * (sin * w)[..., : dcos.shape[-1]], axis=-1)  # cos = cos(p w)
