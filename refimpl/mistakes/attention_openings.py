"""Mistakes where attention opens: softcap, sink, dropout of the weights."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, attention_backward, attention_forward
from ..attention.heads import score_scale
from ..attention.multi_head import multi_head_attention_forward
from ..attention.softcap import softcap_backward, softcap_forward
from ..attention.softmax import softmax_and_lse, softmax_and_lse_backward
from ..attention.softmax_sink import softmax_sink_lse
from ..embeddings.dropout import dropout_backward, dropout_forward
from ..namespace import Array, array_namespace, constant
from .linear import zero
from .mistake import Function, Mistake, Pair, changed, rewired, taking_arguments_of, then
from .sinks import no_sink


def before_softmax(prepare: Function, undo: Function, without: dict[str, Any]) -> Pair:
    """Return attention whose scores, with bias, are changed before the softmax, while the options `without` are off.

    prepare(scores, options) -> (scores, residuals);  undo(dscores, residuals) -> dscores
    """

    @taking_arguments_of(attention_forward)
    def forward(*arrays: Array, **options: Any) -> Any:
        kept: list[Any] = []

        def changing(softmax: Function) -> Function:
            def wrong(scores: Array, *others: Any) -> Any:
                scores, residuals = prepare(scores, options)
                kept.append(residuals)
                return softmax(scores, *others)

            return wrong

        softmaxes = {"softmax_and_lse": changing(softmax_and_lse), "softmax_sink_lse": changing(softmax_sink_lse)}
        y, residuals = rewired(attention_forward, **softmaxes)(*arrays, **{**options, **without})
        return y, (residuals, kept[0])

    def backward(dy: Attention, residuals: Any) -> Any:
        right, prepared = residuals

        def of_scores(dweights: Array, dlse: Array | None, weights: Array) -> tuple[Array, Array]:
            dscores, row = softmax_and_lse_backward(dweights, dlse, weights)
            return undo(dscores, prepared), row

        return rewired(attention_backward, softmax_and_lse_backward=of_scores)(dy, right)

    return {"forward": forward, "backward": backward}


def _cap(scores: Array, options: dict[str, Any]) -> tuple[Array, Any]:
    cap = options.get("softcap")
    return (scores, None) if cap is None else softcap_forward(scores, cap=cap)


def _uncap(dscores: Array, capped: Any) -> Array:
    return dscores if capped is None else softcap_backward(dscores, capped)


def _drop(scores: Array, options: dict[str, Any]) -> tuple[Array, Any]:
    keep = options.get("keep")
    return (scores, None) if keep is None else dropout_forward(scores, keep=keep, p=options["p"])


def _undrop(dscores: Array, dropped: Any) -> Array:
    return dscores if dropped is None else dropout_backward(dscores, dropped)


@taking_arguments_of(attention_forward)
def _capped_after_mask(*arrays: Array, softcap: Any = None, **options: Any) -> Any:
    """Give a masked key the score -cap, which is what the cap makes of -inf."""
    masks: list[Any] = []

    def filling(softmax: Function) -> Function:
        def wrong(scores: Array, *others: Any) -> Any:
            *sink, mask = others
            masks.append(mask)
            least = -constant(softcap, like=scores)
            filled = scores if mask is None else array_namespace(scores).where(mask, scores, least)
            return softmax(filled, *sink, None)

        return wrong

    if softcap is None:
        y, residuals = attention_forward(*arrays, **options)
        return y, (residuals, None)
    softmaxes = {"softmax_and_lse": filling(softmax_and_lse), "softmax_sink_lse": filling(softmax_sink_lse)}
    y, residuals = rewired(attention_forward, **softmaxes)(*arrays, softcap=softcap, **options)
    return y, (residuals, masks[0])


def _capped_after_mask_backward(dy: Attention, residuals: Any) -> Any:
    right, visible = residuals

    def of_scores(dweights: Array, dlse: Array | None, weights: Array) -> tuple[Array, Array]:
        dscores, row = softmax_and_lse_backward(dweights, dlse, weights)
        return dscores if visible is None else array_namespace(dscores).where(visible, dscores, 0.0), row

    return rewired(attention_backward, softmax_and_lse_backward=of_scores)(dy, right)


def _times_scale(sink: Array | None, a: Any) -> Array | None:
    return None if sink is None else sink * score_scale(a.scale, a.q.shape[-1], a.q)


def _scaled_sink_backward(dy: Attention, residuals: Any) -> Any:
    *gradients, dsink = attention_backward(dy, residuals)
    q = residuals.q
    return *gradients, None if dsink is None else dsink * score_scale(residuals.scale, q.shape[-1], q)


def _sink_not_in_lse(x: Array, sink: Array, mask: Array | None) -> tuple[Array, Array, Array]:
    weights, sunk, _ = softmax_sink_lse(x, sink, mask)
    return weights, sunk, softmax_and_lse(x, mask)[1]


def _sink_not_in_lse_backward(dy: Attention, residuals: Any) -> Any:
    """Undo it: lse without sink takes plain weights = weights / (1 - sink_weights)."""
    if dy.lse is None or residuals.sink_weights is None:
        return attention_backward(dy, residuals)
    of_y = attention_backward(dy._replace(lse=dy.lse * 0), residuals)
    xp = array_namespace(dy.lse)
    rest = 1 - residuals.sink_weights
    some = xp.any(residuals.weights > 0, axis=-1)
    plain = residuals.weights / xp.where(some, rest, 1.0)[..., None]
    of_lse = attention_backward(Attention(None, dy.lse), residuals._replace(weights=plain))[:4]
    return *(None if a is None else a + b for a, b in zip(of_y, of_lse, strict=False)), of_y[4]


def _dropout_forgotten(dy: Attention, residuals: Any) -> Any:
    """Leave the keep-mask out of the gradient of the weights."""
    if residuals.dropout is None:
        return attention_backward(dy, residuals)
    return rewired(attention_backward, dropout_backward=lambda dshares, dropped: dshares)(dy, residuals)


SINK_DROPPED = rewired(attention_forward, softmax_sink_lse=no_sink)

# fmt: off
ATTENTION_OPENINGS: dict[str, Mistake] = {
    "attention.softcap_ignored": Mistake(
        "attention", "SCALE", "scores → c · tanh(scores / c)",
        "right for scores far below the cap",
        forward=changed(attention_forward, softcap=lambda a: None)),
    "attention.softcap_after_bias": Mistake(
        "attention", "SCALE", "c · tanh((scores + bias) / c) → c · tanh(scores / c) + bias",
        "distant keys cannot be pushed away; x-transformers means it", convention="attention.softcap_before_bias",
        **before_softmax(_cap, _uncap, {"softcap": None})),
    "attention.softcap_after_mask": Mistake(
        "attention", "MASK", "masked keys get the score −c → no weight",
        "the future leaks with weight exp(−c)", ("onnx#7865",), convention="attention.softcap_before_mask",
        forward=_capped_after_mask, backward=_capped_after_mask_backward),
    "attention.softcap_straight_through": Mistake(
        "attention", "GRADIENT", "dscores → dscores (1 − tanh²)",
        "saturated scores keep growing",
        backward=rewired(attention_backward, softcap_backward=lambda dy, residuals: dy)),
    "attention.sink_dropped": Mistake(
        "attention", "SCALE", "softmax without the sink → with it",
        "rows sum to 1; long texts get worse", ("TransformerEngine#3551",),
        forward=SINK_DROPPED),
    "attention.sink_scaled": Mistake(
        "attention", "SCALE", "sink / √D → the sink itself",
        "right for off-by-one, whose sink is 0", convention="attention.sink_not_scaled",
        forward=changed(attention_forward, sink=lambda a: _times_scale(a.sink, a)),
        backward=_scaled_sink_backward),
    "attention.sink_not_in_lse": Mistake(
        "attention", "EDGE", "lse of the keys → of the keys and the sink",
        "y is right, blocks merge wrongly", convention="attention.lse_with_sink",
        forward=rewired(attention_forward, softmax_sink_lse=_sink_not_in_lse),
        backward=_sink_not_in_lse_backward),
    "attention.sink_not_learned": Mistake(
        "attention", "GRADIENT", "dsink = 0 → −sum of w_sink (dy·y − dlse)",
        "the sink stays where it was initialised",
        backward=then(attention_backward, lambda gradients: (*gradients[:4], zero(gradients[4])))),
    "attention.dropout_before_softmax": Mistake(
        "attention", "MASK", "scores dropped to 0 → weights dropped to 0",
        "dropped keys keep a weight, rows sum to 1",
        **before_softmax(_drop, _undrop, {"keep": None, "p": 0.0})),
    "attention.dropout_no_rescale": Mistake(
        "attention", "SCALE", "kept weights → kept weights / (1 − p)",
        "y shrinks by 1 − p from inference to training",
        forward=changed(attention_forward, p=lambda a: 0.0)),
    "attention.dropout_not_in_gradient": Mistake(
        "attention", "GRADIENT", "dweights = dy vᵀ → through the same keep-mask",
        "gradients of keys that were dropped; training still works a little",
        backward=_dropout_forgotten),
}

MULTI_HEAD_OPENINGS: dict[str, Mistake] = {
    "multi_head.sink_dropped": Mistake(
        "multi_head_attention", "SCALE", "attention without the sink → with it",
        "rows sum to 1",
        forward=rewired(multi_head_attention_forward, attention_forward=SINK_DROPPED)),
    "multi_head.softcap_ignored": Mistake(
        "multi_head_attention", "SCALE", "scores → c · tanh(scores / c)",
        "right for scores far below the cap",
        forward=changed(multi_head_attention_forward, softcap=lambda a: None)),
    "multi_head.dropout_ignored": Mistake(
        "multi_head_attention", "MASK", "all weights → those that `keep` keeps",
        "less regularization than the paper's",
        forward=changed(multi_head_attention_forward, keep=lambda a: None, p=lambda a: 0.0)),
}
