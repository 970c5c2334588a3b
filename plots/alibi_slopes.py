"""ALiBi's slopes for 6, 8 and 12 heads: a list that is not sorted

For 8 heads (circles) the slopes halve from head to head, 1/2 to 1/256. For 6 and 12 the list begins with the slopes
of 4 and 8 heads, and the extra heads (filled) take every other slope of the next power of two: they fill gaps from
the large end, and the list starts falling a second time.

One falling sequence 2^(-8h/H) for every H (small dots) is the common mistake: it gives none of the 12 heads its
slope. A checkpoint then runs without complaint, and every head looks at another range than it was trained for.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_slopes

from . import style

FORMULA = """2^(-8h/H),  h = 1 .. H                                     H a power of two
slopes(n), then slopes(2n)[0], slopes(2n)[2], ...            n the largest power of two below H"""
SOURCE = "Press et al. 2022 (ALiBi), section 3, and the authors' code for other H"
ALT = (
    "Three panels of slopes by head on a logarithmic axis; for 6 and 12 heads a second falling run begins near the end."
)
HEADS = (6, 8, 12)


class Data(NamedTuple):
    """Slopes for one number of heads."""

    slopes: np.ndarray  # (H,)
    naive: np.ndarray  # (H,), by one sequence
    power: int  # heads that come from the largest power of two


def data() -> dict[int, Data]:
    """Return both lists for each number of heads."""
    naive = {H: 2.0 ** (-8 * np.arange(1, H + 1) / H) for H in HEADS}
    powers = {H: 2 ** int(np.log2(H)) for H in HEADS}
    return {H: Data(alibi_slopes(H, xp=np, dtype=np.float64), naive[H], powers[H]) for H in HEADS}


@style.look
def figure() -> Figure:
    """Draw slopes over heads."""
    fig, axes = style.panels(1, 3, 4.0, sharey=True, width_ratios=(6, 8, 12))
    for ax, (H, (slopes, naive, n)) in zip(axes[0], data().items(), strict=True):
        h = np.arange(1, H + 1)
        ax.plot(h, naive, ".", color=style.GREY, markersize=5, label="one sequence")
        ax.plot(h[:n], slopes[:n], "o", color=style.BLUE, fillstyle="none", label="power of two")
        ax.plot(h[n:], slopes[n:], "s", color=style.VERMILLION, label="extra heads")
        ax.set(title=f"{H} heads", xlabel="head h", xticks=h[1::2], yscale="log")
        ax.set_yscale("log", base=2)
    axes[0, 0].set_ylabel("slope")
    fig.legend(*axes[0, 2].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return fig
