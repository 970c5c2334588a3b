"""Beyond the trained length: what "extrapolates" can mean

Scores of one random query and key over their distance, trained up to 512 (left of the line). All have a value at any
distance; the question is whether a model has met such values. T5 stays at its last bucket: nothing new. ALiBi goes on
to numbers never seen, but all say "farther still, forget". RoPE's score goes on to wave: its slow pairs reach angles
never trained. A learned table has no row 512, and stops.

Defined is not the same as trained. What a formula continues, only a test of the model can vouch for.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_forward, learned_position_forward, rope_cos_sin, rope_forward, t5_bias_forward

from . import style

FORMULA = """RoPE    q · R(d) k / √D              ALiBi    q · k / √D - d/256
T5      q · k / √D + table[bucket(d)]          learned  (q + row 0) · (k + row d) / √D"""
SOURCE = "Press et al. 2022, figure 1; Kazemnejad et al. 2023; random vectors, T5's table falling by 1/10 a bucket"
ALT = "Four curves over distance with a line at 512: one ends there, one stays level, one falls on, one waves."
TRAINED, LONG, D = 512, 2048, 64


def data() -> dict[str, np.ndarray]:
    """Return the score at each distance 0 .. LONG-1, by encoding; the learned table has TRAINED rows."""
    random = np.random.default_rng(1)
    q, k = random.normal(size=(2, D))
    cos, sin = rope_cos_sin(np.arange(LONG), D)
    last = {"T": 1, "S": LONG, "q_offset": LONG - 1}
    plain, table = q @ k / D**0.5, np.cumsum(random.normal(0, 0.05, (TRAINED, D)), axis=0)
    rows = learned_position_forward(np.arange(TRAINED), table)[0]
    falling = -0.1 * np.arange(32.0)[:, None]
    return {
        "RoPE": rope_forward(np.tile(k, (LONG, 1)), cos, sin)[0] @ q / D**0.5,
        "ALiBi": plain + alibi_forward(np.array([1 / 256]), T=1, S=LONG, q_offset=LONG - 1)[0][0, 0, ::-1],
        "T5": plain + t5_bias_forward(falling, **last, bidirectional=False)[0][0, 0, ::-1],
        "learned": (k + rows) @ (q + rows[0]) / D**0.5,
    }


@style.look
def figure() -> Figure:
    """Draw all scores, and the end of training."""
    fig, axes = style.panels(1, 1, 4.8)
    ax = axes[0, 0]
    for (name, y), colour, dash in zip(data().items(), style.COLOURS, style.DASHES, strict=False):
        ax.plot(y, color=colour, linestyle=dash, label=name, lw=1.6)
    ax.axvspan(TRAINED, LONG, color=style.SKY, alpha=0.2, lw=0)
    ax.annotate("never trained", (TRAINED, -7), xytext=(8, 0), textcoords="offset points")
    ax.set(xlabel="distance in tokens", ylabel="score", xlim=(0, LONG))
    ax.legend(loc="lower left")
    return fig
