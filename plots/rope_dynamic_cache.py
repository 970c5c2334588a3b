"""A rule that depends on the length breaks the cache

The last query of 8,192 scores an equal vector at every earlier position, under dynamic NTK trained for 4,096. In one
pass all keys turn with the frequencies of 8,192 tokens (solid). Written to a cache token by token, each key keeps the
frequencies of its own moment (dashed): scores differ by up to 0.42 of the largest, and near 4,000 turn negative.

The same model so gives two answers to one text, depending on how it was fed. Rules that do not ask for the length
(linear, NTK-aware, YaRN, Llama 3) have no such gap; with dynamic NTK and LongRoPE, fix the length beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import dynamic_ntk_frequencies, rope_angles_forward, rope_forward

from . import style

FORMULA = "θ_i(L) = base^(-2i/D) α^(-2i/(D-2)),   α = s L/L0 - (s - 1),   L = max(length, L0)"
SOURCE = "emozilla 2023; transformers, type dynamic"
ALT = "Two noisy curves of scores over the key position: both peak at the last one, and lie far apart in between."
D, LENGTH, TRAINED = 128, 8192, 4096
KEYS = np.arange(0, LENGTH, 32)


class Data(NamedTuple):
    """Scores over KEYS, as a share of the largest."""

    one_pass: np.ndarray
    cached: np.ndarray


def data() -> Data:
    """Turn ones with the frequencies of the last length, and each with those of its own."""
    q = _turned(np.array([LENGTH - 1]), LENGTH)
    keys = np.concatenate([_turned(KEYS[i : i + 1], int(p) + 1) for i, p in enumerate(KEYS)])
    return Data(*((q * k).sum(-1) / D for k in (_turned(KEYS, LENGTH), keys)))


def _turned(positions: np.ndarray, length: int) -> np.ndarray:
    """Turn ones by the rule for a text of this length."""
    theta = dynamic_ntk_frequencies(D, length=length, trained_length=TRAINED, factor=4.0, xp=np, dtype=np.float64)
    return rope_forward(np.ones((len(positions), D)), *rope_angles_forward(positions, theta)[0])[0]


@style.look
def figure() -> Figure:
    """Draw both curves."""
    fig, axes = style.panels(1, 1, 4.4)
    for name, scores, colour, dash in zip(("one pass", "cached"), data(), style.COLOURS, style.DASHES, strict=False):
        axes[0, 0].plot(KEYS, scores, color=colour, linestyle=dash, label=name, lw=1.2)
    axes[0, 0].set(xlabel="position of the key", ylabel="score of q = k / largest")
    axes[0, 0].legend(loc="upper left")
    return fig
