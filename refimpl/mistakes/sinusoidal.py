"""Mistakes in sinusoidal positions."""

from __future__ import annotations

from typing import Any

from ..embeddings.sinusoidal import sinusoidal_backward, sinusoidal_forward
from ..namespace import Array, array_namespace, scatter_add
from .mistake import Function, Mistake, Pair, changed, remembering, then
from .positions import from_zero, in_bfloat16


def _columns(order: Function, forward: Function = sinusoidal_forward, widths: int = 1) -> Pair:
    """Take the columns order(width) of a table `widths` times as wide, and send their gradients back."""

    def taken(result: Any) -> Any:
        y, residuals = result
        xp = array_namespace(y)
        return xp.take(y, xp.asarray(order(y.shape[-1])), axis=-1), residuals

    def returned(a: Any) -> Array:
        xp, width = array_namespace(a.dy), widths * a.dy.shape[-1]
        columns = scatter_add(xp.asarray(order(width)), xp.moveaxis(a.dy, -1, 0), width)
        return xp.moveaxis(columns, 0, -1)

    return {"forward": then(forward, taken), "backward": changed(sinusoidal_backward, dy=returned)}


def _odd_column_zero(x: Array) -> Array:
    xp = array_namespace(x)
    return xp.concat([x[..., :-1], xp.zeros_like(x[..., -1:])], axis=-1) if x.shape[-1] % 2 else x


def _truncated(positions: Array) -> Array:
    xp = array_namespace(positions)
    return xp.trunc(positions) if xp.isdtype(positions.dtype, "real floating") else positions


# fmt: off
SINUSOIDAL: dict[str, Mistake] = {
    "sinusoidal.halves": Mistake(
        "sinusoidal", "LAYOUT", "[sin | cos] → sine and cosine in turn",
        "pretrained weights give nonsense; trained from scratch all is well",
        convention="sinusoidal.interleaved",
        **_columns(lambda C: [*range(0, C, 2), *range(1, C, 2)])),
    "sinusoidal.cos_first": Mistake(
        "sinusoidal", "LAYOUT", "cos, sin, cos, sin → sin, cos, sin, cos",
        "position 0 is 1, 0, 1, 0",
        **_columns(lambda C: [c ^ 1 if c ^ 1 < C else c for c in range(C)])),
    "sinusoidal.denominator_half_minus_one": Mistake(
        "sinusoidal", "SCALE", "base^(−k/(C/2 − 1)) → base^(−k/(C/2))",
        "channels 0 and 1 agree, the others drift; tensor2tensor and fairseq mean it",
        forward=changed(sinusoidal_forward, base=lambda a: a.base ** (a.C / (2 * max(a.C // 2 - 1, 1))))),
    "sinusoidal.exponent_per_channel": Mistake(
        "sinusoidal", "INDEXING", "cos(p base^(−(2k+1)/C)) → cos(p base^(−2k/C))",
        "pairs do not turn: PE(p + k) is no linear map of PE(p)",
        **_columns(lambda W: [2 * c + c % 2 for c in range(W // 2)],
                   changed(sinusoidal_forward, C=lambda a: 2 * a.C), 2)),
    "sinusoidal.base_ignored": Mistake(
        "sinusoidal", "SCALE", "base 10000 → the base that is given",
        "right by default",
        forward=changed(sinusoidal_forward, base=lambda a: 10000.0)),
    "sinusoidal.start_ignored": Mistake(
        "sinusoidal", "OFFSET", "positions counted from the start of the call → from the past length",
        "the prompt is right, every later token stands at 0",
        forward=changed(sinusoidal_forward, positions=lambda a: from_zero(a.positions))),
    "sinusoidal.one_based": Mistake(
        "sinusoidal", "OFFSET", "PE(p + 1) → PE(p)",
        "pretrained weights give a little less",
        forward=changed(sinusoidal_forward, positions=lambda a: a.positions + 1)),
    "sinusoidal.bf16_positions": Mistake(
        "sinusoidal", "PRECISION", "positions in bfloat16 → exact until the angle is formed",
        "from 257 on, neighbours share a position",
        forward=changed(sinusoidal_forward, positions=lambda a: in_bfloat16(a.positions))),
    "sinusoidal.odd_width_zero": Mistake(
        "sinusoidal", "EDGE", "the last column of an odd width is 0 → a sine",
        "one dead channel; tensor2tensor and fairseq mean it",
        forward=then(sinusoidal_forward, lambda result: (_odd_column_zero(result[0]), result[1])),
        backward=changed(sinusoidal_backward, dy=lambda a: _odd_column_zero(a.dy))),
    "sinusoidal.positions_truncated": Mistake(
        "sinusoidal", "EDGE", "positions cast to integers → real positions are legal",
        "half steps of time are lost, and the gradient is 0",
        forward=changed(sinusoidal_forward, positions=lambda a: _truncated(a.positions)),
        backward=remembering(sinusoidal_backward, frequencies=lambda r: r.frequencies * 0)),
    "sinusoidal.gradient_without_frequency": Mistake(
        "sinusoidal", "GRADIENT", "dp = sum of dy cos − dy sin → w (dy cos − dy sin)",
        "slow channels drown the fast ones in the gradient",
        backward=remembering(sinusoidal_backward, frequencies=lambda r: r.frequencies * 0 + 1)),
    "sinusoidal.gradient_sign": Mistake(
        "sinusoidal", "GRADIENT", "d cos = sin → −sin",
        "half of the channels pull positions the wrong way",
        backward=remembering(sinusoidal_backward, sin=lambda r: -r.sin)),
}
