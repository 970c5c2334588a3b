"""Mistakes in the backward pass of attention."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, AttentionResiduals, attention_backward
from ..namespace import Array, array_namespace
from . import softmax_rules as rules
from .attention_softmax import attention_with
from .mistake import Mistake, rewired


def _poisoned(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    """Let what an empty row computes reach its gradient: 0 · NaN."""
    xp = array_namespace(weights)
    some = xp.any(weights > 0, axis=-1, keepdims=True)
    return xp.where(some, rules.gradient(dweights, dlse, weights), xp.nan)


def _first_of_group(dx: Array, group: int) -> Array:
    *batch, H, S, D = dx.shape
    return array_namespace(dx).reshape(dx, (*batch, H // group, group, S, D))[..., 0, :, :]


def _first_slice(dbias: Array, shape: tuple[int, ...]) -> Array:
    return dbias[(0,) * (dbias.ndim - len(shape)) + tuple(slice(n) for n in shape)]


def _dq_unscaled(dy: Attention, residuals: AttentionResiduals) -> Any:
    unscaled = rewired(attention_backward, score_scale=lambda scale, D, like: 1)
    return unscaled(dy, residuals)[0], *attention_backward(dy, residuals)[1:]


def _weights_not_transposed(dy: Attention, residuals: AttentionResiduals) -> Any:
    dq, dk, dv, *rest = attention_backward(dy, residuals)
    weights = residuals.weights
    if weights.shape[-1] == weights.shape[-2]:
        transposed = array_namespace(weights).matrix_transpose(weights)
        dv = attention_backward(dy, residuals._replace(weights=transposed))[2]
    return dq, dk, dv, *rest


# fmt: off
ATTENTION_GRADIENT: dict[str, Mistake] = {
    "attention.no_row_sum": Mistake(
        "attention", "GRADIENT", "dscores = w dw → w (dw − sum of w dw)",
        "training works, worse",
        **attention_with(gradient=rules.no_row_sum)),
    "attention.diagonal_softmax": Mistake(
        "attention", "GRADIENT", "dscores = w (1 − w) dw → w (dw − sum of w dw)",
        "the gradient of a sigmoid; training works, worse",
        **attention_with(gradient=rules.diagonal)),
    "attention.nan_poison": Mistake(
        "attention", "GRADIENT", "0 · NaN in the gradient of a query without keys → 0",
        "y is right, one padded sequence makes the gradient of every key NaN", ("pytorch#41508",),
        **attention_with(gradient=_poisoned)),
    "attention.dlse_ignored": Mistake(
        "attention", "GRADIENT", "nothing from lse → dscores + w dlse",
        "right while no loss uses lse",
        **attention_with(gradient=lambda dweights, dlse, weights: rules.gradient(dweights, None, weights))),
    "attention.dlse_sign": Mistake(
        "attention", "GRADIENT", "dscores − w dlse → dscores + w dlse",
        "a loss on lse grows",
        **attention_with(gradient=lambda dweights, dlse, weights: rules.gradient(
            dweights, None if dlse is None else -dlse, weights))),
    "attention.scale_missing_in_dq": Mistake(
        "attention", "GRADIENT", "dq = dscores k → scale · dscores k",
        "queries learn √D times too fast",
        backward=_dq_unscaled),
    "attention.not_transposed": Mistake(
        "attention", "GRADIENT", "dv = w dy → wᵀ dy",
        "an error, unless T = S",
        backward=_weights_not_transposed),
    "attention.gqa_not_summed": Mistake(
        "attention", "GRADIENT", "dk, dv of the first query head of a group → sum over the group",
        "right for MHA", ("levanter#449",),
        backward=rewired(attention_backward, sum_heads=_first_of_group)),
    "attention.bias_not_reduced": Mistake(
        "attention", "GRADIENT", "dbias of the first slice of a broadcast axis → sum over it",
        "right for a bias of full shape", ("attention-gym#20",),
        backward=rewired(attention_backward, unbroadcast=_first_slice)),
}
