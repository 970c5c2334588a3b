"""What a cached token sees when its offset is forgotten

Twelve tokens, the last three decoded one by one over a cache, under RoPE. Left, the weights of those three in one
causal pass. In the middle, decoded with their positions 9, 10, 11: the same, to 15 digits. Right, each new token
turned as if it stood at 0, the classic bug: no error, other weights.

Nothing in the shapes shows it, and the first tokens are right. A test that decodes from an empty cache does not find
it; one that compares with the full pass does.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import attention_decode_forward, attention_forward, rope_cos_sin, rope_forward

from . import style

FORMULA = "k_cache' = [k_cache | R(p) k],   y = attention(R(p) q, k_cache'),   p = length of the cache"
SOURCE = "Shazeer 2019, section 2.4; seen in executorch#2010, onnxruntime-genai#2354"
ALT = "Three heat maps of three queries by twelve keys: the first two equal, the third different."
T, PAST, D = 12, 9, 16


def data() -> dict[str, np.ndarray]:
    """Return the weights of the last queries, (T - PAST, T), by way."""
    q, k = np.random.default_rng(0).normal(size=(2, 1, T, D)) * 1.5
    turned_q, turned_k = (rope_forward(x, *rope_cos_sin(np.arange(T), D))[0] for x in (q, k))
    full = attention_forward(turned_q, turned_k, k, q_offset=0)[1].weights[0, PAST:]
    return {
        "one pass": full,
        "decoded": _decoded(q, k, turned_k, np.arange(PAST, T)),
        "decoded from 0": _decoded(q, k, turned_k, np.zeros(T - PAST, dtype=int)),
    }


def _decoded(q: np.ndarray, k: np.ndarray, turned_k: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Decode one token after the other, each turned as one at its given position."""
    keys, values, rows = turned_k[:, :PAST], k[:, :PAST], np.zeros((T - PAST, T))
    for row, p in enumerate(positions):
        t = PAST + row
        new_q, new_k = (rope_forward(x[:, t : t + 1], *rope_cos_sin(np.array([p]), D))[0] for x in (q, k))
        found, residuals = attention_decode_forward(new_q, new_k, k[:, t : t + 1], keys, values)
        keys, values = np.asarray(found.k_cache), np.asarray(found.v_cache)
        rows[row, : t + 1] = residuals.attention.weights[0, 0]
    return rows


@style.look
def figure() -> Figure:
    """Draw the three ways below each other."""
    fig, axes = style.panels(3, 1, 5.4, sharex=True)
    for ax, (name, weights) in zip(axes[:, 0], data().items(), strict=True):
        image = style.heat(ax, weights, None, vmin=0, vmax=1)
        ax.set(title=name, ylabel="query", xticks=range(T))
        ax.set_yticks(range(T - PAST), range(PAST, T))
    axes[2, 0].set_xlabel("key")
    style.bar(image, axes, "weight")
    return fig
