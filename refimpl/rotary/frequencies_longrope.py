"""LongRoPE: every pair has a factor of its own, found by search, in two sets."""

from __future__ import annotations

from jaxtyping import Shaped

from ..errors import require
from ..namespace import Array, array_namespace, constant, device, rational_powers
from .frequencies_yarn import ScaledFrequencies


def longrope_frequencies(
    short_factors: Shaped[Array, " F"],
    long_factors: Shaped[Array, " F"],
    *,
    length: int,
    trained_length: int,
    factor: float,
    base: float = 10000.0,
) -> ScaledFrequencies:
    """Divide every frequency by its own factor: one set within the trained length, another beyond it.

        frequencies_i    = θ_i / short_i  for length <= trained_length,  else θ_i / long_i
        attention_factor = sqrt(1 + ln(max(factor, 1)) / ln(trained_length))

    The set depends on the length of the text, not on the capacity of the model. At the step that crosses the trained
    length all pairs change while cached keys keep their old angles: decoding token by token differs from one pass.

    length: number of tokens that this table is for. factor: maximal over trained length.
    Source: Ding et al. 2024 (LongRoPE); attention factor: Phi-3, transformers (type "longrope").
    Raises ValueError for factors that differ in shape, a length < 1, trained_length < 2, factor <= 0 or base <= 0.
    """
    xp = array_namespace(short_factors, long_factors)
    F = short_factors.shape[0]
    require(long_factors.shape == (F,), "long_factors", f"shape {tuple(long_factors.shape)}", f"{(F,)}")
    require(length >= 1, "length", length, "an integer >= 1")
    require(trained_length >= 2, "trained_length", trained_length, "an integer >= 2")
    require(factor > 0, "factor", factor, "a number > 0")
    require(base > 0, "base", base, "a number > 0")
    numerators = [-2 * i for i in range(F)]
    head, tail = rational_powers(
        base, numerators, 2 * F, xp=xp, dtype=short_factors.dtype, device=device(short_factors)
    )
    theta = head + tail  # (F,)
    stretch = xp.log(xp.clip(constant(factor, like=theta), 1, None))
    attention_factor = xp.sqrt(1 + stretch / xp.log(constant(trained_length, like=theta)))
    return ScaledFrequencies(theta / (short_factors if length <= trained_length else long_factors), attention_factor)
