"""Door 4: attention in pieces, by time (a cache) or by blocks of keys; the sum of the pieces is attention."""

from __future__ import annotations

import numpy as np
from mpmath import mp

from .attention import attention, attention_gradient, probabilities, score_gradient
from .scalars import Arrays, Inputs, Params, cotangent, exact, precise, zeros


def appended(old: np.ndarray, new: np.ndarray) -> np.ndarray:
    """The old rows of each head, then the new ones."""
    *heads, P, D = np.shape(old)
    result = zeros((*heads, P + np.shape(new)[-2], D))
    for at in np.ndindex(result.shape):
        *head, t, d = at
        result[at] = old[at] if t < P else new[(*head, t - P, d)]
    return result


def grown(inputs: Inputs, params: Params) -> tuple[Arrays, Params]:
    """The call of attention on the cache and the new tokens: the first query stands at the length of the cache."""
    call = {name: array for name, array in inputs.items() if name not in ("k_cache", "v_cache")}
    for name in ("k", "v"):
        call[name] = appended(exact(inputs[f"{name}_cache"]), exact(inputs[name]))
    return call, {**params, "q_offset": np.shape(inputs["k_cache"])[-2]}


@precise
def attention_decode(inputs: Inputs, params: Params) -> Arrays:
    """Shazeer 2019, section 2.4 (incremental attention): past keys and values are kept."""
    call, options = grown(inputs, params)
    return {**attention(call, options), "k_cache": call["k"], "v_cache": call["v"]}


@precise
def attention_decode_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """The gradient of attention, cut where the cache ends; what arrives at a returned cache joins it."""
    call, options = grown(inputs, params)
    gradient = attention_gradient(call, options, cotangents)
    for name in ("k", "v"):
        total, P = gradient[name], options["q_offset"]
        total = total + cotangent(cotangents, f"{name}_cache", total.shape)
        gradient[f"{name}_cache"], gradient[name] = total[..., :P, :], total[..., P:, :]
    return gradient


@precise
def blocked_attention(inputs: Inputs, params: Params) -> Arrays:
    """Rabe and Staats 2021, Dao et al. 2022 (FlashAttention): exact attention, whatever the block."""
    return attention(inputs, params)


@precise
def blocked_attention_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """Dao et al. 2022 (FlashAttention), algorithm 4: the exact gradient, whatever the block."""
    return attention_gradient(inputs, params, cotangents)


class Merged:
    """Two results over disjoint keys: at each row, what share of the whole each block holds."""

    def __init__(self, inputs: Inputs) -> None:
        self.y = {n: exact(inputs[f"y{n}"]) for n in (1, 2)}
        self.lse = {n: exact(inputs[f"lse{n}"]) for n in (1, 2)}
        self.E = self.y[1].shape[-1]

    def present(self, at: tuple[int, ...]) -> dict[int, object]:
        return {n: self.lse[n][at] for n in (1, 2) if self.lse[n][at] != -mp.inf}


@precise
def merge_blocks(inputs: Inputs, params: Params) -> Arrays:
    """Milakov and Gimelshein 2018, eq. (4): sums of exponentials add; each block weighs its part of the sum."""
    m = Merged(inputs)
    y, lse = zeros(m.y[1].shape), zeros(m.lse[1].shape)
    for at in np.ndindex(lse.shape):
        present = m.present(at)
        lse[at] = mp.log(mp.fsum(mp.exp(value) for value in present.values())) if present else -mp.inf
        for n, share in probabilities(present).items():
            for e in range(m.E):
                y[(*at, e)] += share * m.y[n][(*at, e)]
    return {"y": y, "lse": lse}


@precise
def merge_blocks_gradient(inputs: Inputs, params: Params, cotangents: Inputs) -> Arrays:
    """The shares are a softmax of the two lse, so dlse_n = share_n (dlse + sum_k share_k (dshare_n - dshare_k))."""
    m = Merged(inputs)
    dy, dlse = cotangent(cotangents, "y", m.y[1].shape), cotangent(cotangents, "lse", m.lse[1].shape)
    gradient = {name: zeros(np.shape(array)) for name, array in inputs.items()}
    for at in np.ndindex(m.lse[1].shape):
        shares = probabilities(m.present(at))
        dshares = {n: mp.fsum(dy[(*at, e)] * m.y[n][(*at, e)] for e in range(m.E)) for n in shares}
        for n, through_y in score_gradient(shares, dshares).items():
            gradient[f"lse{n}"][at] = through_y + shares[n] * dlse[at]
            for e in range(m.E):
                gradient[f"y{n}"][(*at, e)] = shares[n] * dy[(*at, e)]
    return gradient
