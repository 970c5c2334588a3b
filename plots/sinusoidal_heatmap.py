"""The sinusoidal encoding, a row a position

Each row is added to the token at that position; even columns are sines, odd ones cosines. On the left waves are short
and neighbouring rows differ much; on the right sines stay near 0 (pale) and cosines near 1 (red) over all 64
positions.

Each row is a reading of a clock with 64 hands, the fastest first: fast hands tell neighbours apart, slow ones near
from far. Nothing is learned, nothing has an end, and no number leaves the range from −1 to 1.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward

from . import style

FORMULA = "y[p, 2k] = sin(p w_k),   y[p, 2k+1] = cos(p w_k),   w_k = 10000^(-2k/C),   C = 128"
SOURCE = "Vaswani et al. 2017, section 3.5"
ALT = (
    "Heat map of 64 positions by 128 channels: a fine pattern on the left that widens to vertical stripes on the right."
)
P, C = 64, 128
ROW = 20  # the position that is drawn as a curve


def data() -> np.ndarray:
    """Return the encoding, (P, C)."""
    return sinusoidal_forward(np.arange(P), C)[0]


@style.look
def figure() -> Figure:
    """Draw the matrix, and one row of it."""
    y = data()
    fig, axes = style.panels(2, 1, 6.6, height_ratios=(3, 1), sharex=True)
    style.heat(axes[0, 0], y, "value", signed=True)
    axes[0, 0].axhline(ROW, color="black", linewidth=1)
    axes[0, 0].set_ylabel("position")
    axes[1, 0].plot(range(0, C, 2), y[ROW, 0::2], color=style.BLUE, marker=".", label="sines")
    axes[1, 0].plot(range(1, C, 2), y[ROW, 1::2], color=style.VERMILLION, marker=".", linestyle="--", label="cosines")
    axes[1, 0].set(title=f"the row of position {ROW}", xlabel="channel", ylabel="value")
    axes[1, 0].legend(loc="lower right")
    return fig
