"""How fast each pair turns, and rules that slow all pairs down for texts longer than those of training."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from ..errors import require, require_number, require_sizes
from ..namespace import Array, constant, rational_powers
from ..signatures import checked
from .rope import require_pairs


@checked
def rope_frequencies(D: int, *, base: float = 10000.0, xp: Any, dtype: Any) -> Float[Array, " F"]:
    """Return the angle by which each pair turns from one position to the next, in radians.

        θ_i = base^(-2i/D),  i = 0 .. D/2-1

    Wavelengths 2π/θ_i run from 2π positions to almost 2π·base; a base is chosen so that the longest exceed the text.

    D: rotary width, even; where only a part of a head is turned, that part's width.
    Source: Su et al. 2021 (RoFormer), section 3.2.2. Base 500000 in Llama 3, 10^6 in Qwen 2 and in global layers of
    Gemma 3.
    Raises ValueError for an odd D or base <= 0.
    """
    require_pairs("D", D)
    require_number("base", base, above=0)
    head, tail = rational_powers(base, [-2 * i for i in range(D // 2)], D, xp=xp, dtype=dtype)
    return head + tail


@checked
def linear_frequencies(D: int, *, factor: float, base: float = 10000.0, xp: Any, dtype: Any) -> Float[Array, " F"]:
    """Slow every pair by the same factor: position interpolation.

        y_i = θ_i / factor

    The same as dividing positions by `factor`: a text that much longer covers the angles of training, and neighbours
    are that much harder to tell apart.

    Source: Chen et al. 2023 (Position Interpolation). transformers divides frequencies, rotary-embedding-torch
    positions: equal but for rounding.
    Raises ValueError for an odd D, base <= 0 or factor < 1.
    """
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    require_factor(factor)
    return theta / constant(factor, like=theta)


@checked
def ntk_frequencies(D: int, *, factor: float, base: float = 10000.0, xp: Any, dtype: Any) -> Float[Array, " F"]:
    """Raise the base so that the slowest pair is slowed by `factor` and the fastest not at all: NTK-aware.

        y_i = b^(-2i/D),  b = base · factor^(D/(D-2))        =  θ_i factor^(-2i/(D-2))

    The second form shows both ends: the exponent of `factor` is 0 for the first pair and -1 for the last.

    Source: bloc97 2023 (NTK-aware scaled RoPE); Peng et al. 2023 (YaRN), section 3.1. diffusers multiplies the base by
    the factor itself, without the exponent.
    Raises ValueError for D < 4 (one pair cannot be both ends), an odd D, base <= 0 or factor < 1.
    """
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    require_two_pairs(D)
    require_factor(factor)
    head, tail = rational_powers(factor, [-2 * i for i in range(D // 2)], D - 2, xp=xp, dtype=dtype)
    return theta * (head + tail)


@checked
def dynamic_ntk_frequencies(
    D: int, *, length: int, trained_length: int, factor: float, base: float = 10000.0, xp: Any, dtype: Any
) -> Float[Array, " F"]:
    """Raise the base with the length of the text, once it exceeds that of training: dynamic NTK.

        y_i = θ_i α^(-2i/(D-2)),  α = factor · L/trained_length - (factor - 1),  L = max(length, trained_length)

    Short texts stay as they were trained. But every new token turns all pairs anew, while cached keys keep their old
    angles: decoding token by token differs from one pass, unless `length` is fixed beforehand.

    length: number of tokens that this table is for.
    Source: emozilla 2023; transformers (type "dynamic").
    Raises ValueError for D < 4, an odd D, base <= 0, factor < 1, or lengths below 1.
    """
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    require_two_pairs(D)
    require_factor(factor)
    require_sizes(length=length, trained_length=trained_length)
    beyond = max(length - trained_length, 0)
    alpha = 1 + constant(factor, like=theta) * beyond / trained_length  # factor L/trained - (factor - 1)
    exponents = xp.arange(D // 2, dtype=dtype) * -2 / (D - 2)
    return theta * xp.pow(alpha, exponents)


@checked
def proportional_frequencies(
    D: int, *, proportion: float, factor: float = 1.0, base: float = 10000.0, xp: Any, dtype: Any
) -> Float[Array, " F"]:
    """Keep the fastest pairs of the head and stop the others: p-RoPE.

        y_i = θ_i / factor for i < k,  0 for k <= i < D/2        k = floor(proportion · D/2)

    Unlike a partial rotation, whose exponents run over the turned channels alone, θ_i keeps the denominator D. Pairs
    that stand still carry content over any distance.

    D: width of the whole head. proportion · D is one float64 product.
    Source: Barbero et al. 2025 (p-RoPE); Gemma 4's global layers, transformers (type "proportional").
    Raises ValueError for an odd D, base <= 0, factor < 1, or a proportion outside 0 .. 1.
    """
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    require_number("proportion", proportion, least=0, most=1)
    require_factor(factor)
    k = int(proportion * D // 2)
    return xp.concat([theta[:k] / constant(factor, like=theta), xp.zeros_like(theta[k:])])


def require_factor(factor: float) -> None:
    """Raise ValueError unless the factor stretches."""
    require_number("factor", factor, least=1)


def require_two_pairs(D: int) -> None:
    """Raise ValueError unless there are a first and a last pair."""
    require(D >= 4, "D", f"rotary width {D}", "an even width >= 4")
