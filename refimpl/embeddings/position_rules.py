"""Which position a token stands at: three rules, in integers."""

from __future__ import annotations

from typing import Any

from jaxtyping import Bool, Int

from ..errors import require, require_integer
from ..namespace import Array, array_namespace, device
from ..signatures import checked


@checked
def positions_from_offset(T: int, *, start: int = 0, offset: int = 0, xp: Any) -> Int[Array, " T"]:
    """Return the positions of T tokens in a row.

        y[t] = start + offset + t

    Two numbers that are easy to mix up: `start` is how many tokens came before this call, `offset` where the table
    begins to count. In BART rows 0 and 1 exist and are never read.

    offset: 0 in GPT-2 and BERT; 2 in BART and mBART, whether there is padding or not.
    Source: Radford et al. 2019 (GPT-2) and Lewis et al. 2020 (BART), their code.
    Raises ValueError for a negative T or a first position below 0.
    """
    require_integer("T", T, 0)
    require(start + offset >= 0, "start + offset", start + offset, "an integer >= 0")
    return xp.arange(start + offset, start + offset + T)


@checked
def positions_from_padding(
    mask: Bool[Array, "*B T"], *, first: int = 2, padding_position: int = 1
) -> Int[Array, "*B T"]:
    """Return positions that count real tokens only.

        y[b, t] = first - 1 + (number of real tokens among 0 .. t)        where mask[b, t]
        y[b, t] = padding_position                                        elsewhere

    Padding on the left moves nothing: a sentence gets the same positions wherever the batch puts it.

    mask: True for a real token. With n real tokens in the cache, first grows by n.
    Source: Ott et al. 2019 (fairseq), make_positions: cumsum(mask)·mask + padding_idx, so first = padding_idx + 1 and
    padding_position = padding_idx. RoBERTa and OPT: 2 and 1. GPT-2 while generating: first 0, padding_position 1.
    Raises ValueError for a mask that is not boolean.
    """
    xp = array_namespace(mask)
    count = xp.cumulative_sum(xp.astype(mask, xp.int64), axis=-1)
    return xp.where(mask, first - 1 + count, padding_position)


@checked
def positions_in_documents(documents: Int[Array, "*B T"], *, first: int = 0) -> Int[Array, "*B T"]:
    """Return positions that start again with every document of a packed sequence.

        y[b, t] = first + t - s,        s the place at which the document of token t begins

    Documents packed into one sequence must not know of each other: positions restart, and the mask is block-diagonal.
    A document begins wherever the number differs from the one before; the same number later is another document.

    documents: a number for each token, any integers.
    Source: Krell et al. 2021, arXiv:2107.02027 (packing). FlashAttention takes the beginnings (cu_seqlens).
    Raises ValueError for documents that are not integers.
    """
    xp = array_namespace(documents)
    t = xp.arange(documents.shape[-1], dtype=documents.dtype, device=device(documents))
    begins = documents[..., 1:] != documents[..., :-1]
    starts = xp.concat([xp.zeros_like(documents[..., :1]), xp.where(begins, t[1:], 0)], axis=-1)
    return first + t - running_maximum(starts)


def running_maximum(x: Int[Array, "*B T"]) -> Int[Array, "*B T"]:
    """Return the largest entry so far, along the last axis.

    After k rounds an entry has seen the 2^k - 1 before it, so that log2(T) rounds are enough.
    """
    xp = array_namespace(x)
    reach = 1
    while reach < x.shape[-1]:
        x = xp.concat([x[..., :reach], xp.maximum(x[..., reach:], x[..., :-reach])], axis=-1)
        reach = 2 * reach
    return x
