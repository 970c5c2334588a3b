"""Door 1: what else is done with a table of vectors: clipped, tied to the head, looked up by segment, resized."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .embeddings import token_embedding, token_embedding_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, table_row, zeros


@precise
def renorm_table(inputs: Inputs, params: Params) -> Arrays:
    """torch.nn.Embedding(max_norm): a row that is looked up and longer than max_norm is scaled to it."""
    ids, y = np.asarray(inputs["ids"]), exact(inputs["weight"])
    bound, eps = number(params["max_norm"]), number(params.get("eps", 1e-7))
    for v in {table_row(ids[at], len(y)) for at in np.ndindex(ids.shape)}:
        norm = mp.sqrt(mp.fsum(entry**2 for entry in y[v]))
        if norm > bound:
            for c in range(y.shape[1]):
                y[v, c] *= bound / (norm + eps)
    return {"y": y}


@precise
def tied_head(inputs: Inputs, params: Params) -> Arrays:
    """Press and Wolf 2017: the logit of word v is the state times row v of the input table (plus bias)."""
    h, weight = exact(inputs["h"]), exact(inputs["weight"])
    y = zeros((*h.shape[:-1], len(weight)))
    for at in np.ndindex(y.shape):
        y[at] = mp.fsum(h[(*at[:-1], c)] * weight[at[-1], c] for c in range(h.shape[-1]))
        if "bias" in inputs:
            y[at] += number(np.asarray(inputs["bias"])[at[-1]])
    return {"y": y}


@precise
def tied_head_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Product rule on each logit of tied_head; every row of the table is an output, so none is spared."""
    h, weight = exact(inputs["h"]), exact(inputs["weight"])
    dy = cotangent(cotangents, "y", (*h.shape[:-1], len(weight)))
    gradient = {"h": zeros(h.shape), "weight": zeros(weight.shape)}
    if "bias" in inputs:
        gradient["bias"] = zeros((len(weight),))
    for at in np.ndindex(dy.shape):
        for c in range(h.shape[-1]):
            gradient["h"][(*at[:-1], c)] += dy[at] * weight[at[-1], c]
            gradient["weight"][at[-1], c] += dy[at] * h[(*at[:-1], c)]
        if "bias" in inputs:
            gradient["bias"][at[-1]] += dy[at]
    return gradient


def segment_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Devlin et al. 2019 (BERT), section 3.2: the vector of the sentence that the token belongs to."""
    return token_embedding({"ids": inputs["segments"], "weight": inputs["weight"]}, {})


def segment_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """A segment's row collects dy of all its tokens (chain rule on Devlin et al. 2019, section 3.2)."""
    return token_embedding_gradient({"ids": inputs["segments"], "weight": inputs["weight"]}, {}, cotangents)


def keys_cubic(d: Any, a: Any) -> Any:
    """Keys 1981: the cubic convolution kernel, of which he takes a = -1/2."""
    d = abs(d)
    if d <= 1:
        return (a + 2) * d**3 - (a + 3) * d**2 + 1
    return a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a if d < 2 else mp.mpf(0)


def taps(i: int, old: int, new: int, antialias: bool) -> dict[int, Any]:
    """Weight of each old row in new row i: torch's bicubic (a = -3/4, edge repeated), or antialiased (a = -1/2)."""
    centre, weights = (i + mp.mpf(1) / 2) * old / new - mp.mpf(1) / 2, dict.fromkeys(range(old), mp.mpf(0))
    if antialias:
        stretch = max(mp.mpf(old) / new, mp.mpf(1))
        weights = {t: keys_cubic((t - centre) / stretch, -mp.mpf(1) / 2) for t in range(old)}
        total = mp.fsum(weights.values())
        return {t: weight / total for t, weight in weights.items()}
    for t in range(int(mp.floor(centre)) - 2, int(mp.floor(centre)) + 4):
        weights[min(max(t, 0), old - 1)] += keys_cubic(centre - t, -mp.mpf(3) / 4)
    return weights


def resized(params: Params) -> Any:
    """For each row of the new table and each row of the old: the share that the new one takes."""
    h, w, H, W = (params[name] for name in ("height", "width", "new_height", "new_width"))
    prefix, antialias = params.get("prefix", 0), params.get("antialias", False)
    for n in range(prefix):
        yield n, n, mp.mpf(1)
    for i, j in np.ndindex(H, W):
        down, across = taps(i, h, H, antialias), taps(j, w, W, antialias)
        for r, c in np.ndindex(h, w):
            yield prefix + i * W + j, prefix + r * w + c, down[r] * across[c]


@precise
def interpolate_positions(inputs: Inputs, params: Params) -> Arrays:
    """Dosovitskiy et al. 2021 (ViT), section 3.2: the grid of position vectors is interpolated, by Keys' cubic."""
    weight = exact(inputs["weight"])
    y = zeros((params.get("prefix", 0) + params["new_height"] * params["new_width"], weight.shape[1]))
    for new, old, share in resized(params):
        for c in range(weight.shape[1]):
            y[new, c] += share * weight[table_row(old, len(weight)), c]
    return {"y": y}


@precise
def interpolate_positions_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """The map is linear: each old row collects, by the same shares, from the new rows that it entered."""
    rows, C = np.shape(inputs["weight"])
    dy = cotangent(cotangents, "y", (params.get("prefix", 0) + params["new_height"] * params["new_width"], C))
    dweight = zeros((rows, C))
    for new, old, share in resized(params):
        for c in range(C):
            dweight[old, c] += share * dy[new, c]
    return {"weight": dweight}
