"""FoX forgets when the text says so

The same three sentences. A forget gate fitted to close at full stops (above) lets other words pass by 0.96 or more.
Below, what each query (row) has left of each key (column): the product of the gates after the key. Inside a sentence
0.91 or more, one full stop back about a tenth.

ALiBi's decay is the same at every place; here each token decides how much of the past it lets through. The diagonal is
1: no token dims itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import fox_forward

from . import style, words

FORMULA = "bias[i, j] = sum over l = j+1 .. i of ln f_l,   f_l = sigmoid(w · x_l + b),   left of a key: e^bias"
SOURCE = "Lin et al. 2025 (Forgetting Transformer), section 3; word vectors: plots/words.py"
ALT = "Bars of gates, low at three full stops, above a triangular heat map with three bright blocks on its diagonal."
SENTENCE = "the dog bit the man . the woman fed the cat . the child slept in the house ."


class Data(NamedTuple):
    """Gates of each word, and what is left of each key at each query."""

    gates: np.ndarray  # (T,)
    left: np.ndarray  # (T, T), NaN ahead


def data() -> Data:
    """Return both, the gates from a linear map of the word vectors."""
    table = np.column_stack([words.table(), np.ones(len(words.VOCABULARY))])
    stop = np.array(words.VOCABULARY) == "."
    weight = np.where(stop, 5.0, 1.0)
    w = np.linalg.lstsq(table * weight[:, None], np.where(stop, -2.2, 6.0) * weight, rcond=None)[0]
    logits = words.vectors(SENTENCE) @ w[:-1] + w[-1]
    y, _ = fox_forward(logits[None], T=len(logits))
    ahead = np.triu(np.ones_like(y[0], dtype=bool), 1)
    return Data(1 / (1 + np.exp(-logits)), np.where(ahead, np.nan, np.exp(y[0])))


@style.look
def figure() -> Figure:
    """Draw the gates above the matrix."""
    gates, left = data()
    fig, axes = style.panels(2, 1, 7.6, height_ratios=(1, 3))
    above, below = axes[:, 0]
    above.bar(range(len(gates)), gates, color=style.BLUE)
    above.set(ylabel="gate f", xlim=(-0.5, len(gates) - 0.5), xticks=[])
    style.heat(below, left, "left of the key", vmin=0, vmax=1)
    below.set_xticks(range(len(gates)), SENTENCE.split(), rotation=90)
    below.set_yticks(range(len(gates)), SENTENCE.split())
    below.set(xlabel="key", ylabel="query")
    return fig
