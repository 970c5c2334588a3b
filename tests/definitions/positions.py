"""Door 1: position numbers, counted one token at a time."""

from __future__ import annotations

import numpy as np

from .scalars import Arrays, Inputs, Params


def positions_from_offset(inputs: Inputs, params: Params) -> Arrays:
    """Lewis et al. 2020 (BART) as released: row offset + number of tokens before this one."""
    first = params.get("start", 0) + params.get("offset", 0)
    return {"y": np.array([first + t for t in range(params["T"])], dtype=np.int64)}


def positions_from_padding(inputs: Inputs, params: Params) -> Arrays:
    """Liu et al. 2019 (RoBERTa) as released: real tokens are counted from `first`, padding stands aside."""
    mask = np.asarray(inputs["mask"])
    y = np.zeros(mask.shape, dtype=np.int64)
    for row in np.ndindex(mask.shape[:-1]):
        following = params.get("first", 2)
        for t in range(mask.shape[-1]):
            y[(*row, t)] = following if mask[(*row, t)] else params.get("padding_position", 1)
            following += 1 if mask[(*row, t)] else 0
    return {"y": y}


def positions_in_documents(inputs: Inputs, params: Params) -> Arrays:
    """Krell et al. 2021 (packed sequences): the count begins anew wherever another document begins."""
    documents = np.asarray(inputs["documents"])
    y = np.zeros(documents.shape, dtype=np.int64)
    for row in np.ndindex(documents.shape[:-1]):
        for t in range(documents.shape[-1]):
            follows = t > 0 and documents[(*row, t)] == documents[(*row, t - 1)]
            y[(*row, t)] = y[(*row, t - 1)] + 1 if follows else params.get("first", 0)
    return {"y": y}
