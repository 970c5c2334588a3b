"""Door 4: queries and keys brought to a common length before they meet."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros


def companions(at: tuple[int, ...], x: np.ndarray, params: Params) -> list[tuple[int, ...]]:
    """The entries whose mean square divides x[at]: those of its head, or of all heads of its token."""
    *batch, h, t, _ = at
    heads = range(x.shape[-3]) if params.get("over_heads", False) else [h]
    return [(*batch, head, t, c) for head in heads for c in range(x.shape[-1])]


def weighted(inputs: Inputs, params: Params) -> np.ndarray:
    """The factor of each (head, channel)."""
    H, D = np.shape(inputs["x"])[-3], np.shape(inputs["x"])[-1]
    result = zeros((H, D))
    for h, d in np.ndindex(H, D):
        weight = 1
        if "weight" in inputs:
            given = exact(inputs["weight"])
            weight = given[source((h, d), given.shape)] + (1 if params.get("unit_offset", False) else 0)
        result[h, d] = mp.mpf(weight)
    return result


def reciprocal(x: np.ndarray, entries: list[tuple[int, ...]], params: Params) -> Any:
    mean = mp.fsum(x[c] ** 2 for c in entries) / len(entries)
    return 1 / mp.sqrt(mean + number(params.get("eps", 1e-6)))


@precise
def rms_qk_norm(inputs: Inputs, params: Params) -> Arrays:
    """Zhang and Sennrich 2019, eq. (4), on each head, or as OLMo 2 (2025) on all heads at once; Gemma's 1 + weight."""
    x, weight = exact(inputs["x"]), weighted(inputs, params)
    y = zeros(x.shape)
    for at in np.ndindex(x.shape):
        y[at] = x[at] * reciprocal(x, companions(at, x, params), params) * weight[at[-3], at[-1]]
    return {"y": y}


@precise
def rms_qk_norm_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Quotient rule on eq. (4) of Zhang and Sennrich 2019: d(x_c r)/dx_j = [c = j] r - x_c x_j r^3 / n."""
    x, weight = exact(inputs["x"]), weighted(inputs, params)
    dy = cotangent(cotangents, "y", x.shape)
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("x", "weight") if name in inputs}
    for at in np.ndindex(x.shape):
        entries = companions(at, x, params)
        r, arriving = reciprocal(x, entries, params), dy[at] * weight[at[-3], at[-1]]
        gradient["x"][at] += arriving * r
        for j in entries:
            gradient["x"][j] -= arriving * x[at] * x[j] * r**3 / len(entries)
        if "weight" in inputs:
            gradient["weight"][source((at[-3], at[-1]), gradient["weight"].shape)] += dy[at] * x[at] * r
    return gradient


class Row:
    """One vector: its norm, whether eps replaces it, and exp of its head's logit, which may be bounded."""

    def __init__(self, x: np.ndarray, at: tuple[int, ...], inputs: Inputs, params: Params) -> None:
        self.entries = [(*at, d) for d in range(x.shape[-1])]
        square, eps = mp.fsum(x[entry] ** 2 for entry in self.entries), number(params.get("eps", 1e-12))
        self.short = square < eps**2
        self.divisor = eps if self.short else mp.sqrt(square)
        self.factor, self.bounded = mp.mpf(1), False
        if "logit_scale" in inputs:
            logit, bound = exact(inputs["logit_scale"])[at[-2]], params.get("max_logit_scale")
            self.bounded = bound is not None and logit > number(bound)
            self.factor = mp.exp(number(bound) if self.bounded else logit)


@precise
def l2_qk_norm(inputs: Inputs, params: Params) -> Arrays:
    """Liu et al. 2022 (SwinV2), eq. (2) and its code: unit vectors (cosine), times exp of a bounded logit."""
    x = exact(inputs["x"])
    y = zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        row = Row(x, at, inputs, params)
        for entry in row.entries:
            y[entry] = row.factor * x[entry] / row.divisor
    return {"y": y}


@precise
def l2_qk_norm_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """d(x_c / |x|)/dx_j = [c = j] / |x| - x_c x_j / |x|^3; the bound lets through what is not above it."""
    x = exact(inputs["x"])
    dy = cotangent(cotangents, "y", x.shape)
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("x", "logit_scale") if name in inputs}
    for at in np.ndindex(x.shape[:-1]):
        row = Row(x, at, inputs, params)
        for c in row.entries:
            gradient["x"][c] += row.factor * dy[c] / row.divisor
            for j in row.entries if not row.short else []:
                gradient["x"][j] -= row.factor * dy[c] * x[c] * x[j] / row.divisor**3
            if "logit_scale" in inputs and not row.bounded:
                gradient["logit_scale"][at[-2]] += dy[c] * row.factor * x[c] / row.divisor
    return gradient
