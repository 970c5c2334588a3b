"""T5's buckets: near distances one by one, far ones together, and the edges

Above, the bucket of every distance up to 140 for 32 buckets and max_distance 128. Solid: causal, all 32 for keys
before; dashed: both directions share, 16 each. Below, where each bucket begins: the last ones begin at 113 and at 91,
not at 128.

"max_distance" only bounds the last edge. The edges are whole numbers, found here without a logarithm: a rounded one
decides wrongly just at an edge, and float64, in another order of operations, is off by one at 64.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import t5_buckets

from . import style

FORMULA = """bucket = n                                                                    n < exact
bucket = exact + floor(ln(n/exact) / ln(128/exact) · (half - exact))          up to half - 1
causal: half = 32, both directions: half = 16, and keys ahead add 16;         exact = half / 2"""
SOURCE = "Raffel et al. 2020 (T5), section 2.1, and the authors' code"
ALT = "Two staircases of buckets over the distance, steps widening; below them the distances at which the steps begin."
DISTANCES = np.arange(141)


def data() -> dict[str, np.ndarray]:
    """Return the bucket of each distance back, by kind."""
    kinds = {"causal": False, "both directions": True}
    return {name: t5_buckets(-DISTANCES, N=32, max_distance=128, bidirectional=both) for name, both in kinds.items()}


def edges(buckets: np.ndarray) -> np.ndarray:
    """Return the distance at which each bucket begins."""
    return np.unique(buckets, return_index=True)[1]


@style.look
def figure() -> Figure:
    """Draw the staircases, and mark their edges."""
    fig, axes = style.panels(2, 1, 5.4, height_ratios=(3, 1), sharex=True)
    above, below = axes[:, 0]
    for row, (name, buckets) in enumerate(data().items()):
        style_of = {"color": style.COLOURS[row], "linestyle": style.DASHES[row]}
        above.step(DISTANCES, buckets, where="post", label=name, **style_of)
        starts = edges(buckets)
        below.plot(starts, np.full(len(starts), -row), "|", color=style.COLOURS[row], markersize=14, markeredgewidth=2)
        below.annotate(f"{starts[-1]}", (starts[-1], -row), xytext=(6, 0), textcoords="offset points", va="center")
    below.axvline(128, color=style.GREY, linestyle=":")
    above.set(ylabel="bucket", yticks=[0, 8, 15, 24, 31])
    above.legend(loc="upper left")
    below.set(xlabel="distance, query minus key", ylabel="edges", xlim=(-2, 140), ylim=(-1.7, 0.7))
    below.set_yticks([0, -1], ["causal", "both"])
    return fig
