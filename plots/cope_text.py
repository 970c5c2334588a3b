"""CoPE counts what the query cares for: here, sentences

Three sentences, with word vectors counted from a small text. The query at the end was fitted to ask for full stops:
its gate (above) is open at "." and almost shut at the other words. The position of a word (below) is the sum of the
gates from there to the end: it steps from sentence to sentence, and hardly moves inside one.

"In the sentence before" is so one number, however long the sentences are; a distance in tokens is not. It counts
what it can tell apart: to this query, "was" is a full stop as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import cope_forward

from . import style, words

FORMULA = "gate_t = sigmoid(q · k_t / √D),   p_j = sum over t >= j of gate_t"
SOURCE = "Golovneva et al. 2024 (CoPE), section 4; word vectors: plots/words.py"
ALT = "Two bar charts over the words of three sentences: gates high at the full stops, and positions falling in steps."
SENTENCE = "the dog bit the man . the woman fed the cat . the child slept in the house ."


class Data(NamedTuple):
    """Of the last query, for each word."""

    gates: np.ndarray
    positions: np.ndarray


def query() -> np.ndarray:
    """Return the vector whose gates come nearest to open (logit 6) at "." and shut (-6) elsewhere."""
    stop = np.array(words.VOCABULARY) == "."
    weight = np.where(stop, 5.0, 1.0)  # one row against 22
    goal = np.where(stop, 6.0, -6.0) * words.C**0.5
    return np.linalg.lstsq(words.table() * weight[:, None], goal * weight, rcond=None)[0]


def data() -> Data:
    """Return gates and positions of the query at the end."""
    k = words.vectors(SENTENCE)
    _, residuals = cope_forward(query()[None, None], k[None], np.zeros((9, words.C)), q_offset=len(k) - 1)
    positions = residuals.positions[0, 0]
    return Data(positions - np.append(positions[1:], 0.0), positions)


@style.look
def figure() -> Figure:
    """Draw both over the words."""
    fig, axes = style.panels(2, 1, 5.2, sharex=True)
    for ax, values, name, colour in zip(axes[:, 0], data(), ("gate", "position p"), style.COLOURS, strict=False):
        ax.bar(range(len(values)), values, color=colour)
        ax.set_ylabel(name)
    axes[1, 0].set_xticks(range(len(values)), SENTENCE.split(), rotation=90)
    axes[1, 0].set_xlabel("word")
    return fig
