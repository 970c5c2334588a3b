"""YaRN: slow pairs interpolated, fast ones kept, and all scores scaled."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Float

from ..errors import require_integer, require_number
from ..namespace import Array, array_namespace, constant
from ..signatures import checked
from .frequencies import require_factor, rope_frequencies


class ScaledFrequencies(NamedTuple):
    """Frequencies, and the factor by which cos and sin of both q and k are to be multiplied."""

    frequencies: Float[Array, " F"]
    attention_factor: Float[Array, ""]


@checked
def yarn_frequencies(
    D: int,
    *,
    factor: float,
    trained_length: int,
    fast_rotations: float = 32.0,
    slow_rotations: float = 1.0,
    truncate: bool = True,
    mscale: float = 1.0,
    mscale_all_dim: float = 0.0,
    base: float = 10000.0,
    xp: Any,
    dtype: Any,
) -> ScaledFrequencies:
    """Return YaRN's frequencies and its attention factor.

        frequencies_i = (1 - ramp_i) θ_i + ramp_i θ_i / factor,     ramp_i = clip((i - low) / (high - low), 0, 1)

    low and high are the pairs that turn `fast_rotations` and `slow_rotations` times within the trained length
    (`yarn_bounds`). Pairs below low know all their angles and stay, those above high are interpolated.

    truncate: bounds to whole pairs; False in gpt-oss. Fast and slow are called beta_fast and beta_slow elsewhere.
    Source: Peng et al. 2023 (YaRN), section 3.2, and the authors' code, which all systems follow: its ramp is linear in
    the index of the pair, the paper's in the number of rotations (`ntk_by_parts_frequencies`).
    Raises ValueError for an odd D, base <= 1, factor < 1, trained_length < 1, or slow >= fast.
    """
    require_factor(factor)
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    low, high = yarn_bounds(
        D,
        trained_length=trained_length,
        fast_rotations=fast_rotations,
        slow_rotations=slow_rotations,
        truncate=truncate,
        base=base,
        like=theta,
    )
    ramp = xp.clip((xp.arange(D // 2, dtype=dtype) - low) / (high - low), 0, 1)  # (F,)
    frequencies = (1 - ramp) * theta + ramp * theta / constant(factor, like=theta)
    factor_of_scores = yarn_attention_factor(factor, mscale=mscale, mscale_all_dim=mscale_all_dim, xp=xp, dtype=dtype)
    return ScaledFrequencies(frequencies, factor_of_scores)


def yarn_bounds(
    D: int,
    *,
    trained_length: int,
    fast_rotations: float,
    slow_rotations: float,
    truncate: bool,
    base: float,
    like: Array,
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return the (fractional) pairs between which the ramp runs.

        pair(r) = D ln(trained_length / 2πr) / (2 ln base)          turns r times: trained_length θ_i = 2πr
        low  = pair(fast), high = pair(slow),                       with truncate floor(low), ceil(high)
        low >= 0,  high <= D - 1,  high >= low + 1/1000

    The upper limit is D - 1, although pairs end at D/2 - 1: so it stands in every system, and a ramp that the last pair
    does not finish leaves that pair only partly interpolated.
    """
    require_number("base", base, above=1)
    require_integer("trained_length", trained_length, 1)
    require_number("slow_rotations", slow_rotations, above=0, below=fast_rotations)
    xp = array_namespace(like)
    slow, fast = constant(slow_rotations, like=like), constant(fast_rotations, like=like)
    width_of_a_turn = D / (2 * xp.log(constant(base, like=like)))
    low = xp.log(trained_length / (2 * xp.pi * fast)) * width_of_a_turn
    high = xp.log(trained_length / (2 * xp.pi * slow)) * width_of_a_turn
    if truncate:
        low, high = xp.floor(low), xp.ceil(high)
    low, high = xp.clip(low, 0, None), xp.clip(high, None, D - 1)
    return low, xp.maximum(high, low + xp.ones_like(low) / 1000)


@checked
def yarn_attention_factor(
    factor: float, *, mscale: float = 1.0, mscale_all_dim: float = 0.0, xp: Any, dtype: Any
) -> Float[Array, ""]:
    """Return by how much YaRN multiplies the cos and sin of q and of k: scores grow by its square.

        y = m(mscale) / m(mscale_all_dim),        m(a) = 1 + a/10 · ln(max(factor, 1))

    Over a longer text softmax spreads over more keys; larger scores keep its entropy. Only turned channels are scaled.
    DeepSeek divides it out here (mscale_all_dim = mscale) and multiplies the scale of softmax by m(mscale)^2 instead,
    for all channels: the square of this function with mscale_all_dim = 0.

    Source: Peng et al. 2023 (YaRN), section 3.4. transformers ignores either of the two where the other is absent or 0.
    Raises ValueError for a factor <= 0, or a negative mscale.
    """
    require_number("factor", factor, above=0)
    require_number("mscale", mscale, least=0)
    require_number("mscale_all_dim", mscale_all_dim, least=0)
    one = xp.ones((), dtype=dtype)
    stretch = xp.log(xp.maximum(constant(factor, like=one), one))
    scale, scale_all = constant(mscale, like=one), constant(mscale_all_dim, like=one)
    return (1 + scale * stretch / 10) / (1 + scale_all * stretch / 10)
