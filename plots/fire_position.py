"""FIRE does not see the distance, but its share of the way back

Input of FIRE's network over the distance back, for queries at 256, 1,024 and 16,384: it ends at 1 for all but the
first, whose short prefix counts as 512 long. The same distance of 200 gives three different inputs.

So the network never meets an input that it has not been trained on, however long the text: FIRE interpolates where
others extrapolate. The price is shift invariance: the bias depends on where the query stands, not on the distance
alone.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import fire_forward

from . import style

FORMULA = "x = ln(1 + c n) / ln(1 + c max(P, L0)),   n = P - j,   c = 0.1,   L0 = 512"
SOURCE = "Li et al. 2024 (FIRE), section 3"
ALT = "Three rising curves over a logarithmic distance; two reach 1 at their right ends, the first stops below."
POSITIONS = (256, 1024, 16384)


def data() -> dict[int, np.ndarray]:
    """Return x at each distance 0 .. P back from a query at P, by P: FIRE with a network that passes x on."""
    one, zero = np.ones(1), np.zeros(1)
    found = {}
    for P in POSITIONS:
        fixed = map(np.float64, (0.1, 1.0, 512.0))
        y, _ = fire_forward(one, zero, one[:, None], zero, *fixed, T=1, S=P + 1, q_offset=P)
        found[P] = y[0, 0, ::-1]
    return found


@style.look
def figure() -> Figure:
    """Draw x over the distance."""
    fig, axes = style.panels(1, 1, 4.2)
    ax = axes[0, 0]
    for (P, x), colour, dash in zip(data().items(), style.COLOURS, style.DASHES, strict=False):
        ax.plot(np.arange(1, P + 1), x[1:], color=colour, linestyle=dash, label=f"query at {P:,}")
    ax.axvline(200, color=style.GREY, linestyle=":")
    ax.set(xscale="log", xlabel="distance, query minus key", ylabel="input of the network")
    ax.legend(loc="upper left")
    return fig
