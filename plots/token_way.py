"""From four ids to what attention says

Four ids pick four rows of a table, which are scaled by √C; the rows of the position table are added; queries and keys
give one score a pair of places, softmax turns each row of scores into weights, and the weights mix the values.

Without the third step nothing later could tell the order: the same four tokens shuffled would give the same rows,
shuffled.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import attention_forward, linear_forward, sinusoidal_forward, token_embedding_forward

from . import style

FORMULA = """x = √C · table[ids] + PE(0 .. 3)
weights = softmax(q kᵀ / √C),   q = x W_q,  k = x W_k,  v = x W_v
y = weights v"""
SOURCE = "Vaswani et al. 2017, sections 3.2 to 3.5; the ids are BERT's for [CLS] hello world [SEP]"
ALT = "Six small matrices of numbers, from the rows of the table to the output of attention."
IDS, V, C = np.array([101, 7592, 2088, 102]), 30522, 4


class Data(NamedTuple):
    """What each step gives, four rows each."""

    rows: np.ndarray  # (4, C)
    scaled: np.ndarray  # (4, C)
    positions: np.ndarray  # (4, C)
    x: np.ndarray  # (4, C)
    weights: np.ndarray  # (4, 4)
    y: np.ndarray  # (4, C)


def data() -> Data:
    """Run the whole way with random tables of 0.02 (BERT's) and projections."""
    random = np.random.default_rng(0)
    table, w = random.normal(0, 0.5, (V, C)), random.normal(0, 0.7, (3, C, C))
    rows, scaled = (token_embedding_forward(IDS, table, scale_by_sqrt_width=s)[0] for s in (False, True))
    positions, _ = sinusoidal_forward(np.arange(4), C)
    x = scaled + positions
    attended, residuals = attention_forward(*(linear_forward(x, matrix)[0][None] for matrix in w))
    return Data(rows, scaled, positions, x, residuals.weights[0], np.squeeze(attended.y, 0))


@style.look
def figure() -> Figure:
    """Draw every step as a matrix with its numbers."""
    fig, axes = style.panels(3, 2, 7.5)
    for ax, (name, z) in zip(axes.flat, data()._asdict().items(), strict=True):
        style.numbers(ax, style.heat(ax, z, None, signed=True))
        ax.set(title=name, xlabel="channel", ylabel="token")
    return fig
