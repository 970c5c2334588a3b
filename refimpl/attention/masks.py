"""Which key a query may see, by position: integer facts, True keeps."""

from __future__ import annotations

from typing import Any

from jaxtyping import Bool, Int

from ..errors import require_integer
from ..namespace import Array
from ..signatures import checked


@checked
def causal_mask(T: int, S: int, *, q_offset: int, xp: Any, device: Any = None) -> Bool[Array, "T S"]:
    """Return True where key j is not after query i.

        keep[i, j] = j <= q_offset + i

    With T = S nobody notices the offset. With a cache, or in cross-attention, it decides everything: q_offset = 0 lines
    up the top left corners, S - T the bottom right ones.

    Source: Vaswani et al. 2017, section 3.2.3. PyTorch's is_causal, JAX and Keras align top left; FlashAttention since
    2.1 and transformers bottom right.
    Raises ValueError for a negative T, or S below 1.
    """
    p, j = _positions(T, S, q_offset, xp, device)
    return j <= p


@checked
def window_mask(
    T: int,
    S: int,
    *,
    left: int | None = None,
    right: int | None = None,
    q_offset: int,
    xp: Any,
    device: Any = None,
) -> Bool[Array, "T S"]:
    """Return True where key j is at most `left` before and at most `right` after its query.

        keep[i, j] = p - left <= j <= p + right,        p = q_offset + i

    Both ends are inside: a causal window of W keys, the query's own among them, is left = W - 1, right = 0. Layers
    stack windows: after n of them a token has seen n · left tokens back.

    left, right: None leaves that side open; 0 keeps the query's own key.
    Source: Beltagy et al. 2020 (Longformer), section 3.1; Child et al. 2019. FlashAttention, ONNX 25 and JAX count like
    this (and write -1 for open); for everybody else see `conversions`.
    Raises ValueError for a negative T, S below 1, or a negative side.
    """
    for side, width in (("left", left), ("right", right)):
        if width is not None:
            require_integer(side, width, 0)
    p, j = _positions(T, S, q_offset, xp, device)
    keep = xp.ones((T, S), dtype=xp.bool, device=device)
    keep = keep if left is None else keep & (j >= p - left)
    return keep if right is None else keep & (j <= p + right)


@checked
def chunked_mask(
    T: int, S: int, *, chunk: int, q_offset: int, left_padding: int = 0, xp: Any, device: Any = None
) -> Bool[Array, "T S"]:
    """Return True where key j is not after its query and in the same chunk.

        keep[i, j] = (p - left_padding) // chunk == (j - left_padding) // chunk  and  j <= p,        p = q_offset + i

    Not a window: the first token of a chunk sees itself alone, the last one all of them.

    left_padding: index of the first token that is none; chunks are counted from there. // rounds down.
    Source: Llama 4 (Meta 2025), as transformers has it.
    Raises ValueError for a negative T, or S or chunk below 1.
    """
    require_integer("chunk", chunk, 1)
    p, j = _positions(T, S, q_offset, xp, device)
    return ((p - left_padding) // chunk == (j - left_padding) // chunk) & (j <= p)


@checked
def prefix_mask(T: int, S: int, *, prefix: int, q_offset: int, xp: Any, device: Any = None) -> Bool[Array, "T S"]:
    """Return True where key j is not after its query, or in the prefix that everybody sees.

        keep[i, j] = j < prefix  or  j <= q_offset + i

    The prefix reads itself in both directions, what follows is written causally.

    Source: Liu et al. 2018, section 4.2; Raffel et al. 2020 (T5), section 3.2.1, "causal with prefix"; PaliGemma.
    Raises ValueError for a negative T, S below 1, or a negative prefix.
    """
    require_integer("prefix", prefix, 0)
    p, j = _positions(T, S, q_offset, xp, device)
    return (j < prefix) | (j <= p)


def both(first: Bool[Array, "..."] | None, second: Bool[Array, "..."] | None) -> Bool[Array, "..."] | None:
    """Return the mask that keeps what both keep; None keeps all."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def _positions(T: int, S: int, q_offset: int, xp: Any, device: Any) -> tuple[Int[Array, "T 1"], Int[Array, "1 S"]]:
    """Return the position of every query, and of every key."""
    require_integer("T", T, 0)
    require_integer("S", S, 1)
    return xp.arange(T, device=device)[:, None] + q_offset, xp.arange(S, device=device)[None, :]
