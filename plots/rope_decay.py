"""Does RoPE decay with distance? Only for a query that is its own key

Above, the score of equal vectors of width 128 falls with ripples, more slowly for a larger base. Below, 2,000 random
queries and keys: half of their scores lie in the dark band, nine tenths in the pale one, alike at every distance.

The decay, often quoted as RoPE's own, is one of q = k; a head may learn to prefer any distance. From 4,000 positions
on even the curve of base 10,000 only ripples around 0, by less than a quarter of its peak.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import rope_cos_sin, rope_forward

from . import style

FORMULA = """q = k = ones:   score(d) / D = mean over pairs of cos(d θ_i)
q, k random:    mean 0 and the same spread at every distance, since R(d) keeps lengths"""
SOURCE = "Su et al. 2021 (RoFormer), section 3.4.3; Barbero et al. 2025 (Round and Round We Go!)"
ALT = "Above, falling rippled curves for two bases over a logarithmic distance; below, a flat band of random scores."
D, BASES = 128, (1e4, 5e5)
DISTANCES = np.unique(np.geomspace(1, 1e5, 300).astype(int))


class Data(NamedTuple):
    """Scores over DISTANCES, as a share of the largest, and of random pairs in standard deviations."""

    equal: np.ndarray  # (2, distances), by base
    quantiles: np.ndarray  # (4, distances): 5, 25, 75, 95 %


def data() -> Data:
    """Turn keys by every distance, and score them against a query that stays."""
    tables = [rope_cos_sin(DISTANCES, D, base=base) for base in BASES]
    ones = np.ones((len(DISTANCES), D))
    equal = np.stack([rope_forward(ones, *table)[0].sum(-1) / D for table in tables])
    q, k = np.random.default_rng(0).normal(size=(2, 2000, D))
    keys = (rope_forward(k, cos, sin)[0] for cos, sin in zip(*tables[0], strict=True))
    scores = np.stack([(q * turned).sum(-1) for turned in keys]) / D**0.5  # (distances, 2000)
    return Data(equal, np.quantile(scores, [0.05, 0.25, 0.75, 0.95], axis=1))


@style.look
def figure() -> Figure:
    """Draw both over the logarithm of the distance."""
    equal, (low, lower, upper, high) = data()
    fig, axes = style.panels(2, 1, 6.0, sharex=True)
    above, below = axes[:, 0]
    for base, curve, colour, dash in zip(BASES, equal, style.COLOURS, style.DASHES, strict=False):
        above.plot(DISTANCES, curve, color=colour, linestyle=dash, label=f"base {base:,.0f}")
    below.fill_between(DISTANCES, low, high, color=style.SKY, alpha=0.4, lw=0)
    below.fill_between(DISTANCES, lower, upper, color=style.BLUE, alpha=0.8, lw=0)
    above.set(title="q = k", ylabel="score / largest", xscale="log")
    below.set(title="q and k random", ylabel="score / √D", xlabel="distance in positions")
    above.legend()
    return fig
