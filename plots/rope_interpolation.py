"""Position interpolation: squeeze the text into the angles of training

The cosine of one slow pair (55 of 0 .. 63). A text of 4,096 positions shows the white part, from 1 down to 0.07.
Another 4,096 (shaded) bring values that the model has never met, down to −0.99. With all positions divided by 2 the
long text (dashed) stays within what training showed.

The price is resolution: neighbours now differ by half as much. The other rules for longer texts are answers to the
question which pairs should pay it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import linear_frequencies, rope_angles_forward, rope_frequencies

from . import style

FORMULA = "cos(p θ_i)  becomes  cos(p θ_i / s),   s = new length / trained length"
SOURCE = "Chen et al. 2023 (Position Interpolation), figure 1"
ALT = "A falling cosine that leaves the trained range in the shaded half, and a dashed one, half as fast, that stays."
D, PAIR, TRAINED, FACTOR = 128, 55, 4096, 2.0
P = np.arange(0, int(FACTOR * TRAINED) + 1, 64)


class Data(NamedTuple):
    """The cosine of the pair over P."""

    plain: np.ndarray
    squeezed: np.ndarray


def data() -> Data:
    """Turn by the plain and by the divided frequencies."""
    plain = rope_frequencies(D, xp=np, dtype=np.float64)
    squeezed = linear_frequencies(D, factor=FACTOR, xp=np, dtype=np.float64)
    return Data(*(rope_angles_forward(P, theta)[0].cos[:, PAIR] for theta in (plain, squeezed)))


@style.look
def figure() -> Figure:
    """Draw both over the position, and shade what is beyond training."""
    fig, axes = style.panels(1, 1, 4.0)
    ax = axes[0, 0]
    ax.axvspan(TRAINED, P[-1], color=style.GREY, alpha=0.2, lw=0, label="beyond training")
    for curve, name, colour, dash in zip(data(), ("p θ", "p θ / 2"), style.COLOURS, style.DASHES, strict=False):
        ax.plot(P, curve, color=colour, linestyle=dash, label=f"cos({name})")
    ax.axhline(data().plain[P <= TRAINED].min(), color="black", lw=1, linestyle=":", label="least value in training")
    ax.set(xlabel="position p", ylabel="cosine", xlim=(0, P[-1]))
    ax.legend(loc="lower left")
    return fig
