"""Formulas of the papers that several figures are held against."""

import math

import numpy as np


def pe(p: float, C: int, channel: int, base: float = 10000.0) -> float:
    """Return one number of the sinusoidal encoding, from the paper."""
    angle = p * base ** (-(channel - channel % 2) / C)
    return math.cos(angle) if channel % 2 else math.sin(angle)


def theta(D: int, base: float = 10000.0) -> np.ndarray:
    """Return the frequencies of RoPE, from the paper."""
    return np.array([base ** (-2 * i / D) for i in range(D // 2)])
