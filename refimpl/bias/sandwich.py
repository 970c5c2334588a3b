"""Sandwich: the inner product of two sinusoidal positions, as a bias."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from ..angles import cos_sin
from ..errors import require_even, require_integer, require_number
from ..namespace import Array, rational_powers
from ..signatures import checked
from .relative import relative_positions


@checked
def sandwich(
    *, H: int, C: int, T: int, S: int, q_offset: int = 0, base: float = 10000.0, xp: Any, dtype: Any
) -> Float[Array, "H T S"]:
    """Return the fixed bias of T queries over S keys.

        y[h, i, j] = H / (8 h) · (sum over n = 1 .. C/2 of cos((q_offset + i - j) / base^(2n/C)) - C/2),    h = 1 .. H

    It is PE(p)·PE(p') of the sinusoidal encoding, less its value at distance 0: what is left of added positions when
    everything but position times position is dropped. It falls like a logarithm, and each head by its own factor.

    Source: Chi et al. 2023 (Sandwich). n starts at 1, where the sinusoidal encoding's k starts at 0.
    Raises ValueError for a negative T, H or S below 1, an odd C, or base <= 0.
    """
    require_integer("H", H, 1)
    require_even("C", C)
    require_number("base", base, above=0)
    head, tail = rational_powers(base, [-2 * n for n in range(1, C // 2 + 1)], C, xp=xp, dtype=dtype)
    relative = relative_positions(T, S, q_offset=q_offset, xp=xp)  # a cosine does not see its sign
    drop = xp.sum(cos_sin(relative, head, tail).cos - 1, axis=-1)  # (T, S)
    ratio = H / xp.astype(8 * xp.arange(1, H + 1), drop.dtype)  # (H,)
    return ratio[:, None, None] * drop
