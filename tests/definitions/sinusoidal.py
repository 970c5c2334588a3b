"""Door 1, one sine at a time: the sinusoid with its options, and what is made of it."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, zeros

OPTIONS = ("base", "layout", "frequency_shift", "pad_odd")


def options(params: Params, **defaults: Any) -> dict[str, Any]:
    return defaults | {name: params[name] for name in OPTIONS if name in params}


def wave_of(column: int, C: int, params: Params) -> tuple[str, int]:
    """What stands in a column: the sine or the cosine of wave k, or nothing."""
    width = C - 1 if params.get("pad_odd", False) and C % 2 == 1 else C
    if column >= width:
        return "zero", 0
    layout, waves = params.get("layout", "interleaved"), (width + 1) // 2
    if layout == "interleaved":
        return ("sin", "cos")[column % 2], column // 2
    first, second = {"sin_cos": ("sin", "cos"), "cos_sin": ("cos", "sin")}[layout]
    return (first, column) if column < waves else (second, column - waves)


def frequency(k: int, C: int, params: Params) -> Any:
    """Vaswani et al. 2017, section 3.5: 10000^(-2k/C); tensor2tensor's ends at 1/10000: 10000^(-k/(C/2 - 1))."""
    width = C - 1 if params.get("pad_odd", False) and C % 2 == 1 else C
    denominator = max(width - 2 * params.get("frequency_shift", 0), 1)
    return number(params.get("base", 10000.0)) ** (-mp.mpf(2 * k) / denominator)


def wave(p: Any, column: int, C: int, params: Params) -> tuple[Any, Any]:
    """One entry of the sinusoidal table, and its derivative with respect to the position p."""
    kind, k = wave_of(column, C, params)
    if kind == "zero":
        return mp.mpf(0), mp.mpf(0)
    w = frequency(k, C, params)
    if kind == "sin":
        return mp.sin(p * w), w * mp.cos(p * w)
    return mp.cos(p * w), -w * mp.sin(p * w)


def integers(array: Any) -> bool:
    return np.asarray(array).dtype.kind in "iu"


@precise
def sinusoidal(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, section 3.5: PE(p, 2k) = sin(p / 10000^(2k/C)), PE(p, 2k+1) = cos of the same angle."""
    positions, C = exact(inputs["positions"]), params["C"]
    y = zeros((*positions.shape, C))
    for at in np.ndindex(y.shape):
        y[at] = wave(positions[at[:-1]], at[-1], C, params)[0]
    return {"y": y}


@precise
def sinusoidal_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """d/dp of Vaswani et al. 2017, section 3.5: dp = sum_k dy_2k w cos(p w) - dy_2k+1 w sin(p w); none for integers."""
    if integers(inputs["positions"]):
        return {}
    positions, C = exact(inputs["positions"]), params["C"]
    dy = cotangent(cotangents, "y", (*positions.shape, C))
    dpositions = zeros(positions.shape)
    for at in np.ndindex(dy.shape):
        dpositions[at[:-1]] += dy[at] * wave(positions[at[:-1]], at[-1], C, params)[1]
    return {"positions": dpositions}


@precise
def relative_shift_matrix(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, section 3.5: PE(p + shift) = M PE(p), by sin(a + b) and cos(a + b); a zero column stays."""
    shift, C = exact(inputs["shift"]), params["C"]
    place = {wave_of(c, C, params): c for c in range(C)}
    y = zeros((*shift.shape, C, C))
    for at in np.ndindex(shift.shape):
        for (kind, k), c in place.items():
            a = shift[at] * frequency(k, C, params)
            if kind == "zero":
                y[(*at, c, c)] = mp.mpf(1)
            if kind == "sin":
                y[(*at, c, c)], y[(*at, c, place["cos", k])] = mp.cos(a), mp.sin(a)
            if kind == "cos":
                y[(*at, c, c)], y[(*at, c, place["sin", k])] = mp.cos(a), -mp.sin(a)
    return {"y": y}


def halves(params: Params) -> list[tuple[int, range]]:
    """Which coordinate each half of the channels shows."""
    C = params["C"]
    axes = (1, 0) if params.get("columns_first", False) else (0, 1)
    return [(axes[0], range(C // 2)), (axes[1], range(C // 2, C))]


@precise
def sinusoidal_2d(inputs: Inputs, params: Params) -> Arrays:
    """Carion et al. 2020 (DETR), appendix A.4: half of the channels for each of the two coordinates."""
    positions, C = np.asarray(inputs["positions"]), params["C"]
    y = zeros((*positions.shape[:-1], C))
    for axis, channels in halves(params):
        half = sinusoidal({"positions": positions[..., axis]}, options(params, pad_odd=True) | {"C": C // 2})["y"]
        for at in np.ndindex(half.shape):
            y[(*at[:-1], channels[at[-1]])] = half[at]
    return {"y": y}


@precise
def sinusoidal_2d_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through sinusoidal_2d: each coordinate hears from its own half alone; none for integers."""
    if integers(inputs["positions"]):
        return {}
    positions, C = exact(inputs["positions"]), params["C"]
    dy, dpositions = cotangent(cotangents, "y", (*positions.shape[:-1], C)), zeros(positions.shape)
    for at in np.ndindex(positions.shape[:-1]):
        for axis, channels in halves(params):
            for column, channel in enumerate(channels):
                slope = wave(positions[(*at, axis)], column, C // 2, options(params, pad_odd=True))[1]
                dpositions[(*at, axis)] += dy[(*at, channel)] * slope
    return {"positions": dpositions}


def timesteps_as_positions(inputs: Inputs, params: Params) -> tuple[Arrays, dict[str, Any]]:
    scaled = zeros(np.shape(inputs["timesteps"]))
    for at in np.ndindex(scaled.shape):
        scaled[at] = number(params.get("scale", 1.0)) * number(np.asarray(inputs["timesteps"])[at])
    return {"positions": scaled}, options(params, layout="sin_cos", frequency_shift=1) | {
        "C": params["C"],
        "pad_odd": True,
    }


@precise
def timestep_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Ho et al. 2020 (DDPM), appendix B: the sinusoid of the timestep, sines before cosines, last wavenumber 1/base."""
    return sinusoidal(*timesteps_as_positions(inputs, params))


@precise
def timestep_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule: the sinusoid's derivative times the scale; none for integers."""
    if integers(inputs["timesteps"]):
        return {}
    dpositions = sinusoidal_gradient(*timesteps_as_positions(inputs, params), cotangents)["positions"]
    return {"timesteps": dpositions * number(params.get("scale", 1.0))}
