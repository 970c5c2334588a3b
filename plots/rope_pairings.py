"""Two ways to pair channels are one rotation, reordered

All three matrices turn a vector of 8 channels to position 1. Interleaved pairs (0,1), (2,3), ... are blocks on the
diagonal; half-split pairs (0,4), (1,5), ... lie half a width apart. Between the two stands a permutation: reorder,
turn half-split, and reorder back gives the first matrix to the last bit.

Loading weights made for one pairing into code that does the other is a bug that nothing announces: shapes fit, norms
fit, and scores still depend on the distance alone. They are just those of another model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import permute_pairs_forward, rope_cos_sin, rope_forward

from . import style

FORMULA = """interleaved  pair i = channels (2i, 2i+1)
half-split   pair i = channels (i, i + D/2)
R_interleaved = Πᵀ R_halves Π,   Π x = (x_0, x_2, x_4, ..., x_1, x_3, x_5, ...)"""
SOURCE = "Su et al. 2021 (RoFormer), equation 15; half-split: GPT-NeoX, most of transformers"
ALT = "Three heat maps of 8 by 8 matrices: blocks on the diagonal, entries half a width off it, and a permutation."
D, POSITION = 8, 1


class Data(NamedTuple):
    """Matrices that act on a column of channels, (D, D)."""

    interleaved: np.ndarray
    halves: np.ndarray
    permutation: np.ndarray


def data() -> Data:
    """Turn and reorder the unit vectors: row by row they give the transposed matrices."""
    table, units = rope_cos_sin(np.full(D, POSITION), D), np.eye(D)
    interleaved, halves = (rope_forward(units, *table, interleaved=pairs)[0].T for pairs in (True, False))
    return Data(interleaved, halves, permute_pairs_forward(units, H=1)[0].T)


@style.look
def figure() -> Figure:
    """Draw the three matrices."""
    fig, axes = style.panels(1, 3, 3.0, sharey=True)
    for ax, title, z in zip(axes[0], ("interleaved", "half-split", "permutation Π"), data(), strict=True):
        image = style.heat(ax, z, None, signed=True, aspect="equal", vmin=-1, vmax=1)
        ax.set(title=title, xlabel="channel of x", xticks=range(0, D, 2), yticks=range(0, D, 2))
    axes[0, 0].set_ylabel("channel of y")
    style.bar(image, axes, "entry")
    return fig
