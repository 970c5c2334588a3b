"""Softmax and attention, one query and one key at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros

Row = dict[int, Any]
SINK = -1  # the key of the sink in a Row of scores: it stands beside the keys and has the value 0


def probabilities(scores: Row) -> Row:
    """exp(s_j) / sum_k exp(s_k) over the visible keys j, k; mpf has no overflow to guard against."""
    total = mp.fsum(mp.exp(s) for s in scores.values())
    return {j: mp.exp(s) / total for j, s in scores.items()}


def score_gradient(P: Row, dP: Row) -> Row:
    """ds_j = sum_k dP_k dP_k/ds_j with dP_k/ds_j = P_k (delta_jk - P_j), written without cancellation."""
    return {j: mp.fsum(P[j] * P[k] * (dP[j] - dP[k]) for k in P) for j in P}


def kept(x: np.ndarray, mask: np.ndarray | None, at: tuple[int, ...]) -> Row:
    keys = range(x.shape[-1])
    return {j: x[(*at, j)] for j in keys if mask is None or mask[source((*at, j), np.shape(mask))]}


@precise
def softmax(inputs: Inputs, params: Params) -> Arrays:
    """Bridle 1990, normalised exponential: y_j = exp(x_j) / sum_k exp(x_k), over kept entries; the others are 0."""
    x, mask = exact(inputs["x"]), inputs.get("mask")
    y = zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        for j, p in probabilities(kept(x, mask, at)).items():
            y[(*at, j)] = p
    return {"y": y}


@precise
def softmax_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Bridle 1990: dy_k/dx_j = y_k (delta_jk - y_j)."""
    x, mask = exact(inputs["x"]), inputs.get("mask")
    dy, dx = cotangent(cotangents, "y", x.shape), zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        P = probabilities(kept(x, mask, at))
        for j, ds in score_gradient(P, {j: dy[(*at, j)] for j in P}).items():
            dx[(*at, j)] = ds
    return {"x": dx}


class Call:
    """The inputs of one attention call: at (batch.., h, i) it tells the key head, the scale and the visible scores."""

    def __init__(self, inputs: Inputs, params: Params) -> None:
        self.q, self.k, self.v = exact(inputs["q"]), exact(inputs["k"]), exact(inputs["v"])
        self.bias = exact(inputs["bias"]) if "bias" in inputs else None
        self.sink = exact(inputs["sink"]) if "sink" in inputs else None
        self.mask, self.keep = inputs.get("mask"), inputs.get("keep")
        self.q_offset, self.p = params.get("q_offset"), number(params.get("p", 0.0))
        self.H, self.T, self.D = self.q.shape[-3:]
        self.G, self.S, self.E = self.v.shape[-3:]
        scale, cap = params.get("scale"), params.get("softcap")
        self.scale = 1 / mp.sqrt(self.D) if scale is None else number(scale)
        self.cap = None if cap is None else number(cap)

    def rows(self) -> Any:
        """Each query (batch.., h, i) with its key/value head (batch.., g): H/G neighbouring heads share one."""
        for query in np.ndindex(self.q.shape[:-1]):
            yield query, (*query[:-2], query[-2] // (self.H // self.G))

    def visible(self, query: tuple[int, ...], j: int) -> bool:
        causal = self.q_offset is None or j <= self.q_offset + query[-1]
        return causal and (self.mask is None or bool(self.mask[source((*query, j), np.shape(self.mask))]))

    def product(self, query: tuple[int, ...], head: tuple[int, ...], j: int) -> Any:
        return self.scale * mp.fsum(self.q[(*query, d)] * self.k[(*head, j, d)] for d in range(self.D))

    def score(self, query: tuple[int, ...], head: tuple[int, ...], j: int) -> Any:
        """Gemma Team 2024 (Gemma 2), section 2: cap tanh(score / cap); the bias joins after it."""
        product = self.product(query, head, j)
        bias = 0 if self.bias is None else self.bias[source((*query, j), self.bias.shape)]
        return (product if self.cap is None else self.cap * mp.tanh(product / self.cap)) + bias

    def slope(self, query: tuple[int, ...], head: tuple[int, ...], j: int) -> Any:
        """d cap tanh(x / cap) / dx = 1 / cosh^2(x / cap)."""
        return 1 if self.cap is None else 1 / mp.cosh(self.product(query, head, j) / self.cap) ** 2

    def scores(self, query: tuple[int, ...], head: tuple[int, ...]) -> Row:
        scores = {j: self.score(query, head, j) for j in range(self.S) if self.visible(query, j)}
        return scores if self.sink is None else {**scores, SINK: self.sink[query[-2]]}

    def dropout(self, query: tuple[int, ...], j: int) -> Any:
        """Srivastava et al. 2014: a weight is dropped, or kept and divided by the share that is kept."""
        if j == SINK:
            return 0
        if self.keep is None:
            return 1
        return 1 / (1 - self.p) if self.keep[source((*query, j), np.shape(self.keep))] else 0


@precise
def attention(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, eq. (1); heads in groups as Ainslie et al. 2023 (GQA), section 2.2; lse_i = ln sum_j exp.

    The sink is one more logit a head, of value 0: OpenAI 2025 (gpt-oss) as released, Xiao et al. 2024.
    """
    a = Call(inputs, params)
    y, lse = zeros((*a.q.shape[:-1], a.E)), zeros(a.q.shape[:-1])
    for query, head in a.rows():
        scores = a.scores(query, head)
        P = probabilities(scores)
        for e in range(a.E):
            y[(*query, e)] = mp.fsum(a.dropout(query, j) * P[j] * a.v[(*head, j, e)] for j in P if j != SINK)
        lse[query] = mp.log(mp.fsum(mp.exp(s) for s in scores.values())) if scores else -mp.inf
    return {"y": y, "lse": lse}


@precise
def attention_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule on Vaswani et al. 2017, eq. (1), with dP_k/ds_j = P_k (delta_jk - P_j) and dlse/ds_j = P_j."""
    a = Call(inputs, params)
    dy, dlse = cotangent(cotangents, "y", (*a.q.shape[:-1], a.E)), cotangent(cotangents, "lse", a.q.shape[:-1])
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("q", "k", "v", "bias", "sink") if name in inputs}
    for query, head in a.rows():
        P = probabilities(a.scores(query, head))
        share = {j: a.dropout(query, j) for j in P}
        dP = {j: share[j] * mp.fsum(dy[(*query, e)] * a.v[(*head, j, e)] for e in range(a.E)) for j in P}
        for j, through_y in score_gradient(P, dP).items():
            ds = through_y + P[j] * dlse[query]
            if j == SINK:
                gradient["sink"][query[-2]] += ds
                continue
            if a.bias is not None:
                gradient["bias"][source((*query, j), a.bias.shape)] += ds
            dproduct = ds * a.slope(query, head, j) * a.scale
            for d in range(a.D):
                gradient["q"][(*query, d)] += dproduct * a.k[(*head, j, d)]
                gradient["k"][(*head, j, d)] += dproduct * a.q[(*query, d)]
            for e in range(a.E):
                gradient["v"][(*head, j, e)] += share[j] * P[j] * dy[(*query, e)]
    return gradient
