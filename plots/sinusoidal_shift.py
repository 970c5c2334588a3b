"""One matrix moves every position by k

The matrix M_k holds one 2 × 2 rotation for each wave and nothing else: fast waves (top left) turn much, slow ones
hardly. Multiplied by M_3 the encoding of any position becomes that of three positions later: for 1,000 positions and
both shifts no number differs by more than 10^-15.

That is why a model can learn to look k places back: it is a fixed linear map, the same everywhere. RoPE applies these
very matrices to q and k, instead of adding PE.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import relative_shift_matrix, sinusoidal_forward

from . import style

FORMULA = """PE(p + k) = M_k PE(p),      for each wave w:   [  cos kw   sin kw ]
                                               [ -sin kw   cos kw ]"""
SOURCE = "Vaswani et al. 2017, section 3.5 (the claim)"
ALT = "Two heat maps of 16 by 16 matrices with small blocks along the diagonal, for a shift of 3 and of 30 positions."
C, SHIFTS = 16, (3, 30)


class Data(NamedTuple):
    """The matrices, and by how much M_k PE(p) differs from PE(p + k) at most, for p = 0 .. 999."""

    matrices: np.ndarray  # (2, C, C)
    difference: float


def data() -> Data:
    """Shift a thousand positions, by matrix and by counting."""
    matrices = relative_shift_matrix(np.array(SHIFTS), C)
    p = np.arange(1000)
    moved = matrices @ sinusoidal_forward(p, C)[0].T  # (2, C, P)
    there = sinusoidal_forward(p + np.array(SHIFTS)[:, None], C)[0]  # (2, P, C)
    return Data(matrices, float(np.max(np.abs(moved - np.swapaxes(there, 1, 2)))))


@style.look
def figure() -> Figure:
    """Draw the matrices."""
    fig, axes = style.panels(1, 2, 3.7, sharey=True)
    for ax, k, matrix in zip(axes[0], SHIFTS, data().matrices, strict=True):
        image = style.heat(ax, matrix, None, signed=True, aspect="equal", vmin=-1, vmax=1)
        ax.set(title=f"M_k for k = {k}", xlabel="channel of PE(p)")
    axes[0, 0].set_ylabel("channel of PE(p + k)")
    style.bar(image, axes, "entry")
    return fig
