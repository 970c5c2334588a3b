"""FoX: a forget gate for softmax attention, a decay that each token decides."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..attention.masks import causal_mask
from ..errors import require, require_integer
from ..namespace import Array, array_namespace, device
from ..signatures import checked
from .gates import log_sigmoid, sigmoid


class FoxResiduals(NamedTuple):
    """What the gradient needs: the gates' logits, and which pairs have something between them."""

    gate_logits: Float[Array, "*B H S"]
    keep: Bool[Array, "T S"]
    q_offset: int


@checked
def fox_forward(
    gate_logits: Float[Array, "*B H S"], *, T: int, q_offset: int = 0
) -> tuple[Float[Array, "*B H T S"], FoxResiduals]:
    """Let every token between query and key dim the key.

        y[i, j] = sum over l = j + 1 .. q_offset + i of ln sigmoid(gate_logits[l])

    ALiBi with a slope that depends on the text: with a constant gate f, y = ln f · distance. The sum runs after the key
    up to the query, so a token never dims itself. One cumulative sum c gives all pairs, c[q_offset + i] - c[j].

    gate_logits: w·x + b of each query head, at every key's position. Queries stand at q_offset .. q_offset + T - 1.
    Keys ahead get 0, the empty sum; the causal mask removes them.
    Source: Lin et al. 2025 (Forgetting Transformer), section 3.
    Raises ValueError for a negative T, or queries that stand outside the keys.
    """
    xp = array_namespace(gate_logits)
    S = gate_logits.shape[-1]
    require_integer("T", T, 0)
    require(0 <= q_offset <= S - T, "q_offset", q_offset, f"0 .. S - T = {S - T}")
    c = xp.cumulative_sum(log_sigmoid(gate_logits), axis=-1)  # (*B, H, S)
    keep = causal_mask(T, S, q_offset=q_offset - 1, xp=xp, device=device(gate_logits))  # j before the query
    between = c[..., q_offset : q_offset + T, None] - c[..., None, :]  # (*B, H, T, S)
    return xp.where(keep, between, xp.zeros_like(between)), FoxResiduals(gate_logits, keep, q_offset)


@checked
def fox_backward(dy: Float[Array, "*B H T S"], residuals: FoxResiduals) -> Float[Array, "*B H S"]:
    """Return the gradient of the gates' logits.

    dc[l] = sum over j of dy[l - q_offset, j] - sum over i of dy[i, l]        (pairs with j before the query)
    dlogit[l] = sigmoid(-logit[l]) · sum over l' >= l of dc[l']
    """
    xp = array_namespace(dy)
    x, keep, q_offset = residuals
    dy = xp.where(keep, dy, xp.zeros_like(dy))
    T, S = dy.shape[-2:]
    before, after = (xp.zeros_like(x)[..., :n] for n in (q_offset, S - q_offset - T))
    dc = xp.concat([before, xp.sum(dy, axis=-1), after], axis=-1) - xp.sum(dy, axis=-2)  # y = c[query] - c[key]
    dlogs = xp.flip(xp.cumulative_sum(xp.flip(dc, axis=-1), axis=-1), axis=-1)  # c = cumulative sum of logs
    return dlogs * sigmoid(-x)  # logs = log sigmoid(x)
