"""Errors of attention in four precisions, and a bound that no rounding breaks

Every element of one result, ordered by its tolerance (line), with its error in a plain run (dots) and one blocked
over the keys (crosses). No dot passes the line: it is a theorem. Dashed: the largest error of the plain run, the
honest one; the line lies 8 to 10 times above it in the middle. Errors of 0 are drawn at the bottom.

Beyond its tolerance a result is wrong; above 16 times the honest error it is suspicious. Blocks change no error's size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from refimpl import attention_forward, blocked_attention_forward, exact

from . import style

FORMULA = "error = |rounded run - exact result|,   exact by ball arithmetic, tolerance by balls that widen"
SOURCE = "docs/arithmetic.md; profiles: refimpl/exact/profiles.py"
ALT = "Four panels of dots and crosses below a rising line and mostly below a dashed level, on logarithmic axes."
T, S, D, PROFILES = 6, 24, 16, ("f64", "f32", "bf16", "f16")


def data() -> dict[str, list[np.ndarray]]:
    """Return errors of the plain and the blocked run and the tolerances, ordered by the last, by profile."""
    random = np.random.default_rng(0)
    x = [random.integers(-96, 97, (1, n, D)) / 32.0 for n in (T, S, S)]  # exact in every profile

    def plain(xp: Any) -> dict[str, Any]:
        return {"y": attention_forward(*map(xp.asarray, x))[0].y}

    def blocked(xp: Any) -> dict[str, Any]:
        return {"y": blocked_attention_forward(*map(xp.asarray, x), block=8)[0].y}

    want, found = exact.prove(plain), {}
    for profile in PROFILES:
        errors = [np.abs(exact.nearest(run, profile)["y"] - want["y"]).ravel() for run in (plain, blocked)]
        tolerance = exact.bound(plain, profile, want)["y"].ravel()
        found[profile] = [z[np.argsort(tolerance, kind="stable")] for z in (*errors, tolerance)]
    return found


@style.look
def figure() -> Figure:
    """Draw a panel a profile."""
    fig, axes = style.panels(2, 2, 6.4, sharex=True)
    for ax, (profile, (plain, blocked, tolerance)) in zip(axes.flat, data().items(), strict=True):
        ax.plot(tolerance, color=style.VERMILLION, label="tolerance")
        ax.axhline(plain.max(), color=style.BLACK, linestyle="--", label="honest")
        ax.plot(np.maximum(plain, plain.max() / 1000), ".", color=style.BLUE, markersize=4, label="plain")
        ax.plot(np.maximum(blocked, plain.max() / 1000), "x", color=style.ORANGE, markersize=4, label="blocked")
        ax.set(title=profile, yscale="log")
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    fig.supxlabel("element, ordered by tolerance").figure.supylabel("error")
    return fig
