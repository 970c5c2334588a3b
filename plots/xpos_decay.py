"""xPos: a rotation that fades, in one direction only

Above, how a pair's share of a score fades: fast pairs (0) first, slow ones (60) hardly. Below, the score of equal
vectors: behind the query (distance above 0) xPos fades out the ripples of RoPE, ahead of it they grow.

Far away, the fast pairs are noise that a longer text adds up; fading takes it away. The price: ahead of the query
scores grow without bound, so that xPos belongs under a causal mask, and its scales must be kept within range.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import rotary_embedding_forward, xpos_forward

from . import style

FORMULA = """score = sum over pairs of ζ_i^(d / 512) q_i · R(-d θ_i) k_i,    d = p_q - p_k
ζ_i = (2i/D + γ) / (1 + γ),   γ = 0.4"""
SOURCE = "Sun et al. 2022 (A Length-Extrapolatable Transformer), algorithm 1"
ALT = "Above, three falling curves of decay factors; below, scores over the distance, smooth behind and wild ahead."
D, FAR, PAIRS = 128, 2048, (0, 20, 60)
D_KEYS = np.arange(-1024, FAR + 1, 4)  # p_q - p_k, > 0 behind the query


class Data(NamedTuple):
    """Over D_KEYS: the decay of PAIRS, and the scores of equal vectors as a share of that at distance 0."""

    decay: np.ndarray  # (distances, 3)
    rope: np.ndarray
    xpos: np.ndarray


def data() -> Data:
    """Place a query at FAR and keys around it; the length of a scaled key pair is its decay."""
    ones, p, here = np.ones((len(D_KEYS), D)), FAR - D_KEYS, np.array([FAR])
    k = xpos_forward(ones, positions=p, centre=FAR, keys=True)[0]
    scores = xpos_forward(ones[:1], positions=here, centre=FAR)[0] @ k.T
    turned = rotary_embedding_forward(ones, positions=p)[0]
    plain = rotary_embedding_forward(ones[:1], positions=here)[0] @ turned.T
    return Data(np.linalg.norm(k.reshape(-1, D // 2, 2), axis=-1)[:, PAIRS] / 2**0.5, plain[0] / D, scores[0] / D)


@style.look
def figure() -> Figure:
    """Draw decays and scores over the distance."""
    decay, rope, xpos = data()
    fig, axes = style.panels(2, 1, 5.8, sharex=True)
    for i, pair in enumerate(PAIRS):
        axes[0, 0].plot(D_KEYS, decay[:, i], color=style.COLOURS[i], ls=style.DASHES[i], label=f"pair {pair}")
    axes[1, 0].plot(D_KEYS, rope, color=style.GREY, lw=1.2, label="RoPE")
    axes[1, 0].plot(D_KEYS, xpos, color=style.BLUE, lw=1.2, label="xPos")
    axes[0, 0].set(ylabel="decay factor")
    axes[1, 0].set(xlabel="distance p_q − p_k in positions", ylabel="score of q = k / largest RoPE")
    axes[0, 0].legend()
    axes[1, 0].legend()
    return fig
