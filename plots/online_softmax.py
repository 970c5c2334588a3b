"""Softmax a block at a time: how a sum survives a new largest score

One query over 64 keys in blocks of 8. After each block: the largest score so far, the sum of exponentials relative
to it, and one channel of the mean of the values so far. Where the largest score rises, as at block 3, what was summed
shrinks by one factor; the last block ends on the softmax in one piece (dashed).

No block needs the scores of another, so the T × S matrix is never stored: this is how FlashAttention works.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from refimpl import attention_forward, blocked_attention_forward

from . import style

FORMULA = """m' = max(m, scores of the block),   f = exp(m - m')
total' = f total + sum of exp(scores - m'),   acc' = f acc + exp(scores - m') v,   y = acc / total"""
SOURCE = "Milakov and Gimelshein 2018, algorithm 3; Dao et al. 2022 (FlashAttention), algorithm 1"
ALT = "Three step curves over eight blocks; each ends on a dashed level, the value of the softmax in one piece."
KEYS, BLOCK, D = 64, 8, 8


def data() -> tuple[np.ndarray, np.ndarray]:
    """Return largest, total and y[0] after each block, (blocks, 3), and those of the softmax in one piece, (3,)."""
    random = np.random.default_rng(8)
    q, k, v = (size * random.normal(size=(1, n, D)) for size, n in ((1.5, 1), (1, KEYS), (1, KEYS)))
    scores, found = (q @ k.mT)[0, 0] / D**0.5, []
    for n in range(BLOCK, KEYS + 1, BLOCK):
        y, lse = blocked_attention_forward(q, k[:, :n], v[:, :n], block=BLOCK)[0]
        m = scores[:n].max()
        found.append((m, np.exp(np.asarray(lse)[0, 0] - m), np.asarray(y)[0, 0, 0]))
    y, lse = attention_forward(q, k, v)[0]
    whole = scores.max(), np.exp(np.asarray(lse)[0, 0] - scores.max()), np.asarray(y)[0, 0, 0]
    return np.array(found), np.array(whole)


@style.look
def figure() -> Figure:
    """Draw what is known after each block."""
    curves, whole = data()
    fig, axes = style.panels(3, 1, 5.8, sharex=True)
    for ax, y, end, name in zip(axes[:, 0], curves.T, whole, ("largest m", "total", "y[0]"), strict=True):
        ax.plot(range(1, len(y) + 1), y, color=style.BLUE, marker="o", drawstyle="steps-post")
        ax.axhline(end, color=style.VERMILLION, linestyle="--")
        ax.set_ylabel(name)
    axes[2, 0].set(xlabel="blocks seen", xticks=range(1, KEYS // BLOCK + 1))
    return fig
