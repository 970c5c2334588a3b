"""CoPE: contextual positions, counted by gates that the query opens."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..attention.heads import score_scale
from ..attention.masks import causal_mask
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .gates import relu_slope, sigmoid
from .relative import sum_to


class CopeResiduals(NamedTuple):
    """What the gradient needs; products = q @ tableᵀ."""

    q: Float[Array, "*B H T D"]
    k: Float[Array, "*B H S D"]
    table: Float[Array, "N D"]
    logits: Float[Array, "*B H T S"]
    keep: Bool[Array, "T S"]
    positions: Float[Array, "*B H T S"]
    products: Float[Array, "*B H T N"]
    scale: float | None


@checked
def cope_forward(
    q: Float[Array, "*B H T D"],
    k: Float[Array, "*B H S D"],
    table: Float[Array, "N D"],
    *,
    q_offset: int = 0,
    scale: float | None = None,
) -> tuple[Float[Array, "*B H T S"], CopeResiduals]:
    """Measure distance by how many keys in between the query cares to count.

        gate[i, t] = sigmoid(scale · q[i]·k[t]) for t <= q_offset + i,  else 0
        p[i, j]    = min(sum over t >= j of gate[i, t], N - 1)
        y[i, j]    = (1 - w) q[i]·table[floor p] + w q[i]·table[ceil p],        w = p - floor p

    If only ends of sentences open their gate, p counts sentences. Between two rows the product is interpolated, which
    is a sum over all rows n with weight max(1 - |p - n|, 0): no index to round, and the gradient of p can be read off.

    table: N rows, shared by heads; keys ahead, and row 0, have position 0. scale: of the gates, default 1/√D.
    Source: Golovneva et al. 2024 (CoPE), section 4. y joins the scaled scores, as in x-transformers; the authors'
    code adds it before the division by √D. Where p is an integer its slope is 0, as PyTorch's, by floor = ceil.
    Raises ValueError for shapes that do not meet.
    """
    xp = array_namespace(q, k, table)
    T, D = q.shape[-2:]
    logits = (q @ xp.matrix_transpose(k)) * score_scale(scale, D, q)  # (*B, H, T, S)
    keep = causal_mask(T, k.shape[-2], q_offset=q_offset, xp=xp, device=device(q))
    gates = xp.where(keep, sigmoid(logits), xp.zeros_like(logits))
    counted = xp.flip(xp.cumulative_sum(xp.flip(gates, axis=-1), axis=-1), axis=-1)
    positions = xp.minimum(counted, xp.full_like(counted, table.shape[0] - 1))
    products = q @ xp.matrix_transpose(table)  # (*B, H, T, N)
    y = (_nearness(_apart(positions, table.shape[0])) @ products[..., None])[..., 0]
    return y, CopeResiduals(q, k, table, logits, keep, positions, products, scale)


@checked
def cope_backward(
    dy: Float[Array, "*B H T S"], residuals: CopeResiduals
) -> tuple[Float[Array, "*B H T D"], Float[Array, "*B H S D"], Float[Array, "N D"]]:
    """Return (dq, dk, dtable); dq and dk join what attention itself gives.

    dproducts[i, n] = sum over j of dy[i, j] max(1 - |p - n|, 0)
    dp[i, j]        = dy[i, j] (products[i, ceil p] - products[i, floor p]),  0 where p is cut at N - 1
    dgate[i, t]     = sum over j <= t of dp[i, j]                    dlogit = dgate gate (1 - gate)
    """
    xp = array_namespace(dy)
    q, k, table, logits, keep, positions, products, scale = residuals
    apart = _apart(positions, table.shape[0])
    dproducts = (xp.matrix_transpose(_nearness(apart)) @ dy[..., None])[..., 0]  # y = nearness @ products
    slope = -xp.sign(apart) * relu_slope(1 - xp.abs(apart))  # (*B, H, T, S, N)
    dp = dy * (slope @ products[..., None])[..., 0]
    dgates = xp.where(keep, xp.cumulative_sum(dp, axis=-1), xp.zeros_like(dp))  # p = sum over t >= j of gates
    dlogits = dgates * sigmoid(logits) * sigmoid(-logits) * score_scale(scale, q.shape[-1], q)
    dq = dproducts @ table + dlogits @ k  # products = q @ tableᵀ, logits = scale q @ kᵀ
    return dq, xp.matrix_transpose(dlogits) @ q, sum_to(xp.matrix_transpose(dproducts) @ q, 2)


def _apart(positions: Float[Array, "*X"], N: int) -> Float[Array, "*X N"]:
    """Return p - n for every row n."""
    xp = array_namespace(positions)
    return positions[..., None] - xp.astype(xp.arange(N, device=device(positions)), positions.dtype)


def _nearness(apart: Float[Array, "*X N"]) -> Float[Array, "*X N"]:
    """Return the weight of each row, max(1 - |p - n|, 0)."""
    xp = array_namespace(apart)
    return xp.maximum(1 - xp.abs(apart), xp.zeros_like(apart))
