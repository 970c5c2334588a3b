"""Positions got wrong: shared by all that takes positions."""

from __future__ import annotations

from ..namespace import Array, array_namespace, real_dtype
from .mistake import round_bits


def from_zero(positions: Array) -> Array:
    """Number every call from 0: what comes out when the length of the past is forgotten."""
    xp = array_namespace(positions)
    return positions - xp.min(positions, axis=-1 if positions.ndim else None, keepdims=True)


def in_bfloat16(positions: Array) -> Array:
    """Round positions to 8 significant bits: 257 becomes 256."""
    xp = array_namespace(positions)
    return xp.astype(round_bits(xp.astype(positions, real_dtype(None, positions)), 8), positions.dtype)


def of_first_sequence(positions: Array) -> Array:
    """Give every sequence of the batch the positions of the first."""
    xp = array_namespace(positions)
    return xp.broadcast_to(positions[:1, ...], positions.shape) if positions.ndim > 1 else positions
