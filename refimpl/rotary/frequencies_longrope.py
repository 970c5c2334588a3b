"""LongRoPE: every pair has a factor of its own, found by search, in two sets."""

from __future__ import annotations

from jaxtyping import Float

from ..errors import require_integer, require_number
from ..namespace import Array, array_namespace, constant, device, rational_powers
from ..signatures import checked
from .frequencies_yarn import ScaledFrequencies


@checked
def longrope_frequencies(
    short_factors: Float[Array, " F"],
    long_factors: Float[Array, " F"],
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
    require_integer("length", length, 1)
    require_integer("trained_length", trained_length, 2)
    require_number("factor", factor, above=0)
    require_number("base", base, above=0)
    numerators = [-2 * i for i in range(F)]
    head, tail = rational_powers(
        base, numerators, 2 * F, xp=xp, dtype=short_factors.dtype, device=device(short_factors)
    )
    theta = head + tail  # (F,)
    stretch = xp.log(xp.clip(constant(factor, like=theta), 1, None))
    attention_factor = xp.sqrt(1 + stretch / xp.log(constant(trained_length, like=theta)))
    return ScaledFrequencies(theta / (short_factors if length <= trained_length else long_factors), attention_factor)
