"""Door 3: distances that depend on what stands between."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .relative import scaled
from .scalars import Arrays, Inputs, Params, cotangent, exact, precise, zeros


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def dot(x: np.ndarray, row: tuple[int, ...], z: np.ndarray, other: tuple[int, ...]) -> Any:
    return mp.fsum(x[(*row, d)] * z[(*other, d)] for d in range(x.shape[-1]))


class Counted:
    """The queries, keys and table of one call, and what query i of a head counts."""

    def __init__(self, inputs: Inputs, params: Params) -> None:
        self.q, self.k, self.table = exact(inputs["q"]), exact(inputs["k"]), exact(inputs["table"])
        self.N, self.D = self.table.shape
        self.S = self.k.shape[-2]
        self.q_offset, self.scale = params.get("q_offset", 0), scaled(params, self.D)

    def gates(self, query: tuple[int, ...]) -> dict[int, Any]:
        """The gates of Golovneva et al. 2024 (CoPE), scaled as in their code; later keys have none."""
        keys = range(min(self.S, self.q_offset + query[-1] + 1))
        return {t: sigmoid(self.scale * dot(self.q, query, self.k, (*query[:-1], t))) for t in keys}

    def place(self, gates: dict[int, Any], j: int) -> tuple[int, int, Any]:
        """The two whole positions around p_ij, and the weight of the upper one."""
        p = min(mp.fsum(g for t, g in gates.items() if t >= j), mp.mpf(self.N - 1))
        return int(mp.floor(p)), int(mp.ceil(p)), p - mp.floor(p)


@precise
def cope(inputs: Inputs, params: Params) -> Arrays:
    """Golovneva et al. 2024 (CoPE), section 4: q_i . e[p_ij], e interpolated between whole positions."""
    a = Counted(inputs, params)
    y = zeros((*a.q.shape[:-1], a.S))
    for query in np.ndindex(a.q.shape[:-1]):
        gates = a.gates(query)
        z = [dot(a.q, query, a.table, (n,)) for n in range(a.N)]
        for j in range(a.S):
            lower, upper, w = a.place(gates, j)
            y[(*query, j)] = w * z[upper] + (1 - w) * z[lower]
    return {"y": y}


@precise
def cope_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule on Golovneva et al. 2024, section 4; a whole p has lower = upper, hence slope 0."""
    a = Counted(inputs, params)
    dy = cotangent(cotangents, "y", (*a.q.shape[:-1], a.S))
    dq, dk, dtable = zeros(a.q.shape), zeros(a.k.shape), zeros(a.table.shape)
    for query in np.ndindex(a.q.shape[:-1]):
        gates = a.gates(query)
        z = [dot(a.q, query, a.table, (n,)) for n in range(a.N)]
        dgates = dict.fromkeys(gates, mp.mpf(0))
        for j in range(a.S):
            lower, upper, w = a.place(gates, j)
            for n, share in ((upper, w), (lower, 1 - w)):
                for d in range(a.D):
                    dq[(*query, d)] += dy[(*query, j)] * share * a.table[n, d]
                    dtable[n, d] += dy[(*query, j)] * share * a.q[(*query, d)]
            for t in gates:
                if t >= j:
                    dgates[t] += dy[(*query, j)] * (z[upper] - z[lower])
        for t, g in gates.items():
            for d in range(a.D):
                key = (*query[:-1], t, d)
                dq[(*query, d)] += dgates[t] * g * (1 - g) * a.scale * a.k[key]
                dk[key] += dgates[t] * g * (1 - g) * a.scale * a.q[(*query, d)]
    return {"q": dq, "k": dk, "table": dtable}


@precise
def fox(inputs: Inputs, params: Params) -> Arrays:
    """Lin et al. 2025 (Forgetting Transformer): d_ij = sum over l from j + 1 to i of ln f_l."""
    logits, T = exact(inputs["gate_logits"]), params["T"]
    *heads, S = logits.shape
    y = zeros((*heads, T, S))
    for at in np.ndindex(y.shape):
        *head, i, j = at
        between = range(j + 1, params.get("q_offset", 0) + i + 1)
        y[at] = mp.fsum(mp.log(sigmoid(logits[(*head, t)])) for t in between)
    return {"y": y}


@precise
def fox_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Derivative of Lin et al. 2025: d ln sigmoid(x) / dx = sigmoid(-x), for every gate between."""
    logits, T = exact(inputs["gate_logits"]), params["T"]
    *heads, S = logits.shape
    dy, dlogits = cotangent(cotangents, "y", (*heads, T, S)), zeros(logits.shape)
    for at in np.ndindex(dy.shape):
        *head, i, j = at
        for t in range(j + 1, params.get("q_offset", 0) + i + 1):
            dlogits[(*head, t)] += dy[at] * sigmoid(-logits[(*head, t)])
    return {"gate_logits": dlogits}
