"""Mistakes in softmax with a sink, and in softcap."""

from __future__ import annotations

from typing import Any

from ..attention.softcap import SoftcapResiduals, softcap_backward, softcap_forward
from ..attention.softmax import softmax_and_lse
from ..attention.softmax_sink import softmax_sink_backward, softmax_sink_forward
from ..namespace import Array, array_namespace, constant, unbroadcast
from .linear import zero
from .mistake import Mistake, changed, remembering, rewired, taking_arguments_of, then


def no_sink(x: Array, sink: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    """Forget the sink."""
    weights, lse = softmax_and_lse(x, mask)
    return weights, 0 * array_namespace(x).broadcast_to(sink, lse.shape), lse


@taking_arguments_of(softmax_sink_forward)
def _after_maximum(x: Array, sink: Array, *, mask: Array | None = None) -> Any:
    """Add exp(sink) to a sum that is relative to the maximum, which moves the sink by the maximum."""
    xp = array_namespace(x)
    kept = x if mask is None else xp.where(mask, x, -xp.inf)
    top = xp.max(kept, axis=-1, keepdims=True)
    largest = xp.isfinite(top) & (kept == top)
    y, residuals = softmax_sink_forward(x, sink + xp.where(xp.isfinite(top), top, 0.0)[..., 0], mask=mask)
    return y, (residuals, xp.astype(largest, x.dtype), tuple(sink.shape))


def _after_maximum_backward(dy: Array, residuals: Any) -> Any:
    right, largest, shape = residuals
    dx, dmoved = softmax_sink_backward(dy, right)
    return dx + dmoved[..., None] * largest, unbroadcast(dmoved, shape)


def _of_cap(value: Any) -> Any:
    """Return softcap as another function value(x, cap) -> (y, derivative)."""

    @taking_arguments_of(softcap_forward)
    def forward(x: Array, *, cap: float) -> Any:
        return value(x, constant(cap, like=x))

    return {"forward": forward, "backward": lambda dy, derivative: dy * derivative}


def _clamped(x: Array, cap: Array) -> tuple[Array, Array]:
    xp = array_namespace(x)
    inside = xp.maximum(xp.sign(cap - xp.abs(x)), 0 * x)
    return xp.minimum(xp.maximum(x, -cap), cap), inside


def _not_multiplied_back(x: Array, cap: Array) -> tuple[Array, Array]:
    tanh = array_namespace(x).tanh(x / cap)
    return tanh, (1 - tanh * tanh) / cap


def _not_divided(x: Array, cap: Array) -> tuple[Array, Array]:
    tanh = array_namespace(x).tanh(x)
    return cap * tanh, cap * (1 - tanh * tanh)


def _x_tanh(x: Array, cap: Array) -> tuple[Array, Array]:
    tanh = array_namespace(x).tanh(x / cap)
    return x * tanh, tanh + x * (1 - tanh * tanh) / cap


def _twice(x: Array, cap: Array) -> tuple[Array, Array]:
    xp = array_namespace(x)
    once = xp.tanh(x / cap)
    tanh = xp.tanh(once)
    return cap * tanh, (1 - tanh * tanh) * (1 - once * once)


def _of_capped(dy: Array, residuals: SoftcapResiduals) -> Array:
    """Take the derivative at tanh(x / cap) once more."""
    again = array_namespace(dy).tanh(residuals.tanh)
    return dy * (1 - again * again)


# fmt: off
SOFTMAX_SINK: dict[str, Mistake] = {
    "sink.dropped": Mistake(
        "softmax_sink", "SCALE", "exp(x) / sum of exp(x) → / (exp(sink) + sum of exp(x))",
        "rows sum to 1; long texts get worse", ("TransformerEngine#3551",),
        forward=rewired(softmax_sink_forward, softmax_sink_lse=no_sink)),
    "sink.added_after_maximum": Mistake(
        "softmax_sink", "PRECISION", "exp(sink) beside exp(x − max) → exp(sink − max)",
        "right while the largest score is 0", ("AttentionIsOFFByOne#5",),
        forward=_after_maximum, backward=_after_maximum_backward),
    "sink.sign": Mistake(
        "softmax_sink", "SCALE", "exp(−sink) → exp(sink)",
        "right for off-by-one, whose sink is 0",
        forward=changed(softmax_sink_forward, sink=lambda a: -a.sink),
        backward=then(softmax_sink_backward, lambda gradients: (gradients[0], -gradients[1]))),
    "sink.not_learned": Mistake(
        "softmax_sink", "GRADIENT", "dsink = 0 → −w_sink · sum of y dy",
        "the sink stays where it was initialised",
        backward=then(softmax_sink_backward, lambda gradients: (gradients[0], zero(gradients[1])))),
    "sink.gradient_sign": Mistake(
        "softmax_sink", "GRADIENT", "dsink = w_sink · sum of y dy → its negative",
        "the sink learns the wrong way",
        backward=then(softmax_sink_backward, lambda gradients: (gradients[0], -gradients[1]))),
    "sink.gradient_without_weight": Mistake(
        "softmax_sink", "GRADIENT", "dsink = −sum of y dy → times w_sink",
        "a sink that takes little moves most",
        backward=remembering(softmax_sink_backward, sink_weights=lambda r: r.sink_weights * 0 + 1)),
}

SOFTCAP: dict[str, Mistake] = {
    "softcap.clamped": Mistake(
        "softcap", "SCALE", "clamp(x, −c, c) → c · tanh(x / c)",
        "nothing below the cap, ties and dead gradients above",
        **_of_cap(_clamped)),
    "softcap.not_multiplied_back": Mistake(
        "softcap", "SCALE", "tanh(x / c) → c · tanh(x / c)",
        "all logits between −1 and 1; right for c = 1",
        **_of_cap(_not_multiplied_back)),
    "softcap.not_divided": Mistake(
        "softcap", "SCALE", "c · tanh(x) → c · tanh(x / c)",
        "logits saturate at 3; right for c = 1",
        **_of_cap(_not_divided)),
    "softcap.x_tanh": Mistake(
        "softcap", "SCALE", "x · tanh(x / c) → c · tanh(x / c)",
        "not bounded, and even: the sign is lost",
        **_of_cap(_x_tanh)),
    "softcap.twice": Mistake(
        "softcap", "SCALE", "c · tanh(tanh(x / c)) → c · tanh(x / c): capped in the kernel and around it",
        "logits stay below 0.76 c; right far below the cap", ("onnx#7865",),
        **_of_cap(_twice)),
    "softcap.straight_through": Mistake(
        "softcap", "GRADIENT", "dx = dy → dy (1 − tanh²)",
        "saturated logits keep learning",
        backward=remembering(softcap_backward, tanh=lambda r: r.tanh * 0)),
    "softcap.gradient_of_capped": Mistake(
        "softcap", "GRADIENT", "1 − tanh² of tanh(x / c) → of x / c",
        "right near 0",
        backward=_of_capped),
}
