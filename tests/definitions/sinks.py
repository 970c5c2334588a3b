"""Door 4: a softmax with an escape, and a bound on the logits."""

from __future__ import annotations

import numpy as np
from mpmath import mp

from .attention import SINK, kept, probabilities, score_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, source, zeros


@precise
def softmax_sink(inputs: Inputs, params: Params) -> Arrays:
    """OpenAI 2025 (gpt-oss) as released: the softmax of the row and one more logit, which is then dropped."""
    x, sink, mask = exact(inputs["x"]), exact(inputs["sink"]), inputs.get("mask")
    y = zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        for j, p in probabilities({**kept(x, mask, at), SINK: sink[source(at, sink.shape)]}).items():
            if j != SINK:
                y[(*at, j)] = p
    return {"y": y}


@precise
def softmax_sink_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """dy_k/dx_j = y_k (delta_jk - y_j), the sink being one of the j but none of the k."""
    x, sink, mask = exact(inputs["x"]), exact(inputs["sink"]), inputs.get("mask")
    dy, dx, dsink = cotangent(cotangents, "y", x.shape), zeros(x.shape), zeros(sink.shape)
    for at in np.ndindex(x.shape[:-1]):
        P = probabilities({**kept(x, mask, at), SINK: sink[source(at, sink.shape)]})
        for j, ds in score_gradient(P, {j: mp.mpf(0) if j == SINK else dy[(*at, j)] for j in P}).items():
            if j == SINK:
                dsink[source(at, sink.shape)] += ds
            else:
                dx[(*at, j)] = ds
    return {"x": dx, "sink": dsink}


@precise
def softcap(inputs: Inputs, params: Params) -> Arrays:
    """Gemma Team 2024 (Gemma 2), section 2: logits = cap tanh(logits / cap)."""
    x, cap = exact(inputs["x"]), number(params["cap"])
    y = zeros(x.shape)
    for at in np.ndindex(x.shape):
        y[at] = cap * mp.tanh(x[at] / cap)
    return {"y": y}


@precise
def softcap_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Derivative of Gemma Team 2024, section 2: tanh' = 1 / cosh^2."""
    x, cap = exact(inputs["x"]), number(params["cap"])
    dy, dx = cotangent(cotangents, "y", x.shape), zeros(x.shape)
    for at in np.ndindex(x.shape):
        dx[at] = dy[at] / mp.cosh(x[at] / cap) ** 2
    return {"x": dx}
