"""Where a key lies, seen from a query: integers, shared by all encodings that join the logits."""

from __future__ import annotations

from typing import Any

from jaxtyping import Float, Int

from ..errors import require, require_integer
from ..namespace import Array, array_namespace, device, scatter_add, unbroadcast


def relative_positions(T: int, S: int, *, q_offset: int, xp: Any, device: Any = None) -> Int[Array, "T S"]:
    """Return j - (q_offset + i), key minus query: negative for keys behind the query.

    q_offset: position of the first query; S - T when the queries are the last of the keys.
    """
    require_integer("T", T, 0)
    require_integer("S", S, 1)
    i = xp.arange(q_offset, q_offset + T, device=device)[:, None]  # (T, 1)
    j = xp.arange(S, device=device)[None, :]  # (1, S)
    return j - i


def clipped_rows(relative: Int[Array, "T S"], N: int, left: int | None) -> Int[Array, "T S"]:
    """Return the row of a table for every relative position: `left` rows behind, one for 0, the rest ahead.

        row = clip(relative, -left, N - 1 - left) + left

    left: default (N - 1) / 2, as many behind as ahead.
    """
    xp = array_namespace(relative)
    if left is None:
        require(N % 2 == 1, "table", f"{N} rows", "an odd number of rows, or `left` given")
        left = N // 2
    require(0 <= left < N, "left", left, f"None or 0 .. {N - 1} (table has {N} rows)")
    return xp.clip(relative, -left, N - 1 - left) + left


def picked(products: Float[Array, "*B T N"], rows: Int[Array, "T S"]) -> Float[Array, "*B T S"]:
    """Return products[..., t, rows[t, s]]: each query's product with the row that belongs to the key.

    One product a row of the table and a lookup, where a product a pair would repeat it for all pairs that lie alike.
    """
    xp = array_namespace(products)
    *batch, T, N = products.shape
    flat = xp.take(xp.reshape(products, (*batch, T * N)), _flat(rows, N), axis=-1)
    return xp.reshape(flat, (*batch, *rows.shape))


def picked_backward(dy: Float[Array, "*B T S"], rows: Int[Array, "T S"], N: int) -> Float[Array, "*B T N"]:
    """Undo `picked`: what was read several times adds up.

    dproducts[..., t, n] = sum of dy[..., t, s] over all s with rows[t, s] = n
    """
    xp = array_namespace(dy)
    *batch, T, S = dy.shape
    flat = xp.moveaxis(xp.reshape(dy, (*batch, T * S)), -1, 0)
    sums = scatter_add(_flat(rows, N), flat, T * N)  # (T N, *B)
    return xp.reshape(xp.moveaxis(sums, 0, -1), (*batch, T, N))


def _flat(rows: Int[Array, "T S"], N: int) -> Int[Array, " P"]:
    """Return the index of every pair's row in a flat (T N)."""
    xp = array_namespace(rows)
    t = xp.astype(xp.arange(rows.shape[0], device=device(rows)), rows.dtype)
    return xp.reshape(t[:, None] * N + rows, (-1,))


def sum_to(dx: Float[Array, "..."], keep: int) -> Float[Array, "..."]:
    """Sum a gradient over all axes before the last `keep`: those that shared what it is the gradient of."""
    return unbroadcast(dx, dx.shape[dx.ndim - keep :])
