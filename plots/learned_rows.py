"""A learned table learns where texts are

A table of 512 positions, and 1,000 training texts whose lengths are drawn evenly between 16 and 512. The bars count
from how many texts each row got a gradient: row 0 from all 1,000, row 256 from 553, row 511 from 1. Row 512 does not
exist.

The rows beyond the usual length stay near what chance made them, though no error says so; beyond the last row there
is nothing to read, and no formula to continue with. That is what the other encodings set out to mend.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import learned_position_backward, learned_position_forward

from . import style

FORMULA = """y[p] = weight[p],   p = 0 .. N-1
dweight[n] = sum of dy[p] over all p with position n"""
SOURCE = "Gehring et al. 2017, section 3.1; BERT, GPT-2"
ALT = "A falling staircase: the number of texts that reach each of 512 positions, from 1,000 at the first to 1."
N, TEXTS = 512, 1000


def data() -> np.ndarray:
    """Return for each row how many texts gave it a gradient, (N,): that of a sum of ones is the count."""
    lengths = np.random.default_rng(0).integers(16, N + 1, TEXTS)
    positions = np.concatenate([np.arange(length) for length in lengths])
    y, residuals = learned_position_forward(positions, np.zeros((N, 1)))
    return learned_position_backward(np.ones_like(y), residuals)[:, 0]


@style.look
def figure() -> Figure:
    """Draw the counts."""
    counts = data()
    fig, axes = style.panels(1, 1, 3.8)
    ax = axes[0, 0]
    ax.fill_between(range(N), counts, step="mid", color=style.SKY)
    ax.step(range(N), counts, where="mid", color=style.BLUE)
    ax.axvline(N - 0.5, color=style.BLACK, linestyle=":")
    ax.text(N - 8, TEXTS * 0.93, "the table ends", ha="right", fontsize=style.SMALL)
    ax.set(xlabel="row of the table (position)", ylabel="texts that train it", xlim=(0, N + 20), ylim=(0, None))
    return fig
