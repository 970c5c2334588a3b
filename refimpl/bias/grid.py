"""Queries and keys on a grid of height × width, row by row: how far apart they lie along each axis."""

from __future__ import annotations

from typing import Any

from jaxtyping import Int

from ..errors import require_sizes
from ..namespace import Array


def grid_offsets(
    height: int, width: int, *, xp: Any, device: Any = None
) -> tuple[Int[Array, "T T"], Int[Array, "T T"]]:
    """Return (query row - key row, query column - key column) for every pair, T = height · width.

    Token t stands in row t // width and column t % width.
    """
    require_sizes(height=height, width=width)
    t = xp.arange(height * width, device=device)
    row, column = t // width, t % width
    return row[:, None] - row[None, :], column[:, None] - column[None, :]
