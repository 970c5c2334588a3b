"""Door 2 over PyTorch's arrays, as model repositories write it: frequencies and angles in float32 at least."""

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


# frequencies


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


# tables


def tables(angle: Tensor, dtype: torch.dtype, factor: Tensor | float = 1.0) -> Tables:
    return {"cos": (angle.cos() * factor).to(dtype), "sin": (angle.sin() * factor).to(dtype)}


def rope_cos_sin(positions: Tensor, *, D: int, base: float = 10000.0, dtype: str = "float64") -> Tables:
    to: torch.dtype = getattr(torch, dtype)
    return tables(angles(positions, D, base, wide(to)), to)


def angles(positions: Tensor, D: int, base: float, dtype: torch.dtype) -> Tensor:
    return positions.to(dtype).unsqueeze(-1) * inv_freq(D, base, dtype)  # rounded: in float32 off by 1e-3 at 2^20


def outer(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Angles of frequencies (F,), or (H, F) with the heads before time."""
    w = wide(frequencies.dtype)
    per_head = frequencies.to(w).unsqueeze(-2) if frequencies.ndim == 2 else frequencies.to(w)
    return positions.to(w).unsqueeze(-1) * per_head


def rope_angles(positions: Tensor, frequencies: Tensor, attention_factor: Tensor | None = None) -> Tables:
    factor = 1.0 if attention_factor is None else attention_factor.to(wide(frequencies.dtype))
    return tables(outer(positions, frequencies), frequencies.dtype, factor)


def mixed_angles(positions: Tensor, frequencies: Tensor) -> Tables:
    angle = torch.stack([outer(p, f) for p, f in zip(positions, frequencies, strict=True)]).sum(dim=0)
    return tables(angle, frequencies.dtype)


def mrope_cos_sin(
    positions: Tensor, *, sections: list[int], cycled: bool = False, base: float = 10000.0, dtype: str = "float64"
) -> Tables:
    to: torch.dtype = getattr(torch, dtype)
    all_axes = angles(positions, 2 * sum(sections), base, wide(to))
    if not cycled:
        blocks = all_axes.split(sections, dim=-1)
        return tables(torch.cat([block[axis] for axis, block in enumerate(blocks)], dim=-1), to)
    angle = all_axes[0].clone()
    for axis in range(1, len(sections)):
        turn = slice(axis, sections[axis] * len(sections), len(sections))
        angle[..., turn] = all_axes[axis, ..., turn]
    return tables(angle, to)


def axial_angles(positions: Tensor, D: int, split: bool, base: float, dtype: torch.dtype) -> Tensor:
    A = len(positions)
    theta = inv_freq(D, base, dtype) if split else inv_freq(D // A, base, dtype)
    each = [theta[axis::A] if split else theta for axis in range(A)]
    return torch.cat([p.to(dtype).unsqueeze(-1) * f for p, f in zip(positions, each, strict=True)], dim=-1)


def axial_cos_sin(
    positions: Tensor, *, D: int, split_frequencies: bool = False, base: float = 10000.0, dtype: str = "float64"
) -> Tables:
    to: torch.dtype = getattr(torch, dtype)
    return tables(axial_angles(positions, D, split_frequencies, base, wide(to)), to)


# rotations


def rope(
    x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = True, interleaved_output: bool | None = None
) -> Tensor:
    if interleaved_output not in (None, interleaved):
        y = rope(x, cos, sin, interleaved=interleaved)
        return y.unflatten(-1, (-1, 2) if interleaved else (2, -1)).transpose(-1, -2).flatten(-2)
    if interleaved:
        return rotate_complex(x, torch.complex(cos.to(wide(x.dtype)), sin.to(wide(x.dtype))))
    return x * torch.cat((cos, cos), dim=-1) + rotate_half(x) * torch.cat((sin, sin), dim=-1)


def rotate_complex(x: Tensor, turn: Tensor) -> Tensor:
    """The form of Meta's Llama: a pair of channels is a complex number; in 16 bits it is turned in float32."""
    pairs = torch.view_as_complex(x.to(wide(x.dtype)).reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turn).flatten(-2).to(x.dtype)


def rotate_half(x: Tensor) -> Tensor:
    """The form of GPT-NeoX and transformers, with cos and sin repeated for the second half."""
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def turned(x: Tensor, angle: Tensor, interleaved: bool, scale: Tensor | float = 1.0) -> Tensor:
    if interleaved:
        return rotate_complex(x, torch.polar(torch.ones_like(angle) * scale, angle))
    table = tables(angle, x.dtype, scale)
    return rope(x, table["cos"], table["sin"], interleaved=False)


def rotary_embedding(
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor | None = None,
    attention_factor: Tensor | None = None,
    *,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    if frequencies is None:
        return turned(x, angles(positions, x.shape[-1], base, wide(x.dtype)), interleaved)
    factor = 1.0 if attention_factor is None else attention_factor.to(wide(x.dtype))
    return turned(x, outer(positions, frequencies), interleaved, factor)


def partial_rope(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = True) -> Tensor:
    rot, rest = x.split([2 * cos.shape[-1], x.shape[-1] - 2 * cos.shape[-1]], dim=-1)
    return torch.cat((rope(rot, cos, sin, interleaved=interleaved), rest), dim=-1)


def axial_rope(x: Tensor, positions: Tensor, *, layout: str = "interleaved", base: float = 10000.0) -> Tensor:
    angle = axial_angles(positions, x.shape[-1], layout == "even_odd", base, wide(x.dtype))
    if layout != "halves_per_axis":
        return turned(x, angle, layout == "interleaved")
    A = len(positions)
    parts = zip(x.chunk(A, dim=-1), angle.chunk(A, dim=-1), strict=True)
    return torch.cat([turned(part, its_angle, False) for part, its_angle in parts], dim=-1)


def xpos(
    x: Tensor,
    positions: Tensor,
    *,
    centre: int,
    keys: bool = False,
    scale_base: float = 512.0,
    gamma: float = 0.4,
    base: float = 10000.0,
    interleaved: bool = True,
) -> Tensor:
    D, dtype = x.shape[-1], wide(x.dtype)
    zeta = (torch.arange(0, D, 2, dtype=dtype) / D + gamma) / (1 + gamma)
    power = (positions - centre).to(dtype).unsqueeze(-1) / scale_base
    return turned(x, angles(positions, D, base, dtype), interleaved, zeta ** (-power if keys else power))


def mla_rope(
    q_nope: Tensor, q_pe: Tensor, k_nope: Tensor, k_pe: Tensor, cos: Tensor, sin: Tensor, **layout: Any
) -> Tables:
    q_pe, k_pe = rope(q_pe, cos, sin, **layout), rope(k_pe, cos, sin, **layout)
    shared = k_pe.unsqueeze(-3).expand(q_pe.shape)
    return {"q": torch.cat((q_nope, q_pe), dim=-1), "k": torch.cat((k_nope, shared), dim=-1)}


def permute_pairs(weight: Tensor, *, H: int, to_interleaved: bool = False) -> Tensor:
    """The reshape and transpose of the conversion scripts."""
    shape = (H, 2, -1) if to_interleaved else (H, -1, 2)
    return weight.unflatten(-1, shape).transpose(-1, -2).flatten(-3)


def query_temperature(x: Tensor, positions: Tensor, *, scale: float = 0.1, step: int = 8192, offset: int = 1) -> Tensor:
    steps = torch.floor((positions + offset).to(wide(x.dtype)) / step)
    factor = torch.log1p(steps) * scale + 1.0
    return (x * factor.unsqueeze(-1)).to(x.dtype)


OPS: dict[str, Callable[..., Tensor | Tables]] = {
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
    "rope_angles": rope_angles,
    "rope_cos_sin": rope_cos_sin,
    "mrope_cos_sin": mrope_cos_sin,
    "axial_cos_sin": axial_cos_sin,
    "mixed_angles": mixed_angles,
    "rope": rope,
    "partial_rope": partial_rope,
    "rotary_embedding": rotary_embedding,
    "axial_rope": axial_rope,
    "xpos": xpos,
    "mla_rope": mla_rope,
    "permute_pairs": permute_pairs,
    "query_temperature": query_temperature,
}
