"""A rotary embedding of your own, first wrong, then right.

refimpl check --entry examples.wrong_and_right_rope:wrong --op rope --profile f32 --forward
refimpl check --entry examples.wrong_and_right_rope:right --op rope --profile f32 --forward
"""

from __future__ import annotations

from typing import Any

import numpy as np

from refimpl.check import Unsupported

Arrays = dict[str, np.ndarray]


def rotate_half(x: np.ndarray) -> np.ndarray:
    """(x1, x2) -> (-x2, x1), halves of the width."""
    x1, x2 = np.split(x, 2, axis=-1)
    return np.concatenate([-x2, x1], axis=-1)


def rotate_every_two(x: np.ndarray) -> np.ndarray:
    """(x1, x2) -> (-x2, x1), neighbours."""
    return np.stack([-x[..., 1::2], x[..., 0::2]], axis=-1).reshape(x.shape)


def wrong(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    """Tables of one codebase, the rotation of another: each right alone."""
    return rope(params, inputs, rotate_half)


def right(op: str, params: dict[str, Any], inputs: Arrays, want: list[str]) -> Arrays:
    return rope(params, inputs, rotate_every_two)


def rope(params: dict[str, Any], inputs: Arrays, rotate: Any) -> Arrays:
    if not params.get("interleaved", True) or not params.get("interleaved_output", True):
        raise Unsupported("neighbouring pairs only")
    x = inputs["x"]
    cos, sin = (np.repeat(inputs[name], 2, axis=-1) for name in ("cos", "sin"))  # (T, D/2) -> (T, D)
    return {"y": x * cos + rotate(x) * sin}
