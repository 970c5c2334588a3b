"""Door 4: which keys a query may see, one pair at a time: 1 if it may, else 0."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .scalars import Arrays, Inputs, Params


def table(params: Params, keeps: Callable[[int, int], bool]) -> Arrays:
    """y[i, j] = keeps(position of query i, position of key j)."""
    y = np.zeros((params["T"], params["S"]), dtype=np.int64)
    for i, j in np.ndindex(y.shape):
        y[i, j] = keeps(params["q_offset"] + i, j)
    return {"y": y}


def causal_mask(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017, section 3.2.3: a position attends to itself and to what is before it."""
    return table(params, lambda i, j: j <= i)


def window_mask(inputs: Inputs, params: Params) -> Arrays:
    """Beltagy et al. 2020 (Longformer), section 3.1: so many keys on either side, besides the position itself."""
    left, right = params.get("left"), params.get("right")
    return table(params, lambda i, j: (left is None or i - j <= left) and (right is None or j - i <= right))


def prefix_mask(inputs: Inputs, params: Params) -> Arrays:
    """Raffel et al. 2020 (T5), figure 3: everybody sees the prefix; beyond it the mask is causal."""
    return table(params, lambda i, j: j < params["prefix"] or j <= i)


def chunk_of(position: int, chunk: int) -> int:
    """How often the chunk must be laid, forwards or backwards from 0, to reach the one that holds the position."""
    number = 0
    while position < number * chunk:
        number -= 1
    while position >= (number + 1) * chunk:
        number += 1
    return number


def chunked_mask(inputs: Inputs, params: Params) -> Arrays:
    """Meta 2025 (Llama 4) as released: causal within a chunk; chunks begin where the left padding ends."""
    chunk, padding = params["chunk"], params.get("left_padding", 0)
    return table(params, lambda i, j: chunk_of(i - padding, chunk) == chunk_of(j - padding, chunk) and j <= i)


def padding_mask(inputs: Inputs, params: Params) -> Arrays:
    """Vaswani et al. 2017 as released: the tokens of a sequence are kept, the filling behind (or before) them not."""
    lengths, S = np.asarray(inputs["lengths"]), params["S"]
    y = np.zeros((*lengths.shape, 1, 1, S), dtype=np.int64)
    for b in np.ndindex(lengths.shape):
        tokens = range(S)[::-1] if params.get("left_padded", False) else range(S)
        for n, j in enumerate(tokens):
            y[(*b, 0, 0, j)] = n < lengths[b]
    return {"y": y}


def document_mask(inputs: Inputs, params: Params) -> Arrays:
    """Krell et al. 2021 (packed sequences): a token attends within its own document."""
    queries = np.asarray(inputs["q_documents"])
    keys = np.asarray(inputs.get("k_documents", queries))
    y = np.zeros((*queries.shape[:-1], 1, queries.shape[-1], keys.shape[-1]), dtype=np.int64)
    for *b, _, i, j in np.ndindex(y.shape):
        y[(*b, 0, i, j)] = queries[(*b, i)] == keys[(*b, j)]
    return {"y": y}
