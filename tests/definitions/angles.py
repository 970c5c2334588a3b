"""Door 2: the cosine and sine of every position and pair, when the angles are more than position times frequency."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from .frequencies import theta
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros
from .sinusoidal import integers

Index = tuple[int, ...]


def shape_of(positions: Index, frequencies: Index) -> Index:
    """Shape of the angles; the head's axis, where frequencies have one, stands before the time's."""
    if len(frequencies) == 1:
        return (*positions, *frequencies)
    return np.broadcast_shapes((*positions, 1), (frequencies[0], 1, frequencies[1]))


def places(positions: Index, frequencies: Index) -> Iterator[tuple[Index, Index, Index]]:
    """Index of an angle, of its position, of its frequency."""
    for at in np.ndindex(shape_of(positions, frequencies)):
        pair = (at[-1],) if len(frequencies) == 1 else source((at[-3], at[-1]), frequencies)
        yield at, source(at[:-1], positions), pair


@precise
def rope_angles(inputs: Inputs, params: Params) -> Arrays:
    """Su et al. 2021 (RoFormer), eq. (15): m cos(p f), m sin(p f); m as YaRN (Peng et al. 2023) is released."""
    p, f = exact(inputs["positions"]), exact(inputs["frequencies"])
    m = number(np.asarray(inputs["attention_factor"])[()]) if "attention_factor" in inputs else mp.mpf(1)
    cos, sin = zeros(shape_of(p.shape, f.shape)), zeros(shape_of(p.shape, f.shape))
    for at, place, pair in places(p.shape, f.shape):
        cos[at], sin[at] = m * mp.cos(p[place] * f[pair]), m * mp.sin(p[place] * f[pair])
    return {"cos": cos, "sin": sin}


@precise
def rope_angles_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule on m cos(p f) and m sin(p f), one angle at a time; no gradient for integer positions."""
    p, f = exact(inputs["positions"]), exact(inputs["frequencies"])
    m = number(np.asarray(inputs["attention_factor"])[()]) if "attention_factor" in inputs else mp.mpf(1)
    dcos = cotangent(cotangents, "cos", shape_of(p.shape, f.shape))
    dsin = cotangent(cotangents, "sin", shape_of(p.shape, f.shape))
    gradient = {name: zeros(np.shape(inputs[name])) for name in inputs}
    for at, place, pair in places(p.shape, f.shape):
        c, s = mp.cos(p[place] * f[pair]), mp.sin(p[place] * f[pair])
        dangle = m * (dsin[at] * c - dcos[at] * s)
        gradient["positions"][place] += dangle * f[pair]
        gradient["frequencies"][pair] += dangle * p[place]
        if "attention_factor" in gradient:
            gradient["attention_factor"][()] += dcos[at] * c + dsin[at] * s
    return {name: value for name, value in gradient.items() if name != "positions" or not integers(inputs[name])}


def mixed(p: np.ndarray, f: np.ndarray, place: Index, pair: Index) -> Any:
    return mp.fsum(p[(axis, *place)] * f[(axis, *pair)] for axis in range(len(p)))


@precise
def mixed_angles(inputs: Inputs, params: Params) -> Arrays:
    """Heo et al. 2024 (RoPE for vision transformers), mixed frequency: one angle, p_x f_x + p_y f_y, f learned."""
    p, f = exact(inputs["positions"]), exact(inputs["frequencies"])
    shape = shape_of(p.shape[1:], f.shape[1:])
    cos, sin = zeros(shape), zeros(shape)
    for at, place, pair in places(p.shape[1:], f.shape[1:]):
        cos[at], sin[at] = mp.cos(mixed(p, f, place, pair)), mp.sin(mixed(p, f, place, pair))
    return {"cos": cos, "sin": sin}


@precise
def mixed_angles_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule on the cosine and sine of p_x f_x + p_y f_y; no gradient for integer positions."""
    p, f = exact(inputs["positions"]), exact(inputs["frequencies"])
    shape = shape_of(p.shape[1:], f.shape[1:])
    dcos, dsin = cotangent(cotangents, "cos", shape), cotangent(cotangents, "sin", shape)
    dp, df = zeros(p.shape), zeros(f.shape)
    for at, place, pair in places(p.shape[1:], f.shape[1:]):
        angle = mixed(p, f, place, pair)
        dangle = dsin[at] * mp.cos(angle) - dcos[at] * mp.sin(angle)
        for axis in range(len(p)):
            dp[(axis, *place)] += dangle * f[(axis, *pair)]
            df[(axis, *pair)] += dangle * p[(axis, *place)]
    return {"frequencies": df} if integers(inputs["positions"]) else {"positions": dp, "frequencies": df}


def turned_by(p: np.ndarray, F: int, angle: Any) -> Arrays:
    cos, sin = zeros((*p.shape[1:], F)), zeros((*p.shape[1:], F))
    for at in np.ndindex(cos.shape):
        a = angle(p[(slice(None), *at[:-1])], at[-1])
        cos[at], sin[at] = mp.cos(a), mp.sin(a)
    return {"cos": cos, "sin": sin}


@precise
def mrope_cos_sin(inputs: Inputs, params: Params) -> Arrays:
    """Wang et al. 2024 (Qwen2-VL), section 2.1: each pair turns by one of time, height, width; Qwen3-VL takes turns."""
    p, sections = exact(inputs["positions"]), params["sections"]

    def axis_of(i: int) -> int:
        if params.get("cycled", False):
            axis = i % len(sections)
            return axis if i < len(sections) * sections[axis] else 0
        return [axis for axis, pairs in enumerate(sections) for _ in range(pairs)][i]

    F = sum(sections)
    return turned_by(p, F, lambda place, i: place[axis_of(i)] * theta(i, 2 * F, params))


@precise
def axial_cos_sin(inputs: Inputs, params: Params) -> Arrays:
    """Heo et al. 2024 (RoPE for vision transformers), axial frequency: an equal share of the pairs for each axis."""
    p, D = exact(inputs["positions"]), params["D"]
    A, share = len(p), D // (2 * len(p))

    def angle(place: np.ndarray, pair: int) -> Any:
        axis, j = pair // share, pair % share
        return place[axis] * theta(A * j + axis if params.get("split_frequencies", False) else A * j, D, params)

    return turned_by(p, D // 2, angle)
