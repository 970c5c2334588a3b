"""Door 2, one pair of channels at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .angles import rope_angles, rope_angles_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros


@precise
def rope_cos_sin(inputs: Inputs, params: Params) -> Arrays:
    """Su et al. 2021 (RoFormer), section 3.2.2: cos(p theta_i), sin(p theta_i), theta_i = base^(-2i/D), i from 0."""
    positions, D = exact(inputs["positions"]), params["D"]
    cos, sin = zeros((*positions.shape, D // 2)), zeros((*positions.shape, D // 2))
    for at in np.ndindex(positions.shape):
        for i in range(D // 2):
            theta = number(params.get("base", 10000.0)) ** (-mp.mpf(2 * i) / D)
            cos[(*at, i)] = mp.cos(positions[at] * theta)
            sin[(*at, i)] = mp.sin(positions[at] * theta)
    return {"cos": cos, "sin": sin}


def pair(i: int, D: int, params: Params) -> tuple[int, int]:
    """The two channels that frequency i turns."""
    return (2 * i, 2 * i + 1) if params.get("interleaved", True) else (i, i + D // 2)


def written(i: int, D: int, params: Params) -> tuple[int, int]:
    """The two channels of the result that show frequency i: the same two, unless another layout is named."""
    layout = params.get("interleaved_output")
    return pair(i, D, params if layout is None else {"interleaved": layout})


def turns(x: np.ndarray, cos: np.ndarray, sin: np.ndarray, params: Params) -> Any:
    """For each pair: where it stands in x, where in the result, index of its cosine, index of its sine."""
    D = x.shape[-1]
    if 2 * cos.shape[-1] != D or 2 * sin.shape[-1] != D:
        raise ValueError(f"{cos.shape[-1]} cosines and {sin.shape[-1]} sines for {D} channels")
    for at in np.ndindex(x.shape[:-1]):
        for i in range(D // 2):
            read = [(*at, channel) for channel in pair(i, D, params)]
            write = [(*at, channel) for channel in written(i, D, params)]
            yield read, write, source((*at, i), cos.shape), source((*at, i), sin.shape)


@precise
def rope(inputs: Inputs, params: Params) -> Arrays:
    """Su et al. 2021 (RoFormer), eq. (15): the block of pair (x1, x2) is [[cos, -sin], [sin, cos]]."""
    x, cos, sin = exact(inputs["x"]), exact(inputs["cos"]), exact(inputs["sin"])
    y = zeros(x.shape)
    for (first, second), (to_first, to_second), c, s in turns(x, cos, sin, params):
        y[to_first] = x[first] * cos[c] - x[second] * sin[s]
        y[to_second] = x[first] * sin[s] + x[second] * cos[c]
    return {"y": y}


@precise
def rope_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Su et al. 2021 (RoFormer), eq. (15), transposed for x; cos and sin collect over all that they turn."""
    x, cos, sin = exact(inputs["x"]), exact(inputs["cos"]), exact(inputs["sin"])
    dy = cotangent(cotangents, "y", x.shape)
    dx, dcos, dsin = zeros(x.shape), zeros(cos.shape), zeros(sin.shape)
    for (first, second), written_to, c, s in turns(x, cos, sin, params):
        dfirst, dsecond = (dy[at] for at in written_to)
        dx[first] = dfirst * cos[c] + dsecond * sin[s]
        dx[second] = dsecond * cos[c] - dfirst * sin[s]
        dcos[c] += dfirst * x[first] + dsecond * x[second]
        dsin[s] += dsecond * x[first] - dfirst * x[second]
    return {"x": dx, "cos": dcos, "sin": dsin}


def with_table(inputs: Inputs, params: Params) -> Arrays:
    """Arguments of rope: the tables from the frequencies that are given, else from the base."""
    D = np.shape(inputs["x"])[-1]
    if "frequencies" in inputs:
        table = rope_angles({name: array for name, array in inputs.items() if name != "x"}, {})
    else:
        table = rope_cos_sin({"positions": inputs["positions"]}, {"D": D, "base": params.get("base", 10000.0)})
    return {"x": inputs["x"], **table}


@precise
def rotary_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Su et al. 2021 (RoFormer), eqs. (14) and (15): x at position p turned by the angles p theta_i."""
    return rope(with_table(inputs, params), params)


@precise
def rotary_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Su et al. 2021 (RoFormer), eq. (15): a rotation is orthogonal, so dx is dy turned by the opposite angles.

    The frequencies and the factor hear of dy through the cosines and sines.
    """
    dy = cotangent(cotangents, "y", np.shape(inputs["x"]))
    opposite = {**inputs, "x": dy, "positions": -np.asarray(inputs["positions"])}
    gradient = {"x": rotary_embedding(opposite, params)["y"]}
    if "frequencies" in inputs:
        table = rope_gradient(with_table(inputs, params), params, cotangents)
        angles = {name: array for name, array in inputs.items() if name != "x"}
        through = rope_angles_gradient(angles, {}, {"cos": table["cos"], "sin": table["sin"]})
        gradient |= {name: value for name, value in through.items() if name != "positions"}
    return gradient
