"""Mistakes in softmax."""

from __future__ import annotations

from typing import Any

from ..attention.softmax import softmax_forward
from ..namespace import Array
from . import softmax_rules as rules
from .mistake import Function, Mistake, Pair, changed


def _softmax(softmax: Function = rules.right, gradient: Function = rules.gradient) -> Pair:
    """Return the op with another softmax."""

    def forward(x: Array, *, mask: Array | None = None) -> Any:
        y, _, saved = softmax(x, mask)
        return y, saved

    return {"forward": forward, "backward": lambda dy, saved: gradient(dy, None, saved)}


# fmt: off
SOFTMAX: dict[str, Mistake] = {
    "softmax.axis": Mistake(
        "softmax", "LAYOUT", "over the axis before the last → over the last",
        "columns sum to 1 instead of rows", ("detr#247",),
        **_softmax(rules.over(-2), rules.over_gradient(-2))),
    "softmax.polarity": Mistake(
        "softmax", "MASK", "True drops → True keeps",
        "it looks like a softmax, of the other half", ("pytorch#170415",), convention="softmax.mask_true_keeps",
        forward=changed(softmax_forward, mask=lambda a: None if a.mask is None else ~a.mask)),
    "softmax.mask_after": Mistake(
        "softmax", "MASK", "softmax(x) where mask keeps → softmax of what mask keeps",
        "rows sum to less than 1",
        **_softmax(rules.mask_after, rules.mask_after_gradient)),
    "softmax.mask_multiplied": Mistake(
        "softmax", "MASK", "softmax(x · mask) → softmax of what mask keeps",
        "masked keys count as score 0",
        **_softmax(rules.filled_with(0.0), rules.filled_gradient)),
    "softmax.zero_is_masked": Mistake(
        "softmax", "MASK", "a score of 0 is left out → what the mask leaves out",
        "right as long as masked scores are the only zeros",
        forward=changed(softmax_forward, mask=lambda a: a.x != 0 if a.mask is None else a.mask & (a.x != 0))),
    "softmax.minus_1e4": Mistake(
        "softmax", "MASK", "x − 10000 where masked → left out",
        "scores below −10000 lose to masked ones; an empty row attends", ("transformers#17306",),
        **_softmax(rules.minus_1e4)),
    "softmax.full_row_nan": Mistake(
        "softmax", "EDGE", "0 / 0 in a row with nothing to keep → 0",
        "one padded sequence makes every gradient NaN", ("pytorch#103963",), convention="softmax.empty_row_zero",
        **_softmax(rules.full_row_nan)),
    "softmax.full_row_uniform": Mistake(
        "softmax", "EDGE", "1/S in a row with nothing to keep → 0",
        "padding attends to everything", convention="softmax.empty_row_zero",
        **_softmax(rules.full_row_uniform)),
    "softmax.no_max_subtraction": Mistake(
        "softmax", "PRECISION", "exp(x) → exp(x − max x)",
        "NaN as soon as a score passes 88", ("xFasterTransformer#326",),
        **_softmax(rules.without_max)),
    "softmax.no_row_sum": Mistake(
        "softmax", "GRADIENT", "dx = y dy → y (dy − sum of y dy)",
        "training works, worse",
        **_softmax(gradient=rules.no_row_sum)),
    "softmax.diagonal": Mistake(
        "softmax", "GRADIENT", "dx = y (1 − y) dy → y (dy − sum of y dy)",
        "the gradient of a sigmoid; training works, worse",
        **_softmax(gradient=rules.diagonal)),
}
