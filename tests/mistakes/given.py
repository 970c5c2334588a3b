"""What a mistake is run on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Shape = tuple[int, ...]


class Input(NamedTuple):
    """What an op is run on; cotangents: the outputs that get one."""

    params: dict[str, Any]
    arrays: dict[str, np.ndarray]
    cotangents: tuple[str, ...] = ("y", "lse")


def reals(name: str, shape: Shape, scale: float = 1.0) -> np.ndarray:
    """Return normal numbers that depend on nothing but the name and the shape."""
    return scale * np.random.default_rng([*name.encode(), *shape]).normal(size=shape)
