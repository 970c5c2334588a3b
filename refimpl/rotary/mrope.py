"""M-RoPE: tokens with several coordinates (time, height, width), each of which turns its share of the pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxtyping import Int

from ..angles import CosSin, cos_sin_of
from ..errors import require, require_number
from ..namespace import Array, array_namespace, device, rational_powers, real_dtype
from ..signatures import checked


@checked
def mrope_cos_sin(
    positions: Int[Array, "A *P"],
    *,
    sections: Sequence[int],
    cycled: bool = False,
    base: float = 10000.0,
    dtype: Any = None,
) -> CosSin:
    """Return the cosine and sine of tokens with several coordinates, (*P, D/2) each.

        cos(positions[a_i] θ_i), sin(positions[a_i] θ_i),        θ_i = base^(-2i/D),  D/2 = sum of sections

        a_i = 0 for the first sections[0] pairs, 1 for the next sections[1], ...      sectioned
        a_i = i mod A  where that is a >= 1 and i < A sections[a],  else 0             cycled

    A text token has its position on all axes, and so turns as in plain RoPE. In sections time alone gets the fast
    pairs; cycled, every axis has fast and slow ones.

    positions: (A, *P) integers, A = 3 for time, height and width. sections: pairs for each axis.
    Source: Wang et al. 2024 (Qwen2-VL), section 2.1: sections (16, 24, 24). Cycled: Qwen3-VL, (24, 20, 20). ERNIE 4.5
    VL has another order still: height and width in turn, then time.
    Raises ValueError for sections that do not fit, base <= 0, or positions that are not integers.
    """
    xp = array_namespace(positions)
    require_number("base", base, above=0)
    A, F = positions.shape[0], sum(sections)
    require(len(sections) == A and F >= 1, "sections", tuple(sections), f"{A} counts, one an axis of positions")
    axes = [i % A if i < A * sections[i % A] else 0 for i in range(F)] if cycled else _blocks(sections)
    require([axes.count(a) for a in range(A)] == list(sections), "sections", tuple(sections), "counts that cycle")
    numerators = [-2 * i for i in range(F)]
    dtype = real_dtype(dtype, positions)
    head, tail = rational_powers(base, numerators, 2 * F, xp=xp, dtype=dtype, device=device(positions))
    read = xp.take(positions, xp.asarray(axes, device=device(positions)), axis=0)  # (F, *P)
    return cos_sin_of(xp.moveaxis(read, 0, -1), head, tail)


def _blocks(sections: Sequence[int]) -> list[int]:
    """Return the axis of every pair, in blocks."""
    return [a for a, count in enumerate(sections) for _ in range(count)]
