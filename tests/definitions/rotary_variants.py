"""Door 2: rotations that scale, leave channels alone, turn by two axes, or share a key among heads."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .angles import axial_cos_sin
from .frequencies import theta
from .rotary import pair, rope, rope_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros


def split(inputs: Inputs) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Arguments of rope for the channels that turn, and the channels that do not."""
    R = 2 * np.shape(inputs["cos"])[-1]
    return {**inputs, "x": inputs["x"][..., :R]}, exact(inputs["x"][..., R:])


@precise
def partial_rope(inputs: Inputs, params: Params) -> Arrays:
    """Wang and Komatsuzaki 2021 (GPT-J) as released: the first channels turn, the others pass."""
    turning, passing = split(inputs)
    return {"y": np.concatenate([rope(turning, params)["y"], passing], axis=-1)}


@precise
def partial_rope_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule: the rotation's gradient for the first channels, the cotangent itself for those that pass."""
    turning, _ = split(inputs)
    dy, R = cotangent(cotangents, "y", np.shape(inputs["x"])), turning["x"].shape[-1]
    gradient = rope_gradient(turning, params, {"y": dy[..., :R]})
    return {**gradient, "x": np.concatenate([gradient["x"], dy[..., R:]], axis=-1)}


def stretched(inputs: Inputs, params: Params, x: np.ndarray, direction: int) -> np.ndarray:
    """Each pair turned by direction * p theta_i and scaled by zeta_i^((p - centre)/scale_base), or its reciprocal."""
    positions, D = exact(inputs["positions"]), x.shape[-1]
    gamma = number(params.get("gamma", 0.4))
    y = zeros(x.shape)
    for at in np.ndindex((*x.shape[:-1], D // 2)):
        p, i = positions[source(at[:-1], positions.shape)], at[-1]
        first, second = ((*at[:-1], channel) for channel in pair(i, D, params))
        zeta = (mp.mpf(2 * i) / D + gamma) / (1 + gamma)
        exponent = (p - number(params["centre"])) / number(params.get("scale_base", 512.0))
        scale = zeta ** (-exponent if params.get("keys", False) else exponent)
        a = direction * p * theta(i, D, params)
        y[first] = scale * (x[first] * mp.cos(a) - x[second] * mp.sin(a))
        y[second] = scale * (x[first] * mp.sin(a) + x[second] * mp.cos(a))
    return y


@precise
def xpos(inputs: Inputs, params: Params) -> Arrays:
    """Sun et al. 2022 (xPos), algorithm 1: rotation times zeta^p for queries, zeta^-p for keys."""
    return {"y": stretched(inputs, params, exact(inputs["x"]), 1)}


@precise
def xpos_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """The transpose of a scaled rotation: the same scale, the opposite angle."""
    return {"x": stretched(inputs, params, cotangent(cotangents, "y", np.shape(inputs["x"])), -1)}


def axial_pairs(D: int, A: int, layout: str) -> list[tuple[int, int]]:
    """The two channels that each entry of the axial table turns."""
    if layout == "halves_per_axis":
        part, share = D // A, D // (2 * A)
        return [(a * part + j, a * part + share + j) for a in range(A) for j in range(share)]
    return [pair(i, D, {"interleaved": layout == "interleaved"}) for i in range(D // 2)]


def axially(inputs: Inputs, params: Params, x: np.ndarray, direction: int) -> np.ndarray:
    D, layout = x.shape[-1], params.get("layout", "interleaved")
    options = {"D": D, "base": params.get("base", 10000.0), "split_frequencies": layout == "even_odd"}
    table = axial_cos_sin({"positions": direction * np.asarray(inputs["positions"])}, options)
    y = zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        for i, (first, second) in enumerate(axial_pairs(D, len(inputs["positions"]), layout)):
            entry = source((*at, i), table["cos"].shape)
            c, s = table["cos"][entry], table["sin"][entry]
            y[(*at, first)] = x[(*at, first)] * c - x[(*at, second)] * s
            y[(*at, second)] = x[(*at, first)] * s + x[(*at, second)] * c
    return y


@precise
def axial_rope(inputs: Inputs, params: Params) -> Arrays:
    """Heo et al. 2024 (RoPE for vision transformers), axial frequency: one part of the pairs turns by each axis."""
    return {"y": axially(inputs, params, exact(inputs["x"]), 1)}


@precise
def axial_rope_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """A rotation is orthogonal: dx is dy turned by the opposite angles."""
    return {"x": axially(inputs, params, cotangent(cotangents, "y", np.shape(inputs["x"])), -1)}


def permuted(x: np.ndarray, H: int, to_interleaved: bool) -> np.ndarray:
    """Column j of the halves of each head is column 2j or 2j + 1 of its pairs."""
    D = x.shape[-1] // H
    y = zeros(x.shape)
    for at in np.ndindex((*x.shape[:-1], H, D // 2)):
        for part in (0, 1):
            head, i = at[-2] * D, at[-1]
            half, interleaved = (*at[:-2], head + part * (D // 2) + i), (*at[:-2], head + 2 * i + part)
            y[interleaved if to_interleaved else half] = x[half if to_interleaved else interleaved]
    return y


@precise
def permute_pairs(inputs: Inputs, params: Params) -> Arrays:
    """Llama's weights as converted for half-split code: pairs (2i, 2i + 1) become (i, i + D/2) in each head."""
    return {"y": permuted(exact(inputs["weight"]), params["H"], params.get("to_interleaved", False))}


@precise
def permute_pairs_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """A permutation's transpose is its inverse."""
    dy = cotangent(cotangents, "y", np.shape(inputs["weight"]))
    return {"weight": permuted(dy, params["H"], not params.get("to_interleaved", False))}


def warmth(inputs: Inputs, params: Params, at: tuple[int, ...]) -> Any:
    positions, step = np.asarray(inputs["positions"]), params.get("step", 8192)
    passed = (int(positions[source(at[:-1], positions.shape)]) + params.get("offset", 1)) // step
    return 1 + number(params.get("scale", 0.1)) * mp.log(1 + passed)


@precise
def query_temperature(inputs: Inputs, params: Params) -> Arrays:
    """Nakanishi 2025 (scalable softmax), as released in Llama 4: queries grow with the logarithm of the position."""
    y = exact(inputs["x"])
    for at in np.ndindex(y.shape):
        y[at] *= warmth(inputs, params, at)
    return {"y": y}


@precise
def query_temperature_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """The map is diagonal: dx is dy times the same temperature."""
    dx = cotangent(cotangents, "y", np.shape(inputs["x"]))
    for at in np.ndindex(dx.shape):
        dx[at] *= warmth(inputs, params, at)
    return {"x": dx}
