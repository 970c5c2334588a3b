"""Hugging Face diffusers: the functions of diffusers.models.embeddings, and its RMSNorm.

    refimpl check --entry conformance.diffusers:run

Rotations and timesteps are float32 there. Every gradient is torch.autograd's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import diffusers
import numpy as np
import torch
from diffusers.models import embeddings
from diffusers.models.normalization import RMSNorm
from torch import Tensor
from torch.func import functional_call

from conformance.torch_arrays import Function, answer
from conformance.unsupported import require

__version__ = diffusers.__version__


def run(
    op: str, params: Mapping[str, Any], inputs: Mapping[str, np.ndarray], want: Sequence[str]
) -> dict[str, np.ndarray]:
    return answer(OPS, op, params, inputs, want)


def timestep_embedding(
    timesteps: Tensor,
    *,
    C: int,
    scale: float = 1.0,
    layout: str = "sin_cos",
    frequency_shift: int = 1,
    base: float = 10000.0,
    dtype: str = "",
) -> Tensor:
    found = embeddings.get_timestep_embedding(
        timesteps.flatten(),
        C,
        flip_sin_to_cos=layout == "cos_sin",
        downscale_freq_shift=frequency_shift,
        scale=scale,
        max_period=base,
    )
    return found.reshape(*timesteps.shape, C)


def sinusoidal(
    positions: Tensor,
    *,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    dtype: str = "float64",
    **other: Any,
) -> Tensor:
    require(base == 10000.0 and not any(other.values()) and C % 2 == 0, "base 10,000, even widths")
    require(layout != "interleaved", "sines first or cosines first")
    rows = positions.double().flatten()
    found = embeddings.get_1d_sincos_pos_embed_from_grid(C, rows, flip_sin_to_cos=layout == "cos_sin")
    return found.reshape(*positions.shape, C).to(getattr(torch, dtype))


def sinusoidal_2d(
    positions: Tensor,
    *,
    C: int,
    columns_first: bool = False,
    layout: str = "interleaved",
    dtype: str = "float64",
    **other: Any,
) -> Tensor:
    """The half called h is computed from the column, as in MAE's code, from which it is taken."""
    require(columns_first and layout == "sin_cos" and not any(other.values()), "columns and sines first")
    grid = positions.double().flatten(0, -2).T.flip(0)
    found = embeddings.get_2d_sincos_pos_embed_from_grid(C, grid)
    return found.reshape(*positions.shape[:-1], C).to(getattr(torch, dtype))


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Tensor:
    require(not unit_offset, "the gain is the weight")
    module = RMSNorm(x.shape[-1], eps, elementwise_affine=weight is not None)
    return functional_call(module, {} if weight is None else {"weight": weight}, (x,))


def rope_cos_sin(positions: Tensor, *, D: int, base: float = 10000.0, dtype: str = "") -> dict[str, Tensor]:
    require(positions.ndim == 1, "one row of positions")
    tables = embeddings.get_1d_rotary_pos_embed(D, positions, base, use_real=True, repeat_interleave_real=False)
    return dict(zip(("cos", "sin"), (table[:, : D // 2] for table in tables), strict=True))


def rope(x: Tensor, cos: Tensor, sin: Tensor, *, interleaved: bool = True, interleaved_output: None = None) -> Tensor:
    """Its tables have every entry twice, side by side for pairs, a half apart for halves."""
    require(cos.ndim == 2 and interleaved_output is None, "one table for all heads and sequences, one layout")
    heads = x.reshape(-1, *x.shape[-3:])
    if interleaved:
        tables = [table.repeat_interleave(2, dim=-1) for table in (cos, sin)]
        return embeddings.apply_rotary_emb(heads, tables, use_real_unbind_dim=-1).reshape(x.shape)
    tables = [torch.cat((table, table), dim=-1) for table in (cos, sin)]
    return embeddings.apply_rotary_emb(heads, tables, use_real_unbind_dim=-2).reshape(x.shape)


OPS: dict[str, Function] = {
    "timestep_embedding": timestep_embedding,
    "sinusoidal": sinusoidal,
    "sinusoidal_2d": sinusoidal_2d,
    "rms_norm": rms_norm,
    "rope_cos_sin": rope_cos_sin,
    "rope": rope,
}
