"""Door 2: how fast each pair turns, one pair at a time, under each rule of context extension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, exact, number, precise, zeros


def theta(i: int, D: int, params: Params, base: float = 10000.0) -> Any:
    """Su et al. 2021 (RoFormer), section 3.2.2: base^(-2i/D), i from 0."""
    return number(params.get("base", base)) ** (-mp.mpf(2 * i) / D)


def table(entry: Callable[[int], Any], F: int) -> np.ndarray:
    y = zeros((F,))
    for i in range(F):
        y[i] = entry(i)
    return y


def scalar(value: Any) -> np.ndarray:
    y = zeros(())
    y[()] = value
    return y


def clip(x: Any) -> Any:
    return min(max(x, mp.mpf(0)), mp.mpf(1))


@precise
def rope_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Su et al. 2021 (RoFormer), section 3.2.2: theta_i = base^(-2i/D), i from 0."""
    D = params["D"]
    return {"y": table(lambda i: theta(i, D, params), D // 2)}


@precise
def linear_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Chen et al. 2023 (position interpolation): every position, here every angle, divided by the factor."""
    D = params["D"]
    return {"y": table(lambda i: theta(i, D, params) / number(params["factor"]), D // 2)}


def ntk(params: Params, factor: Any) -> Arrays:
    D = params["D"]
    base = number(params.get("base", 10000.0)) * factor ** (mp.mpf(D) / (D - 2))
    return {"y": table(lambda i: base ** (-mp.mpf(2 * i) / D), D // 2)}


@precise
def ntk_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Peng et al. 2023 (YaRN), section 3.1: base times factor^(D/(D - 2)); the last pair slows by the factor."""
    return ntk(params, number(params["factor"]))


@precise
def dynamic_ntk_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Peng et al. 2023 (YaRN), section 3.3, as released: the NTK rule at a factor that grows with the length."""
    factor, trained = number(params["factor"]), params["trained_length"]
    longer = mp.mpf(max(params["length"], trained)) / trained
    return ntk(params, factor * longer - (factor - 1))


@precise
def ntk_by_parts_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Peng et al. 2023 (YaRN), section 3.2: interpolated or kept by the number of turns in the trained length."""
    D, factor = params["D"], number(params["factor"])
    slow, fast = number(params.get("slow_rotations", 1.0)), number(params.get("fast_rotations", 32.0))

    def entry(i: int) -> Any:
        kept = theta(i, D, params)
        turns = params["trained_length"] * kept / (2 * mp.pi)
        gamma = clip((turns - slow) / (fast - slow))
        return (1 - gamma) * kept / factor + gamma * kept

    return {"y": table(entry, D // 2)}


@precise
def llama3_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Llama 3.1 as released: short waves kept, long ones divided by the factor, those between mixed."""
    D, factor, trained = params["D"], number(params.get("factor", 8.0)), params.get("trained_length", 8192)
    low, high = number(params.get("low_frequency_factor", 1.0)), number(params.get("high_frequency_factor", 4.0))

    def entry(i: int) -> Any:
        kept = theta(i, D, params, 500000.0)
        wavelength = 2 * mp.pi / kept
        if wavelength < trained / high:
            return kept
        if wavelength > trained / low:
            return kept / factor
        smooth = (trained / wavelength - low) / (high - low)
        return (1 - smooth) * kept / factor + smooth * kept

    return {"y": table(entry, D // 2)}


def temperature(factor: Any, mscale: float) -> Any:
    return 1 + number(mscale) / 10 * mp.log(max(number(factor), mp.mpf(1)))


@precise
def yarn_attention_factor(inputs: Inputs, params: Params) -> Arrays:
    """Peng et al. 2023 (YaRN), eq. (22): sqrt(1/t) = 0.1 ln(factor) + 1; DeepSeek's releases take a quotient of two."""
    numerator = temperature(params["factor"], params.get("mscale", 1.0))
    return {"y": scalar(numerator / temperature(params["factor"], params.get("mscale_all_dim", 0.0)))}


@precise
def yarn_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Peng et al. 2023 (YaRN), section 3.4, as released: the ramp runs over the pair's index, not over its turns."""
    D, factor, base = params["D"], number(params["factor"]), number(params.get("base", 10000.0))

    def index(rotations: float) -> Any:
        return D * mp.log(params["trained_length"] / (2 * mp.pi * number(rotations))) / (2 * mp.log(base))

    low, high = index(params.get("fast_rotations", 32.0)), index(params.get("slow_rotations", 1.0))
    if params.get("truncate", True):
        low, high = mp.floor(low), mp.ceil(high)
    low, high = max(low, mp.mpf(0)), min(high, mp.mpf(D - 1))
    high = max(high, low + mp.mpf(1) / 1000)

    def entry(i: int) -> Any:
        ramp = clip((i - low) / (high - low))
        return ramp * theta(i, D, params) / factor + (1 - ramp) * theta(i, D, params)

    return {"frequencies": table(entry, D // 2), "attention_factor": yarn_attention_factor({}, params)["y"]}


@precise
def longrope_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Ding et al. 2024 (LongRoPE) and Phi-3 as released: each pair has its own searched divisor."""
    trained = params["trained_length"]
    divisors = exact(inputs["short_factors" if params["length"] <= trained else "long_factors"])
    frequencies = table(lambda i: theta(i, 2 * len(divisors), params) / divisors[i], len(divisors))
    growth = mp.log(max(number(params["factor"]), mp.mpf(1))) / mp.log(trained)
    return {"frequencies": frequencies, "attention_factor": scalar(mp.sqrt(1 + growth))}


@precise
def proportional_frequencies(inputs: Inputs, params: Params) -> Arrays:
    """Barbero et al. 2024 (p-RoPE): the fastest part of the pairs turns, the rest stands still."""
    D, factor = params["D"], number(params.get("factor", 1.0))
    turning = int(params["proportion"] * D // 2)
    return {"y": table(lambda i: theta(i, D, params) / factor if i < turning else mp.mpf(0), D // 2)}
