"""Mistakes in the softmax of attention."""

from __future__ import annotations

from typing import Any

from ..attention.attention import Attention, AttentionResiduals, attention_backward, attention_forward
from ..namespace import Array, array_namespace, constant, unbroadcast
from . import softmax_rules as rules
from .mistake import Function, Mistake, Pair, rewired, round_bits, taking_arguments_of


def attention_with(softmax: Function = rules.right, gradient: Function = rules.gradient) -> Pair:
    """Return the op with another softmax, another gradient of it, or both; a sink is one more score, the first."""

    @taking_arguments_of(attention_forward)
    def forward(*arrays: Array, **options: Any) -> Any:
        kept: list[Any] = []

        def softmax_and_lse(x: Array, mask: Array | None) -> tuple[Array, Array]:
            weights, lse, saved = softmax(x, mask)
            kept.append(saved)
            return weights, lse

        def softmax_sink_lse(x: Array, sink: Array, mask: Array | None) -> tuple[Array, Array, Array]:
            xp = array_namespace(x)
            column = xp.broadcast_to(sink, x.shape[:-1])[..., None]
            if mask is not None:
                always = xp.ones_like(column, dtype=xp.bool)
                mask = xp.concat([always, xp.broadcast_to(mask, x.shape)], axis=-1)
            weights, lse = softmax_and_lse(xp.concat([column, x], axis=-1), mask)
            return weights[..., 1:], weights[..., 0], lse

        wrong: dict[str, Any] = {"softmax_and_lse": softmax_and_lse, "softmax_sink_lse": softmax_sink_lse}
        y, residuals = rewired(attention_forward, **wrong)(*arrays, **options)
        return y, (residuals, *kept)

    def backward(dy: Attention, residuals: tuple[AttentionResiduals, Any]) -> Any:
        right, saved = residuals
        sunk, H = right.sink_weights is not None, right.q.shape[-3]
        dsinks = []

        def of_scores(dweights: Array, dlse: Array | None, weights: Array) -> tuple[Array, Array]:
            if sunk:
                xp = array_namespace(dweights)
                dweights = xp.concat([xp.zeros_like(dweights[..., :1]), dweights], axis=-1)
            dscores = gradient(dweights, dlse, saved)
            if sunk:
                dsinks.append(unbroadcast(dscores[..., 0], (H, 1))[:, 0])
            return dscores[..., 1:] if sunk else dscores, weights[..., 0] * 0

        *gradients, _ = rewired(attention_backward, softmax_and_lse_backward=of_scores)(dy, right)
        return *gradients, dsinks[0] if sunk else None

    return {"forward": forward, "backward": backward}


def _weights_bf16(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    weights, lse, saved = rules.right(x, mask)
    return round_bits(weights, 8), lse, saved


def _last_key_dropped(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    keep = array_namespace(x).arange(x.shape[-1]) < max(x.shape[-1] - 1, 1)
    return rules.right(x, keep if mask is None else mask & keep)


def _lse_without_max(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    xp = array_namespace(x)
    weights, lse, saved = rules.right(x, mask)
    largest = xp.max(weights, axis=-1)  # exp(max - lse)
    return weights, xp.where(largest > 0, -xp.log(xp.where(largest > 0, largest, 1.0)), lse), saved


def _log2(x: Array) -> Array:
    return x / array_namespace(x).log(constant(2, like=x))


def _lse_base_two(x: Array, mask: Array | None) -> tuple[Array, Array, Any]:
    weights, lse, saved = rules.right(x, mask)
    return weights, _log2(lse), saved


def _lse_base_two_gradient(dweights: Array, dlse: Array | None, weights: Array) -> Array:
    return rules.gradient(dweights, None if dlse is None else _log2(dlse), weights)


# fmt: off
ATTENTION_SOFTMAX: dict[str, Mistake] = {
    "attention.mask_after_softmax": Mistake(
        "attention", "MASK", "softmax(scores) where mask keeps → softmax of what mask keeps",
        "rows sum to less than 1",
        **attention_with(rules.mask_after, rules.mask_after_gradient)),
    "attention.mask_multiplied": Mistake(
        "attention", "MASK", "softmax(scores · mask) → softmax of what mask keeps",
        "masked keys count as score 0",
        **attention_with(rules.filled_with(0.0), rules.filled_gradient)),
    "attention.mask_added": Mistake(
        "attention", "MASK", "score + 1 where the mask keeps → left out where it does not",
        "a boolean mask where a bias is expected: the future leaks, e times fainter",
        **attention_with(rules.added)),
    "attention.zero_times_inf": Mistake(
        "attention", "MASK", "score + (1 − mask) · (−∞) → left out where the mask does not keep",
        "0 · ∞ is NaN wherever a key is kept", ("onnx#8068",),
        **attention_with(rules.zero_times_inf)),
    "attention.minus_1e4": Mistake(
        "attention", "MASK", "score − 10000 where masked → left out",
        "scores below −10000 lose to masked ones; an empty row attends", ("transformers#17306",),
        **attention_with(rules.minus_1e4)),
    "attention.finite_sentinel": Mistake(
        "attention", "MASK", "−50000 where masked → left out",
        "scores below −50000 lose to masked ones; an empty row attends", ("flashinfer#4267", "flashinfer#4450"),
        **attention_with(rules.filled_with(-50000.0), rules.filled_gradient)),
    "attention.full_row_nan": Mistake(
        "attention", "EDGE", "0 / 0 for a query without keys → y = 0",
        "one padded sequence makes every gradient NaN", ("pytorch#103963", "onnx#8068"),
        convention="attention.empty_row_zero",
        **attention_with(rules.full_row_nan)),
    "attention.full_row_uniform": Mistake(
        "attention", "EDGE", "the mean of v for a query without keys → y = 0",
        "padding leaks into the gradient of v", convention="attention.empty_row_zero",
        **attention_with(rules.full_row_uniform)),
    "attention.no_max_subtraction": Mistake(
        "attention", "PRECISION", "exp(score) → exp(score − max)",
        "NaN as soon as a score passes 88", ("xFasterTransformer#326",),
        **attention_with(rules.without_max)),
    "attention.softmax_axis_query": Mistake(
        "attention", "LAYOUT", "softmax over queries → over keys",
        "columns sum to 1 instead of rows", ("detr#247",),
        **attention_with(rules.over(-2), rules.over_gradient(-2))),
    "attention.softmax_over_heads": Mistake(
        "attention", "LAYOUT", "softmax over heads → over keys",
        "the weights of a key, not those of a query, sum to 1", ("detr#247",),
        **attention_with(rules.over(-3), rules.over_gradient(-3))),
    "attention.weights_bf16": Mistake(
        "attention", "PRECISION", "weights rounded to bfloat16 before the product with v → in float32",
        "y keeps 8 bits, lse all",
        **attention_with(_weights_bf16)),
    "attention.last_key_dropped": Mistake(
        "attention", "EDGE", "the last key is left out: its block is not full → every key",
        "long flat rows hide it",
        **attention_with(_last_key_dropped)),
    "attention.lse_without_max": Mistake(
        "attention", "SCALE", "lse = log sum exp(score − max) → max + log sum exp(score − max)",
        "y is right, blocks merge wrongly",
        **attention_with(_lse_without_max)),
    "attention.lse_base_two": Mistake(
        "attention", "SCALE", "lse to base 2 → natural",
        "y is right, blocks merge wrongly",
        **attention_with(_lse_base_two, _lse_base_two_gradient)),
}
