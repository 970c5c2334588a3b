"""Transformer-XL: scores split into content and position, each with a bias of its own."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float, Int

from ..attention.heads import score_scale
from ..errors import require
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .relative import picked, picked_backward, sum_to


class TransformerXlBiasResiduals(NamedTuple):
    """What the gradient needs; keys = r @ w_r by head; rows: the row of r of every pair."""

    q: Float[Array, "*B H T D"]
    k: Float[Array, "*B H S D"]
    r: Float[Array, "L C"]
    w_r: Float[Array, "C HD"]
    u: Float[Array, "H D"]
    v: Float[Array, "H D"]
    keys: Float[Array, "H L D"]
    rows: Int[Array, "T S"]
    scale: float | None


@checked
def transformer_xl_bias_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B H S D"],
    r: Float[Array, "L C"],
    w_r: Float[Array, "C HD"],
    u: Float[Array, "H D"],
    v: Float[Array, "H D"],
    *,
    scale: float | None = None,
) -> tuple[Float[Array, "*B H T S"], TransformerXlBiasResiduals]:
    """Return all of Transformer-XL's score but scale · q·k, which attention adds.

        y[i, j] = scale · (u·k[j] + (q[i] + v)·(r[T - 1 - i + j] w_r))

    u lets a key count for what it is, v for where it lies, whatever the query. r holds the encoding of every distance,
    row 0 that of the last query to the first key, one less a row: T + S - 1 rows, so that keys ahead have rows too. The
    authors' shift reads their entries from the next query's row instead, and relies on the causal mask to hide that.

    r: sinusoidal, sines first, then cosines, in the paper. w_r: (C, H·D), head by head. u, v: one row a head.
    scale: attention's, default 1/√D.
    Source: Dai et al. 2019 (Transformer-XL), section 3.3 and appendix B. XLNet: the same with a w_r a layer.
    Raises ValueError for shapes that do not meet, or a number of rows in r that is not T + S - 1.
    """
    xp = array_namespace(q, k, r, w_r, u, v)
    H, T, D = q.shape[-3:]
    S, L = k.shape[-2], r.shape[0]
    require(L == T + S - 1, "r", f"{L} rows", f"T + S - 1 = {T + S - 1}, from the greatest distance down")
    require(w_r.shape[1] == H * D, "w_r", f"{w_r.shape[1]} columns", f"H · D = {H * D}")
    i, j = xp.arange(T, device=device(q))[:, None], xp.arange(S, device=device(q))[None, :]
    rows = T - 1 - i + j  # (T, S)
    keys = xp.permute_dims(xp.reshape(r @ w_r, (L, H, D)), (1, 0, 2))  # (H, L, D)
    content = u[:, None, :] @ xp.matrix_transpose(k)  # (*B, H, 1, S)
    position = picked((q + v[:, None, :]) @ xp.matrix_transpose(keys), rows)  # (*B, H, T, S)
    y = (content + position) * score_scale(scale, D, q)
    return y, TransformerXlBiasResiduals(q, k, r, w_r, u, v, keys, rows, scale)


@checked
def transformer_xl_bias_backward(
    dy: Float[Array, "*B H T S"], residuals: TransformerXlBiasResiduals
) -> tuple[Array, ...]:
    """Return (dq, dk, dr, dw_r, du, dv); dq and dk join what attention itself gives.

    dk[j] = scale · u · sum over i of dy[i, j]                du = scale · sum over i, j of dy[i, j] k[j]
    dq[i] = scale · sum over j of dy[i, j] (r w_r)[row]       dv = sum over i of dq[i]
    dkeys[n] = scale · sum of dy[i, j] (q[i] + v) over the pairs of row n,    dr = dkeys w_rᵀ,    dw_r = rᵀ dkeys
    """
    xp = array_namespace(dy)
    q, k, r, w_r, u, v, keys, rows, scale = residuals
    H, _, D = q.shape[-3:]
    dy = dy * score_scale(scale, D, q)  # y = scale (content + position)
    columns = xp.sum(dy, axis=-2, keepdims=True)  # (*B, H, 1, S)
    dk = xp.matrix_transpose(columns) * u[:, None, :]  # content = u @ kᵀ
    du = sum_to((columns @ k)[..., 0, :], 2)
    dproducts = picked_backward(dy, rows, r.shape[0])  # position = picked((q + v) @ keysᵀ, rows)
    dq = dproducts @ keys
    dv = sum_to(xp.sum(dq, axis=-2), 2)
    dkeys = sum_to(xp.matrix_transpose(dproducts) @ (q + v[:, None, :]), 3)  # (H, L, D)
    dkeys = xp.reshape(xp.permute_dims(dkeys, (1, 0, 2)), (r.shape[0], H * D))  # keys = r @ w_r
    return dq, dk, dkeys @ xp.matrix_transpose(w_r), xp.matrix_transpose(r) @ dkeys, du, dv
