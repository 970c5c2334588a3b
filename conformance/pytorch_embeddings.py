"""Door 1 in PyTorch: its own functions where it has them, else what model code writes by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from conformance.pytorch_rotary import wide


def token_embedding(
    ids: Tensor,
    weight: Tensor,
    *,
    scale_by_sqrt_width: bool = False,
    padding_idx: int | None = None,
    scale_grad_by_freq: bool = False,
) -> Tensor:
    # its gradient adds up in 16 bits where the weight has 16, on the CPU
    y = F.embedding(ids, weight, padding_idx, scale_grad_by_freq=scale_grad_by_freq)
    return y * math.sqrt(weight.shape[1]) if scale_by_sqrt_width else y


def renorm_table(ids: Tensor, weight: Tensor, *, max_norm: float, eps: float = 1e-7) -> Tensor:
    """F.embedding renorms in place; its eps is fixed, so another one is written by hand."""
    if eps == 1e-7:
        table = weight.clone()
        F.embedding(ids, table, max_norm=max_norm)
        return table
    norm = torch.linalg.vector_norm(weight, dim=-1, keepdim=True)
    scaled = torch.where(norm > max_norm, weight * (max_norm / (norm + eps)), weight)
    return torch.where(torch.isin(torch.arange(len(weight)), ids)[:, None], scaled, weight)


def tied_head(h: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    return F.linear(h, weight, bias)


def segment_embedding(segments: Tensor, weight: Tensor) -> Tensor:
    return F.embedding(segments, weight)


def positions_from_offset(*, T: int, start: int = 0, offset: int = 0) -> Tensor:
    return torch.arange(start, start + T) + offset


def positions_from_padding(mask: Tensor, *, first: int = 2, padding_position: int = 1) -> Tensor:
    return (torch.cumsum(mask, dim=-1) + (first - 1)).masked_fill(~mask, padding_position)


def positions_in_documents(documents: Tensor, *, first: int = 0) -> Tensor:
    """The form of packing collators: the last beginning so far is a running maximum."""
    t = torch.arange(documents.shape[-1]).expand(documents.shape)
    begins = torch.diff(documents, prepend=documents[..., :1]) != 0
    return first + t - torch.where(begins, t, 0).cummax(dim=-1).values


def learned_position(positions: Tensor, weight: Tensor, *, padding_idx: int | None = None) -> Tensor:
    return F.embedding(positions, weight, padding_idx)


def interpolate_positions(
    weight: Tensor,
    *,
    height: int,
    width: int,
    new_height: int,
    new_width: int,
    prefix: int = 0,
    antialias: bool = False,
) -> Tensor:
    """F.interpolate on the grid as a picture, in float32 at least, as DINOv2 and timm do: in 16 bits weights suffer."""
    grid = weight[prefix:].to(wide(weight.dtype)).reshape(1, height, width, -1).permute(0, 3, 1, 2)
    size = (new_height, new_width)
    resized = F.interpolate(grid, size=size, mode="bicubic", align_corners=False, antialias=antialias)
    rows = resized.permute(0, 2, 3, 1).reshape(new_height * new_width, -1)
    return torch.cat([weight[:prefix], rows.to(weight.dtype)])


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


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, *, eps: float = 1e-5) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], weight, bias, eps)


def rms_norm(x: Tensor, weight: Tensor | None = None, *, eps: float = 1e-6, unit_offset: bool = False) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], 1 + weight if unit_offset and weight is not None else weight, eps)


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
    y = layer_norm(total, norm_weight, norm_bias, eps=eps)
    return y if keep is None else keep * y * (1.0 / (1.0 - p))


EMBEDDING_OPS: dict[str, Callable[..., Tensor]] = {
    "token_embedding": token_embedding,
    "renorm_table": renorm_table,
    "tied_head": tied_head,
    "segment_embedding": segment_embedding,
    "positions_from_offset": positions_from_offset,
    "positions_from_padding": positions_from_padding,
    "positions_in_documents": positions_in_documents,
    "learned_position": learned_position,
    "interpolate_positions": interpolate_positions,
    "sinusoidal": sinusoidal,
    "relative_shift_matrix": relative_shift_matrix,
    "sinusoidal_2d": sinusoidal_2d,
    "timestep_embedding": timestep_embedding,
    "cape": cape,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
    "bert_embedding": bert_embedding,
}
