"""Linear map and multi-head attention: the composite is the chain of its parts, index by index."""

from __future__ import annotations

import numpy as np
from mpmath import mp

from .attention import attention, attention_gradient
from .rotary import rope, rope_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, precise, zeros


@precise
def linear(inputs: Inputs, params: Params) -> Arrays:
    """Rumelhart, Hinton and Williams 1986, eq. (1): y_o = sum_c x_c w_co + b_o."""
    x, weight = exact(inputs["x"]), exact(inputs["weight"])
    C_in, C_out = weight.shape
    bias = exact(inputs["bias"]) if "bias" in inputs else zeros((C_out,))
    y = zeros((*x.shape[:-1], C_out))
    for at in np.ndindex(x.shape[:-1]):
        for o in range(C_out):
            y[(*at, o)] = mp.fsum(x[(*at, c)] * weight[c, o] for c in range(C_in)) + bias[o]
    return {"y": y}


@precise
def linear_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Rumelhart, Hinton and Williams 1986, eqs. (6) and (8): dw_co = sum dy_o x_c, dx_c = sum_o dy_o w_co."""
    x, weight = exact(inputs["x"]), exact(inputs["weight"])
    C_in, C_out = weight.shape
    dy = cotangent(cotangents, "y", (*x.shape[:-1], C_out))
    gradient = {"x": zeros(x.shape), "weight": zeros(weight.shape)}
    if "bias" in inputs:
        gradient["bias"] = zeros((C_out,))
    for at in np.ndindex(x.shape[:-1]):
        for o in range(C_out):
            for c in range(C_in):
                gradient["x"][(*at, c)] += dy[(*at, o)] * weight[c, o]
                gradient["weight"][c, o] += dy[(*at, o)] * x[(*at, c)]
            if "bias" in inputs:
                gradient["bias"][o] += dy[(*at, o)]
    return gradient


def split(flat: np.ndarray, heads: int) -> np.ndarray:
    """(batch.., T, heads * width) to (batch.., heads, T, width): channel h * width + d belongs to head h."""
    *batch, T, channels = flat.shape
    width = channels // heads
    result = zeros((*batch, heads, T, width))
    for *b, h, t, d in np.ndindex(result.shape):
        result[(*b, h, t, d)] = flat[(*b, t, h * width + d)]
    return result


def merge(split_heads: np.ndarray) -> np.ndarray:
    """(batch.., heads, T, width) to (batch.., T, heads * width), the inverse of split."""
    *batch, heads, T, width = split_heads.shape
    result = zeros((*batch, T, heads * width))
    for *b, h, t, d in np.ndindex(split_heads.shape):
        result[(*b, t, h * width + d)] = split_heads[(*b, h, t, d)]
    return result


class Layer:
    """Every intermediate of one multi-head call, named as in Vaswani et al. 2017, section 3.2.2."""

    def __init__(self, inputs: Inputs, params: Params) -> None:
        if "context" in inputs and "cos" in inputs:
            raise ValueError("cos turns q and k of one sequence; context is another")
        self.inputs, self.params = inputs, params
        self.memory = "context" if "context" in inputs else "x"
        self.H, self.G = params["H"], params.get("G") or params["H"]
        self.q = split(linear(self.projection("q", "x"), {})["y"], self.H)
        self.k = split(linear(self.projection("k", self.memory), {})["y"], self.G)
        self.v = split(linear(self.projection("v", self.memory), {})["y"], self.G)
        self.attended = {name: inputs[name] for name in ("bias", "sink", "mask", "keep") if name in inputs}
        self.attended.update(q=self.turned(self.q), k=self.turned(self.k), v=self.v)
        self.heads = attention(self.attended, params)["y"]

    def projection(self, letter: str, name: str) -> Arrays:
        bias = {"bias": self.inputs[f"b_{letter}"]} if f"b_{letter}" in self.inputs else {}
        return {"x": self.inputs[name], "weight": self.inputs[f"w_{letter}"], **bias}

    def output(self) -> Arrays:
        bias = {"bias": self.inputs["b_o"]} if "b_o" in self.inputs else {}
        return {"x": merge(self.heads), "weight": self.inputs["w_o"], **bias}

    def rotation(self, x: np.ndarray) -> Arrays:
        return {"x": x, "cos": self.inputs["cos"], "sin": self.inputs["sin"]}

    def turned(self, x: np.ndarray) -> np.ndarray:
        return rope(self.rotation(x), self.params)["y"] if "cos" in self.inputs else x


@precise
def multi_head_attention(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, section 3.2.2: concat(head_1 .. head_H) W_o, head_h = attention(x W_q, m W_k, m W_v)."""
    return linear(Layer(inputs, params).output(), {})


def add(gradient: Arrays, name: str, share: np.ndarray) -> None:
    total = gradient.setdefault(name, zeros(share.shape))
    for at in np.ndindex(share.shape):
        total[at] += share[at]


@precise
def multi_head_attention_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through Vaswani et al. 2017, section 3.2.2, from W_o back to the three projections."""
    layer = Layer(inputs, params)
    gradient: Arrays = {}
    d_output = linear_gradient(layer.output(), {}, cotangents)
    add_projection(gradient, "o", d_output)
    d_attended = attention_gradient(layer.attended, params, {"y": split(d_output["x"], layer.H)})
    for name in ("bias", "sink"):
        if name in inputs:
            add(gradient, name, d_attended[name])
    for letter, heads, name in (("q", layer.q, "x"), ("k", layer.k, layer.memory), ("v", layer.v, layer.memory)):
        d_heads = d_attended[letter]
        if letter != "v" and "cos" in inputs:
            d_turned = rope_gradient(layer.rotation(heads), params, {"y": d_heads})
            d_heads = d_turned["x"]
            add(gradient, "cos", d_turned["cos"])
            add(gradient, "sin", d_turned["sin"])
        d_projection = linear_gradient(layer.projection(letter, name), {}, {"y": merge(d_heads)})
        add_projection(gradient, letter, d_projection)
        add(gradient, name, d_projection["x"])
    return gradient


def add_projection(gradient: Arrays, letter: str, share: Arrays) -> None:
    add(gradient, f"w_{letter}", share["weight"])
    if "bias" in share:
        add(gradient, f"b_{letter}", share["bias"])
