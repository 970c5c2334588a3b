"""Which key head a query head reads, and what sharing saves

Eight query heads. Above, the key head that each reads for 8, 4, 2 and 1 key heads: neighbours share. The last row is
the common bug, heads dealt out in turn: same shapes, wrong keys. Below, the keys and values that one token leaves in
the cache, per layer, for heads of width 128 in 16 bits: sharing divides it.

With G = H (multi-head) and G = 1 (multi-query) the bug gives the right answer: only grouped heads show it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import attention_forward

from . import style

FORMULA = "query head h reads key head h // (H / G);   cache a token and layer = 2 · G · D numbers"
SOURCE = "Shazeer 2019 (multi-query); Ainslie et al. 2023 (grouped); the bug: onnx#7274, axlearn#842"
ALT = "A table of eight columns, numbered and coloured by key head, in five rows; below it four falling bars."
H, D, GROUPS = 8, 128, (8, 4, 2, 1)


class Data(NamedTuple):
    """Key heads read by each query head, and what the cache holds."""

    read: np.ndarray  # (rows, H): GROUPS, then the bug for 4
    bytes: np.ndarray  # by GROUPS, a token and layer


def data() -> Data:
    """Find out what attention reads: each value head holds its own number."""
    read = []
    for G in GROUPS:
        k, v = np.zeros((G, 1, 2)), np.arange(G, dtype=float)[:, None, None]
        read.append(np.asarray(attention_forward(np.zeros((H, 1, 2)), k, v)[0].y)[:, 0, 0].astype(int))
    return Data(np.stack([*read, np.arange(H) % 4]), np.array([2 * G * D * 2 for G in GROUPS]))


@style.look
def figure() -> Figure:
    """Draw the table above the bars."""
    read, size = data()
    fig, axes = style.panels(2, 1, 5.8, height_ratios=(3, 2))
    above, below = axes[:, 0]
    style.numbers(above, style.heat(above, read, None, vmin=-1, vmax=7), "{:.0f}", 12)
    above.set(xlabel="query head", ylabel="key heads", title="key head that is read", xticks=range(H))
    above.set_yticks(
        range(5), ["G = 8: multi-head", "G = 4: grouped", "G = 2: grouped", "G = 1: multi-query", "bug, G = 4"]
    )
    below.barh([f"G = {G}" for G in GROUPS], size, color=style.BLUE)
    below.invert_yaxis()
    below.set(xlabel="bytes in the cache, a token and layer", ylabel="key heads")
    return fig
