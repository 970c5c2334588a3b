"""Four tokens, from their ids to what attention makes of them

Read row by row. The ids 101, 7592, 2088, 102 pick four rows of the table (1), which are scaled by √C = 2 (2); each
place adds its own row (3), which gives x (4). Queries and keys (5, 6) meet in a softmax (7), whose rows each sum to
1; they mix the values (8) into the output (9).

Up to (2) no number depends on where a token stands: all that the model will know of the order comes in at (3).
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import multi_head_attention_forward, sinusoidal_forward, token_embedding_forward

from . import style

FORMULA = """x = √C table[ids] + PE(0 .. 3)
q = x W_q,   k = x W_k,   v = x W_v
y = softmax(q kᵀ / √C) v"""
SOURCE = "Vaswani et al. 2017, sections 3.2 to 3.5; ids of BERT's vocabulary, random weights"
ALT = "Nine small matrices of four tokens, with their numbers, from the rows of the table to the output of attention."
IDS, TOKENS = np.array([101, 7592, 2088, 102]), ("[CLS]", "hello", "world", "[SEP]")
V, C = 30522, 4


def data() -> dict[str, np.ndarray]:
    """Return what each step gives, (4, 4) each, by its name."""
    random = np.random.default_rng(0)
    table = random.normal(0, 0.5, (V, C))
    w_q, w_k, w_v = random.normal(0, 0.4, (3, C, C))
    rows, scaled = (token_embedding_forward(IDS, table, scale_by_sqrt_width=scale)[0] for scale in (False, True))
    places, _ = sinusoidal_forward(np.arange(len(IDS)), C)
    y, residuals = multi_head_attention_forward(scaled + places, w_q, w_k, w_v, np.eye(C), H=1)
    inner = residuals.attention
    return {
        "1  rows of the table": rows,
        "2  times √C": scaled,
        "3  positions": places,
        "4  x = (2) + (3)": scaled + places,
        "5  queries": inner.q[0],
        "6  keys": inner.k[0],
        "7  weights": inner.weights[0],
        "8  values": inner.v[0],
        "9  output = (7)(8)": y,
    }


@style.look
def figure() -> Figure:
    """Draw every step as a matrix with its numbers."""
    fig, axes = style.panels(3, 3, 6.4)
    for i, (ax, (name, z)) in enumerate(zip(axes.flat, data().items(), strict=True)):
        style.numbers(ax, style.heat(ax, z, None, signed=True))
        ax.set(title=name, xlabel="key" if "weights" in name else "channel", xticks=range(4), yticks=range(4))
        ax.set_yticks(range(4), TOKENS if i % 3 == 0 else [])
        ax.set_ylabel("token" if i % 3 == 0 else "")
    return fig
