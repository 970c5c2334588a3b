"""The linear map that moves a sinusoidal encoding along: the reason why a model can learn relative positions."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Real

from ..angles import cos_sin
from ..errors import require
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .waves import join_waves, wave_columns, wave_frequencies


@checked
def relative_shift_matrix(
    shift: Real[Array, "*K"],
    C: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: Any = None,
) -> Float[Array, "*K C C"]:
    """Return M with PE(p + shift) = M PE(p) for every p, PE the sinusoidal encoding of the same options.

        [ sin(w (p + n)) ]   [  cos(w n)   sin(w n) ] [ sin(w p) ]
        [ cos(w (p + n)) ] = [ -sin(w n)   cos(w n) ] [ cos(w p) ]          for each frequency w,  n = shift

    M is orthogonal and M_a M_b = M_(a+b), so PE(p)·PE(q) depends on p - q alone; as M_-a is the transpose, that product
    is the same for both directions. Turning q and k by such matrices, instead of adding PE, is rotary embedding.

    shift: integers or reals, any shape. A column of zeros (pad_odd) stays as it is.
    Source: Vaswani et al. 2017, section 3.5 ("can be represented as a linear function"), not written out there.
    Raises ValueError for an odd C without pad_odd (a lone sine does not say what comes next), else as `sinusoidal`.
    """
    xp = array_namespace(shift)
    require(C % 2 == 0 or pad_odd, "C", C, "an even width, or an odd one with pad_odd=True")
    w = wave_frequencies(shift, C, base=base, frequency_shift=frequency_shift, pad_odd=pad_odd, dtype=dtype)
    cos, sin = cos_sin(shift, *w)  # (*K, F)
    same = join_waves(cos, cos, C, layout, pad_odd)[..., None]  # (*K, C, 1), row r times column r
    other = join_waves(sin, -sin, C, layout, pad_odd)[..., None]  # row r times the other column of its wave
    rows = xp.arange(C, device=device(shift))[:, None]
    partner = xp.asarray(_partners(C, layout, pad_odd), device=device(shift))[:, None]
    matrix = xp.where(rows == rows.mT, same, xp.where(partner == rows.mT, other, 0.0))
    alone = (rows == rows.mT) & (partner == rows)
    return xp.where(alone, 1.0, matrix)


def _partners(C: int, layout: str, pad_odd: bool) -> list[int]:
    """Return for each column the one that holds the other wave of its frequency; its own where it has none."""
    sines, cosines = wave_columns(C, layout, pad_odd)
    other = {**dict(zip(sines, cosines, strict=True)), **dict(zip(cosines, sines, strict=True))}
    return [other.get(column, column) for column in range(C)]
