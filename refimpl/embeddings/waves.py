"""Sines and cosines as columns: which frequencies there are, and which column holds which wave."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from ..errors import require, require_integer, require_number, require_one_of
from ..namespace import Array, array_namespace, device, rational_powers, real_dtype

LAYOUTS = ("interleaved", "sin_cos", "cos_sin")


def wave_frequencies(
    positions: Array, C: int, *, base: float, frequency_shift: int, pad_odd: bool, dtype: Any
) -> tuple[Float[Array, " F"], Float[Array, " F"]]:
    """Return the frequencies that C columns hold, as (head, tail), in the dtype and device that go with the positions.

        w_k = base^(-2k / (C - 2 frequency_shift)),  k = 0 .. ceil(C/2)-1        (C - 1 for an odd C with pad_odd)

    The last frequency stays short of 1/base with frequency_shift 0, and is 1/base with 1. A lone wave has frequency 1.
    """
    require_integer("C", C)
    require(filled_width(C, pad_odd) >= 1, "C", C, f"an integer >= {2 if pad_odd else 1}")
    require_number("base", base, above=0)
    require_one_of("frequency_shift", frequency_shift, (0, 1))
    width = filled_width(C, pad_odd)
    numerators = [-2 * k for k in range((width + 1) // 2)]
    denominator = max(width - 2 * frequency_shift, 1)
    xp, dtype = array_namespace(positions), real_dtype(dtype, positions)
    return rational_powers(base, numerators, denominator, xp=xp, dtype=dtype, device=device(positions))


def wave_columns(C: int, layout: str, pad_odd: bool) -> tuple[range, range]:
    """Return the columns of the sines and those of the cosines, each in the order of the waves.

        interleaved   sin_0 cos_0 sin_1 cos_1 ...
        sin_cos       sin_0 sin_1 ...  cos_0 cos_1 ...
        cos_sin       cos_0 cos_1 ...  sin_0 sin_1 ...

    An odd width lacks the last column of the second kind.
    """
    require_one_of("layout", layout, LAYOUTS)
    width = filled_width(C, pad_odd)
    half = (width + 1) // 2
    if layout == "interleaved":
        return range(0, width, 2), range(1, width, 2)
    first, second = range(half), range(half, width)
    return (first, second) if layout == "sin_cos" else (second, first)


def filled_width(C: int, pad_odd: bool) -> int:
    """Return how many of C columns hold waves: all, or with pad_odd an even number of them."""
    return C - C % 2 if pad_odd else C


def join_waves(
    sin: Float[Array, "*P F"], cos: Float[Array, "*P F"], C: int, layout: str, pad_odd: bool
) -> Float[Array, "*P C"]:
    """Put every wave into its column; a column without a wave is 0."""
    xp = array_namespace(sin)
    sines, cosines = wave_columns(C, layout, pad_odd)
    columns = [*sines, *cosines]
    waves = xp.concat([sin[..., : len(sines)], cos[..., : len(cosines)]], axis=-1)
    order = xp.asarray(sorted(range(len(columns)), key=columns.__getitem__), device=device(sin))
    padding = xp.zeros_like(sin[..., : C - len(columns)])
    return xp.concat([xp.take(waves, order, axis=-1), padding], axis=-1)


def split_waves(y: Float[Array, "*P C"], layout: str, pad_odd: bool) -> tuple[Array, Array]:
    """Return the sine columns and the cosine columns, each in the order of the waves."""
    sines, cosines = wave_columns(y.shape[-1], layout, pad_odd)
    return y[..., sines.start : sines.stop : sines.step], y[..., cosines.start : cosines.stop : cosines.step]
