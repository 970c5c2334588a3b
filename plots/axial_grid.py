"""What a patch sees of its neighbours, in two dimensions

The score of equal vectors at every offset up to 12 patches. Axial encodings, added or turned, sum one function of the
rows and the same of the columns: a cross, highest along its own row and column. Mixed frequencies, random here, give
each pair a direction of its own, and the cross goes. In the first two the four corners are equal, to 14 digits.

An axial score is what the row says plus what the column says, and never more: no query can prefer a place on the
diagonal without favouring all of its row or its column. Mixed frequencies can.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import axial_rope_forward, mixed_angles_forward, rope_forward, sinusoidal_2d_forward

from . import style

FORMULA = """2-D sinusoidal  PE(row) beside PE(column):  score = f(Δrow) + f(Δcolumn)
axial RoPE      half of the pairs turn by the row, half by the column
mixed RoPE      every pair turns by row · u_i + column · v_i,  u and v learned"""
SOURCE = "Parmar et al. 2018 (2-D sinusoidal); Heo et al. 2024 (RoPE-ViT: axial and mixed, base 100)"
ALT = "Three square heat maps of scores around a central patch: two crosses, and a spot with irregular surroundings."
FAR, D, BASE = 12, 64, 100.0


def data() -> dict[str, np.ndarray]:
    """Return scores, (2 FAR + 1, 2 FAR + 1), as a share of the one at offset (0, 0) in the middle."""
    side = 2 * FAR + 1
    grid = np.indices((side, side)).reshape(2, -1) - FAR
    ones = np.ones((side * side, D))
    directions = np.random.default_rng(0).uniform(0, 2 * np.pi, D // 2)
    frequencies = BASE ** -np.linspace(0, 1, D // 2) * np.stack([np.sin(directions), np.cos(directions)])
    placed = {
        "2-D sinusoidal": sinusoidal_2d_forward(grid.T, D, base=BASE)[0],
        "axial RoPE": axial_rope_forward(ones, positions=grid, base=BASE)[0],
        "mixed RoPE": rope_forward(ones, *mixed_angles_forward(grid, frequencies)[0])[0],
    }
    scores = {name: y @ y[side * side // 2] for name, y in placed.items()}
    return {name: (score / score.max()).reshape(side, side) for name, score in scores.items()}


@style.look
def figure() -> Figure:
    """Draw the three maps of scores."""
    fig, axes = style.panels(1, 3, 2.9, sharey=True)
    for ax, (name, scores) in zip(axes[0], data().items(), strict=True):
        extent = (-FAR - 0.5, FAR + 0.5, FAR + 0.5, -FAR - 0.5)
        image = style.heat(ax, scores, None, aspect="equal", vmin=0.3, vmax=1, extent=extent)
        ax.set(title=name, xlabel="Δ column")
    axes[0, 0].set_ylabel("Δ row")
    style.bar(image, axes, "score / largest")
    return fig
