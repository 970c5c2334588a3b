"""The sinusoidal encoding, a row a position

Each row is what is added to the token at that position, each column one sine or cosine. The left columns are fast and
blur into stripes, the right ones hardly change over 64 positions: below, three of the 32 waves.

No two rows are alike, as no two times on a clock are: fast hands tell neighbours apart, slow ones tell far from near.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward

from . import style

FORMULA = "y[p, 2k] = sin(p w_k),   y[p, 2k+1] = cos(p w_k),   w_k = 10000^(-2k/C)"
SOURCE = "Vaswani et al. 2017, section 3.5"
ALT = "Heat map of positions against channels, stripes at the left, plain bands at the right; below, three sine waves."
P, C, CHOSEN = 64, 64, (0, 4, 8)  # positions, channels, and the waves drawn below


class Data(NamedTuple):
    """The encoding, and the length in positions of every wave."""

    y: np.ndarray  # (P, C)
    wavelengths: np.ndarray  # (C/2,)


def data() -> Data:
    """Encode P positions."""
    y, residuals = sinusoidal_forward(np.arange(P), C)
    return Data(y, 2 * np.pi / residuals.frequencies)


@style.look
def figure() -> Figure:
    """Draw the heat map, and three of its columns."""
    y, wavelengths = data()
    fig, axes = style.panels(2, 1, 7.0, height_ratios=(2, 1))
    style.heat(axes[0, 0], y, "value", signed=True)
    axes[0, 0].set(xlabel="channel", ylabel="position")
    for colour, dash, k in zip(style.COLOURS, style.DASHES, CHOSEN, strict=False):
        label = f"channel {2 * k}: {wavelengths[k]:.1f} positions a wave"
        axes[1, 0].plot(y[:, 2 * k], color=colour, linestyle=dash, label=label)
    axes[1, 0].set(xlabel="position", ylabel="value", xlim=(0, P - 1))
    fig.legend(loc="outside lower center", ncols=1)
    return fig
