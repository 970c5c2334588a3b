"""Door 3: biases that are a function of the distance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, zeros


def distances(H: int, params: Params) -> Iterator[tuple[tuple[int, int, int], int]]:
    """Index of each logit, and query position minus key position there."""
    for h, i, j in np.ndindex((H, params["T"], params["S"])):
        yield (h, i, j), params.get("q_offset", 0) + i - j


def kerple(inputs: Inputs, params: Params) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, p = exact(inputs["a"]), exact(inputs["p"])
    return a, p, zeros((*a.shape, params["T"], params["S"]))


@precise
def kerple_log(inputs: Inputs, params: Params) -> Arrays:
    """Chi et al. 2022 (KERPLE), logarithmic variant: -r1 ln(1 + r2 |m - n|), here p = r1, a = r2."""
    a, p, y = kerple(inputs, params)
    for at, delta in distances(len(a), params):
        y[at] = -p[at[0]] * mp.log(1 + a[at[0]] * abs(delta))
    return {"y": y}


@precise
def kerple_log_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Derivatives of Chi et al. 2022, logarithmic variant."""
    a, p, y = kerple(inputs, params)
    dy, da, dp = cotangent(cotangents, "y", y.shape), zeros(a.shape), zeros(p.shape)
    for at, delta in distances(len(a), params):
        h, n = at[0], abs(delta)
        da[h] -= dy[at] * p[h] * n / (1 + a[h] * n)
        dp[h] -= dy[at] * mp.log(1 + a[h] * n)
    return {"a": da, "p": dp}


@precise
def kerple_power(inputs: Inputs, params: Params) -> Arrays:
    """Chi et al. 2022 (KERPLE), power variant: -r1 |m - n|^r2, here a = r1, p = r2; 0 at distance 0."""
    a, p, y = kerple(inputs, params)
    for at, delta in distances(len(a), params):
        if delta != 0:
            y[at] = -a[at[0]] * mp.mpf(abs(delta)) ** p[at[0]]
    return {"y": y}


@precise
def kerple_power_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Derivatives of Chi et al. 2022, power variant: n^p and a n^p ln n; none at distance 0."""
    a, p, y = kerple(inputs, params)
    dy, da, dp = cotangent(cotangents, "y", y.shape), zeros(a.shape), zeros(p.shape)
    for at, delta in distances(len(a), params):
        if delta != 0:
            h, n = at[0], mp.mpf(abs(delta))
            da[h] -= dy[at] * n ** p[h]
            dp[h] -= dy[at] * a[h] * n ** p[h] * mp.log(n)
    return {"a": da, "p": dp}


class Progressive:
    """Li et al. 2024 (FIRE), section 3: psi(distance) / psi(max(position, L)), psi(x) = ln(1 + c x), into an MLP."""

    def __init__(self, inputs: Inputs, params: Params) -> None:
        self.w1, self.b1, self.w2, self.b2 = (exact(inputs[name]) for name in ("w1", "b1", "w2", "b2"))
        self.c, self.m, self.L0 = (number(np.asarray(inputs[name])[()]) for name in ("c", "m", "L0"))
        self.eps, self.q_offset = number(params.get("eps", 1e-6)), params.get("q_offset", 0)
        self.F, self.H = self.w2.shape
        self.shape = (self.H, params["T"], params["S"])
        self.threshold = abs(self.m * self.L0)

    def pairs(self) -> Iterator[tuple[int, int, int, Any]]:
        """Query, key, their distance, and what the query's position is raised to."""
        for i, j in np.ndindex(self.shape[1:]):
            position = self.q_offset + i
            yield i, j, abs(position - j), max(mp.mpf(position), self.threshold)

    def psi(self, x: Any) -> Any:
        return mp.log(1 + abs(self.c) * x)

    def hidden(self, x: Any) -> list[Any]:
        return [max(x * self.w1[f] + self.b1[f], mp.mpf(0)) for f in range(self.F)]


@precise
def fire(inputs: Inputs, params: Params) -> Arrays:
    """Li et al. 2024 (FIRE), section 3 and its code: an MLP with one hidden layer of the progressive distance."""
    a = Progressive(inputs, params)
    y = zeros(a.shape)
    for i, j, distance, reach in a.pairs():
        hidden = a.hidden(a.psi(distance) / (a.psi(reach) + a.eps))
        for h in range(a.H):
            y[h, i, j] = a.b2[h] + mp.fsum(a.w2[f, h] * hidden[f] for f in range(a.F))
    return {"y": y}


@precise
def fire_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule on Li et al. 2024, section 3; where position and threshold tie, each has half of the slope."""
    a = Progressive(inputs, params)
    dy = cotangent(cotangents, "y", a.shape)
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("w1", "b1", "w2", "b2", "c", "m", "L0")}
    for i, j, distance, reach in a.pairs():
        below = a.psi(reach) + a.eps
        x, dx = a.psi(distance) / below, mp.mpf(0)
        for f, active in enumerate(a.hidden(x)):
            for h in range(a.H):
                gradient["w2"][f, h] += dy[h, i, j] * active
            if active > 0:
                arriving = mp.fsum(dy[h, i, j] * a.w2[f, h] for h in range(a.H))
                gradient["w1"][f] += arriving * x
                gradient["b1"][f] += arriving
                dx += arriving * a.w1[f]
        for h in range(a.H):
            gradient["b2"][h] += dy[h, i, j]
        dabove, dbelow = dx / below, -dx * x / below
        slope = dabove * distance / (1 + abs(a.c) * distance) + dbelow * reach / (1 + abs(a.c) * reach)
        gradient["c"][()] += mp.sign(a.c) * slope
        share = (1 + mp.sign(a.threshold - (a.q_offset + i))) / 2
        dthreshold = share * dbelow * abs(a.c) / (1 + abs(a.c) * reach)
        gradient["m"][()] += dthreshold * mp.sign(a.m * a.L0) * a.L0
        gradient["L0"][()] += dthreshold * mp.sign(a.m * a.L0) * a.m
    return gradient


@precise
def sandwich(inputs: Inputs, params: Params) -> Arrays:
    """Chi et al. 2023 (Sandwich): inner product of two sinusoids less its value at distance 0."""
    H, C, base = params["H"], params["C"], number(params.get("base", 10000.0))
    y = zeros((H, params["T"], params["S"]))
    for at, delta in distances(H, params):
        product = mp.fsum(mp.cos(delta / base ** (mp.mpf(2 * n) / C)) for n in range(1, C // 2 + 1))
        y[at] = (product - mp.mpf(C) / 2) * H / (8 * (at[0] + 1))
    return {"y": y}
