"""Door 4: multi-head latent attention, the chain of its parts."""

from __future__ import annotations

import numpy as np

from .attention import attention, attention_gradient
from .mla import joined
from .multi_head import linear, linear_gradient, merge, split
from .norms import rms_norm, rms_norm_gradient
from .rotary import rope, rope_gradient
from .scalars import Arrays, Inputs, Params, exact, number, precise, zeros


class Latent:
    """Every intermediate of one call, named as in DeepSeek-AI 2024 (DeepSeek-V2), section 2.1."""

    def __init__(self, inputs: Inputs, params: Params) -> None:
        q, self.params = exact(inputs["q"]), params
        self.H, self.T = q.shape[-3:-1]
        self.R = np.shape(inputs["k_rope"])[-1]
        self.N = q.shape[-1] - self.R
        self.first = params["q_offset"]
        self.turning = {"interleaved": params.get("interleaved", True)}
        self.norm = {"x": inputs["latent"], "weight": inputs["norm_weight"]}
        self.eps = {"eps": params.get("eps", 1e-6)}
        c = rms_norm(self.norm, self.eps)["y"]
        self.up_k, self.up_v = {"x": c, "weight": inputs["w_uk"]}, {"x": c, "weight": inputs["w_uv"]}
        cos, sin = exact(inputs["cos"]), exact(inputs["sin"])
        last = self.first + self.T
        self.q_turn = {"x": q[..., self.N :], "cos": cos[self.first : last], "sin": sin[self.first : last]}
        self.k_turn = {"x": inputs["k_rope"], "cos": cos, "sin": sin}
        self.call = {
            "q": joined(q[..., : self.N], rope(self.q_turn, self.turning)["y"], shared=False),
            "k": joined(split(linear(self.up_k, {})["y"], self.H), rope(self.k_turn, self.turning)["y"], shared=True),
            "v": split(linear(self.up_v, {})["y"], self.H),
        }
        if "mask" in inputs:
            self.call["mask"] = inputs["mask"]
        scale = params.get("scale")
        self.options = {"q_offset": self.first, "scale": None if scale is None else number(scale)}


@precise
def mla_attention(inputs: Inputs, params: Params) -> Arrays:
    """DeepSeek-AI 2024 (DeepSeek-V2), eqs. (9) to (19): keys and values from one normalised latent, k_rope shared."""
    latent = Latent(inputs, params)
    return attention(latent.call, latent.options)


@precise
def mla_attention_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Chain rule through DeepSeek-V2, eqs. (9) to (19), from the heads back to the latent and the tables."""
    a = Latent(inputs, params)
    through = attention_gradient(a.call, a.options, cotangents)
    dq, dk = through["q"], through["k"]
    turned_q = rope_gradient(a.q_turn, a.turning, {"y": dq[..., a.N :]})
    shared = zeros(np.shape(inputs["k_rope"]))
    for at in np.ndindex(dk.shape):
        if at[-1] >= a.N:
            shared[(*at[:-3], at[-2], at[-1] - a.N)] += dk[at]
    turned_k = rope_gradient(a.k_turn, a.turning, {"y": shared})
    up_k = linear_gradient(a.up_k, {}, {"y": merge(dk[..., : a.N])})
    up_v = linear_gradient(a.up_v, {}, {"y": merge(through["v"])})
    norm = rms_norm_gradient(a.norm, a.eps, {"y": up_k["x"] + up_v["x"]})
    gradient = {
        "q": joined(dq[..., : a.N], turned_q["x"], shared=False),
        "latent": norm["x"],
        "k_rope": turned_k["x"],
        "norm_weight": norm["weight"],
        "w_uk": up_k["weight"],
        "w_uv": up_v["weight"],
    }
    for name in ("cos", "sin"):
        gradient[name] = turned_k[name].copy()
        for at in np.ndindex(turned_q[name].shape):
            gradient[name][(a.first + at[0], *at[1:])] += turned_q[name][at]
    return gradient
