"""Turning only a part of a head: two ways, two sets of waves

A head of 64 channels in which a quarter of the pairs turns. A partial rotation (GPT-J) gives its 8 pairs almost the
whole range of wavelengths, in larger steps; proportional RoPE keeps the 8 fastest of the full head. Pairs without a
mark stand still.

Channels that stand match content at any distance, without being disturbed by it. Both variants turn 16 channels, and
are often confused; the longest waves are 19,869 and 47 positions.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import proportional_frequencies, rope_frequencies

from . import style

FORMULA = """full          θ_i = base^(-2i/D),  i = 0 .. D/2-1
partial       θ_i = base^(-2i/R),  i = 0 .. R/2-1,  the channels from R on stand
proportional  θ_i = base^(-2i/D),  i = 0 .. R/2-1,  the other pairs stand"""
SOURCE = "Wang and Komatsuzaki 2021 (GPT-J); Barbero et al. 2025 (p-RoPE)"
ALT = "Wavelengths over 32 pairs: a straight line for the full head, a steep one and its first part for the variants."
D, R = 64, 16


def data() -> dict[str, np.ndarray]:
    """Return the wavelengths of the pairs that turn, in positions."""
    rules = {
        "full": rope_frequencies(D, xp=np, dtype=np.float64),
        "partial, R = 16": rope_frequencies(R, xp=np, dtype=np.float64),
        "proportional, 1/4": proportional_frequencies(D, proportion=R / D, xp=np, dtype=np.float64),
    }
    return {name: 2 * np.pi / theta[theta > 0] for name, theta in rules.items()}


@style.look
def figure() -> Figure:
    """Draw wavelengths over pairs."""
    fig, axes = style.panels(1, 1, 4.2)
    for (name, waves), colour, marker in zip(data().items(), (style.GREY, *style.COLOURS), "os^", strict=False):
        size = {"o": 9, "s": 6, "^": 6}[marker]
        axes[0, 0].plot(
            waves, marker, color=colour, label=name, markersize=size, fillstyle="none" if size > 6 else "full"
        )
    axes[0, 0].set(xlabel="index i of the pair", ylabel="wavelength in positions", yscale="log", xlim=(-1, D // 2))
    axes[0, 0].legend(loc="lower right")
    return fig
