"""Rules that slow the slow pairs only: those that never came round within the length of training."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float

from ..errors import require_integer, require_number
from ..namespace import Array, constant
from ..signatures import checked
from .frequencies import require_factor, rope_frequencies


@checked
def ntk_by_parts_frequencies(
    D: int,
    *,
    factor: float,
    trained_length: int,
    slow_rotations: float = 1.0,
    fast_rotations: float = 32.0,
    base: float = 10000.0,
    xp: Any,
    dtype: Any,
) -> Float[Array, " F"]:
    """Slow each pair by how often it turned within the trained length.

        r_i = trained_length θ_i / 2π                                        rotations
        γ_i = clip((r_i - slow) / (fast - slow), 0, 1)
        y_i = (1 - γ_i) θ_i / factor + γ_i θ_i

    A pair that turned more than `fast_rotations` times knows all its angles, and tells neighbours apart: it stays. One
    that did not come round once shows angles it has never seen: it is interpolated. Between them a ramp, linear in r_i.

    Source: Peng et al. 2023 (YaRN), section 3.2, "NTK-by-parts". The ramp of YaRN in all systems is linear in i instead
    (`yarn_frequencies`); Llama 3.1 has this one, from 1 to 4 rotations.
    Raises ValueError for an odd D, base <= 0, factor < 1, trained_length < 1, or slow >= fast.
    """
    theta = rope_frequencies(D, base=base, xp=xp, dtype=dtype)
    require_factor(factor)
    require_integer("trained_length", trained_length, 1)
    require_number("slow_rotations", slow_rotations, least=0, below=fast_rotations)
    slow, fast = constant(slow_rotations, like=theta), constant(fast_rotations, like=theta)
    rotations = theta * trained_length / (2 * xp.pi)  # (F,)
    keep = xp.clip((rotations - slow) / (fast - slow), 0, 1)
    return (1 - keep) * theta / constant(factor, like=theta) + keep * theta


@checked
def llama3_frequencies(
    D: int,
    *,
    factor: float = 8.0,
    low_frequency_factor: float = 1.0,
    high_frequency_factor: float = 4.0,
    trained_length: int = 8192,
    base: float = 500000.0,
    xp: Any,
    dtype: Any,
) -> Float[Array, " F"]:
    """Slow the long waves, leave the short ones, and blend between: Llama 3.1.

        wavelength 2π/θ_i < trained_length / high:  y_i = θ_i
        wavelength 2π/θ_i > trained_length / low:   y_i = θ_i / factor
        between:    y_i = (1 - s) θ_i / factor + s θ_i,   s = (trained_length / wavelength - low) / (high - low)

    trained_length / wavelength is the number of rotations, so this is NTK-by-parts with a ramp from `low` to `high`
    rotations: the three cases are its clipped ramp.

    Source: Meta's Llama 3.1 code (apply_scaling); transformers (type "llama3"). Llama 3.2: factor 32.
    Raises ValueError for an odd D, base <= 0, factor < 1, trained_length < 1, or low >= high.
    """
    require_number("low_frequency_factor", low_frequency_factor, least=0, below=high_frequency_factor)
    return ntk_by_parts_frequencies(
        D,
        factor=factor,
        trained_length=trained_length,
        slow_rotations=low_frequency_factor,
        fast_rotations=high_frequency_factor,
        base=base,
        xp=xp,
        dtype=dtype,
    )
