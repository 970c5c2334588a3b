"""Door 3, one logit at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, zeros


def geometric(n: int, max_bias: Any) -> list[Any]:
    """The n terms of the geometric sequence that starts at its own ratio 2^(-max_bias/n)."""
    return [mp.mpf(2) ** (-number(max_bias) * h / n) for h in range(1, n + 1)]


@precise
def alibi_slopes(inputs: Inputs, params: Params) -> Arrays:
    """Press et al. 2022 (ALiBi), section 3 and its code: other n take every second slope of twice the power."""
    H, max_bias = params["H"], params.get("max_bias", 8)
    power = 1
    while 2 * power <= H:
        power = 2 * power
    slopes = geometric(power, max_bias)
    extra = geometric(2 * power, max_bias)
    h = 0
    while len(slopes) < H:
        slopes.append(extra[h])
        h = h + 2
    return {"y": np.array(slopes, dtype=object)}


def distances(slopes: np.ndarray, params: Params) -> Any:
    """Index in the slopes, index in the bias, and the integer that the slope is multiplied by."""
    for at in np.ndindex(slopes.shape):
        for i in range(params["T"]):
            for j in range(params["S"]):
                position = params.get("q_offset", 0) + i
                yield at, (*at, i, j), (j if params.get("key_only", False) else -abs(position - j))


@precise
def alibi(inputs: Inputs, params: Params) -> Arrays:
    """Press et al. 2022 (ALiBi), section 3: m_h times -|i - j|, or, equal under the causal softmax, times j."""
    slopes = exact(inputs["slopes"])
    y = zeros((*slopes.shape, params["T"], params["S"]))
    for h, at, distance in distances(slopes, params):
        y[at] = slopes[h] * distance
    return {"y": y}


@precise
def alibi_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Derivative of Press et al. 2022, section 3: dm_h = sum_ij dy_hij times its distance."""
    slopes = exact(inputs["slopes"])
    dy = cotangent(cotangents, "y", (*slopes.shape, params["T"], params["S"]))
    dslopes = zeros(slopes.shape)
    for h, at, distance in distances(slopes, params):
        dslopes[h] += dy[at] * distance
    return {"slopes": dslopes}
