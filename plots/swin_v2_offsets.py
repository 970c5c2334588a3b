"""Swin v2: a larger window in the coordinates of a small one

Above, the input of the network that gives the bias, over the offset in a window of 16 patches that is measured with
the 8 of training. It leaves the trained offsets (shaded) by little: 1.39 where 1.06 was the end; without the logarithm
2.14 instead of 1. Below, the bias of one head with random weights: it goes on smoothly.

A table, as in Swin 1, has no row for a new offset. Here the bias is always in (0, 16).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import swin_v2_bias_forward

from . import style

FORMULA = """u(d) = sign(d) log2(1 + 8 |d| / (8 - 1)) / log2(8)
bias = 16 sigmoid(w2 · relu(u w1 + b1))"""
SOURCE = "Liu et al. 2022 (Swin v2), section 3.3, and the authors' code"
ALT = "Two S-shaped or smooth curves over the offset from minus 15 to 15, with the trained offsets from -7 to 7 shaded."
TRAINED, LARGE = 8, 16


class Data(NamedTuple):
    """Over the offsets -15 .. 15 of one row of the large window; linear: coordinates without the logarithm."""

    offsets: np.ndarray
    coordinates: np.ndarray
    linear: np.ndarray
    bias: np.ndarray


def data() -> Data:
    """Return coordinates and bias of a window of one row and LARGE columns."""
    random = np.random.default_rng(3)
    w1, b1, w2 = random.normal(size=(2, 32)), random.normal(size=32), random.normal(0, 0.3, size=(32, 1))
    y, residuals = swin_v2_bias_forward(w1, b1, w2, height=1, width=LARGE, pretrained_width=TRAINED)
    offsets = np.arange(1 - LARGE, LARGE)
    bias = np.concatenate([y[0, 0, :0:-1], y[0, :, 0]])  # d = query minus key: row 0 goes back, column 0 ahead
    return Data(offsets, residuals.offsets[:, 1], offsets / (TRAINED - 1), bias)


@style.look
def figure() -> Figure:
    """Draw coordinates above, the bias below."""
    found = data()
    fig, axes = style.panels(2, 1, 5.6, sharex=True)
    above, below = axes[:, 0]
    above.plot(found.offsets, found.coordinates, color=style.BLUE, marker=".", label="logarithmic (Swin v2)")
    above.plot(found.offsets, found.linear, color=style.VERMILLION, linestyle="--", label="linear")
    below.plot(found.offsets, found.bias, color=style.BLUE, marker=".")
    for ax in axes[:, 0]:
        ax.axvspan(1 - TRAINED, TRAINED - 1, color=style.SKY, alpha=0.25, lw=0)
    above.legend(loc="upper left").axes.set_ylabel("coordinate u")
    below.set(xlabel="offset, query minus key, in patches", ylabel="bias")
    return fig
