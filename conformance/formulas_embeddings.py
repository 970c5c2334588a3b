"""Door 1 over PyTorch's arrays, as model code writes it by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from conformance.formulas_frequencies import wide


def positions_from_offset(*, T: int, start: int = 0, offset: int = 0) -> Tensor:
    return torch.arange(start, start + T) + offset


def positions_from_padding(mask: Tensor, *, first: int = 2, padding_position: int = 1) -> Tensor:
    return (torch.cumsum(mask, dim=-1) + (first - 1)).masked_fill(~mask, padding_position)


def positions_in_documents(documents: Tensor, *, first: int = 0) -> Tensor:
    """The form of packing collators: the last beginning so far is a running maximum."""
    t = torch.arange(documents.shape[-1]).expand(documents.shape)
    begins = torch.diff(documents, prepend=documents[..., :1]) != 0
    return first + t - torch.where(begins, t, 0).cummax(dim=-1).values


def sinusoidal(
    positions: Tensor,
    *,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: str = "float64",
) -> Tensor:
    """The PositionalEncoding module of the PyTorch tutorials, and the halves of fairseq and diffusers."""
    to, width = wide(getattr(torch, dtype)), C - C % 2 if pad_odd else C
    position = positions.to(to).unsqueeze(-1)
    step = -math.log(base) / max(width - 2 * frequency_shift, 1)
    angles = position * torch.exp(torch.arange(0, width, 2, dtype=to) * step)
    second = width // 2  # the tutorial knows even widths only
    if layout == "interleaved":
        pe = torch.zeros(*positions.shape, C, dtype=to)
        pe[..., 0:width:2], pe[..., 1:width:2] = torch.sin(angles), torch.cos(angles[..., :second])
    elif layout == "sin_cos":
        pe = F.pad(torch.cat([torch.sin(angles), torch.cos(angles[..., :second])], dim=-1), (0, C - width))
    else:
        pe = F.pad(torch.cat([torch.cos(angles), torch.sin(angles[..., :second])], dim=-1), (0, C - width))
    return pe.to(getattr(torch, dtype))


def relative_shift_matrix(
    shift: Tensor,
    *,
    C: int,
    base: float = 10000.0,
    layout: str = "interleaved",
    frequency_shift: int = 0,
    pad_odd: bool = False,
    dtype: str = "float64",
) -> Tensor:
    """A rotation a wave, written entry by entry."""
    to, width = wide(getattr(torch, dtype)), C - C % 2 if pad_odd else C
    step = -math.log(base) / max(width - 2 * frequency_shift, 1)
    angles = shift.to(to).unsqueeze(-1) * torch.exp(torch.arange(0, width, 2, dtype=to) * step)
    first, second = torch.arange(width // 2), torch.arange(width // 2, width)
    if layout == "interleaved":
        first, second = torch.arange(0, width, 2), torch.arange(1, width, 2)
    s, c = (second, first) if layout == "cos_sin" else (first, second)
    matrix = torch.eye(C, dtype=to).repeat(*shift.shape, 1, 1)
    matrix[..., s, s], matrix[..., c, c] = torch.cos(angles), torch.cos(angles)
    matrix[..., s, c], matrix[..., c, s] = torch.sin(angles), -torch.sin(angles)
    return matrix.to(getattr(torch, dtype))


def sinusoidal_2d(positions: Tensor, *, C: int, columns_first: bool = False, **options: Any) -> Tensor:
    row, column = (sinusoidal(p, C=C // 2, pad_odd=True, **options) for p in positions.unbind(-1))
    return torch.cat([column, row] if columns_first else [row, column], dim=-1)


def timestep_embedding(
    timesteps: Tensor, *, C: int, scale: float = 1.0, layout: str = "sin_cos", frequency_shift: int = 1, **options: Any
) -> Tensor:
    to = wide(getattr(torch, options.get("dtype", "float64")))
    options |= {"layout": layout, "frequency_shift": frequency_shift}
    return sinusoidal(timesteps.to(to) * scale, C=C, pad_odd=True, **options)


def cape(
    positions: Tensor,
    global_shift: Tensor | None = None,
    local_shift: Tensor | None = None,
    log_scale: Tensor | None = None,
    *,
    C: int,
    base: float = 10000.0,
    dtype: str = "float64",
) -> Tensor:
    p = positions.to(wide(getattr(torch, dtype)))
    p = p if global_shift is None else p + global_shift.unsqueeze(-1)
    p = p if local_shift is None else p + local_shift
    p = p if log_scale is None else p * log_scale.exp().unsqueeze(-1)
    return sinusoidal(p, C=C, base=base, dtype=dtype)


def bert_embedding(
    ids: Tensor,
    segments: Tensor,
    weight: Tensor,
    segment_weight: Tensor,
    position_weight: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    positions: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    padding_idx: int | None = None,
    position_padding_idx: int | None = None,
    eps: float = 1e-12,
    p: float = 0.0,
) -> Tensor:
    positions = torch.arange(ids.shape[-1]) if positions is None else positions
    total = F.embedding(ids, weight, padding_idx) + F.embedding(segments, segment_weight)
    total = total + F.embedding(positions, position_weight, position_padding_idx)
    y = F.layer_norm(total, total.shape[-1:], norm_weight, norm_bias, eps)
    return y if keep is None else keep * y * (1.0 / (1.0 - p))


def dropout(x: Tensor, keep: Tensor, *, p: float) -> Tensor:
    """F.dropout draws its own mask; this is what it then does with it."""
    return keep * x * (1.0 / (1.0 - p))


def transformer_embedding(
    ids: Tensor,
    weight: Tensor,
    position_weight: Tensor | None = None,
    keep: Tensor | None = None,
    *,
    position: str = "sinusoidal",
    scale_by_sqrt_width: bool = True,
    padding_idx: int | None = None,
    start: int = 0,
    base: float = 10000.0,
    p: float = 0.0,
    batch_first: bool = True,
) -> Tensor:
    C, T = weight.shape[1], ids.shape[-1 if batch_first else 0]
    x = F.embedding(ids, weight, padding_idx)
    x = x * math.sqrt(C) if scale_by_sqrt_width else x
    along_time = (T, C) if batch_first else (T, *(1,) * (ids.ndim - 1), C)
    positions = torch.arange(start, start + T)
    if position_weight is not None:
        x = x + F.embedding(positions, position_weight).view(along_time)
    elif position == "sinusoidal":
        dtype = str(weight.dtype).removeprefix("torch.")
        x = x + sinusoidal(positions, C=C, base=base, dtype=dtype).view(along_time)
    return x if keep is None else dropout(x, keep, p=p)


OPS: dict[str, Callable[..., Tensor]] = {
    "positions_from_offset": positions_from_offset,
    "positions_from_padding": positions_from_padding,
    "positions_in_documents": positions_in_documents,
    "sinusoidal": sinusoidal,
    "relative_shift_matrix": relative_shift_matrix,
    "sinusoidal_2d": sinusoidal_2d,
    "timestep_embedding": timestep_embedding,
    "cape": cape,
    "bert_embedding": bert_embedding,
    "dropout": dropout,
    "transformer_embedding": transformer_embedding,
}
