"""Four layouts of axial RoPE

Which coordinate turns each of the 32 channels, and how fast, in four vision models: in each row red bars turn with
the row of a patch, blue ones with its column, and longer bars turn faster. Two channels of one pair have bars of one
length.

All four are called 2-D RoPE, and all four shapes fit. Weights trained with one mean nothing to another: the first
three differ by permutations of channels, the last has other frequencies as well.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import axial_rope_forward

from . import style

FORMULA = """interleaved      pairs (2i, 2i+1)           row row | column column       RoPE-ViT
halves           pairs (i, i + D/2)         row column | row column       Qwen2-VL, DINOv3
halves_per_axis  halves of each part        row row | column column       Gemma 4
even_odd         halves, frequencies dealt out in turn                    Pixtral"""
SOURCE = "Heo et al. 2024 (RoPE-ViT), section 3; the code of the models named"
ALT = "Four bar charts over 32 channels, red and blue bars of falling length in blocks or alternating runs."
D, BASE = 32, 100.0
LAYOUTS = ("interleaved", "halves", "halves_per_axis", "even_odd")


def data() -> dict[str, np.ndarray]:
    """Return the angle by which one step down and one step right turn each channel, (2, D), by layout.

    A channel's unit vector keeps cos of its angle on itself.
    """
    steps = np.eye(2, dtype=int)[:, :, None] * np.ones(D, dtype=int)  # (2 steps, 2 axes, D)
    turned = {
        layout: [axial_rope_forward(np.eye(D), positions=step, layout=layout, base=BASE)[0] for step in steps]
        for layout in LAYOUTS
    }
    return {layout: np.arccos(np.clip(np.stack([np.diag(y) for y in ys]), -1, 1)) for layout, ys in turned.items()}


@style.look
def figure() -> Figure:
    """Draw the angles as bars, by layout."""
    fig, axes = style.panels(4, 1, 7.0, sharex=True, sharey=True)
    for ax, (layout, (down, right)) in zip(axes[:, 0], data().items(), strict=True):
        ax.bar(range(D), down, color=style.VERMILLION, label="row")
        ax.bar(range(D), right, color=style.BLUE, hatch="///", edgecolor="white", label="column")
        ax.set(title=layout, yscale="log")
    axes[0, 0].legend(ncols=2, loc="upper right", bbox_to_anchor=(1, 1.35))
    axes[3, 0].set_xlabel("channel")
    fig.supylabel("radians a patch")
    return fig
