"""Door 1: the sinusoid at positions moved and stretched at random, the random numbers given."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, number, precise, zeros
from .sinusoidal import integers, wave


def moved(inputs: Inputs, at: tuple[int, ...]) -> tuple[Any, Any]:
    """Position of the token at (batch.., t) after the shifts, and the stretch of its sequence."""
    place = number(np.asarray(inputs["positions"])[at])
    if "global_shift" in inputs:
        place += number(np.asarray(inputs["global_shift"])[at[:-1]])
    if "local_shift" in inputs:
        place += number(np.asarray(inputs["local_shift"])[at])
    stretch = mp.exp(number(np.asarray(inputs["log_scale"])[at[:-1]])) if "log_scale" in inputs else mp.mpf(1)
    return place, stretch


@precise
def cape(inputs: Inputs, params: Params) -> Arrays:
    """Likhomanenko et al. 2021 (CAPE): sinusoid at (p + global + local shift) times exp(log_scale)."""
    C = params["C"]
    y = zeros((*np.shape(inputs["positions"]), C))
    for at in np.ndindex(y.shape):
        place, stretch = moved(inputs, at[:-1])
        y[at] = wave(place * stretch, at[-1], C, {"base": params.get("base", 10000.0)})[0]
    return {"y": y}


@precise
def cape_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through cape; a shift or a scale collects over every token that it moves."""
    C = params["C"]
    names = [name for name in ("positions", "global_shift", "local_shift", "log_scale") if name in inputs]
    gradient = {name: zeros(np.shape(inputs[name])) for name in names if not integers(inputs[name])}
    dy = cotangent(cotangents, "y", (*np.shape(inputs["positions"]), C))
    for at in np.ndindex(dy.shape):
        place, stretch = moved(inputs, at[:-1])
        slope = dy[at] * wave(place * stretch, at[-1], C, {"base": params.get("base", 10000.0)})[1]
        for name in gradient:
            index = at[:-1] if name in ("positions", "local_shift") else at[:-2]
            gradient[name][index] += slope * stretch * (place if name == "log_scale" else 1)
    return gradient
