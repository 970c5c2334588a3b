"""Why scores are divided by √D

Random queries over 64 keys, by the width of a head. Above, the largest weight of a row: divided by √D it stays near
0.11 at any width; undivided it is 0.95 at width 1,024. Below, how much of a gradient comes back through the softmax:
undivided it dies away from width 16 on, to 0.006, since nearly every row then has one weight close to 1.

A sum of D products of unit variance has variance D: divided by √D it has 1, divided by D next to none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import softmax_backward, softmax_forward

from . import style

FORMULA = "w = softmax(scale · q kᵀ),   scale = 1/√D, 1 or 1/D;   dscores = w (dw - sum of w dw)"
SOURCE = "Vaswani et al. 2017, section 3.2.1"
ALT = "Two panels over head width from 4 to 1024: undivided scores rise to weight 1 and their gradient falls to near 0."
WIDTHS, KEYS, ROWS = 2 ** np.arange(2, 11), 64, 200
SCALES = {"1/√D": -0.5, "1 (undivided)": 0.0, "1/D": -1.0}  # powers of D


class Data(NamedTuple):
    """Means over ROWS at each of WIDTHS, by scale; passed: length of dscores over that of dw."""

    largest: dict[str, np.ndarray]
    passed: dict[str, np.ndarray]


def data() -> Data:
    """Draw queries, keys and gradients, and send both through the softmax."""
    random, found = np.random.default_rng(0), Data({}, {})
    drawn = [(random.normal(size=(ROWS, 1, D)), random.normal(size=(ROWS, KEYS, D))) for D in WIDTHS]
    dw = random.normal(size=(ROWS, KEYS))
    for name, power in SCALES.items():
        rows = [(q @ k.mT)[:, 0] * float(D) ** power for D, (q, k) in zip(WIDTHS, drawn, strict=True)]
        weights, residuals = zip(*map(softmax_forward, rows), strict=True)
        found.largest[name] = np.array([w.max(-1).mean() for w in weights])
        back = [np.linalg.norm(softmax_backward(dw, r), axis=-1) / np.linalg.norm(dw, axis=-1) for r in residuals]
        found.passed[name] = np.array([share.mean() for share in back])
    return found


@style.look
def figure() -> Figure:
    """Draw both over the width."""
    fig, axes = style.panels(2, 1, 5.6, sharex=True)
    for ax, curves, name in zip(axes[:, 0], data(), ("largest weight", "gradient passed on"), strict=True):
        for (scale, y), colour, dash in zip(curves.items(), style.COLOURS, style.DASHES, strict=False):
            ax.plot(WIDTHS, y, color=colour, linestyle=dash, marker=".", label=f"scale {scale}")
        ax.set_ylabel(name)
    axes[1, 0].set(xlabel="width D of a head", ylim=(0, None), xscale="log", xticks=WIDTHS, xticklabels=WIDTHS)
    axes[1, 0].minorticks_off()
    axes[0, 0].legend(loc="upper left")
    return fig
