"""One token eight times: what attention can tell through each door

All eight tokens are the same, so that any difference between scores is the encoding's. Without one there is none, and
attention is blind. Added sinusoids give each pair of places a score of its own; rotation and bias give equal scores
along each diagonal: they know the distance alone, and of the two only rotation tells before from after.

A position enters in one of three ways: added to x, as a turn of q and k, or as a term of the scores.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_forward, attention_forward, linear_forward, rope_cos_sin, rope_forward, sinusoidal_forward

from . import style

FORMULA = """door 1:  x = token + PE(p)
door 2:  q = R(p) q,   k = R(p) k
door 3:  scores = q kᵀ / √D + bias(p_q - p_k)"""
SOURCE = "Vaswani et al. 2017; Su et al. 2021 (RoFormer); Press et al. 2022 (ALiBi, slope 1/2); random weights"
ALT = "Four heat maps of scores, eight queries by eight keys: one flat, one irregular, two constant along diagonals."
T, C = 8, 16


def data() -> dict[str, np.ndarray]:
    """Return the scores, (T, T) each, by encoding."""
    random = np.random.default_rng(3)
    tokens, (w_q, w_k) = np.tile(random.normal(size=C), (T, 1)), random.normal(0, 0.3, (2, C, C))
    q, k = linear_forward(tokens, w_q)[0], linear_forward(tokens, w_k)[0]
    placed = tokens + sinusoidal_forward(np.arange(T), C)[0]
    cos, sin = rope_cos_sin(np.arange(T), C)
    return {
        "no position": _scores(q, k),
        "door 1: sinusoids added": _scores(linear_forward(placed, w_q)[0], linear_forward(placed, w_k)[0]),
        "door 2: RoPE": _scores(rope_forward(q, cos, sin)[0], rope_forward(k, cos, sin)[0]),
        "door 3: ALiBi": _scores(q, k, alibi_forward(np.array([0.5]), T=T, S=T)[0]),
    }


def _scores(q: np.ndarray, k: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    """Return the scores that attention forms: the logarithms of its weights, and of the sum they were divided by."""
    found, residuals = attention_forward(q[None], k[None], k[None], bias)
    return np.log(residuals.weights[0]) + np.asarray(found.lse).T


@style.look
def figure() -> Figure:
    """Draw the four matrices of scores."""
    fig, axes = style.panels(2, 2, 6.0, sharex=True, sharey=True)
    found = {name: scores - scores[0, 0] for name, scores in data().items()}
    most = max(np.abs(scores).max() for scores in found.values())
    for ax, (name, scores) in zip(axes.flat, found.items(), strict=True):
        image = style.heat(ax, scores, None, signed=True, aspect="equal", vmin=-most, vmax=most)
        ax.set_title(name)
    style.bar(image, axes, "score, less that of (0, 0)")
    fig.supxlabel("key position")
    fig.supylabel("query position")
    return fig
