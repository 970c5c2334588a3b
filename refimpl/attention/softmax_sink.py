"""Softmax with a sink: a row may put its weight nowhere."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float

from ..errors import require_broadcastable
from ..namespace import Array, array_namespace, unbroadcast
from ..signatures import checked
from .softmax import softmax_and_lse


class SoftmaxSinkResiduals(NamedTuple):
    """What the gradient needs: the result, and the weight that went into the sink."""

    y: Float[Array, "*X S"]
    sink_weights: Float[Array, "*X"]
    sink_shape: tuple[int, ...]


@checked
def softmax_sink_forward(
    x: Float[Array, "*X S"], sink: Float[Array, "..."], *, mask: Bool[Array, "..."] | None = None
) -> tuple[Float[Array, "*X S"], SoftmaxSinkResiduals]:
    """Turn the scores of each row into weights that sum to less than one: the sink takes the rest.

        y[j] = exp(x[j]) / (exp(sink) + sum over kept k of exp(x[k]))        where mask keeps j,  0 elsewhere

    The sink is one more score whose weight is thrown away: a head that finds nothing need not attend. The sink 0 is
    softmax-off-by-one, exp(x) / (1 + sum of exp(x)). The mask never touches the sink, so an empty row gives 0.

    sink: broadcasts to x without its last axis; for x (B, H, T, S) one logit a head is (H, 1).
    Source: gpt-oss (OpenAI 2025), model card, section 2.3; Miller 2023, "Attention is off by one"; named after Xiao et
    al. 2024. Same weights as softmax times sigmoid(lse - sink).
    Raises ValueError for a sink or mask that does not fit, or a mask that is not boolean.
    """
    require_broadcastable("sink", sink, x.shape[:-1])
    if mask is not None:
        require_broadcastable("mask", mask, x.shape)
    y, sink_weights, _ = softmax_sink_lse(x, sink, mask)
    return y, SoftmaxSinkResiduals(y, sink_weights, tuple(sink.shape))


@checked
def softmax_sink_backward(
    dy: Float[Array, "*X S"], residuals: SoftmaxSinkResiduals
) -> tuple[Float[Array, "*X S"], Float[Array, "..."]]:
    """Return (dx, dsink): the sink only ever takes, so its gradient is what the row would get back.

    dx[j] = y[j] (dy[j] - sum over k of y[k] dy[k])        dsink = -sink_weight · sum over k of y[k] dy[k]
    """
    xp = array_namespace(dy)
    y, sink_weights, sink_shape = residuals
    mean = xp.sum(y * dy, axis=-1)  # (*X)
    dx = y * (dy - mean[..., None])  # y = exp(x) / (exp(sink) + sum of exp(x))
    return dx, unbroadcast(-sink_weights * mean, sink_shape)


def softmax_sink_lse(
    x: Float[Array, "*X S"], sink: Float[Array, "..."], mask: Bool[Array, "..."] | None
) -> tuple[Float[Array, "*X S"], Float[Array, "*X"], Float[Array, "*X"]]:
    """Return the weights, the weight of the sink, and the logarithm of what both were divided by: never -inf.

    The sink is a column that is always kept, and dropped afterwards.
    """
    xp = array_namespace(x, sink, mask)
    column = xp.broadcast_to(sink, x.shape[:-1])[..., None]  # (*X, 1)
    kept = xp.ones_like(x, dtype=xp.bool) if mask is None else xp.broadcast_to(mask, x.shape)
    always = xp.ones_like(column, dtype=xp.bool)
    weights, lse = softmax_and_lse(xp.concat([x, column], axis=-1), xp.concat([kept, always], axis=-1))
    return weights[..., :-1], weights[..., -1], lse
