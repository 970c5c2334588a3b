"""Frequencies of door 2 over PyTorch's arrays, as model repositories write them: in float32 at least."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

Tables = dict[str, Tensor]


def wide(dtype: torch.dtype) -> torch.dtype:
    """The dtype of positions, angles and distances: 16 bits would confuse position 256 with 257."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def inv_freq(D: int, base: float, dtype: torch.dtype) -> Tensor:
    return 1.0 / (base ** (torch.arange(0, D, 2, dtype=dtype) / D))


def rounded(rule: Callable[..., Tensor | tuple[Tensor, float]]) -> Callable[..., Any]:
    """Run a rule in the wide dtype and store its result in the one that is asked for."""

    def frequencies(dtype: str = "float64", **options: Any) -> Tensor | Tables:
        to: torch.dtype = getattr(torch, dtype)
        found = rule(dtype=wide(to), **options)
        if isinstance(found, Tensor):
            return found.to(to)
        return {"frequencies": found[0].to(to), "attention_factor": torch.tensor(found[1], dtype=to)}

    return frequencies


def linear(D: int, factor: float, dtype: torch.dtype, base: float = 10000.0) -> Tensor:
    return inv_freq(D, base, dtype) / factor


def ntk(D: int, factor: float, dtype: torch.dtype, base: float = 10000.0) -> Tensor:
    return inv_freq(D, base * factor ** (D / (D - 2)), dtype)


def dynamic_ntk(
    D: int, length: int, trained_length: int, factor: float, dtype: torch.dtype, base: float = 10000.0
) -> Tensor:
    longest = max(length, trained_length)
    return ntk(D, factor * longest / trained_length - (factor - 1), dtype, base)


def by_wavelength(
    D: int, factor: float, low: float, high: float, trained_length: int, base: float, dtype: torch.dtype
) -> Tensor:
    """Three bands, as in Llama 3.1."""
    theta = inv_freq(D, base, dtype)
    wavelength = 2 * math.pi / theta
    smooth = (trained_length / wavelength - low) / (high - low)
    blended = (1 - smooth) * theta / factor + smooth * theta
    slow = torch.where(wavelength * low > trained_length, theta / factor, blended)
    return torch.where(wavelength * high < trained_length, theta, slow)


def ntk_by_parts(
    D: int,
    factor: float,
    trained_length: int,
    dtype: torch.dtype,
    slow_rotations: float = 1.0,
    fast_rotations: float = 32.0,
    base: float = 10000.0,
) -> Tensor:
    return by_wavelength(D, factor, slow_rotations, fast_rotations, trained_length, base, dtype)


def llama3(
    D: int,
    dtype: torch.dtype,
    factor: float = 8.0,
    low_frequency_factor: float = 1.0,
    high_frequency_factor: float = 4.0,
    trained_length: int = 8192,
    base: float = 500000.0,
) -> Tensor:
    return by_wavelength(D, factor, low_frequency_factor, high_frequency_factor, trained_length, base, dtype)


def mscale_ratio(factor: float, mscale: float = 1.0, mscale_all_dim: float = 0.0) -> float:
    def get_mscale(scale: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * scale * math.log(factor) + 1.0

    return get_mscale(mscale) / get_mscale(mscale_all_dim)


def yarn_attention_factor(factor: float, dtype: str = "float64", **scales: float) -> Tensor:
    return torch.tensor(mscale_ratio(factor, **scales), dtype=getattr(torch, dtype))


def yarn(
    D: int,
    factor: float,
    trained_length: int,
    dtype: torch.dtype,
    fast_rotations: float = 32.0,
    slow_rotations: float = 1.0,
    truncate: bool = True,
    mscale: float = 1.0,
    mscale_all_dim: float = 0.0,
    base: float = 10000.0,
) -> tuple[Tensor, float]:
    def pair(rotations: float) -> float:
        return D * math.log(trained_length / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low, high = pair(fast_rotations), pair(slow_rotations)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, D - 1)
    high += 0.001 if low == high else 0
    theta = inv_freq(D, base, dtype)
    ramp = torch.clamp((torch.arange(D // 2, dtype=dtype) - low) / (high - low), 0, 1)
    return theta / factor * ramp + theta * (1 - ramp), mscale_ratio(factor, mscale, mscale_all_dim)


def longrope(
    short_factors: Tensor,
    long_factors: Tensor,
    *,
    length: int,
    trained_length: int,
    factor: float,
    base: float = 10000.0,
) -> Tables:
    dtype = short_factors.dtype
    chosen = (long_factors if length > trained_length else short_factors).to(wide(dtype))
    scale = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(trained_length))
    frequencies = inv_freq(2 * len(chosen), base, wide(dtype)) / chosen
    return {"frequencies": frequencies.to(dtype), "attention_factor": torch.tensor(scale, dtype=dtype)}


def proportional(D: int, proportion: float, dtype: torch.dtype, factor: float = 1.0, base: float = 10000.0) -> Tensor:
    turned = int(proportion * D // 2)
    theta = 1.0 / (base ** (torch.arange(0, 2 * turned, 2, dtype=dtype) / D))
    return torch.cat((theta, torch.zeros(D // 2 - turned, dtype=dtype))) / factor


OPS: dict[str, Callable[..., Any]] = {
    "rope_frequencies": rounded(lambda D, dtype, base=10000.0: inv_freq(D, base, dtype)),
    "linear_frequencies": rounded(linear),
    "ntk_frequencies": rounded(ntk),
    "dynamic_ntk_frequencies": rounded(dynamic_ntk),
    "ntk_by_parts_frequencies": rounded(ntk_by_parts),
    "llama3_frequencies": rounded(llama3),
    "yarn_frequencies": rounded(yarn),
    "yarn_attention_factor": yarn_attention_factor,
    "longrope_frequencies": longrope,
    "proportional_frequencies": rounded(proportional),
}
