"""Their kernel; it knows nothing of refimpl."""

from __future__ import annotations

import numpy as np


def apply_rope(x: np.ndarray, cos: np.ndarray, sin: np.ndarray) -> np.ndarray:
    """Turn the pairs (i, i + D/2) of x (..., T, D); tables (T, D/2)."""
    x1, x2 = np.split(x, 2, axis=-1)
    return np.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], axis=-1)
