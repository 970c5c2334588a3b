"""Sinusoids count like binary numbers

Left, the five binary digits of 0 .. 31: the lowest changes at every step, each next one half as often. Right, five
sines with wavelengths of 2, 4, 8, 16 and 32: wherever a digit is 1 the sine is negative, in all 160 places.

A digit jumps, a sine glides: it says not only in which half of its wave a position lies, but where, and the model can
take a derivative. So a few channels that each repeat are together as unique as the digits of a number.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from refimpl import sinusoidal_forward

from . import style

FORMULA = """bit_k(p) = floor(p / 2^k) mod 2
sin_k(p) = sin(π (p + 1/2) / 2^k),   negative exactly where bit_k(p) = 1"""
SOURCE = "Vaswani et al. 2017, section 3.5, with base 32 for C = 10 (neighbouring waves differ by 2)"
ALT = "Two heat maps side by side, 32 positions by five columns: binary digits, and smooth sines with the same rhythm."
BITS = 5
P = 2**BITS


class Data(NamedTuple):
    """Digits and sines, lowest first."""

    bits: np.ndarray  # (P, BITS)
    sines: np.ndarray  # (P, BITS)


def data() -> Data:
    """Count to P - 1 both ways; base 2^BITS makes w_k = 2^-k."""
    p = np.arange(P)
    bits = (p[:, None] >> np.arange(BITS)) & 1
    return Data(bits, sinusoidal_forward(np.pi * (p + 0.5), 2 * BITS, base=float(P), layout="sin_cos")[0][:, :BITS])


@style.look
def figure() -> Figure:
    """Draw both, the highest digit on the left, as numbers are written."""
    bits, sines = data()
    fig, axes = style.panels(1, 2, 6.4, sharey=True)
    order = range(BITS - 1, -1, -1)
    style.heat(axes[0, 0], 1 - 2 * bits[:, ::-1], None, signed=True)
    style.heat(axes[0, 1], sines[:, ::-1], "sine", signed=True)
    axes[0, 0].set(title="digits (red 0, blue 1)", xlabel="worth of the digit", ylabel="position")
    axes[0, 0].set_xticks(range(BITS), [str(2**k) for k in order])
    axes[0, 1].set(title="sines", xlabel="wavelength in positions")
    axes[0, 1].set_xticks(range(BITS), [str(2 ** (k + 1)) for k in order])
    axes[0, 0].set_yticks(range(0, P, 4))
    return fig
