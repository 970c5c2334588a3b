"""M-RoPE: one head, three coordinates

Above, the coordinates of a short prompt: three words, a picture of 4 × 6 patches, three words. A word has the same
number on all axes; the patches share a time and spread over height and width. Below, which axis each of the 64 pairs
reads: in blocks (Qwen2-VL) time alone gets the fast pairs, in turn (Qwen3-VL) every axis has fast and slow ones.

A word turns as in plain RoPE, so that a text model can learn to see without forgetting how to read. But the two
orders are different functions of the same coordinates.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from refimpl import mrope_cos_sin

from . import style

FORMULA = """angle_i = positions[a_i] θ_i,   θ_i = base^(-2i/D)
a_i = time, ..., time, height, ..., height, width, ..., width    sections 16, 24, 24
a_i = time, height, width, time, height, width, ..., time, time  sections 24, 20, 20"""
SOURCE = "Wang et al. 2024 (Qwen2-VL), section 2.1; Qwen3-VL's code"
ALT = "Above, three staircases over 30 tokens that part where the picture is; below, 64 pairs coloured by axis, twice."
COORDINATES, WORDS, H, W = ("time", "height", "width"), 3, 4, 6
ORDERS: dict[str, Any] = {
    "in blocks": {"sections": (16, 24, 24)},
    "in turn": {"sections": (24, 20, 20), "cycled": True},
}


def data() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the coordinates, (3, tokens), and the axis that each pair reads, (D/2,), by order.

    A pair reads the axis that turns it: one axis at a time is at position 1, the others at 0.
    """
    words, grid = np.tile(np.arange(WORDS), (3, 1)), np.indices((1, H, W)).reshape(3, -1)
    positions = np.concatenate([words, WORDS + grid, WORDS + max(H, W) + words], axis=1)
    sines = {name: mrope_cos_sin(np.eye(3, dtype=int), **options).sin for name, options in ORDERS.items()}
    return positions, {name: np.argmax(table, axis=0) for name, table in sines.items()}


@style.look
def figure() -> Figure:
    """Draw coordinates over tokens, and axes over pairs."""
    positions, axes_of_pairs = data()
    fig, axes = style.panels(3, 1, 6.4, height_ratios=(5, 1, 1))
    colours = style.COLOURS[:3]
    for name, line, colour, marker in zip(COORDINATES, positions, colours, "os^", strict=True):
        axes[0, 0].plot(line, marker, color=colour, label=name, fillstyle="none", markersize=7)
    axes[0, 0].set(xlabel="token", ylabel="position on the axis")
    axes[0, 0].legend(loc="upper left")
    for ax, (name, read) in zip(axes[1:, 0], axes_of_pairs.items(), strict=True):
        style.classes(ax, read[None], colours)
        ax.set(title=f"axis that a pair reads, {name}", yticks=[], xlabel="index i of the pair (fast to slow)")
    return fig
