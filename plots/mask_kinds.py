"""Six masks: what each query may see

Twelve queries and keys, dark where a query looks. A window of 4 keys slides, a chunk of 4 starts anew: its first token
sees itself alone. A prefix of 4 reads itself both ways. Packed documents of 5, 4 and 3 tokens form blocks, each causal
in itself. Padding on the left hides three keys from all, and leaves its own rows empty: they get 0, not a mean.

A mask selects; it is no large negative number. Stacked layers see further: after n windowed layers, n · 3 tokens back.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import causal_mask, chunked_mask, document_mask, padding_mask, prefix_mask, window_mask

from . import style

FORMULA = """window  p - 3 <= j <= p        chunked  p // 4 = j // 4 and j <= p       prefix  j < 4 or j <= p
packed  document(p) = document(j) and j <= p             left padding  j >= 3 and j <= p"""
SOURCE = "Beltagy et al. 2020; Llama 4; Raffel et al. 2020; Krell et al. 2021"
ALT = "Six grids of twelve by twelve cells: a triangle, a band, three triangles of 4, and others."
T = 12


def data() -> dict[str, np.ndarray]:
    """Return the masks, (T, T), by name."""
    causal = causal_mask(T, T, q_offset=0, xp=np)
    documents = np.repeat([0, 1, 2], [5, 4, 3])
    return {
        "causal": causal,
        "window of 4": window_mask(T, T, left=3, right=0, q_offset=0, xp=np),
        "chunks of 4": chunked_mask(T, T, chunk=4, q_offset=0, xp=np),
        "prefix of 4": prefix_mask(T, T, prefix=4, q_offset=0, xp=np),
        "packed: 5, 4, 3": document_mask(documents)[0] & causal,
        "left padding: 3": padding_mask(np.array([T - 3]), S=T, left_padded=True)[0, 0] & causal,
    }


@style.look
def figure() -> Figure:
    """Draw six grids."""
    fig, axes = style.panels(2, 3, 5.4, sharex=True, sharey=True)
    for ax, (name, keep) in zip(axes.flat, data().items(), strict=True):
        style.classes(ax, keep, ["#e6e6e6", style.BLUE])
        ax.set(title=name, xticks=range(0, T, 3), yticks=range(0, T, 3), aspect="equal")
        ax.set_xticks(np.arange(T + 1) - 0.5, minor=True)
        ax.set_yticks(np.arange(T + 1) - 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
    fig.supxlabel("key")
    fig.supylabel("query")
    return fig
