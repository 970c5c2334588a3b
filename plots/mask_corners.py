"""Two corners of a causal mask, and which question each answers

Four queries, seven keys, dark where a query may look. Left, offset 0: the first query sees the first key alone; the
three newest keys are never seen. Right, offset 3 = S - T: the queries are the last of the keys, as when a cache holds
the past; the last query sees all.

With T = S nobody notices. PyTorch's is_causal and JAX line up the left corners, FlashAttention the right ones: the
same call moves three positions.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import causal_mask

from . import style

FORMULA = "keep[i, j] = j <= q_offset + i"
SOURCE = "Vaswani et al. 2017, section 3.2.3; PyTorch, JAX, FlashAttention 2.1"
ALT = "Two grids of four by seven cells: staircases of dark cells from the top left and to the bottom right corner."
T, S = 4, 7


def data() -> dict[int, np.ndarray]:
    """Return the masks, (T, S), by offset."""
    return {offset: causal_mask(T, S, q_offset=offset, xp=np) for offset in (0, S - T)}


@style.look
def figure() -> Figure:
    """Draw both masks."""
    fig, axes = style.panels(1, 2, 3.0, sharey=True)
    for ax, (offset, keep) in zip(axes[0], data().items(), strict=True):
        style.classes(ax, keep, ["#e6e6e6", style.BLUE])
        ax.set(title=f"q_offset = {offset}", xlabel="key j", xticks=range(S), yticks=range(T))
        ax.set_xticks(np.arange(S + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(T + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=2)
        ax.tick_params(which="minor", length=0)
    axes[0, 0].set_ylabel("query i")
    return fig
