"""Door 2 over PyTorch's arrays, as model repositories write it: frequencies and angles in float32 at least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from conformance.formulas_frequencies import Tables, inv_freq, wide

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
