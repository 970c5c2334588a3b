"""Door 1: normalisation of one vector at a time, and BERT's input layer."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpmath import mp

from .embeddings import dropout, dropout_gradient, token_embedding_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, number, precise, table_row, zeros


def standardised(vector: Any, eps: Any) -> tuple[list[Any], Any]:
    """Ba et al. 2016, eq. (4): the vector less its mean, over its standard deviation; and that deviation."""
    mean = mp.fsum(vector) / len(vector)
    deviation = mp.sqrt(mp.fsum((x - mean) ** 2 for x in vector) / len(vector) + number(eps))
    return [(x - mean) / deviation for x in vector], deviation


@precise
def layer_norm(inputs: Inputs, params: Params) -> Arrays:
    """Ba et al. 2016, eq. (4), times gain plus bias; eps joins the variance."""
    x = exact(inputs["x"])
    y = zeros(x.shape)
    for at in np.ndindex(x.shape[:-1]):
        for c, z in enumerate(standardised(x[at], params.get("eps", 1e-5))[0]):
            gained = z * number(inputs["weight"][c]) if "weight" in inputs else z
            y[(*at, c)] = gained + number(inputs["bias"][c]) if "bias" in inputs else gained
    return {"y": y}


@precise
def layer_norm_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Quotient rule on eq. (4) of Ba et al. 2016: dz_c/dx_j = ([c = j] - 1/C - z_c z_j / C) / deviation."""
    x = exact(inputs["x"])
    C, dy = x.shape[-1], cotangent(cotangents, "y", x.shape)
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("x", "weight", "bias") if name in inputs}
    for at in np.ndindex(x.shape[:-1]):
        z, deviation = standardised(x[at], params.get("eps", 1e-5))
        for c in range(C):
            if "weight" in inputs:
                gradient["weight"][c] += dy[(*at, c)] * z[c]
            if "bias" in inputs:
                gradient["bias"][c] += dy[(*at, c)]
            dz = dy[(*at, c)] * (number(inputs["weight"][c]) if "weight" in inputs else 1)
            for j in range(C):
                slope = (1 if c == j else 0) - (1 + z[c] * z[j]) / C
                gradient["x"][(*at, j)] += dz * slope / deviation
    return gradient


def gain(inputs: Inputs, params: Params, c: int) -> Any:
    if "weight" not in inputs:
        return mp.mpf(1)
    return number(inputs["weight"][c]) + (1 if params.get("unit_offset", False) else 0)


def root_mean_square(vector: Any, params: Params) -> Any:
    return mp.sqrt(mp.fsum(x**2 for x in vector) / len(vector) + number(params.get("eps", 1e-6)))


@precise
def rms_norm(inputs: Inputs, params: Params) -> Arrays:
    """Zhang and Sennrich 2019, eq. (4): x over its root mean square, times gain; eps joins the mean square."""
    x = exact(inputs["x"])
    y = zeros(x.shape)
    for at in np.ndindex(x.shape):
        y[at] = x[at] / root_mean_square(x[at[:-1]], params) * gain(inputs, params, at[-1])
    return {"y": y}


@precise
def rms_norm_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Quotient rule on eq. (4) of Zhang and Sennrich 2019: d(x_c/r)/dx_j = [c = j]/r - x_c x_j / (C r^3)."""
    x = exact(inputs["x"])
    dy = cotangent(cotangents, "y", x.shape)
    gradient = {name: zeros(np.shape(inputs[name])) for name in ("x", "weight") if name in inputs}
    for at in np.ndindex(x.shape):
        row, c = at[:-1], at[-1]
        r = root_mean_square(x[row], params)
        if "weight" in inputs:
            gradient["weight"][c] += dy[at] * x[at] / r
        for j in range(x.shape[-1]):
            slope = (1 / r if c == j else 0) - x[at] * x[(*row, j)] / (x.shape[-1] * r**3)
            gradient["x"][(*row, j)] += dy[at] * gain(inputs, params, c) * slope
    return gradient


LOOKUPS = [
    ("ids", "weight", "padding_idx"),
    ("segments", "segment_weight", None),
    ("positions", "position_weight", "position_padding_idx"),
]


def numbered(inputs: Inputs) -> dict[str, np.ndarray]:
    """The inputs with a position for every token: 0, 1, 2 ... if none are given."""
    positions = np.zeros(np.shape(inputs["ids"]), dtype=np.int64)
    for at in np.ndindex(positions.shape):
        given = inputs.get("positions")
        positions[at] = at[-1] if given is None else given[at[len(at) - np.ndim(given) :]]
    return {**inputs, "positions": positions}


def normalised(inputs: Inputs, params: Params) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arguments of layer_norm: the sum of the three vectors of each token."""
    tokens, C = numbered(inputs), np.shape(inputs["weight"])[1]
    total = zeros((*np.shape(inputs["ids"]), C))
    for at in np.ndindex(total.shape):
        for index, table, _ in LOOKUPS:
            row = table_row(tokens[index][at[:-1]], len(inputs[table]))
            total[at] += number(inputs[table][row, at[-1]])
    return {"x": total, "weight": inputs["norm_weight"], "bias": inputs["norm_bias"]}, {"eps": params.get("eps", 1e-12)}


@precise
def bert_embedding(inputs: Inputs, params: Params) -> Arrays:
    """Devlin et al. 2019 (BERT), figure 2: word + segment + position; as released, then layer norm and dropout."""
    y = layer_norm(*normalised(inputs, params))["y"]
    return dropout({"x": y, "keep": inputs["keep"]}, params) if "keep" in inputs else {"y": y}


@precise
def bert_embedding_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through bert_embedding: dropout, norm, then three tables collect the same cotangent."""
    arrays, options = normalised(inputs, params)
    dy = {"y": cotangent(cotangents, "y", arrays["x"].shape)}
    if "keep" in inputs:
        dy["y"] = dropout_gradient({"x": dy["y"], "keep": inputs["keep"]}, params, dy)["x"]
    norm = layer_norm_gradient(arrays, options, dy)
    gradient = {"norm_weight": norm["weight"], "norm_bias": norm["bias"]}
    for index, table, padding in LOOKUPS:
        lookup = {"ids": numbered(inputs)[index], "weight": inputs[table]}
        spared = {"padding_idx": params.get(padding)}
        gradient[table] = token_embedding_gradient(lookup, spared, {"y": norm["x"]})["weight"]
    return gradient
