"""Stretching and shrinking a learned table

Each row shows what one new position takes from the old ones: its neighbours, and a little less than nothing (blue) of
the next. Stretched from 8 to 12, the two conventions differ by at most 0.06. Shrunk from 12 to 5, one still reads at
most four old rows for a new one, the other up to ten, as wide as the new spacing asks for.

Vision models do this to their table when the picture has another size. Libraries call both of them bicubic, and a
model moved from one to the other reads slightly different positions.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import interpolate_positions_forward

from . import style

FORMULA = """y = R weight,   each row of R sums to 1
new place i reads the n old ones around x = (i + 1/2) n/m - 1/2"""
SOURCE = "Dosovitskiy et al. 2021 (ViT), section 3.2; Keys 1981 (the kernel, a = -3/4 on the left, -1/2 on the right)"
ALT = "Four heat maps with a diagonal band: the resize matrices from 8 to 12 and from 12 to 5 rows, in two conventions."
SIZES, KERNELS = ((8, 12), (12, 5)), {"sampled": False, "antialiased": True}


def data() -> dict[tuple[int, int, str], np.ndarray]:
    """Return R, (new, old), by old size, new size and kernel: the unit vectors, resized."""
    return {
        (old, new, kernel): interpolate_positions_forward(
            np.eye(old), height=old, width=1, new_height=new, new_width=1, antialias=antialias
        )[0]
        for old, new in SIZES
        for kernel, antialias in KERNELS.items()
    }


@style.look
def figure() -> Figure:
    """Draw the four matrices."""
    fig, axes = style.panels(2, 2, 6.4)
    for ax, ((old, new, kernel), matrix) in zip(axes.flat, data().items(), strict=True):
        image = style.heat(ax, matrix, None, signed=True, vmin=-1.1, vmax=1.1)
        ax.set(title=f"{old} → {new}, {kernel}", xlabel="old position", ylabel="new position")
        ax.set(xticks=range(0, old, 2), yticks=range(0, new, 2))
    style.bar(image, axes, "share")
    return fig
