"""A score under RoPE is a function of the distance

One query and one key, set at every pair of positions up to 40. With added sinusoids (left) the score changes along
the diagonals; with RoPE (right) each diagonal has one value, to 14 digits. Below, the same scores over the distance n
- m: a cloud becomes a curve.

A model that has seen two words three places apart at the start of a text has seen them everywhere. It holds for every
query and key, without training: R(m) q · R(n) k = q · R(n - m) k.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import rope_cos_sin, rope_forward, sinusoidal_forward

from . import style

FORMULA = """sinusoidal   (q + PE(m)) · (k + PE(n))
RoPE         R(m) q · R(n) k  =  q · R(n - m) k"""
SOURCE = "Su et al. 2021 (RoFormer), section 3.2.1"
ALT = "Two heat maps of 40 by 40 scores, the second constant along diagonals, and below them scores over the distance."
P, D = 40, 16


class Data(NamedTuple):
    """Scores of every pair of positions, query by key."""

    added: np.ndarray  # (P, P)
    turned: np.ndarray  # (P, P)


def data() -> Data:
    """Score one query and one key at all positions, placed both ways."""
    q, k = np.random.default_rng(0).normal(size=(2, 1, D)).repeat(P, 1)
    places, table = sinusoidal_forward(np.arange(P), D)[0], rope_cos_sin(np.arange(P), D)
    return Data((q + places) @ (k + places).T, rope_forward(q, *table)[0] @ rope_forward(k, *table)[0].T)


@style.look
def figure() -> Figure:
    """Draw the matrices, and their entries over the distance."""
    fig, axes = style.panels(2, 2, 6.2)
    distance = np.arange(P) - np.arange(P)[:, None]
    for i, (name, scores) in enumerate(zip(("sinusoids added", "RoPE"), data(), strict=True)):
        style.heat(axes[0, i], scores, "score", signed=True)
        axes[0, i].set(title=name, xlabel="key position n", ylabel="query position m")
        axes[1, i].plot(distance.ravel(), scores.ravel(), ".", color=style.BLUE, markersize=2, rasterized=True)
        axes[1, i].set(xlabel="distance n − m", ylabel="score")
    return fig
