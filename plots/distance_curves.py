"""Five biases as curves of the distance

What each adds to a score, over the distance back, on a linear axis (above) and a logarithmic one (below). ALiBi falls
in a line, a KERPLE power in between, KERPLE's logarithm and Sandwich flatten: on the logarithmic axis they come near
to lines. FIRE, for the query at 4,000, is whatever its network says: here with random weights.

A line forgets exponentially, since softmax takes e to the bias; a logarithm forgets by a power law, and keeps some
weight on what is far.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_forward, fire_forward, kerple_log_forward, kerple_power_forward, sandwich

from . import style

FORMULA = """ALiBi   -n/64                     KERPLE  -p ln(1 + a n),  -a n^p
Sandwich   sum of (cos(n w) - 1)    FIRE    network(ln(1 + c n) / ln(1 + c P))"""
SOURCE = "Press et al. 2022; Chi et al. 2022 and 2023; Li et al. 2024; parameters chosen to fit on one axis"
ALT = "Five falling curves over the distance, drawn twice: with a linear and with a logarithmic axis."
P = 4000  # position of the query, the last
DISTANCES = np.arange(P + 1)


def data() -> dict[str, np.ndarray]:
    """Return the bias at each distance back from one query at P, by encoding."""
    at = {"T": 1, "S": P + 1, "q_offset": P}

    def one(x: float) -> np.ndarray:
        return np.array([x])

    w1, w2 = np.random.default_rng(4).normal(size=(2, 32))
    fire = fire_forward(w1, np.zeros(32), -np.abs(w2)[:, None], one(0.0), *map(np.float64, (0.1, 1.0, 512.0)), **at)
    found = {
        "ALiBi, slope 1/64": alibi_forward(one(1 / 64), T=1, S=P + 1, q_offset=P)[0],
        "KERPLE, power 1/2": kerple_power_forward(one(0.25), one(0.5), **at)[0],
        "KERPLE, log": kerple_log_forward(one(1.0), one(1.0), **at)[0],
        "Sandwich, 64 waves": sandwich(H=1, C=128, **at, xp=np, dtype=np.float64),
        "FIRE, random": fire[0],
    }
    return {name: y[0, 0, ::-1] for name, y in found.items()}


@style.look
def figure() -> Figure:
    """Draw all curves twice."""
    fig, axes = style.panels(2, 1, 6.4, sharey=True)
    for ax, scale in zip(axes[:, 0], ("linear", "log"), strict=True):
        for (name, y), colour, dash in zip(data().items(), style.COLOURS, style.DASHES, strict=False):
            ax.plot(DISTANCES[1:], y[1:], color=colour, ls=dash, label=name, lw=1 if "waves" in name else 2)
        ax.set(xscale=scale, xlabel="distance, query minus key", ylabel="bias", ylim=(-25, 0.5))
    axes[1, 0].legend(loc="lower left", ncols=2)
    return fig
