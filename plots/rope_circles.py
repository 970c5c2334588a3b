"""RoPE turns each pair of channels like a hand of a clock

The same vector, length 1 in each pair, at positions 0 (dark) to 11 (bright). The first pair turns by 1 radian a
position and is soon round; the next ones by 1/10, 1/100 and 1/1000 of that, so that the last seems to stand still.

Turning changes no length: what a token says stays as loud wherever it stands. Only the angle between a turned query
and a turned key, and so their product, tells where they are.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import rope_cos_sin, rope_forward

from . import style

FORMULA = """y1 = x1 cos(p θ_i) - x2 sin(p θ_i)
y2 = x2 cos(p θ_i) + x1 sin(p θ_i),     θ_i = base^(-2i/D),   i = 0 .. D/2-1,   D = 8"""
SOURCE = "Su et al. 2021 (RoFormer), equations 15 and 34"
ALT = "Four circles with twelve arrows each: spread all around in the first, ever closer together in the others."
P, D = 12, 8


def data() -> np.ndarray:
    """Return the turned pairs, (P, D/2, 2)."""
    x = np.tile([1.0, 0.0], (P, D // 2))
    y, _ = rope_forward(x, *rope_cos_sin(np.arange(P), D))
    return y.reshape(P, D // 2, 2)


@style.look
def figure() -> Figure:
    """Draw each pair as arrows in its plane."""
    y = data()
    fig, axes = style.panels(2, 2, 6.4, sharex=True, sharey=True)
    for i, ax in enumerate(axes.flat):
        ax.add_patch(style.circle())
        arrows = ax.quiver(
            *np.zeros((2, P)), *y[:, i].T, np.arange(P), cmap=style.SEQUENTIAL, scale=1, angles="xy", scale_units="xy"
        )
        ax.set(title=f"pair {i}: θ = {10.0**-i:g}", aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
    fig.supxlabel("first channel of the pair")
    fig.supylabel("second channel of the pair")
    style.bar(arrows, axes, "position", ticks=range(0, P, 2))
    return fig
