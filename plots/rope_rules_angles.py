"""Which angles a longer text would show for the first time

Turns that each pair has made at the end of a text of 32,768 positions, after training on 4,096 (dotted). Pairs 46 to
63 had not come round: where their line leaves the dotted one, into the shade or beyond it, they show angles never
trained. So do all 18 without a rule, and 17 under NTK-aware scaling, none under linear (on the dotted line), YaRN and
Llama 3.

Unseen angles are why RoPE does not simply extrapolate. Pairs on the left can go round as often as they like.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from refimpl import linear_frequencies, llama3_frequencies, ntk_frequencies, rope_frequencies, yarn_frequencies

from . import style

FORMULA = "turns_i(L) = L θ_i / 2π,   seen: up to turns_i(4096), or all once that is >= 1"
SOURCE = "Chen et al. 2023 (Position Interpolation); Peng et al. 2023 (YaRN), section 3"
ALT = "Falling lines on a logarithmic axis: turns at the end of the text by pair and rule, over a shaded region."
D, TRAINED, FACTOR = 128, 4096, 8.0


def data() -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the turns, (D/2,), at the end of the training text, and of one FACTOR times as long, by rule."""
    plain: dict[str, Any] = {"D": D, "base": 1e4, "xp": np, "dtype": np.float64}
    scaled, theta = plain | {"factor": FACTOR}, rope_frequencies(**plain)
    rules = {
        "no rule": theta,
        "linear": linear_frequencies(**scaled),
        "NTK-aware": ntk_frequencies(**scaled),
        "YaRN": yarn_frequencies(**scaled, trained_length=TRAINED).frequencies,
        "Llama 3": llama3_frequencies(**scaled, trained_length=TRAINED),
    }
    turns = TRAINED / (2 * np.pi)
    return theta * turns, {name: frequencies * FACTOR * turns for name, frequencies in rules.items()}


@style.look
def figure() -> Figure:
    """Draw turns over pairs, and shade the angles that are new."""
    trained, extended = data()
    fig, axes = style.panels(1, 1, 5.0)
    ax = axes[0, 0]
    for (name, turns), colour, dash in zip(extended.items(), style.COLOURS, style.DASHES, strict=False):
        ax.plot(turns, color=colour, linestyle=dash, label=name)
    ax.plot(trained, color="black", linestyle=(0, (1, 1)), label="trained")
    ax.fill_between(range(D // 2), trained, 1, where=trained < 1, color=style.ORANGE, alpha=0.25, label="new angles")
    ax.set(xlabel="index i of the pair (fast to slow)", ylabel="turns at the end of the text", yscale="log")
    ax.legend(ncols=2, loc="upper right")
    return fig
