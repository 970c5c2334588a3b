"""Which position does a token have? Three rules

The number in each cell is the position. Counting from an offset numbers cells, whatever stands in them. Counting real
tokens (RoBERTa, OPT) gives padding (pale) the position 1, and the sentence 2, 3, ... wherever it begins. In packed
documents the count starts again with each document.

An index rule is no part of the formula, and easily wrong while all shapes fit: a sentence that is padded on the left,
or packed behind another, must get the same positions as one alone.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import positions_from_offset, positions_from_padding, positions_in_documents

from . import style

FORMULA = """offset      y[t] = start + offset + t
padding     y[t] = first - 1 + (real tokens among 0 .. t),   1 on padding
documents   y[t] = t - (first place of the document of t)"""
SOURCE = "GPT-2; BART; fairseq, RoBERTa and OPT (first = 2); Krell et al. 2021 (packing)"
ALT = "Five rows of ten numbered cells: plain counts, counts that skip padding on either side, counts that restart."
T = 10
REAL = np.arange(T)
DOCUMENTS = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])


def data() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return by rule the positions, (T,), and the group that colours each cell."""
    left, right = REAL >= 3, REAL < 7
    return {
        "from 0 (GPT-2)": (positions_from_offset(T, xp=np), np.ones(T)),
        "from 2 (BART)": (positions_from_offset(T, offset=2, xp=np), np.ones(T)),
        "padded on the right": (positions_from_padding(right), right),
        "padded on the left": (positions_from_padding(left), left),
        "packed documents": (positions_in_documents(DOCUMENTS), 1 + DOCUMENTS),
    }


@style.look
def figure() -> Figure:
    """Draw a row of cells a rule."""
    found = data()
    fig, axes = style.panels(1, 1, 3.2)
    ax = axes[0, 0]
    style.classes(
        ax, np.stack([group for _, group in found.values()]), ("#e4e4e4", style.SKY, style.ORANGE, style.GREEN)
    )
    for row, (positions, _) in enumerate(found.values()):
        for t, position in enumerate(positions):
            ax.text(t, row, str(position), ha="center", va="center", in_layout=False)
    ax.set(xlabel="place t of the token", ylabel="rule", xticks=range(T))
    ax.set_yticks(range(len(found)), list(found))
    return fig
