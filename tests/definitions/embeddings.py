"""Door 1, one scalar at a time: lookup, dropout, and the layer made of them with the sinusoid."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, table_row, zeros
from .sinusoidal import wave


@precise
def token_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Bengio et al. 2003, section 2 (row of the table C); times sqrt(C) as Vaswani et al. 2017, section 3.4."""
    ids, weight = np.asarray(inputs["ids"]), exact(inputs["weight"])
    V, C = weight.shape
    scale = mp.sqrt(C) if params.get("scale_by_sqrt_width", False) else 1
    y = zeros((*ids.shape, C))
    for at in np.ndindex(ids.shape):
        for c in range(C):
            y[(*at, c)] = weight[table_row(ids[at], V), c] * scale
    return {"y": y}


@precise
def token_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Row v collects dy of every place where id = v (chain rule); the padding row is held constant.

    scale_grad_by_freq (torch.nn.Embedding): row v is divided by the number of its places.
    """
    ids, weight = np.asarray(inputs["ids"]), np.asarray(inputs["weight"])
    V, C = weight.shape
    scale = mp.sqrt(C) if params.get("scale_by_sqrt_width", False) else 1
    places = [0] * V
    for at in np.ndindex(ids.shape):
        places[table_row(ids[at], V)] += 1
    dy = cotangent(cotangents, "y", (*ids.shape, C))
    dweight = zeros((V, C))
    for at in np.ndindex(ids.shape):
        row = table_row(ids[at], V)
        if row == params.get("padding_idx"):
            continue
        for c in range(C):
            share = dy[(*at, c)] * scale
            dweight[row, c] += share / places[row] if params.get("scale_grad_by_freq", False) else share
    return {"weight": dweight}


def learned_position(inputs: Inputs, params: Params) -> Arrays:
    """Gehring et al. 2017, section 3.1: the vector of position p is row p of a learned table."""
    return token_embedding({"ids": inputs["positions"], "weight": inputs["weight"]}, {})


def learned_position_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Row p collects dy of every place at position p (chain rule on Gehring et al. 2017, section 3.1), save padding."""
    lookup = {"ids": inputs["positions"], "weight": inputs["weight"]}
    return token_embedding_gradient(lookup, {"padding_idx": params.get("padding_idx")}, cotangents)


def survive(values: np.ndarray, inputs: Inputs, params: Params) -> np.ndarray:
    result = zeros(values.shape)
    for at in np.ndindex(values.shape):
        if inputs["keep"][at]:
            result[at] = values[at] / (1 - number(params.get("p", 0.0)))
    return result


@precise
def dropout(inputs: Inputs, params: Params) -> Arrays:
    """Srivastava et al. 2014, section 4, scaled in training as section 10 says: x / (1 - p) where kept, else 0."""
    return {"y": survive(exact(inputs["x"]), inputs, params)}


@precise
def dropout_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Srivastava et al. 2014, section 5.1: back-propagation through the surviving units alone."""
    return {"x": survive(cotangent(cotangents, "y", np.shape(inputs["x"])), inputs, params)}


def position_of(at: tuple[int, ...], params: Params) -> int:
    """Position of the token at (batch.., t), or at (t, batch..) in a sequence-first array."""
    start: int = params.get("start", 0)
    return start + (at[-1] if params.get("batch_first", True) else at[0])


def token_params(params: Params) -> dict[str, Any]:
    return {"scale_by_sqrt_width": params.get("scale_by_sqrt_width", True), "padding_idx": params.get("padding_idx")}


@precise
def transformer_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, sections 3.4, 3.5, 5.4: dropout(sqrt(C) W[id] + PE(position))."""
    kind = params.get("position", "sinusoidal")
    total = token_embedding(inputs, token_params(params))["y"]
    C = total.shape[-1]
    for at in np.ndindex(np.shape(inputs["ids"])):
        for c in range(C):
            if kind == "sinusoidal":
                total[(*at, c)] += wave(position_of(at, params), c, C, {"base": params.get("base", 10000.0)})[0]
            if kind == "learned":
                table = inputs["position_weight"]
                total[(*at, c)] += number(table[table_row(position_of(at, params), len(table)), c])
    return dropout({**inputs, "x": total}, params) if "keep" in inputs else {"y": total}


@precise
def transformer_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through transformer_embedding: dropout first, then both tables collect the same cotangent."""
    ids = np.asarray(inputs["ids"])
    shape = (*ids.shape, np.shape(inputs["weight"])[1])
    total = {**inputs, "x": zeros(shape)}
    dtotal = dropout_gradient(total, params, cotangents)["x"] if "keep" in inputs else cotangent(cotangents, "y", shape)
    gradient = token_embedding_gradient(inputs, token_params(params), {"y": dtotal})
    if params.get("position", "sinusoidal") == "learned":
        table = gradient["position_weight"] = zeros(np.shape(inputs["position_weight"]))
        for at in np.ndindex(shape):
            table[table_row(position_of(at[:-1], params), len(table)), at[-1]] += dtotal[at]
    return gradient
