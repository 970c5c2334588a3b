"""What learns at each door

One causal head over 24 random tokens, with a random gradient on every output. Door 1: row p of a learned table; the
last rows, which few queries read, get least. Door 2: the frequencies of RoPE, if they were learned. Door 3: the bias
of each pair of tokens: every row sums to 0, as softmax does not see a constant. T5's table collects it by distance;
its last four buckets begin beyond this text, and learn nothing.

One loss teaches a row its place, a frequency all distances at once, and a bucket its own distances.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

import refimpl as r

from . import style

FORMULA = """drow[p] = dx[p]                     dθ_i = sum over p of p (dsin cos(p θ_i) - dcos sin(p θ_i))
dbias = w (dw - sum of w dw)        dtable[n] = sum of dbias over pairs in bucket n"""
SOURCE = "the backward passes of learned_position, rope_angles, attention and t5_bias"
ALT = "Bars of gradients by position, by frequency pair and by bucket, and a triangular heat map of both signs."
T, D = 24, 16


def data() -> tuple[np.ndarray, ...]:
    """Go forward through all three doors, and return lengths of drow (T,), dθ (D/2,), dbias (T, T), dtable (16,)."""
    random, p = np.random.default_rng(2), np.arange(T)
    tokens, dy = random.normal(size=(2, T, D))
    w_q, w_k, w_v = random.normal(0, D**-0.5, (3, D, D))
    rows, learned = r.learned_position_forward(p, random.normal(0, 0.1, (T, D)))
    turned, angles = r.rope_angles_forward(p, r.rope_frequencies(D, xp=np, dtype=np.float64))
    bias, t5 = r.t5_bias_forward(np.zeros((16, 1)), T=T, S=T, bidirectional=False)
    _, residuals = r.multi_head_attention_forward(
        tokens + rows, w_q, w_k, w_v, np.eye(D), **turned._asdict(), bias=bias, H=1, q_offset=0
    )
    back = r.multi_head_attention_backward(dy, residuals)
    table = np.linalg.norm(r.learned_position_backward(back.x, learned), axis=-1)
    _, frequencies, _ = r.rope_angles_backward(turned._replace(cos=back.cos, sin=back.sin), angles)
    return table, frequencies, np.asarray(back.bias)[0], r.t5_bias_backward(back.bias, t5)[:, 0]


@style.look
def figure() -> Figure:
    """Draw four panels."""
    fig, axes = style.panels(2, 2, 6.2)
    rows, frequencies, bias, buckets = data()
    for ax, z, colour in zip(axes.flat[[0, 1, 3]], (rows, frequencies, buckets), style.COLOURS, strict=False):
        ax.bar(range(len(z)), z, color=colour)
    axes[0, 0].set(title="door 1: rows", xlabel="position", ylabel="|drow|")
    axes[0, 1].set(title="door 2: θ", xlabel="pair i", ylabel="dθ")
    axes[1, 1].set(title="door 3: T5's table", xlabel="bucket", ylabel="dtable")
    style.heat(axes[1, 0], bias, "dbias", signed=True)
    axes[1, 0].set(title="door 3: bias", xlabel="key", ylabel="query")
    return fig
