"""ALiBi's biases, and why two forms of them pass for one

The bias of three of 8 heads, for 12 queries and keys. Above, the symmetric form: 0 on the diagonal, falling to both
sides. In the middle the key-only form of most kernels: the same number in a whole column. Below, the weights of equal
scores under a causal mask, which are the same for both.

The two differ by a constant in each row, which softmax cannot see; logits and lse differ. Without a causal mask only
the symmetric form is right. The steep head looks at its neighbours, the flat one at everything alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import alibi_forward, alibi_slopes, causal_mask, softmax_forward

from . import style

FORMULA = "-slope · |i - j|        or        slope · j        (not divided by √D)"
SOURCE = "Press et al. 2022 (ALiBi), section 3; key-only: the authors' code, BLOOM, FlashAttention (causal)"
ALT = "Nine heat maps: for three heads a ridge along the diagonal, a ramp along keys, and triangles of weights."
T, HEADS = 12, (0, 2, 7)


class Data(NamedTuple):
    """Biases and weights of HEADS, (heads, T, T) each."""

    symmetric: np.ndarray
    key_only: np.ndarray
    weights: np.ndarray  # of the symmetric form
    key_only_weights: np.ndarray


def data() -> Data:
    """Return both forms, and what a causal softmax makes of each alone."""
    slopes, mask = alibi_slopes(8, xp=np, dtype=np.float64), causal_mask(T, T, q_offset=0, xp=np)
    forms = [alibi_forward(slopes, T=T, S=T, key_only=key_only)[0][list(HEADS)] for key_only in (False, True)]
    return Data(*forms, *(softmax_forward(form, mask=mask)[0] for form in forms))


@style.look
def figure() -> Figure:
    """Draw three heads, a column each."""
    found = data()
    fig, axes = style.panels(3, 3, 7.0, sharex=True, sharey=True)
    rows = ((found.symmetric, "symmetric bias"), (found.key_only, "key-only bias"), (found.weights, "causal weights"))
    for row, (z, name) in zip(axes, rows, strict=True):
        limits = {"vmin": z.min(), "vmax": z.max()}
        images = [style.heat(ax, matrix, None, aspect="equal", **limits) for ax, matrix in zip(row, z, strict=True)]
        style.bar(images[0], row, name)
    for ax, h in zip(axes[0], HEADS, strict=True):
        ax.set_title(f"head {h + 1}: slope 1/{2 ** (h + 1)}")
    fig.supxlabel("key position")
    fig.supylabel("query position")
    return fig
