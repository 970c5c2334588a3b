"""One sentence under twelve encodings

Causal weights of "the dog bit the man", each word asking with its own vector, counted from a small text. Without
positions the last word gives both "the" one weight: to attention they are one word. Every encoding tells them apart,
and all but random learned rows, which know no order, give the nearer one more.

Nothing is trained: parameters are random, or chosen to fall with distance. It is what a model starts from.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import refimpl as r

from . import style, words

FORMULA = "weights = softmax(q kᵀ / √D + bias, where causal),   q = k = words, placed or turned"
SOURCE = "sources of the encodings: refimpl list ops; word vectors: plots/words.py"
ALT = "Twelve lower triangular heat maps, five words by five words, each with another pattern of weights."
SENTENCE = "the dog bit the man"
T, D = 5, words.C


def data() -> dict[str, np.ndarray]:
    """Return the weights, (T, T), by encoding."""
    x, p, at, c = 0.6 * words.vectors(SENTENCE), np.arange(T), {"T": T, "S": T}, map(np.float64, (0.1, 1, 4))
    half, one, rows = np.array([0.5]), np.ones(1), np.random.default_rng(5).normal(0, 0.7, (T, D))
    q, k = (r.xpos_forward(x, positions=p, centre=0, keys=keys, scale_base=8.0)[0] for keys in (False, True))
    return {
        "none": _weights(x, x),
        "sinusoidal": _weights(*[x + r.sinusoidal_forward(p, D)[0]] * 2),
        "learned, random": _weights(*[x + r.learned_position_forward(p, rows)[0]] * 2),
        "RoPE": _weights(*[r.rope_forward(x, *r.rope_cos_sin(p, D))[0]] * 2),
        "xPos": _weights(q, k),
        "ALiBi": _weights(x, x, r.alibi_forward(half, T=T, S=T)[0]),
        "T5, falling": _weights(x, x, r.t5_bias_forward(-0.5 * np.arange(8.0)[:, None], **at, bidirectional=False)[0]),
        "KERPLE, log": _weights(x, x, r.kerple_log_forward(one, one, **at)[0]),
        "FIRE, one unit": _weights(x, x, r.fire_forward(one, 0 * one, -2 * one[None], 0 * one, *c, **at)[0]),
        "Sandwich": _weights(x, x, r.sandwich(H=1, C=128, **at, xp=np, dtype=np.float64)),
        "CoPE, falling": _weights(x, x, r.cope_forward(x[None], x[None], -np.outer(np.arange(8.0), x.mean(0)))[0]),
        "FoX, gates 0.6": _weights(x, x, r.fox_forward(np.full((1, T), np.log(1.5)), T=T)[0]),
    }


def _weights(q: np.ndarray, k: np.ndarray, bias: np.ndarray | None = None) -> np.ndarray:
    return r.attention_forward(q[None], k[None], k[None], bias, q_offset=0)[1].weights[0]


@style.look
def figure() -> Figure:
    """Draw twelve matrices."""
    fig, axes = style.panels(4, 3, 8.6, sharex=True, sharey=True)
    for ax, (name, z) in zip(axes.flat, data().items(), strict=True):
        image = style.heat(ax, z, None, vmin=0, vmax=1)
        ax.set(title=name, xticks=range(T), xticklabels=SENTENCE.split(), yticks=range(T), yticklabels=SENTENCE.split())
    style.bar(image, axes, "weight")
    fig.supxlabel("key").figure.supylabel("query")
    return fig
