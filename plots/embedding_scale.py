"""Why token rows are multiplied by √C

Lengths of 2,000 token rows whose entries have a standard deviation of 1/√C, at C = 512: all near 1. Times √C they are
near 22.6. A sinusoidal row has length 16 at every position, since each pair of channels holds sin² + cos² = 1.

Without the factor the position would be 16 times as loud as the token, and the sum would say where, but hardly what.
Models with learned tables (BERT, GPT-2) need no factor: both tables start out small, and learn.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward, token_embedding_forward

from . import style

FORMULA = """x = √C table[ids] + PE(p)
|PE(p)|² = sum over the C/2 waves of sin² + cos² = C/2"""
SOURCE = "Vaswani et al. 2017, section 3.4 (the factor, without a reason)"
ALT = "Three narrow peaks on one axis of length: tokens near 1, positions at 16, scaled tokens near 22.6."
C, V = 512, 2000


def data() -> dict[str, np.ndarray]:
    """Return the lengths of V rows of each kind, (V,)."""
    table, ids = np.random.default_rng(0).normal(0, C**-0.5, (V, C)), np.arange(V)
    rows = {
        "token row": token_embedding_forward(ids, table)[0],
        "position row": sinusoidal_forward(ids, C)[0],
        "token row · √C": token_embedding_forward(ids, table, scale_by_sqrt_width=True)[0],
    }
    return {name: np.linalg.norm(y, axis=-1) for name, y in rows.items()}


@style.look
def figure() -> Figure:
    """Draw how often each length occurs."""
    fig, axes = style.panels(1, 1, 3.6)
    ax = axes[0, 0]
    for (name, lengths), colour, hatch in zip(data().items(), style.COLOURS, ("", "///", "..."), strict=False):
        ax.hist(lengths, bins=np.arange(0, 26, 0.25), color=colour, hatch=hatch, edgecolor="white", lw=0, label=name)
    ax.set(xlabel="length of the row (Euclidean norm)", ylabel="rows", xlim=(0, 26))
    ax.legend(loc="upper left", bbox_to_anchor=(0.15, 1))
    return fig
