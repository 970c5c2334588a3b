"""Door 2: the queries and keys of multi-head latent attention, whose turned key channels all heads share."""

from __future__ import annotations

import numpy as np

from .rotary import rope, rope_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, precise, zeros


def joined(nope: np.ndarray, turned: np.ndarray, shared: bool) -> np.ndarray:
    """Channels of each head: first those without position, then the turned ones, its own or everybody's."""
    D = nope.shape[-1]
    result = zeros((*nope.shape[:-1], D + turned.shape[-1]))
    for at in np.ndindex(result.shape):
        *batch, h, t, c = at
        if c < D:
            result[at] = nope[at]
        else:
            result[at] = turned[(*batch, t, c - D) if shared else (*batch, h, t, c - D)]
    return result


def tables(inputs: Inputs, x: str) -> Arrays:
    return {"x": inputs[x], "cos": inputs["cos"], "sin": inputs["sin"]}


@precise
def mla_rope(inputs: Inputs, params: Params) -> Arrays:
    """DeepSeek-AI 2024 (DeepSeek-V2), eqs. (14) to (17): q = [q_nope; RoPE(q_pe)], k = [k_nope; RoPE(k_pe)]."""
    q_pe, k_pe = rope(tables(inputs, "q_pe"), params)["y"], rope(tables(inputs, "k_pe"), params)["y"]
    return {
        "q": joined(exact(inputs["q_nope"]), q_pe, shared=False),
        "k": joined(exact(inputs["k_nope"]), k_pe, shared=True),
    }


@precise
def mla_rope_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through mla_rope: the shared key collects over heads; the tables from queries and from keys."""
    (*batch, H, T, D), R = np.shape(inputs["q_nope"]), np.shape(inputs["k_pe"])[-1]
    dq = cotangent(cotangents, "q", (*batch, H, T, D + R))
    dk = cotangent(cotangents, "k", (*batch, H, T, D + R))
    shared = zeros((*batch, T, R))
    for at in np.ndindex((*batch, H, T, R)):
        shared[(*at[:-3], *at[-2:])] += dk[(*at[:-1], D + at[-1])]
    queries = rope_gradient(tables(inputs, "q_pe"), params, {"y": dq[..., D:]})
    keys = rope_gradient(tables(inputs, "k_pe"), params, {"y": shared})
    return {
        "q_nope": dq[..., :D],
        "q_pe": queries["x"],
        "k_nope": dk[..., :D],
        "k_pe": keys["x"],
        "cos": queries["cos"] + keys["cos"],
        "sin": queries["sin"] + keys["sin"],
    }
