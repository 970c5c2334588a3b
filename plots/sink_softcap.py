"""A sink lets a head look at nothing; a softcap keeps its scores in bounds

Above, the sum of the weights of 16 keys over their common score, for three sinks: without one it is always 1, with
one the row fades where all scores are low. Below, softcapped scores: straight near 0, never beyond the cap, in the
order in which they were. A clamp would make equal what is beyond.

A head that finds nothing else must put its weight somewhere, and puts it on the first token. The cap comes before
bias and mask: a capped mask would be the score -cap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import softcap_forward, softmax_sink_forward

from . import style

FORMULA = """weight_j = exp(s_j) / (exp(sink) + sum of exp(s))
softcap(s) = cap · tanh(s / cap)"""
SOURCE = "gpt-oss (OpenAI 2025), model card; Miller 2023; Gemma Team 2024, section 2"
ALT = "Above, three S-shaped curves from 0 to 1, shifted; below, three curves that level off at 20, 30 and 50."
SCORES, KEYS, SINKS = np.linspace(-12, 6, 181), 16, (-4.0, 0.0, 4.0)
LOGITS, CAPS = np.linspace(-100, 100, 201), (20.0, 30.0, 50.0)


class Data(NamedTuple):
    """Sums of weights over SCORES by sink, and capped LOGITS by cap."""

    sums: dict[float, np.ndarray]
    capped: dict[float, np.ndarray]


def data() -> Data:
    """Return both families of curves."""
    rows = np.repeat(SCORES[:, None], KEYS, axis=1)
    sums = {sink: softmax_sink_forward(rows, np.array(sink))[0].sum(-1) for sink in SINKS}
    return Data(sums, {cap: softcap_forward(LOGITS, cap=cap)[0] for cap in CAPS})


@style.look
def figure() -> Figure:
    """Draw both."""
    fig, axes = style.panels(2, 1, 5.8)
    above, below = axes[:, 0]
    for x, ax, curves, name in ((SCORES, above, data().sums, "sink"), (LOGITS, below, data().capped, "cap")):
        for (value, y), colour, dash in zip(curves.items(), style.COLOURS, style.DASHES, strict=False):
            ax.plot(x, y, color=colour, linestyle=dash, label=f"{name} {value:.0f}".replace("-", "−"))
        ax.legend(loc="upper left")
    above.set(xlabel="score of every key", ylabel="sum of the 16 weights")
    below.set(xlabel="score", ylabel="softcapped score")
    return fig
