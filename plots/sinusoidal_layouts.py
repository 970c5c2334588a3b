"""Three encodings that are all called sinusoidal

The paper alternates sine and cosine; much code puts all sines first, which only permutes the columns. tensor2tensor,
by the paper's own authors, also spaces the waves wider, so that the last is 2π·10000 long: at C = 16 the values of
the first 24 positions move by up to 1.00 (last panel).

A model trained with one and run with another is wrong, and no error says so. A permutation of columns can be moved
into the weights that read them; other wavelengths cannot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward

from . import style

FORMULA = """paper          y[2k] = sin(p w_k),  y[2k+1]   = cos(p w_k),   w_k = 10000^(-2k/C)
halves         y[k]  = sin(p w_k),  y[C/2+k]  = cos(p w_k),   w_k = 10000^(-2k/C)
tensor2tensor  y[k]  = sin(p w_k),  y[C/2+k]  = cos(p w_k),   w_k = 10000^(-k/(C/2-1))"""
SOURCE = "Vaswani et al. 2017, section 3.5; the code of tensor2tensor"
ALT = (
    "Four heat maps of 24 positions by 16 channels: alternating columns, sines before cosines twice, their difference."
)
C, P = 16, 24
LAYOUTS: dict[str, Any] = {
    "paper": {"layout": "interleaved"},
    "halves": {"layout": "sin_cos"},
    "tensor2tensor": {"layout": "sin_cos", "frequency_shift": 1},
}


def data() -> dict[str, np.ndarray]:
    """Return each encoding, (P, C)."""
    return {name: sinusoidal_forward(np.arange(P), C, **options)[0] for name, options in LAYOUTS.items()}


@style.look
def figure() -> Figure:
    """Draw the three, and what the last two differ by."""
    fig, axes = style.panels(2, 2, 6.2, sharex=True, sharey=True)
    found = data()
    found["tensor2tensor − halves"] = found["tensor2tensor"] - found["halves"]
    for ax, (name, y) in zip(axes.flat, found.items(), strict=True):
        image = style.heat(ax, y, None, signed=True, vmin=-1, vmax=1)
        ax.set_title(name)
    fig.supxlabel("channel")
    fig.supylabel("position")
    style.bar(image, axes, "value")
    return fig
