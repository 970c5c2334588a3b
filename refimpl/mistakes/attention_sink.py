"""A mistake in attention's sink: a key of its own where there should be none."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, attention_backward, attention_forward
from ..attention.heads import repeat_heads, sum_heads
from ..attention.softmax import softmax_and_lse_backward
from ..namespace import Array, array_namespace, unbroadcast
from .mistake import Mistake, rewired, taking_arguments_of


def _value(residuals: Any) -> Array:
    """Return the value of the first key for every query head, (*B, H, 1, E)."""
    return repeat_heads(residuals.v, residuals.q.shape[-3] // residuals.v.shape[-3])[..., :1, :]


@taking_arguments_of(attention_forward)
def _sink_has_value(*arrays: Array, **options: Any) -> Any:
    """Let the weight of the sink fall on the first value."""
    y, residuals = attention_forward(*arrays, **options)
    if residuals.sink_weights is None:
        return y, residuals
    return y._replace(y=y.y + residuals.sink_weights[..., None] * _value(residuals)), residuals


def _sink_has_value_backward(dy: Attention, residuals: Any) -> Any:
    if residuals.sink_weights is None or dy.y is None:
        return attention_backward(dy, residuals)
    xp = array_namespace(dy.y)
    H, G = residuals.q.shape[-3], residuals.v.shape[-3]
    into_sink = residuals.sink_weights * xp.sum(dy.y * _value(residuals), axis=-1)  # (*B, H, T)

    def of_scores(dweights: Array, dlse: Array | None, weights: Array) -> tuple[Array, Array]:
        return softmax_and_lse_backward(dweights, -into_sink if dlse is None else dlse - into_sink, weights)

    dq, dk, dv, dbias, dsink = rewired(attention_backward, softmax_and_lse_backward=of_scores)(dy, residuals)
    first = xp.sum(residuals.sink_weights[..., None] * dy.y, axis=-2, keepdims=True)  # (*B, H, 1, E)
    dv = xp.concat([dv[..., :1, :] + sum_heads(first, H // G), dv[..., 1:, :]], axis=-2)
    return dq, dk, dv, dbias, dsink + unbroadcast(into_sink, (H, 1))[:, 0]


# fmt: off
ATTENTION_SINK: dict[str, Mistake] = {
    "attention.sink_has_value": Mistake(
        "attention", "INDEXING", "the weight of the sink goes to the first value → to nothing",
        "a head that should not attend repeats the first token",
        forward=_sink_has_value, backward=_sink_has_value_backward),
}
