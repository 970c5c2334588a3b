"""How long the waves are

The lines are straight because each wave is longer than the one before by the same factor; wider encodings take
smaller steps from 6.3 to almost 62,832 positions. Of the 256 waves of C = 512, 161 come round within 2,048 tokens
(dotted); the other 95 show only a part of a turn.

A wave that has not come round tells far from near without doubt; one that came round often tells only the place
within a turn, but tells it finely. Together they are like the digits of a number.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward

from . import style

FORMULA = """wavelength_k = 2π / w_k = 2π base^(2k/C),   k = 0 .. C/2-1
shortest 2π positions,   longest 2π base^(1 - 2/C)"""
SOURCE = "Vaswani et al. 2017, section 3.5"
ALT = "Straight lines on a logarithmic axis: the wavelength of each wave for three widths, with the text length marked."
WIDTHS, LENGTH = (32, 128, 512), 2048


def data() -> dict[int, np.ndarray]:
    """Return the wavelength of every wave, (C/2,), in positions, by width."""
    return {C: 2 * np.pi / sinusoidal_forward(np.arange(1), C)[1].frequencies for C in WIDTHS}


@style.look
def figure() -> Figure:
    """Draw wavelengths against the index of the wave."""
    fig, axes = style.panels(1, 1, 4.4)
    ax = axes[0, 0]
    for (C, waves), colour, marker in zip(data().items(), style.COLOURS, "os.", strict=False):
        turned = int((waves <= LENGTH).sum())
        ax.plot(waves, marker=marker, color=colour, lw=1, label=f"C = {C}: {turned} of {len(waves)} come round")
    ax.axhline(LENGTH, color=style.BLACK, linestyle=":", label=f"a text of {LENGTH:,} tokens")
    ax.set(yscale="log", xlabel="index k of the wave", ylabel="wavelength in positions")
    ax.legend(loc="lower right")
    return fig
