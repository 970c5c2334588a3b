"""From other systems' numbers to q_offset and the inclusive window (left, right), None meaning open.

says W = 3       sees, before .. after        left, right
W keys           2 .. 0                       2, 0          transformers, gpt-oss, flash-linear-attention
W past keys      3 .. 0                       3, 0          x-transformers max_attend_past
radius W         3 .. 3                       3, 3          transformers, bidirectional; JAX, one integer
"""

from __future__ import annotations

from jaxtyping import Bool, Int

from ..errors import require, require_integer, require_sizes
from ..namespace import Array, array_namespace, device
from ..signatures import checked

Window = tuple[int | None, int | None]  # (left, right), inclusive


def window_of_keys(W: int | None) -> Window:
    """Return the causal window of W keys, the query's own among them; 0 and None switch it off.

    (W - 1, 0), or (None, 0)

    transformers (causal layers), gpt-oss (0: off), flash-linear-attention. transformers itself hands FlashAttention
    (W - 1, W - 1), which with a causal mask is the same.
    """
    if W is not None:
        require_integer("W", W, 0)
    return (W - 1 if W else None), 0


def keys_of_window(left: int | None, right: int | None) -> int | None:
    """Undo `window_of_keys`; None where the window is off."""
    require(right == 0, "right", right, "0: only a causal window counts its keys")
    return None if left is None else left + 1


def window_of_past(W: int) -> Window:
    """Return the causal window of the query's own key and W before it: x-transformers' max_attend_past.

    (W, 0)
    """
    require_integer("W", W, 0)
    return W, 0


def window_of_radius(W: int) -> Window:
    """Return the window of W keys on either side: |i - j| <= W, 2W + 1 keys.

    (W, W)

    transformers (bidirectional layers), JAX's local_window_size as one integer.
    """
    require_integer("W", W, 0)
    return W, W


def window_of_minus_one(left: int, right: int) -> Window:
    """Return the window of a system that writes -1 for an open side: FlashAttention, ONNX 25.

    -1 → None
    """
    require_sizes(-1, left=left, right=right)
    return (None if left == -1 else left), (None if right == -1 else right)


def minus_one_of_window(left: int | None, right: int | None) -> tuple[int, int]:
    """Undo `window_of_minus_one`."""
    return (-1 if left is None else left), (-1 if right is None else right)


def top_left(T: int, S: int) -> int:
    """Return the q_offset of systems that line up the first query with the first key: 0.

    PyTorch's is_causal, JAX, Keras, flax, FlashAttention up to 2.0, ONNX without a cache.
    """
    return 0


def bottom_right(T: int, S: int) -> int:
    """Return the q_offset of systems that line up the last query with the last key: S - T.

    FlashAttention since 2.1, PyTorch's causal_lower_right, x-transformers, Transformer-XL; with a cache of P keys and
    T new ones S = P + T, so it is P (ONNX's past).
    """
    return S - T


@checked
def keep_of_drop(mask: Bool[Array, "*X"]) -> Bool[Array, "*X"]:
    """Return the mask of a system in which True drops: PyTorch's nn.MultiheadAttention, fairseq. Its own inverse."""
    return ~mask


@checked
def documents_of_lengths(lengths: Int[Array, " N"], *, T: int) -> Int[Array, " T"]:
    """Number the tokens of packed documents by document: 0, 0, 1, 1, 1 for the lengths 2, 3.

    document[t] = how many documents have ended at or before t

    What is left over after the last document is the document N: padding, which sees itself alone. FlashAttention's
    cu_seqlens is (0, cumulative sums of the lengths).
    """
    xp = array_namespace(lengths)
    require_integer("T", T, 0)
    ends = xp.cumulative_sum(lengths)  # (N,)
    t = xp.arange(T, device=device(lengths))
    return xp.sum(xp.astype(t[:, None] >= ends[None, :], lengths.dtype), axis=-1)
