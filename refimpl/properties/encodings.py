"""Every encoding that one can line up along a sequence, as a score f(i, j).

The query is the same at every position, and so is the key, so that f shows nothing but positions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as xp

from .. import ops

D, TRAINED = 8, 64  # head width; positions an encoding is made for
Array = Any
Place = Callable[[Array, Array, int], Array]  # a vector, positions (P,), total length -> (P, D)
Bias = Callable[[Array, Array, int, int, int, int], Array]  # q (T, D), k (S, D), T, S, q_offset, length -> (T, S)


class Encoding(NamedTuple):
    """How an encoding enters a score: it moves vectors (doors 1, 2) or adds a bias (door 3)."""

    op: str
    door: int
    place_q: Place | None = None
    place_k: Place | None = None
    bias: Bias | None = None
    parameters: int = 0  # learned numbers for one head of width D and TRAINED positions
    content: bool = False  # the bias depends on q or k

    def scores(
        self, q: Array, k: Array, T: int, S: int, q_offset: int = 0, *, length: int = TRAINED, cached: int | None = None
    ) -> Array:
        """Return f(i, j) for queries at q_offset .. q_offset+T-1 and keys at 0 .. S-1, all with the same content.

        length: of the sequence; cached: its length at the time when the keys were encoded, default the same.
        """
        queries, keys = xp.arange(q_offset, q_offset + T), xp.arange(S)
        many_q = self.place_q(q, queries, length) if self.place_q else xp.broadcast_to(q, (T, D))
        many_k = self.place_k(k, keys, cached or length) if self.place_k else xp.broadcast_to(k, (S, D))
        plain = many_q @ many_k.T / D**0.5
        return plain + self.bias(many_q, many_k, T, S, q_offset, length) if self.bias else plain


def _learned(*shape: int) -> Array:
    """Return numbers that stand for learned ones: all different, of both signs."""
    size = 1
    for n in shape:
        size *= n
    return xp.reshape(xp.sin(1.7 * xp.arange(1, size + 1) ** 1.1), shape)


def _y(op: str, inputs: Mapping[str, Array], **params: Any) -> Array:
    return ops.run(op, params, inputs, ["y"], xp=xp)["y"]


def _added(op: str, **params: Any) -> dict[str, Any]:
    def place(x: Array, positions: Array, length: int) -> Array:
        return x + _y(op, {"positions": positions}, C=D, **params)

    return {"door": 1, "place_q": place, "place_k": place}


def _shaken() -> dict[str, Any]:
    def place(x: Array, positions: Array, length: int) -> Array:
        still = {"global_shift": xp.zeros(()), "local_shift": xp.zeros(positions.shape), "log_scale": xp.zeros(())}
        return x + _y("cape", {"positions": xp.astype(positions, xp.float64), **still}, C=D)

    return {"door": 1, "place_q": place, "place_k": place}


def _table() -> dict[str, Any]:
    weight = _learned(TRAINED, D)

    def place(x: Array, positions: Array, length: int) -> Array:
        return x + _y("learned_position", {"positions": positions, "weight": weight})

    return {"door": 1, "place_q": place, "place_k": place, "parameters": TRAINED * D}


def _turned(rule: str = "rope_frequencies", **params: Any) -> dict[str, Any]:
    output = "frequencies" if "frequencies" in ops.OPS[rule].outputs else "y"

    def place(x: Array, positions: Array, length: int) -> Array:
        given = {"length": length} if rule in ("dynamic_ntk_frequencies", "longrope_frequencies") else {}
        arrays = {name: xp.asarray(params[name]) for name in ops.OPS[rule].arrays}
        width = {} if arrays else {"D": D}
        options = {name: value for name, value in (width | params | given).items() if name not in arrays}
        frequencies = ops.run(rule, options, arrays, [output], xp=xp)[output]
        xs = xp.broadcast_to(x, (len(positions), D))
        return _y("rotary_embedding", {"x": xs, "positions": positions, "frequencies": frequencies})

    return {"door": 2, "place_q": place, "place_k": place}


def _xpos(keys: bool) -> Place:
    def place(x: Array, positions: Array, length: int) -> Array:
        xs = xp.broadcast_to(x, (len(positions), D))
        return _y("xpos", {"x": xs, "positions": positions}, centre=length // 2, keys=keys)

    return place


def _distance(op: str, inputs: Mapping[str, Array], **params: Any) -> dict[str, Any]:
    def bias(q: Array, k: Array, T: int, S: int, q_offset: int, length: int) -> Array:
        return _y(op, inputs, T=T, S=S, q_offset=q_offset, **params)[0]

    return {"door": 3, "bias": bias, "parameters": sum(int(array.size) for array in inputs.values())}


def _with_content(op: str, arrays: str, **learned: Array) -> dict[str, Any]:
    takes_s = op == "shaw_keys"

    def bias(q: Array, k: Array, T: int, S: int, q_offset: int, length: int) -> Array:
        heads = {name: value[None] for name, value in (("q", q), ("k", k)) if name in arrays.split()}
        return _y(op, heads | learned, q_offset=q_offset, **({"S": S} if takes_s else {}))[0]

    return {"door": 3, "bias": bias, "content": True, "parameters": sum(int(a.size) for a in learned.values())}


def _transformer_xl() -> dict[str, Any]:
    learned = {"w_r": _learned(D, D), "u": _learned(1, D), "v": _learned(1, D)}

    def bias(q: Array, k: Array, T: int, S: int, q_offset: int, length: int) -> Array:
        distances = q_offset + xp.arange(T - 1, -S, -1)  # greatest first: query T-1 to key 0
        r = _y("sinusoidal", {"positions": distances}, C=D)
        return _y("transformer_xl_bias", {"q": q[None], "k": k[None], "r": r, **learned})[0]

    return {"door": 3, "bias": bias, "content": True, "parameters": D * D + 2 * D}


def _fox() -> dict[str, Any]:
    def bias(q: Array, k: Array, T: int, S: int, q_offset: int, length: int) -> Array:
        gates = xp.full((1, max(S, q_offset + T)), 2.0)  # the same content everywhere, so the same gate
        return _y("fox", {"gate_logits": gates}, T=T, q_offset=q_offset)[0][:, :S]

    return {"door": 3, "bias": bias, "content": True, "parameters": D + 1}


def encodings() -> dict[str, Encoding]:
    """Return every encoding that one can line up along a sequence, in reading order."""
    one, two = _learned(1) ** 2, _learned(2)[1:] ** 2
    fire = {"w1": _learned(4), "b1": _learned(4), "w2": _learned(4, 1), "b2": _learned(1)}
    fire |= {"c": xp.asarray(0.1), "m": xp.asarray(1.0), "L0": xp.asarray(16.0)}
    scaled = {"factor": 4.0, "trained_length": TRAINED}
    factors = {"short_factors": [1.0] * (D // 2), "long_factors": [1.0, 1.5, 2.0, 4.0]}
    return {
        "sinusoidal": Encoding("sinusoidal", **_added("sinusoidal")),
        "CAPE": Encoding("cape", **_shaken()),
        "learned": Encoding("learned_position", **_table()),
        "rope": Encoding("rope", **_turned()),
        "rope, linear": Encoding("linear_frequencies", **_turned("linear_frequencies", factor=4.0)),
        "rope, NTK-aware": Encoding("ntk_frequencies", **_turned("ntk_frequencies", factor=4.0)),
        "rope, dynamic NTK": Encoding("dynamic_ntk_frequencies", **_turned("dynamic_ntk_frequencies", **scaled)),
        "rope, YaRN": Encoding("yarn_frequencies", **_turned("yarn_frequencies", **scaled)),
        "rope, LongRoPE": Encoding("longrope_frequencies", **_turned("longrope_frequencies", **scaled, **factors)),
        "rope, Llama 3": Encoding("llama3_frequencies", **_turned("llama3_frequencies")),
        "xPos": Encoding("xpos", 2, _xpos(False), _xpos(True)),
        "ALiBi": Encoding("alibi", **_distance("alibi", {"slopes": one})),
        "ALiBi, key-only": Encoding("alibi", **_distance("alibi", {"slopes": one}, key_only=True)),
        "T5": Encoding("t5_bias", **_distance("t5_bias", {"weight": _learned(32, 1)})),
        "KERPLE, log": Encoding("kerple_log", **_distance("kerple_log", {"a": one, "p": two})),
        "KERPLE, power": Encoding("kerple_power", **_distance("kerple_power", {"a": one, "p": two})),
        "FIRE": Encoding("fire", **_distance("fire", fire)),
        "Sandwich": Encoding("sandwich", **_distance("sandwich", {}, H=1, C=D)),
        "Shaw, keys": Encoding("shaw_keys", **_with_content("shaw_keys", "q", table=_learned(33, D))),
        "Transformer-XL": Encoding("transformer_xl_bias", **_transformer_xl()),
        "DeBERTa": Encoding(
            "deberta_bias",
            **_with_content("deberta_bias", "q k", key_table=_learned(1, 32, D), query_table=_learned(1, 32, D)),
        ),
        "CoPE": Encoding("cope", **_with_content("cope", "q k", table=_learned(17, D))),
        "FoX": Encoding("fox", **_fox()),
    }
