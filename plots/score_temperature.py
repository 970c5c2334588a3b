"""Longer texts need sharper scores

Above, the weight of one key whose score is 10 above all others, which compete with it. Plain, it falls from 0.84
among 4,096 keys to 0.02 among 1,048,576. With the factors below, Llama 4 keeps it at 0.73, and YaRN lets it rise to
1.00.

Softmax shares out one unit of weight, so that each new key takes a little from the one that matters. That is why
some rules for longer texts scale scores as well as frequencies.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import query_temperature_forward, softmax_forward, yarn_attention_factor

from . import style

FORMULA = """YaRN     scores · m²,   m = 1 + ln(s) / 10,   s = length / trained length
Llama 4  scores · (1 + ln(1 + floor((p + 1) / 8192)) / 10)
weight   e^10f / (e^10f + n - 1)   for one key of n, whose score is 10 f above the others"""
SOURCE = "Peng et al. 2023 (YaRN), section 3.4; Llama 4 in transformers; Nakanishi 2025 (Scalable-Softmax)"
ALT = "Above, three falling curves of a weight over the number of keys; below, three factors, one flat and two rising."
KEYS, TRAINED = 2 ** np.arange(8, 21), 4096


def data() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return over KEYS, by rule, the factor of the scores and the weight of one key that competes with n - 1 others."""
    ones, stretch = np.ones((len(KEYS), 1)), np.maximum(KEYS / TRAINED, 1)
    yarn = np.stack([yarn_attention_factor(float(s), xp=np, dtype=np.float64) for s in stretch])
    llama = query_temperature_forward(ones, positions=KEYS - 1)[0][:, 0]
    factors = {"plain": ones[:, 0], "YaRN, trained on 4,096": yarn**2, "Llama 4": llama}
    return factors, {name: np.stack(list(map(_weight, m, KEYS.tolist()))) for name, m in factors.items()}


def _weight(factor: float, n: int) -> np.ndarray:
    return softmax_forward(np.where(np.arange(n) == 0, 10 * factor, 0.0))[0][0]


@style.look
def figure() -> Figure:
    """Draw weights and factors over the number of keys."""
    fig, axes = style.panels(2, 1, 5.6, sharex=True)
    for ax, curves in zip(axes[:, 0], reversed(data()), strict=True):
        for (name, curve), colour, dash in zip(curves.items(), style.COLOURS, style.DASHES, strict=False):
            ax.plot(KEYS, curve, marker=".", color=colour, linestyle=dash, label=name)
    axes[0, 0].set(ylabel="weight of the one key", xscale="log")
    axes[1, 0].set(ylabel="factor of the scores", xlabel="number of keys")
    axes[0, 0].legend()
    return fig
