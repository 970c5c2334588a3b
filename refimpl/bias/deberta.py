"""DeBERTa's disentangled attention: content meets position, and position meets content."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..errors import require
from ..namespace import Array, array_namespace, constant, device
from ..signatures import checked
from .buckets import log_bucket_starts
from .relative import picked, picked_backward, relative_positions, sum_to


class DebertaBiasResiduals(NamedTuple):
    """What the gradient needs; rows of key_table for each query, rows_k of query_table for each key."""

    q: Float[Array, "*B H T D"]
    k: Float[Array, "*B H S D"]
    key_table: Float[Array, "H N D"]
    query_table: Float[Array, "H N D"]
    rows: Int[Array, "T S"]
    rows_k: Int[Array, "S T"]
    scale: float | None


@checked
def deberta_bias_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B H S D"],
    key_table: Float[Array, "H N D"],
    query_table: Float[Array, "H N D"],
    *,
    q_offset: int = 0,
    max_distance: int | None = None,
    mirrored: bool = False,
    scale: float | None = None,
) -> tuple[Float[Array, "*B H T S"], DebertaBiasResiduals]:
    """Return the two position terms of the score: content to position, and position to content.

        y[i, j] = scale · q[i]·key_table[n(i - j)] + scale · k[j]·query_table[n(i - j)]
        n(d)    = clip(bucket(d) + span, 0, 2 span - 1),    span = N/2,    i counts from q_offset

    Three terms of like size make the score, so all three are divided by √(3D): give attention the same scale. Each is
    divided by itself, as in the authors' code: where the two cancel, that rounds more than their sum would. The
    position is query minus key, opposite to T5's.

    key_table, query_table: the relative embeddings, projected like keys and queries. max_distance: None for a row a
    distance (v1), else logarithmic buckets (v2, `deberta_buckets`). mirrored: query_table at n(j - i), as in the paper;
    the authors' code and transformers read it at n(i - j).
    Source: He et al. 2021 (DeBERTa), equations 2 to 4.
    Raises ValueError for shapes that do not meet, an odd N, and what `deberta_buckets` refuses.
    """
    xp = array_namespace(q, k, key_table, query_table)
    T, D = q.shape[-2:]
    S, N = k.shape[-2], key_table.shape[1]
    behind = -relative_positions(T, S, q_offset=q_offset, xp=xp, device=device(q))  # (T, S), query minus key
    rows = deberta_buckets(behind, N, max_distance)
    rows_k = xp.matrix_transpose(deberta_buckets(-behind, N, max_distance) if mirrored else rows)
    c2p = picked(q @ xp.matrix_transpose(key_table), rows)  # (*B, H, T, S)
    p2c = picked(k @ xp.matrix_transpose(query_table), rows_k)  # (*B, H, S, T)
    scaling = _scale_of_three(scale, D, q)
    y = c2p * scaling + xp.matrix_transpose(p2c) * scaling
    return y, DebertaBiasResiduals(q, k, key_table, query_table, rows, rows_k, scale)


@checked
def deberta_bias_backward(
    dy: Float[Array, "*B H T S"], residuals: DebertaBiasResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "*B H S D"], Float[Array, "H N D"], Float[Array, "H N D"]]:
    """Return (dq, dk, dkey_table, dquery_table); dq and dk join what attention itself gives.

    dq[i] = scale · sum over j of dy[i, j] key_table[row]        dkey_table[n] = scale · sum of dy[i, j] q[i] at row n
    dk[j] = scale · sum over i of dy[i, j] query_table[row]      dquery_table[n] = scale · sum of dy[i, j] k[j] at row n
    """
    xp = array_namespace(dy)
    q, k, key_table, query_table, rows, rows_k, scale = residuals
    dy = dy * _scale_of_three(scale, q.shape[-1], q)  # y = scale c2p + scale p2cᵀ
    dc2p = picked_backward(dy, rows, key_table.shape[1])  # c2p = picked(q @ key_tableᵀ, rows)
    dp2c = picked_backward(xp.matrix_transpose(dy), rows_k, key_table.shape[1])
    dkey_table = sum_to(xp.matrix_transpose(dc2p) @ q, 3)
    dquery_table = sum_to(xp.matrix_transpose(dp2c) @ k, 3)
    return dc2p @ key_table, dp2c @ query_table, dkey_table, dquery_table


def deberta_buckets(behind: Int[Array, "*I"], N: int, max_distance: int | None) -> Int[Array, "*I"]:
    """Return the row of a table of N for every distance d = query minus key.

        clip(bucket(d) + span, 0, 2 span - 1),    span = N/2,    mid = span/2
        bucket(d) = d                              |d| <= mid, or max_distance is None
        bucket(d) = sign(d) (mid + k)              else,  k = least integer with
                                                   (|d|/mid)^(mid-1) <= ((max_distance - 1)/mid)^k

    k is ceil(ln(|d|/mid) / ln((max_distance - 1)/mid) · (mid - 1)), decided in integers.
    """
    xp = array_namespace(behind)
    require(N >= 2 and N % 2 == 0, "key_table", f"{N} rows", "an even number of rows")
    span = N // 2
    if max_distance is None:
        return xp.clip(behind + span, 0, 2 * span - 1)
    mid = span // 2
    require(span % 2 == 0 and mid >= 2, "key_table", f"{N} rows", "a multiple of 4, at least 8, with max_distance")
    require(max_distance - 1 > mid, "max_distance", max_distance, f"None or an integer > {mid + 1}")
    starts = log_bucket_starts(mid, max_distance - 1, mid - 1, range(mid), strict=True)
    starts = xp.asarray(starts, dtype=behind.dtype, device=device(behind))  # of the buckets mid + 1 .. 2 mid
    n = xp.abs(behind)
    beyond = xp.sum(xp.astype(n[..., None] >= starts, behind.dtype), axis=-1)  # k
    bucket = xp.sign(behind) * (xp.minimum(n, xp.full_like(n, mid)) + beyond)
    return xp.clip(bucket + span, 0, 2 * span - 1)


def _scale_of_three(scale: float | None, D: int, like: Array) -> Array:
    """Return the caller's scale, or 1/√(3D)."""
    xp = array_namespace(like)
    return 1 / xp.sqrt(3 * constant(D, like=like)) if scale is None else constant(scale, like=like)
