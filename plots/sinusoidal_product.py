"""How alike two positions are, and what a projection does to it

Top: the inner product of two encodings falls off with their distance, the same for position 100, 150 and 200, and the
same in both directions. Bottom: after a random query and key projection the three curves part, and lose their peak.

The product itself knows distance but not direction. What a layer sees is its own projections' doing: it must learn to
keep the distance, and it can learn the direction. Rotary encodings came from making this sure.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import linear_forward, sinusoidal_forward

from . import style

FORMULA = """PE(p)·PE(p+k) = sum over waves of cos(k w_i),   whatever p is
(PE(p) W_q)·(PE(p+k) W_k) depends on p"""
SOURCE = "Vaswani et al. 2017, section 3.5; Yan et al. 2019 (TENER)"
ALT = (
    "Two panels of three curves over the distance: above one symmetric peak three times, below three different curves."
)
C, FROM, K = 128, (100, 150, 200), np.arange(-50, 51)


class Data(NamedTuple):
    """Products by starting position, over the distances K."""

    plain: np.ndarray  # (3, K)
    projected: np.ndarray  # (3, K)


def data() -> Data:
    """Multiply encodings, as they are and projected."""
    w_q, w_k = np.random.default_rng(0).normal(0, C**-0.5, (2, C, C))
    here, there = (sinusoidal_forward(p, C)[0] for p in (np.array(FROM)[:, None], np.array(FROM)[:, None] + K))
    q, k = linear_forward(here, w_q)[0], linear_forward(there, w_k)[0]
    return Data((here * there).sum(-1), (q * k).sum(-1))


@style.look
def figure() -> Figure:
    """Draw both products over the distance."""
    fig, axes = style.panels(2, 1, 6.2, sharex=True)
    for ax, products in zip(axes[:, 0], data(), strict=True):
        for p, curve, colour, dash in zip(FROM, products, style.COLOURS, style.DASHES, strict=False):
            ax.plot(K, curve, color=colour, linestyle=dash, label=f"p = {p}")
        ax.axvline(0, color=style.GREY, lw=1)
    axes[0, 0].set(title="PE(p) · PE(p + k)", ylabel="inner product")
    axes[1, 0].set(title="the same after random projections W_q, W_k", xlabel="distance k", ylabel="inner product")
    axes[0, 0].legend()
    return fig
