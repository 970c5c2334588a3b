"""Six ways to slow RoPE down for longer texts

By how much each rule makes each wave longer, for a text 8 times as long as the 4,096 positions of training. Linear
slows all alike; NTK-aware nothing at the fast end and 8 times at the slow end, and dynamic is the same for a text of
just this length; YaRN and Llama 3 keep what turned often enough, slow what never came round, and blend between.
LongRoPE's factors are searched; those here are made up.

Fast pairs tell neighbours apart and have seen all their angles; slow ones would show angles that no training text
had. The rules differ in where they draw the line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import refimpl

from . import style

FORMULA = """linear     θ / s                 dynamic  θ (1 + s (L/L0 - 1))^(-2i/(D-2))
NTK-aware  θ s^(-2i/(D-2))       LongRoPE θ / factor_i
YaRN, Llama 3   (1 - γ_i) θ / s + γ_i θ,   γ_i from 0 (slow) to 1 (fast)"""
SOURCE = "Chen et al. 2023; bloc97 2023; emozilla 2023; Peng et al. 2023 (YaRN); Ding et al. 2024; Llama 3.1 code"
ALT = "Seven curves over the index of the pair, on a logarithmic axis from 1 to 8: flat, rising, and S-shaped."
D, BASE, TRAINED, FACTOR = 128, 10000.0, 4096, 8.0


def data() -> dict[str, np.ndarray]:
    """Return the frequencies of each rule, (D/2,), in radians a position."""
    common: dict[str, Any] = {"D": D, "base": BASE, "xp": np, "dtype": np.float64}
    long: dict[str, Any] = {"length": int(FACTOR * TRAINED), "trained_length": TRAINED}
    searched = np.ones(D // 2), 1 + (FACTOR - 1) * np.linspace(0, 1, D // 2) ** 4  # short, long
    scaled = common | {"factor": FACTOR}
    return {
        "default": refimpl.rope_frequencies(**common),
        "linear": refimpl.linear_frequencies(**scaled),
        "NTK-aware": refimpl.ntk_frequencies(**scaled),
        "dynamic (factor 1)": refimpl.dynamic_ntk_frequencies(**common, **long, factor=1.0),
        "YaRN": refimpl.yarn_frequencies(**scaled, trained_length=TRAINED).frequencies,
        "LongRoPE (example)": refimpl.longrope_frequencies(*searched, **long, factor=FACTOR, base=BASE).frequencies,
        "Llama 3": refimpl.llama3_frequencies(**scaled, trained_length=TRAINED),
    }


@style.look
def figure() -> Figure:
    """Draw the wavelength of each pair as a multiple of the default's."""
    frequencies = data()
    fig, axes = style.panels(1, 1, 5.2)
    ax = axes[0, 0]
    for (name, theta), colour, dash in zip(frequencies.items(), style.COLOURS, style.DASHES, strict=True):
        ax.plot(frequencies["default"] / theta, color=colour, linestyle=dash, label=name)
    ax.set(xlabel="index i of the pair (fast to slow)", ylabel="wavelength / default wavelength", yscale="log")
    ax.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"], minor=False)
    ax.minorticks_off()
    ax.legend(loc="upper left", bbox_to_anchor=(0, 0.93))
    return fig
