"""Masks of transformers: functions of indices, evaluated at every pair of a query and a key."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from transformers import masking_utils

from conformance.torch_arrays import Function
from conformance.unsupported import require


def of_indices(function: Callable[..., Tensor], T: int, S: int, q_offset: int, batch: int = 1) -> Tensor:
    """Return what a mask function says of every sequence, query and key: (batch, T, S)."""
    b = torch.arange(batch).view(-1, 1, 1)
    i, j = torch.arange(q_offset, q_offset + T).view(1, -1, 1), torch.arange(S).view(1, 1, -1)
    return torch.as_tensor(function(b, 0, i, j)).expand(batch, T, S)


def causal_mask(*, T: int, S: int, q_offset: int) -> Tensor:
    return of_indices(masking_utils.causal_mask_function, T, S, q_offset)[0]


def window_mask(*, T: int, S: int, q_offset: int, left: int | None = None, right: int | None = None) -> Tensor:
    """Causal: W keys, the last of them the query's own. Bidirectional: W on either side."""
    require(left is not None, "windows are closed on the left")
    assert left is not None
    if right == 0:
        return of_indices(masking_utils.sliding_window_causal_mask_function(left + 1), T, S, q_offset)[0]
    require(left == right, "windows that are not causal reach as far on either side")
    return of_indices(masking_utils.sliding_window_bidirectional_mask_function(left), T, S, q_offset)[0]


def chunked_mask(*, T: int, S: int, chunk: int, q_offset: int, left_padding: int = 0) -> Tensor:
    function = masking_utils.chunked_causal_mask_function(chunk, torch.tensor([left_padding]))
    return of_indices(function, T, S, q_offset)[0]


def padding_mask(lengths: Tensor, *, S: int, left_padded: bool = False) -> Tensor:
    """Their mask of tokens, one query long."""
    tokens = torch.arange(S) < lengths.reshape(-1, 1)
    tokens = tokens.flip(-1) if left_padded else tokens
    found = of_indices(masking_utils.padding_mask_function(tokens), 1, S, 0, len(tokens))
    return found.reshape(*lengths.shape, 1, 1, S)


def document_mask(q_documents: Tensor, k_documents: Tensor | None = None) -> Tensor:
    require(k_documents is None, "queries and keys are the same tokens")
    T = q_documents.shape[-1]
    rows = q_documents.reshape(-1, T)
    found = of_indices(masking_utils.packed_sequence_mask_function(rows), T, T, 0, len(rows))
    return found.reshape(*q_documents.shape[:-1], 1, T, T)


OPS: dict[str, Function] = {
    "causal_mask": causal_mask,
    "window_mask": window_mask,
    "chunked_mask": chunked_mask,
    "padding_mask": padding_mask,
    "document_mask": document_mask,
}
