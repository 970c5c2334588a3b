"""Mistakes in distances that the text decides: CoPE and FoX."""

from __future__ import annotations

from typing import Any

from ..bias.cope import cope_backward, cope_forward
from ..bias.fox import FoxResiduals, fox_backward, fox_forward
from ..bias.gates import log_sigmoid, sigmoid
from ..namespace import Array, array_namespace, constant
from .mistake import Mistake, Pair, changed, rewired, taking_arguments_of, then


def _nearest_row(apart: Array) -> Array:
    """Read the row below p: 1 where 0 <= p - n < 1."""
    xp = array_namespace(apart)
    return xp.astype(xp.floor(apart) == 0, apart.dtype)


def _no_scale(scale: float | None, D: int, like: Array) -> Array:
    return constant(1, like=like)


def _all(T: int, S: int, *, q_offset: int, xp: Any, device: Any = None) -> Array:
    return xp.ones((T, S), dtype=xp.bool)


def _gates_unscaled() -> Pair:
    forward = rewired(cope_forward, score_scale=_no_scale)
    return {"forward": forward, "backward": rewired(cope_backward, score_scale=_no_scale)}


def _over_root_of_width(x: Array, D: int) -> Array:
    return x / array_namespace(x).sqrt(constant(D, like=x))


def _bias_scaled(q: Array, k: Array, table: Array, **options: Any) -> Any:
    return cope_forward(q, k, _over_root_of_width(table, q.shape[-1]), **options)


def _bias_scaled_back(dy: Array, residuals: Any) -> tuple[Array, ...]:
    dq, dk, dtable = cope_backward(dy, residuals)
    return dq, dk, _over_root_of_width(dtable, residuals.q.shape[-1])


def _with_the_key(gate_logits: Array, *, T: int, q_offset: int = 0) -> Any:
    """Sum from l = j on."""
    xp = array_namespace(gate_logits)
    y, residuals = fox_forward(gate_logits, T=T, q_offset=q_offset)
    own = log_sigmoid(gate_logits)[..., None, :]
    return y + xp.where(residuals.keep, own, xp.zeros_like(y)), residuals


def _with_the_key_back(dy: Array, residuals: FoxResiduals) -> Array:
    xp = array_namespace(dy)
    x, keep, _ = residuals
    own = xp.sum(xp.where(keep, dy, xp.zeros_like(dy)), axis=-2)
    return fox_backward(dy, residuals) + own * sigmoid(-x)


def _summed_forward(dy: Array, residuals: FoxResiduals) -> Array:
    """Take the cumulative sum of the gradient from the start instead of from the end."""
    x, keep, q_offset = residuals
    xp = array_namespace(dy)
    dy = xp.where(keep, dy, xp.zeros_like(dy))
    T, S = dy.shape[-2:]
    before, after = (xp.zeros_like(x)[..., :n] for n in (q_offset, S - q_offset - T))
    dc = xp.concat([before, xp.sum(dy, axis=-1), after], axis=-1) - xp.sum(dy, axis=-2)
    return xp.cumulative_sum(dc, axis=-1) * sigmoid(-x)


# fmt: off
COPE: dict[str, Mistake] = {
    "cope.gates_not_scaled": Mistake(
        "cope", "SCALE", "sigmoid(q·k) → sigmoid(scale · q·k)",
        "gates are shut or open, and hardly learn",
        **_gates_unscaled()),
    "cope.bias_scaled": Mistake(
        "cope", "SCALE", "(q·k + bias)/√D → q·k/√D + bias",
        "the bias is √D times weaker; as the authors' code has it",
        convention="cope.bias_not_scaled", forward=taking_arguments_of(cope_forward)(_bias_scaled),
        backward=taking_arguments_of(cope_backward)(_bias_scaled_back)),
    "cope.future_gates_open": Mistake(
        "cope", "MASK", "keys ahead are counted → gates ahead are shut",
        "a decoder looks ahead through its positions",
        forward=rewired(cope_forward, causal_mask=_all)),
    "cope.row_below": Mistake(
        "cope", "INDEXING", "table[floor p] → between table[floor p] and table[ceil p]",
        "positions jump, and gates get no gradient from them",
        forward=rewired(cope_forward, _nearness=_nearest_row),
        backward=rewired(cope_backward, _nearness=_nearest_row, relu_slope=lambda x: x * 0)),
    "cope.gates_detached": Mistake(
        "cope", "GRADIENT", "dk = 0, positions taken for constants → through every gate that was counted",
        "what to count is never learned",
        backward=then(cope_backward, lambda g: (g[0], g[1] * 0, g[2]))),
}

FOX: dict[str, Mistake] = {
    "fox.key_dims_itself": Mistake(
        "fox", "OFFSET", "sum from l = j → from l = j + 1",
        "every key is dimmed by its own gate, before anything came after it",
        forward=taking_arguments_of(fox_forward)(_with_the_key),
        backward=taking_arguments_of(fox_backward)(_with_the_key_back)),
    "fox.gate_itself": Mistake(
        "fox", "SCALE", "sum of the gates → of their logarithms",
        "open gates push keys forward",
        forward=rewired(fox_forward, log_sigmoid=sigmoid),
        backward=rewired(fox_backward, sigmoid=lambda x: sigmoid(x) * sigmoid(-x))),
    "fox.offset_ignored": Mistake(
        "fox", "OFFSET", "queries from 0 → from q_offset",
        "right for whole sequences, wrong from the second call on",
        forward=changed(fox_forward, q_offset=lambda a: 0)),
    "fox.keys_ahead_positive": Mistake(
        "fox", "MASK", "c[i] − c[j] for keys ahead → 0",
        "the same under a causal mask; without it all that is ahead is pushed forward",
        convention="fox.keys_ahead_zero", forward=rewired(fox_forward, causal_mask=_all)),
    "fox.summed_forward": Mistake(
        "fox", "GRADIENT", "cumulative sum of dc from the start → from the end",
        "each gate learns from the pairs that it does not touch",
        backward=taking_arguments_of(fox_backward)(_summed_forward)),
}
