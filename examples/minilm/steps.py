"""The model cut into ops, each with what transformers gave it and what transformers made of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from refimpl import ops
from refimpl.attention.heads import split_heads

from .judge import Arrays, Step
from .model import EPS, H, Layer, Model, gelu
from .recorded import Recorded

SAMPLE = 32  # columns judged of a linear layer and of GELU, others in every layer; no column depends on another
PROJECTED = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value"}
OUT = "attention.output.dense"


def embedding_step(model: Model, seen: Recorded, ids: np.ndarray) -> Step:
    """The embedding, forward and backward, in the rows of the tables that the sentences use."""
    rows, used = np.unique(ids, return_inverse=True)  # rows[0] is [PAD], which does not learn
    places = np.arange(ids.shape[1])
    inputs = {"ids": used, "segments": np.zeros_like(ids), "cot.y": seen.cotangents["embeddings"]}
    theirs = {"y": seen.outputs["embeddings"]}
    parts: dict[str, tuple[str, Any]] = {
        "weight": ("word_embeddings.weight", rows),
        "segment_weight": ("token_type_embeddings.weight", ...),
        "position_weight": ("position_embeddings.weight", places),
        "norm_weight": ("LayerNorm.weight", ...),
        "norm_bias": ("LayerNorm.bias", ...),
    }
    for (argument, (name, read)), table in zip(parts.items(), model.embedding, strict=True):
        inputs[argument] = table[read]
        theirs[f"grad.{argument}"] = seen.gradients[f"embeddings.{name}"][read]
    return _op("embedding", "bert_embedding", inputs, theirs, eps=EPS, padding_idx=0)


def layer_steps(layer: Layer, seen: Recorded, number: int, keep: np.ndarray) -> Iterator[Step]:
    """The ops of a layer in order, each given what transformers had computed before it."""
    prefix, rng = f"encoder.layer.{number}.", np.random.default_rng(number)
    seen = Recorded(*({n.removeprefix(prefix): a for n, a in part.items()} for part in seen))
    out = seen.outputs
    x = out[f"encoder.layer.{number - 1}" if number else "embeddings"]
    w_q, w_k, w_v, w_o, b_q, b_k, b_v, b_o = layer.attention
    yield _linear("queries", seen, rng, PROJECTED["q"], x, w_q, b_q)
    yield _linear("keys", seen, rng, PROJECTED["k"], x, w_k, b_k)
    yield _linear("values", seen, rng, PROJECTED["v"], x, w_v, b_v)
    yield _attention(seen, keep)
    yield _linear("projection", seen, rng, OUT, out["attention.self"], w_o, b_o)
    yield _norm("norm", seen, "attention.output.LayerNorm", x + out[OUT], layer.attention_norm)
    attended = out["attention.output.LayerNorm"]
    yield _linear("up", seen, rng, "intermediate.dense", attended, *layer.up)
    some = rng.choice(out["intermediate"].shape[-1], SAMPLE, replace=False)
    yield Step("gelu", _gelu, {"x": out["intermediate.dense"][..., some]}, {"y": out["intermediate"][..., some]})
    yield _linear("down", seen, rng, "output.dense", out["intermediate"], *layer.down)
    yield _norm("norm", seen, "output.LayerNorm", attended + out["output.dense"], layer.norm)


def one_piece(layer: Layer, seen: Recorded, number: int, keep: np.ndarray) -> Step:
    """Projections, attention and projection as one op, given the input of the layer."""
    prefix = f"encoder.layer.{number}."
    weights = dict(zip(("w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"), layer.attention, strict=True))
    x = seen.outputs[f"encoder.layer.{number - 1}" if number else "embeddings"]
    theirs = {"y": seen.outputs[prefix + OUT]}
    for letter, name in {**PROJECTED, "o": OUT}.items():
        theirs[f"grad.w_{letter}"] = seen.gradients[f"{prefix}{name}.weight"].T
        theirs[f"grad.b_{letter}"] = seen.gradients[f"{prefix}{name}.bias"]
    inputs = {"x": x, **weights, "mask": keep, "cot.y": seen.cotangents[prefix + OUT]}
    return _op("one piece", "multi_head_attention", inputs, theirs, H=H)


def _op(what: str, name: str, inputs: Arrays, theirs: Arrays, **params: Any) -> Step:
    """Return the step that is one op of refimpl, backward too where theirs holds gradients."""

    def run(xp: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
        return ops.run(name, params, arrays, list(theirs), xp=xp)

    return Step(what, run, inputs, theirs)


def _linear(
    what: str, seen: Recorded, rng: np.random.Generator, name: str, x: np.ndarray, weight: np.ndarray, bias: np.ndarray
) -> Step:
    some = rng.choice(len(bias), SAMPLE, replace=False)
    inputs = {"x": x, "weight": weight[:, some], "bias": bias[some], "cot.y": seen.cotangents[name][..., some]}
    theirs = {"y": seen.outputs[name][..., some], "grad.weight": seen.gradients[f"{name}.weight"].T[:, some]}
    return _op(what, "linear", inputs, theirs | {"grad.bias": seen.gradients[f"{name}.bias"][some]})


def _attention(seen: Recorded, keep: np.ndarray) -> Step:
    inputs = {n: split_heads(n, seen.outputs[name], H) for n, name in PROJECTED.items()} | {"mask": keep}
    inputs["cot.y"] = split_heads("cot.y", seen.cotangents["attention.self"], H)
    theirs = {"y": split_heads("y", seen.outputs["attention.self"], H)}
    theirs |= {f"grad.{n}": split_heads(n, seen.cotangents[name], H) for n, name in PROJECTED.items()}
    return _op("attention", "attention", inputs, theirs)


def _norm(what: str, seen: Recorded, name: str, x: np.ndarray, learned: tuple[np.ndarray, ...]) -> Step:
    weight, bias = learned
    inputs = {"x": x, "weight": weight, "bias": bias, "cot.y": seen.cotangents[name]}
    theirs = {"y": seen.outputs[name], "grad.x": seen.cotangents[name.replace("LayerNorm", "dense")]}
    theirs |= {f"grad.{n}": seen.gradients[f"{name}.{n}"] for n in ("weight", "bias")}
    return _op(what, "layer_norm", inputs, theirs, eps=EPS)


def _gelu(xp: Any, arrays: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"y": gelu(arrays["x"])}
